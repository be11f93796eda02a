"""Which point of one embedding is which of another, on tensors: the map takes gradients."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import torch
from torch import Tensor

from anchorot._typing import RngLike
from anchorot.align.correspondence import Candidate, warn_if_unreliable
from anchorot.align.embeddings.pipeline import solve
from anchorot.align.embeddings.result import EmbeddingAlignment
from anchorot.align.truth import Hits
from anchorot.exceptions import InputError
from anchorot.torch._checks import check_alike, check_points


@dataclass(frozen=True, eq=False, repr=False)
class TensorEmbeddingAlignment(EmbeddingAlignment):
    """An :class:`anchorot.EmbeddingAlignment` whose fields are tensors, and whose map has gradients.

    Attributes
    ----------
    matches : tensor of int64, shape (n,)
    confidence : tensor of shape (n,)
    rotation : tensor of shape (d, e)
    scale : float
    offset : tensor of shape (e,)
    candidates : tuple of Candidate
        As in the class of arrays: their matches are arrays.
    """

    matches: Tensor  # type: ignore[assignment]
    confidence: Tensor  # type: ignore[assignment]
    rotation: Tensor  # type: ignore[assignment]
    offset: Tensor  # type: ignore[assignment]
    _arrays: EmbeddingAlignment = field(kw_only=True)

    @classmethod
    def of(cls, found: EmbeddingAlignment, like: Tensor) -> Self:
        """Turn the arrays of an alignment into tensors, of the dtype and on the device of another tensor."""
        values = {each.name: getattr(found, each.name) for each in fields(found)}
        values |= {name: torch.from_numpy(values[name]).to(like) for name in ("confidence", "rotation", "offset")}
        values["matches"] = torch.from_numpy(found.matches).to(like.device)
        return cls(**values, _arrays=found)

    def numpy(self) -> EmbeddingAlignment:
        """The same alignment in arrays."""
        return self._arrays

    def transform(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """Carry points (..., d) of the first side over to the second, (..., e), with gradients."""
        _check_width(x, "x", self.rotation.shape[0])
        rows = _unit_rows(x) if self.metric == "cosine" else x
        return self.scale * (rows @ self.rotation) + self.offset

    def inverse_transform(self, y: Tensor) -> Tensor:  # type: ignore[override]
        """Carry points (..., e) of the second side back to the first, (..., d), with gradients."""
        _check_width(y, "y", self.rotation.shape[1])
        return ((y - self.offset) @ self.rotation.mT) / self.scale

    def top_k(self, k: int) -> Tensor:  # type: ignore[override]
        """The k points that each may belong to, the likeliest first, (n, k)."""
        return torch.from_numpy(self._arrays.top_k(k)).to(self.matches.device)

    def retrieve(self, x: Tensor, k: int = 1) -> Tensor:  # type: ignore[override]
        """Points of the second side that are nearest to further points of the first, (l, k)."""
        return torch.from_numpy(self._arrays.retrieve(_on_host(x), k)).to(self.matches.device)

    def soft(self, candidate: Candidate | None = None) -> Any:
        """See :meth:`anchorot.EmbeddingAlignment.soft`; an array, or a sparse one."""
        return self._arrays.soft(candidate)

    def masses(self, soft: bool = True) -> Any:
        """How much of each point goes where: an array, or a sparse one."""
        return self._arrays.masses(soft)

    def backward(self, candidate: Candidate | None = None) -> Tensor:  # type: ignore[override]
        """Match of every point of the second side in the first; -1 for none."""
        return torch.from_numpy(self._arrays.backward(candidate)).to(self.matches.device)

    def facts(self, full: bool = False) -> dict[str, str]:
        """Summarise the alignment in words."""
        return self._arrays.facts(full)

    def hits(self, truth: Any) -> Hits:
        """Share of the points whose match is the true one; see :meth:`anchorot.Correspondence.hits`."""
        return self._arrays.hits(_on_host(truth))

    def project(self, values: Any, *, onto: str = "first", soft: bool = True) -> Tensor:  # type: ignore[override]
        """Carry one side's numbers over to the points of the other; see :meth:`anchorot.Correspondence.project`."""
        return torch.from_numpy(self._arrays.project(_on_host(values), onto=onto, soft=soft)).to(self.rotation)

    def transfer(self, labels: Any, *, onto: str = "first", soft: bool = True) -> tuple[Any, Any]:
        """Give each point of one side a label of the other side's points, in arrays."""
        return self._arrays.transfer(_on_host(labels), onto=onto, soft=soft)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the matches as text, one to a line."""
        self._arrays.write(path)


def _on_host(values: Any) -> Any:
    """Bring a tensor to the CPU; leave what is no tensor as it is."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def _check_width(points: Tensor, name: str, width: int) -> None:
    if points.shape[-1] != width:
        raise InputError(f"{name} has {points.shape[-1]} columns, but the points that were aligned have {width}")


def _unit_rows(points: Tensor) -> Tensor:
    """Rows of length 1, of whatever size they were."""
    largest = points.detach().abs().amax(dim=-1, keepdim=True)
    if not (largest > 0).all():
        raise InputError("x has a row without a direction, of zeros or NaN; leave it out, or take metric='euclidean'")
    small = points / largest  # whose squares neither vanish nor overflow
    return small / small.norm(dim=-1, keepdim=True)


@torch.no_grad()
def align_embeddings(
    x: Tensor,
    y: Tensor,
    *,
    metric: str = "auto",
    seeds: Iterable[tuple[int, int]] | Mapping[int, int] | None = None,
    n_landmarks: int | None = None,
    rng: RngLike = None,
    progress: bool = True,
) -> TensorEmbeddingAlignment:
    """Find the rotation that brings one embedding onto another, and which point is which, for tensors.

    See :func:`anchorot.align_embeddings`. Nearest points are looked for on the tensors' device if that is a CUDA
    device. The search is not differentiated; the map that it finds is, by the points that it carries over.

    Parameters
    ----------
    x, y : tensor of shape (n, d) and (m, e)
        One row for each point.
    metric : {"auto", "cosine", "euclidean"}
        Whether directions alone count ("cosine": rows are brought to length 1), or positions do, up to a common scale
        ("euclidean"). "auto" keeps what more points agree on.
    seeds : iterable of pairs (i, j) or mapping, optional
        Pairs of points that are known to match.
        Row i of `x` and row j of `y`.
    n_landmarks : int, optional
        Points of each side that are aligned first, by their distances.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    TensorEmbeddingAlignment
        An :class:`anchorot.EmbeddingAlignment` of tensors.

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> points = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([3.0, 2.0, 1.0])
    >>> found = aot.align_embeddings(points, points.flip(0), metric="euclidean", rng=0)
    >>> bool((found.matches == torch.arange(49, -1, -1)).all())
    True
    """
    x, y = check_points(x, "x", wait=True), check_points(y, "y", wait=True)
    check_alike(x, y, "x", "y")
    if x.ndim != 2 or y.ndim != 2:
        raise InputError(f"x and y have shapes {tuple(x.shape)} and {tuple(y.shape)}, but (n, d) and (m, e) are needed")
    device = str(x.device) if x.device.type == "cuda" else None
    found = solve(x.detach(), y.detach(), metric, seeds, n_landmarks, rng, device, progress)
    warn_if_unreliable(found.reliable, found.remedies, stacklevel=3)  # through the wrapper of `no_grad`
    return TensorEmbeddingAlignment.of(found, x)
