"""The Gromov-Wasserstein loss of costs that are nearly of low rank, as distances between points usually are.

A step of annealing needs the gradient to a few percent only. With C ≈ U diag(s) Uᵀ of rank r the product C T C' takes
O(n m r) operations instead of O(n² m + n m²).
"""

from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Floats
from anchorot.distances.quadratic import Quadratic

RANKS = (32, 64, 128, 256, 512)
LARGEST_ERROR = 0.02  # of what is left of the costs, by its norm, once their mean is taken out
SMALL_ERROR = 0.004  # where points lie close, and temperatures are low
LEAST_GAIN = 4  # times the rank must be below the number of points for factors to pay


class Factors(NamedTuple):
    """Leading eigenvectors (n, r) of a symmetric matrix, and their eigenvalues (r,)."""

    vectors: Floats
    values: Floats


def factors_of(cost: Floats, largest_error: float) -> Factors | None:
    """Return factors that reproduce a symmetric matrix nearly, or None where no low rank does.

    A randomised range finder with one power iteration (Halko, Martinsson and Tropp, 2011). To a few percent it does not
    matter what it draws, so it draws the same every time.
    """
    n = len(cost)
    if not np.array_equal(cost, cost.T):
        return None
    about_mean = float(np.linalg.norm(cost - cost.mean()))
    for rank in RANKS:
        if LEAST_GAIN * rank > n:
            return None
        drawn = np.random.default_rng(0).normal(size=(n, rank)).astype(cost.dtype)
        basis = np.linalg.qr(cost @ (cost @ drawn))[0]
        inner = basis.T @ cost @ basis
        values, rotation = np.linalg.eigh((inner + inner.T) / 2)
        missed = np.linalg.norm(cost) ** 2 - (values**2).sum()
        if missed <= (largest_error * about_mean) ** 2:
            return Factors(basis @ rotation, values)
    return None


class FactoredQuadratic(Quadratic):
    """The objective with the product of costs computed from factors."""

    def __init__(self, cost_x: Any, cost_y: Any, x: Factors, y: Factors, features: Any, alpha: float) -> None:
        super().__init__(cost_x, cost_y, features, alpha)
        self._x, self._y = x, y

    def product(self, plan: Any) -> Any:
        """C T C', nearly."""
        inner = self._x.vectors.T @ plan @ self._y.vectors
        return self._x.vectors @ ((self._x.values[:, None] * inner * self._y.values) @ self._y.vectors.T)


def nearly(cost_x: Any, cost_y: Any, features: Any, alpha: float, largest_error: float = LARGEST_ERROR) -> Quadratic:
    """Return the objective of two spaces, computed from factors where that is quicker."""
    x = factors_of(cost_x, largest_error)
    y = None if x is None else factors_of(cost_y, largest_error)
    if x is None or y is None:
        return Quadratic(cost_x, cost_y, features, alpha)
    return FactoredQuadratic(cost_x, cost_y, x, y, features, alpha)
