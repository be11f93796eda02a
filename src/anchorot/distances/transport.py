"""What a solver of a transport problem returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anchorot._html import card
from anchorot._typing import Float64s


@dataclass(frozen=True, eq=False)
class Transport:
    """A transport plan between two spaces, and what it costs.

    Attributes
    ----------
    value : float
        The objective that was minimised: the cost, and with an epsilon epsilon times the sum of P (log P - 1).
    cost : float
        What the plan P costs, without that term: Anchor Wasserstein's costs of anchors, Gromov-Wasserstein's loss.
        :func:`pairwise` gives it.
    plan : ndarray of shape (n, m)
        How much of point i of the first space goes to point j of the second.
    potentials : (ndarray of shape (n,), ndarray of shape (m,)) or None
        Dual variables, where the solver has them.
    epsilon : float or None
        Strength of the entropic regularisation; 0 or None without one.
    n_iter : int
        Iterations of the solver.
    converged : bool
        Whether it stopped because it was done.
    marginal_error : float
        Sum of absolute differences between the plan's marginals and the weights.
    """

    value: float
    cost: float
    plan: Float64s
    potentials: tuple[Float64s, Float64s] | None
    epsilon: float | None
    n_iter: int
    converged: bool
    marginal_error: float

    def __repr__(self) -> str:
        n, m = self.plan.shape
        state = "converged" if self.converged else "NOT converged"
        return f"Transport(value={self.value:.6g}, cost={self.cost:.6g}, plan {n} x {m}, {state} in {self.n_iter})"

    def _repr_html_(self) -> str:
        n, m = self.plan.shape
        facts = {
            "value": f"{self.value:.6g}",
            "cost": f"{self.cost:.6g}",
            "plan": f"{n} x {m}",
            "epsilon": None if self.epsilon is None else f"{self.epsilon:.4g}",
            "solver": f"{'converged' if self.converged else 'NOT converged'} in {self.n_iter}",
        }
        return card("Transport", facts)


def with_entropy(cost: float, plan: Float64s, epsilon: float) -> float:
    """The cost of a plan less epsilon times its entropy."""
    logs = np.log(plan, out=np.zeros_like(plan), where=plan > 0)
    return cost + epsilon * float(np.sum(plan * (logs - 1)))


def marginal_error(plan: Float64s, a: Float64s, b: Float64s) -> float:
    """Sum of absolute differences between a plan's marginals and the weights."""
    return float(abs(plan.sum(axis=1) - a).sum() + abs(plan.sum(axis=0) - b).sum())
