"""Costs from points, and Anchor Energy of point clouds whose distances may not fit in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from anchorot._memory import free_memory
from anchorot._validate import check_integer
from anchorot.exceptions import InputError
from anchorot.torch import _cuda
from anchorot.torch._checks import check_alike, check_distances, check_points
from anchorot.torch._levels import Side, merged_energy, segments, sort_rows

FEW_COORDINATES = 16  # up to this many, one pass over the distances for each is faster on CUDA than torch.cdist
SHARE_OF_MEMORY = {"cpu": 0.5, "cuda": 0.8}  # of what is free, for the sorted distances that are kept
MOST_MEMORY = 2.0**42  # bytes, where no system says how many are free
ROW_NUMBERS = {"cpu": 1 << 22, "cuda": 1 << 28}  # distances computed and sorted at a time


def from_points(X: Tensor) -> Tensor:  # noqa: N803
    """Euclidean distances between the points of each cloud, differentiably.

    Where points coincide the derivative of their distance is taken to be 0, so gradients stay finite. Distances come
    from differences of coordinates, not from a matrix product: nearby points far from the origin keep their digits.

    Parameters
    ----------
    X : tensor of shape (..., n, d)

    Returns
    -------
    tensor of shape (..., n, n)

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> aot.from_points(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([[0., 5.],
            [5., 0.]])
    """
    points = check_points(X, "X")
    found = _distances(points)
    check_distances(found, points)
    return found


class _Distances(Function):
    """Distances with a square root that is safe at 0; O(n²) memory whatever the dimension."""

    @staticmethod
    def forward(ctx: Any, points: Tensor) -> Tensor:
        found = distances(points, points)
        ctx.save_for_backward(points, found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        points, found = ctx.saved_tensors
        centred = points - points.mean(-2, keepdim=True)
        # d|x_i - x_j| = (x_i - x_j) / |x_i - x_j|, from row i and from row j
        pull = torch.where(found > 0, (grad + grad.mT) / found, 0.0)
        return pull.sum(-1, keepdim=True) * centred - pull @ centred


_distances: Callable[[Tensor], Tensor] = _Distances.apply


def distances(rows: Tensor, points: Tensor) -> Tensor:
    """Distances from some points to all points, without a gradient."""
    if not points.is_cuda or points.shape[-1] > FEW_COORDINATES:
        return torch.cdist(rows, points, compute_mode="donot_use_mm_for_euclid_dist")
    if points.ndim == 2 and _cuda.serves(points):
        return _cuda.distances(rows, points)
    squares = torch.zeros(*rows.shape[:-1], points.shape[-2], dtype=points.dtype, device=points.device)
    for own, other in zip(rows.unbind(-1), points.unbind(-1), strict=True):
        gap = own[..., :, None] - other[..., None, :]
        squares.addcmul_(gap, gap)
    return squares.sqrt_()


@dataclass(frozen=True)
class LargeEnergy:
    """Anchor Energy of two large point clouds.

    Attributes
    ----------
    value : float
    error : float
        How far `value` may be from the exact one because of `levels`; 0 if all levels were used. It is half of the
        total variation of the energies of the levels (and of the lowest and the highest), over their number, and bounds
        the error of the midpoint rule if the energy does not swing up and down between two neighbouring levels. Where
        n != m it does, as the two clouds' quantiles step at different levels: one mean step of each is added.
    levels : int or None
        Quantile levels used; None if all.
    passes : int
        How many times every distance was computed.
    """

    value: float
    error: float
    levels: int | None
    passes: int


def anchor_energy_of_points(
    X: Tensor,  # noqa: N803
    Y: Tensor,  # noqa: N803
    levels: int | None = None,
    *,
    memory: float | None = None,
    block: int | None = None,
) -> LargeEnergy:
    """Anchor Energy (p = 1, uniform weights) between two point clouds, without holding their distances at once.

    Rows of distances are computed and sorted in blocks. Then, in blocks of levels, the k-th smallest distances of all
    points are sorted and compared. What is kept between the two is all sorted distances, (n² + m²) numbers, if they fit
    into `memory`; if not, as many levels of them as do, and the rows are computed once more for the next levels: any
    size runs exactly in any memory, in more passes. With `levels`, every row is still computed and sorted exactly, but
    only that many of its quantiles are kept, (n + m) * levels numbers, and one pass is enough.

    Parameters
    ----------
    X, Y : tensor of shape (n, d) and (m, e)
        Points, float32 or float64, on one device. No gradient.
    levels : int, optional
        Number of quantile levels, at the midpoints of as many equal parts of [0, 1]; all levels by default.
    memory : float, optional
        Bytes for what is kept; by default 0.8 of a CUDA device's free memory, or half of what the machine has free.
    block : int, optional
        Rows computed at a time.

    Returns
    -------
    LargeEnergy

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> X, Y = torch.rand(500, 3), torch.rand(400, 2)
    >>> exact, quick = aot.anchor_energy_of_points(X, Y), aot.anchor_energy_of_points(X, Y, levels=50)
    >>> abs(exact.value - quick.value) <= quick.error
    True
    """
    x, y = check_points(X, "X").detach(), check_points(Y, "Y").detach()
    if x.ndim != 2 or y.ndim != 2:
        raise InputError(f"X and Y have shapes {tuple(x.shape)} and {tuple(y.shape)}, but two clouds (n, d) are needed")
    check_alike(x, y, "X", "Y")
    rows = None if block is None else check_integer(block, "block", 1)
    available = _free_memory(x.device) if memory is None else float(memory)
    if not available > 0:
        raise InputError(f"memory must be a positive number of bytes, but got {memory!r}")
    if levels is not None:
        found = _at_levels(x, y, check_integer(levels, "levels", 2), available, rows)
    else:
        found = _exact(x, y, available, rows)
    check_distances(torch.tensor(found.value), x)
    return found


def _exact(x: Tensor, y: Tensor, memory: float, rows: int | None) -> LargeEnergy:
    side_x, side_y = segments(len(x), len(y), x.device)
    count = len(side_x.width)
    kept = (len(x) ** 2 + len(y) ** 2) * x.element_size()
    passes = min(count, -int(-kept // memory))
    total = 0.0
    for part in torch.arange(count).tensor_split(passes):
        slab = slice(int(part[0]), int(part[-1]) + 1)
        (k, one), (l, two) = _local(side_x, slab), _local(side_y, slab)
        total += _slab_energy(_quantiles(x, k, rows), _quantiles(y, l, rows), one, two)
    return LargeEnergy(total, 0.0, None, passes)


def _local(side: Side, slab: slice) -> tuple[slice, Side]:
    """Levels that some of the segments need, and those segments counted from the first of these levels."""
    own = side.own[slab]
    first, last = int(own[0]), int(own[-1]) + 1
    starts = torch.searchsorted(own, torch.arange(first, last + 1, device=own.device))
    return slice(first, last), Side(own - first, side.other[slab] - side.other[slab][0], side.width[slab], starts)


def _slab_energy(x: Tensor, y: Tensor, side_x: Side, side_y: Side) -> float:
    """Energy of some segments, in blocks of them: x and y hold the levels in columns."""
    total = 0.0
    step = max(1, ROW_NUMBERS[_kind(x)] // max(len(x), len(y)))
    for start in range(0, len(side_x.width), step):
        block = slice(start, start + step)
        (k, one), (l, two) = _local(side_x, block), _local(side_y, block)
        a, b = _levels(x[:, k])[None], _levels(y[:, l])[None]
        total += float(merged_energy(a, b, (one, two))[0])
    return total


def _at_levels(x: Tensor, y: Tensor, count: int, memory: float, rows: int | None) -> LargeEnergy:
    kept = (len(x) + len(y)) * (count + 2) * x.element_size()
    passes = min(count, -int(-kept // memory))
    # in units of half a part of [0, 1]: the midpoints, between the lowest and the highest level
    levels = torch.cat([torch.zeros(1), torch.arange(1, 2 * count, 2), torch.tensor([2 * count])]).long().to(x.device)
    step = max(1, ROW_NUMBERS[_kind(x)] // max(len(x), len(y)))
    energies: list[Tensor] = []
    means: list[list[Tensor]] = [[], []]
    for part in levels.tensor_split(passes):
        quantiles = []
        for points, mean in zip((x, y), means, strict=True):
            columns = (part * len(points) // (2 * count)).clamp(max=len(points) - 1)
            quantiles.append(_quantiles(points, columns, rows))
            mean.append(quantiles[-1].mean(0, dtype=torch.float64))
        starts = range(0, len(part), step)
        energies += [_energies(*(_levels(q[:, start : start + step]) for q in quantiles)) for start in starts]
    energy = torch.cat(energies)
    error = float(energy.diff().abs().sum()) / (2 * count)
    if len(x) != len(y):
        error += sum(float(mean[-1][-1] - mean[0][0]) / len(t) for mean, t in zip(means, (x, y), strict=True))
    return LargeEnergy(float(energy[1:-1].mean()), error, count, passes)


def _energies(x: Tensor, y: Tensor) -> Tensor:
    """Energy distance of every level, (levels,)."""
    zero = torch.zeros(1, dtype=torch.int64, device=x.device)
    whole = Side(zero, zero, zero.double() + 1, torch.arange(2, device=x.device))
    return merged_energy(x[:, None], y[:, None], (whole, whole))[0]


def _quantiles(points: Tensor, columns: slice | Tensor, rows: int | None) -> Tensor:
    """Some columns of the sorted rows of distances, computed in blocks of rows: (n, columns)."""
    n = len(points)
    width = columns.stop - columns.start if isinstance(columns, slice) else len(columns)
    kept = torch.empty(n, width, dtype=points.dtype, device=points.device)
    step = rows or max(1, ROW_NUMBERS[_kind(points)] // n)
    for start in range(0, n, step):
        block = slice(start, start + step)
        kept[block] = sort_rows(distances(points[block], points))[0][:, columns]
    return kept


def _levels(quantiles: Tensor) -> Tensor:
    """Columns as sorted rows."""
    return sort_rows(quantiles.T.contiguous())[0]


def _kind(tensor: Tensor) -> str:
    return "cuda" if tensor.is_cuda else "cpu"


def _free_memory(device: torch.device) -> float:
    if device.type == "cuda":
        return SHARE_OF_MEMORY["cuda"] * torch.cuda.mem_get_info(device)[0]
    return min(SHARE_OF_MEMORY["cpu"] * free_memory(), MOST_MEMORY)
