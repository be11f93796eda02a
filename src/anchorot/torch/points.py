"""Costs from points."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from anchorot.torch import _cuda
from anchorot.torch._checks import check_distances, check_points

FEW_COORDINATES = 16  # up to this many, one pass over the distances for each is faster on CUDA than torch.cdist


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
