"""Energies with W_2 between anchors, estimated from random projections of tensors."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from anchorot._validate import check_integer
from anchorot.torch._checks import check_costs, check_in_range, check_weights, heavy_costs
from anchorot.torch._ground import entries, projected_energies, sorted_sides


class TensorProjectedEnergy(NamedTuple):
    """A mean over projections, differentiable, and its standard error over other draws of as many."""

    value: Tensor
    standard_error: Tensor


def projected_energy(
    C1: Tensor,  # noqa: N803
    C2: Tensor,  # noqa: N803
    a: Tensor | None = None,
    b: Tensor | None = None,
    *,
    n_projections: int = 100,
    generator: torch.Generator | None = None,
) -> TensorProjectedEnergy:
    """Estimate ``anchor_energy(C1, C2, a, b, ground="w2")`` from random projections, differentiably.

    Parameters
    ----------
    C1, C2 : tensor of shape (..., n, n) and (..., m, m)
    a, b : tensor of shape (..., n) and (..., m), optional
        As for :func:`anchor_energy`; every entry of a batch has projections of its own.
    n_projections : int >= 2
    generator : torch.Generator, optional
        Source of randomness, on the device of the costs.

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
    >>> noise = torch.Generator().manual_seed(0)
    >>> found = aot.projected_energy(line, 1 - torch.eye(3), n_projections=1000, generator=noise)
    >>> bool(abs(found.value - 0.5132) < 3 * found.standard_error)
    True
    """
    count = check_integer(n_projections, "n_projections", 2)
    x, y = check_costs(C1, C2)
    weights_x = None if a is None else check_weights(a, x, "a", "C1")
    weights_y = None if b is None else check_weights(b, y, "b", "C2")
    x, y = heavy_costs(x, weights_x), heavy_costs(y, weights_y)
    sides = (sorted_sides(*entry) for entry in entries(x, y, weights_x, weights_y))
    energies = torch.stack([projected_energies(pair, count, generator) for pair in sides]).view(*x.shape[:-2], count)
    value = energies.mean(-1).to(x.dtype)
    check_in_range(value, 1)
    return TensorProjectedEnergy(value, (energies.detach().std(-1) / math.sqrt(count)).to(x.dtype))
