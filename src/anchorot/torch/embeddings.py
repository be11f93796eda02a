"""Which point of one embedding is which of another, on tensors: the map takes gradients."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from anchorot._typing import RngLike
from anchorot.align.embeddings.pipeline import align_embeddings as align_arrays
from anchorot.align.embeddings.result import EmbeddingAlignment
from anchorot.exceptions import InputError
from anchorot.torch._checks import check_alike, check_points


@dataclass(frozen=True, eq=False)
class TensorEmbeddingAlignment:
    """A map from one embedding to another, as tensors; compare :class:`anchorot.EmbeddingAlignment`.

    Attributes
    ----------
    matches : tensor of int64, shape (n,)
    confidence : tensor of shape (n,)
    rotation : tensor of shape (d, e)
    scale : float
    offset : tensor of shape (e,)
    alignment : EmbeddingAlignment
        The same in arrays, with all that it has besides: `starts`, `runner_up`, `transfer` and more.
    """

    matches: Tensor
    confidence: Tensor
    rotation: Tensor
    scale: float
    offset: Tensor
    alignment: EmbeddingAlignment = field(repr=False)

    def transform(self, X: Tensor) -> Tensor:  # noqa: N803
        """Carry points (..., d) of the first side over to the second, (..., e), with gradients."""
        _check_width(X, "X", self.rotation.shape[0])
        rows = _unit_rows(X) if self.alignment.metric == "cosine" else X
        return self.scale * (rows @ self.rotation) + self.offset

    def inverse_transform(self, Y: Tensor) -> Tensor:  # noqa: N803
        """Carry points (..., e) of the second side back to the first, (..., d), with gradients."""
        _check_width(Y, "Y", self.rotation.shape[1])
        return ((Y - self.offset) @ self.rotation.mT) / self.scale

    def top_k(self, k: int) -> Tensor:
        """The k points that each may belong to, the likeliest first, (n, k)."""
        return torch.from_numpy(self.alignment.top_k(k)).to(self.matches.device)


def _check_width(points: Tensor, name: str, width: int) -> None:
    if points.shape[-1] != width:
        raise InputError(f"{name} has {points.shape[-1]} columns, but the points that were aligned have {width}")


def _unit_rows(points: Tensor) -> Tensor:
    """Rows of length 1, of whatever size they were."""
    largest = points.detach().abs().amax(dim=-1, keepdim=True)
    if not (largest > 0).all():
        raise InputError("X has a row without a direction, of zeros or NaN; leave it out, or take metric='euclidean'")
    small = points / largest  # whose squares neither vanish nor overflow
    return small / small.norm(dim=-1, keepdim=True)


@torch.no_grad()
def align_embeddings(
    X: Tensor,  # noqa: N803
    Y: Tensor,  # noqa: N803
    *,
    metric: str = "cosine",
    n_landmarks: int | None = None,
    rng: RngLike = None,
) -> TensorEmbeddingAlignment:
    """Find the rotation that brings one embedding onto another, and which point is which, for tensors.

    See :func:`anchorot.align_embeddings`. Nearest points are looked for on the tensors' device if that is a CUDA
    device. The search is not differentiated; the map that it finds is, by the points that it carries over.

    Parameters
    ----------
    X, Y : tensor of shape (n, d) and (m, e)
    metric : {"cosine", "euclidean"}
    n_landmarks : int, optional
    rng : None, int or numpy.random.Generator

    Returns
    -------
    TensorEmbeddingAlignment

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> points = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([3.0, 2.0, 1.0])
    >>> found = aot.align_embeddings(points, points.flip(0), metric="euclidean", rng=0)
    >>> bool((found.matches == torch.arange(49, -1, -1)).all())
    True
    """
    x, y = check_points(X, "X", wait=True), check_points(Y, "Y", wait=True)
    check_alike(x, y, "X", "Y")
    if x.ndim != 2 or y.ndim != 2:
        raise InputError(f"X and Y have shapes {tuple(x.shape)} and {tuple(y.shape)}, but (n, d) and (m, e) are needed")
    device = str(x.device) if x.device.type == "cuda" else None
    found = align_arrays(x.detach(), y.detach(), metric=metric, n_landmarks=n_landmarks, rng=rng, device=device)
    confidence, rotation, offset = (
        torch.from_numpy(array).to(x) for array in (found.confidence, found.rotation, found.offset)
    )
    matches = torch.from_numpy(found.matches).to(x.device)
    return TensorEmbeddingAlignment(matches, confidence, rotation, found.scale, offset, found)
