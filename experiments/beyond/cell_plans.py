"""Ways to compute a plan between two assays, and its Gromov-Wasserstein loss."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.pot import entropic_by_pot

Floats = NDArray[np.float64]
BASELINE = "GW from product, POT"
MAX_ITER = 50  # of entropic GW, which SCOT's small epsilons keep from converging


class Found(NamedTuple):
    """A plan, sharp and soft; where a method has only one, both are that."""

    sharp: Floats
    soft: Floats
    converged: bool


def _energy(x: ao.Space, y: ao.Space, _: float | None) -> Found:
    plan = ao.anchor_energy_plan(x, y)
    return Found(plan, plan, True)


def _wasserstein(x: ao.Space, y: ao.Space, epsilon: float | None) -> Found:
    found = ao.anchor_wasserstein(x, y, epsilon=epsilon)
    return Found(found.plan, found.plan, found.converged)


def _baseline(x: ao.Space, y: ao.Space, epsilon: float | None) -> Found:
    """Return what SCOT uses: POT's solvers from the product of the weights."""
    if epsilon is None:
        found = ao.gromov_wasserstein(x, y, start="product")
        return Found(found.plan, found.plan, found.converged)
    plan, _, converged = entropic_by_pot(x, y, epsilon, MAX_ITER)
    return Found(plan, plan, converged)


def _gromov(x: ao.Space, y: ao.Space, epsilon: float | None) -> Found:
    limit = None if epsilon is None else MAX_ITER
    found = ao.gromov_wasserstein(x, y, epsilon, start="anchors", max_iter=limit)
    return Found(found.plan, found.plan, found.converged)


def _align(x: ao.Space, y: ao.Space, _: float | None) -> Found:
    found = ao.align(x, y, rng=0)
    return Found(found.plan, found.soft(), found.converged)


PLANS: dict[str, Callable[[ao.Space, ao.Space, float | None], Found]] = {
    "AEP": _energy,
    "AW": _wasserstein,
    BASELINE: _baseline,
    "GW from anchors": _gromov,
    "align": _align,
}
METHODS = tuple(PLANS)


def gromov_loss(x: ao.Space, y: ao.Space, plan: Floats) -> float:
    r"""Return :math:`\sum_{ijkl} (C_{ij} - C'_{kl})^2 P_{ik} P_{jl}`."""
    cost_x, cost_y = x.cost, y.cost
    a, b = plan.sum(axis=1), plan.sum(axis=0)
    squares = a @ cost_x**2 @ a * b.sum() ** 2 + b @ cost_y**2 @ b * a.sum() ** 2
    return float(squares - 2 * np.sum((cost_x @ plan @ cost_y) * plan))
