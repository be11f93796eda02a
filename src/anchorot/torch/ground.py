r"""Energies of tensors with the unsquared W_2 between anchors as ground distance (:mod:`anchorot.distances.w2_energy`).

With signed masses s, quantile functions as points P of a Euclidean space, D their distances and K = 1 / D (0 if D is),

    energy = -Σ_ij s_i s_j D_ij,    ∂/∂s = -2 D s,    ∂/∂P_i = -2 s_i (P_i (K s)_i - (K s P)_i).

Uniform weights have levels in common, so that all of this is products of matrices. Other weights have not: rows are
merged two at a time in blocks, which are computed again for gradients instead of being kept. Projections are numbers
<θ, Q> on the line, whose energy distance is right on average (:mod:`anchorot.distances.w2_energy`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from anchorot._validate import check_integer
from anchorot.anchors.rows import MIN_SQUARE_SHARE
from anchorot.distances.w2_energy import FOLDED
from anchorot.torch._checks import (
    check_in_range,
    check_rng,
    check_spaces,
    heavy_costs,
    is_uniform,
    or_uniform,
)
from anchorot.torch._levels import blocks, row_steps, segments, step_costs

RESOLUTION = 4096  # levels at which noises for weighted rows are drawn


class TensorProjectedEnergy(NamedTuple):
    """A mean over projections, differentiable, and its standard error over other draws of as many."""

    value: Tensor
    standard_error: Tensor


def projected_energy(
    cost_x: Tensor,
    cost_y: Tensor,
    weights_x: Tensor | None = None,
    weights_y: Tensor | None = None,
    *,
    n_projections: int = 100,
    rng: int | torch.Generator | None = None,
) -> TensorProjectedEnergy:
    """Estimate ``anchor_energy(..., ground="w2")`` from random projections, differentiably.

    Parameters
    ----------
    cost_x, cost_y : tensor of shape (..., n, n) and (..., m, m)
    weights_x, weights_y : tensor of shape (..., n) and (..., m), optional
        As for :func:`anchor_energy`; every entry of a batch has its own projections.
    n_projections : int >= 2
    rng : None, int or torch.Generator
        Source of randomness: a seed, or a generator on the device of the costs; by default PyTorch's own.

    Returns
    -------
    TensorProjectedEnergy
        Of tensors of shape (...). Gradients are those of the value for the projections that were drawn. O(n²) time a
        projection; with weights as much memory too.

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> line = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> found = aot.projected_energy(line, 1 - torch.eye(3), n_projections=1000, rng=0)
    >>> bool(abs(found.value - 0.5132) < 3 * found.standard_error)
    True
    """
    count = check_integer(n_projections, "n_projections", 2)
    x, y, a, b = check_spaces(cost_x, cost_y, weights_x, weights_y)
    generator = check_rng(rng, x.device)
    x, y = heavy_costs(x, a), heavy_costs(y, b)
    sides = (sorted_sides(*entry) for entry in entries(x, y, a, b))
    energies = torch.stack([projected_energies(pair, count, generator) for pair in sides]).view(*x.shape[:-2], count)
    value = energies.mean(-1).to(x.dtype)
    check_in_range(value, 1)
    return TensorProjectedEnergy(value, (energies.detach().std(-1) / math.sqrt(count)).to(x.dtype))


class Sides(NamedTuple):
    """The sorted rows of two spaces, float64, and their signed masses."""

    x: Tensor  # (n, n)
    y: Tensor
    ends_x: Tensor | None  # levels after each sorted cost; None if uniform
    ends_y: Tensor | None
    signed: Tensor  # (n + m,)


def entries(
    x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None
) -> Iterator[tuple[Tensor, Tensor, Tensor | None, Tensor | None]]:
    """Every entry of a batch by itself; weights that are equal, and constants, count as none."""
    costs = (cost.reshape(-1, *cost.shape[-2:]) for cost in (x, y))
    weights = [None if is_uniform(w) else w for w in (a, b)]
    wx, wy = (None if w is None else w.reshape(-1, w.shape[-1]) for w in weights)
    for k, (one, two) in enumerate(zip(*costs, strict=True)):
        yield one, two, None if wx is None else wx[k], None if wy is None else wy[k]


def ground_energy(x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None) -> Tensor:
    """Energy of one pair of spaces, with gradients in costs and weights; weights are float64 or None if uniform."""
    sides = sorted_sides(x, y, a, b)
    if sides.ends_x is None or sides.ends_y is None:
        return _euclidean_energy(_points(sides.x, sides.y), sides.signed)
    return _merged_energy(sides)


def projected_energies(sides: Sides, count: int, generator: torch.Generator | None) -> Tensor:
    """(count,): energies of random projections, each right on average."""
    options: dict[str, Any] = {"dtype": torch.float64, "device": sides.x.device, "generator": generator}
    if sides.ends_x is None or sides.ends_y is None:
        points = _points(sides.x, sides.y)
        values = points @ torch.randn(points.shape[1], count, **options)
    else:
        steps = torch.randn(RESOLUTION, count, **options) / math.sqrt(RESOLUTION)
        motion = torch.cat([steps.new_zeros(1, count), steps.cumsum(0)])
        centre = sides.x.detach().mean()  # far from zero the products would lose digits
        both = (sides.x - centre, sides.ends_x), (sides.y - centre, sides.ends_y)
        values = torch.cat([_on_motion(value, ends, motion) for value, ends in both])
    ordered, order = values.sort(dim=0)
    mass = sides.signed[order].cumsum(0)[:-1]
    return 2 * FOLDED * (mass**2 * ordered.diff(dim=0)).sum(0)


def sorted_sides(x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None) -> Sides:
    """Sort the rows of both; unless both are uniform, with the level after each cost."""
    (qx, ends_x), (qy, ends_y) = row_steps(x, a), row_steps(y, b)
    signed = torch.cat([or_uniform(a, x), -or_uniform(b, y)])
    return Sides(qx, qy, None, None, signed) if a is None and b is None else Sides(qx, qy, ends_x, ends_y, signed)


def _points(x: Tensor, y: Tensor) -> Tensor:
    """Quantiles on common levels times roots of widths, about their centre."""
    side, _ = segments(len(x), len(y), x.device)
    values = torch.cat([x[:, side.own], y[:, side.other]])
    return (values - values.detach().mean(0)) * side.width.sqrt()


class _EuclideanEnergy(Function):
    """Value and gradients in points and masses, made in the forward pass from the same distances."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, signed: Tensor) -> Tensor:
        value = points.new_zeros(())
        norms, by_mass = (points**2).sum(1), signed[:, None] * points
        slopes, pulls = torch.zeros_like(points), torch.zeros_like(signed)
        for part in blocks(len(points), len(points), points.device):
            some = points[part]
            distance = _distances(some, points, norms[part], norms)
            pulls[part] = -2 * (distance @ signed)
            value += signed[part] @ pulls[part] / 2
            if ctx.needs_input_grad[0]:
                inverse = torch.where(distance > 0, 1 / distance, 0)
                slopes[part] = some * (inverse @ signed)[:, None] - inverse @ by_mass
        ctx.save_for_backward(-2 * signed[:, None] * slopes, pulls)
        return value.clamp(min=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        slopes, pulls = ctx.saved_tensors
        return grad * slopes, grad * pulls


_euclidean_energy: Callable[..., Tensor] = _EuclideanEnergy.apply


def _distances(some: Tensor, points: Tensor, norms: Tensor, all_norms: Tensor) -> Tensor:
    """By a product of matrices; those of near points from their differences."""
    sums = norms[:, None] + all_norms
    squares = sums - 2 * (some @ points.T)
    i, j = torch.nonzero(squares <= MIN_SQUARE_SHARE * sums, as_tuple=True)
    for part in blocks(len(i), points.shape[1], points.device):
        squares[i[part], j[part]] = ((some[i[part]] - points[j[part]]) ** 2).sum(1)
    return squares.sqrt()


def _merged_energy(sides: Sides) -> Tensor:
    """By merges of all rows, two at a time."""
    assert sides.ends_x is not None
    assert sides.ends_y is not None
    x, y = (sides.x, sides.ends_x), (sides.y, sides.ends_y)
    of_x, of_y = sides.signed.split([len(sides.x), len(sides.y)])
    total = sides.x.new_zeros(())
    for one, two, mass_one, mass_two, count in ((x, x, of_x, of_x, 1), (x, y, of_x, of_y, 2), (y, y, of_y, of_y, 1)):
        squares = step_costs(*one, *two, 2)
        near = squares <= 0  # the root has no derivative there
        distance = torch.where(near, 0, torch.where(near, 1, squares).sqrt())
        total = total - count * (mass_one @ distance @ mass_two)
    return total.clamp(min=0)


def _on_motion(value: Tensor, ends: Tensor, motion: Tensor) -> Tensor:
    """(rows, noises): Σ_l value_l (B(end_l) - B(end_{l-1})), B linear between its levels."""
    place = torch.nn.functional.pad(ends, (1, 0)) * RESOLUTION
    below = place.detach().long().clamp(max=RESOLUTION - 1)
    share = (place - below)[..., None]
    here = (1 - share) * motion[below] + share * motion[below + 1]
    return torch.einsum("il,ilk->ik", value, here.diff(dim=1))
