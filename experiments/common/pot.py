"""Entropic Gromov-Wasserstein as POT solves it: the baseline that others use."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

TOLERANCE = 1e-6  # of the change of the plan


class Baseline(NamedTuple):
    """POT's plan, without mass where its solver underflowed; its loss; whether POT is content with it."""

    plan: NDArray[np.float64]
    loss: float
    converged: bool


def entropic_by_pot(x: ao.Space, y: ao.Space, epsilon: float, max_iter: int, solver: str = "PGD") -> Baseline:
    """Solve by POT from the product of the weights; `solver` is projected gradients or, "PPA", proximal points."""
    import ot

    costs = [space.cost.astype(np.float64) for space in (x, y)]
    options: dict[str, Any] = {"epsilon": epsilon, "solver": solver, "max_iter": max_iter, "tol": TOLERANCE}
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")  # they are told by `converged`
        plan, log = ot.gromov.entropic_gromov_wasserstein(*costs, log=True, **options)
    return Baseline(np.nan_to_num(plan), float(log["gw_dist"]), not told and bool(log["err"][-1] <= TOLERANCE))
