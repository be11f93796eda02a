"""The Gromov-Wasserstein loss as a quadratic form of the plan, on NumPy arrays or on tensors, one problem or a batch.

With the square loss, marginals r = T 1 and s = Tᵀ 1 of the plan, and costs split into symmetric and skew parts,
C = S + K and C' = S' + K':

    loss(T) = Σ (C_ij - C'_kl)² T_ik T_jl = <M(T), T>,
    M(T)_ik = (C² r)_i + (C'² s)_k - 2 (S T S' - K T K')_ik        (squares entry by entry, symmetrised)

Two products of matrices an evaluation, four if both spaces are asymmetric. M is half the gradient of the loss. Features
add a linear term: objective(T) = alpha loss(T) + (1 - alpha) <F, T>.
"""

from typing import Any, Protocol

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s

MOST_ATOMS = 4  # times n + m entries: a plan of fewer is summed over pairs of its entries, which cannot cancel
MANY = 250_000  # entries of a plan, from where it pays to look whether it is sparse
SMALLEST = 1e-30  # what float32 still tells from zero


def library_of(x: Any) -> Any:
    """Return the module, numpy or torch, that an array belongs to."""
    if isinstance(x, np.ndarray | np.generic):
        return np
    import torch

    return torch


def is_on_host(x: Any) -> bool:
    """Whether numbers can be looked at without waiting for a device."""
    return library_of(x) is np or x.device.type == "cpu"


def on_host(x: Any) -> Any:
    """Return an array or tensor as a NumPy array."""
    return x if library_of(x) is np else x.cpu().numpy()


def transposed(x: Any) -> Any:
    """Swap the last two axes of an array or tensor."""
    return x.swapaxes(-1, -2)


def spread(costs: Any) -> Any:
    """Standard deviation of all entries, at least a rounding of the largest; with two axes to divide costs by."""
    xp = library_of(costs)
    middle = costs.mean((-1, -2))[..., None, None]
    deviation = xp.sqrt(((costs - middle) ** 2).mean((-1, -2)))
    floor = 1e-6 * xp.amax(abs(costs), (-1, -2)) + SMALLEST
    return xp.maximum(deviation, floor)[..., None, None]


class Objective(Protocol):
    """What annealing and conditional gradient need to know of an objective."""

    def product(self, plan: Any) -> Any:
        """What can be kept of an evaluation, linear in the plan."""

    def value_of_product(self, a: Any, b: Any) -> Any:
        """The objective of the plan that sends every point everywhere, by weights."""

    def slope(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient."""

    def spread(self, slope: Any) -> Any:
        """Unit of temperature."""

    def value(self, plan: Any, product: Any | None = None) -> Any:
        """The objective itself."""


class Quadratic:
    """The objective of a (fused) Gromov-Wasserstein problem.

    Parameters
    ----------
    cost_x, cost_y : (..., n, n) and (..., m, m)
        NumPy arrays, or tensors of one device and type.
    features : (..., n, m), optional
        Cost between the points' own features.
    alpha : float
        Share of the structure in the objective; 1 without features.
    """

    def __init__(self, cost_x: Any, cost_y: Any, features: Any = None, alpha: float = 1.0) -> None:
        self._sides = [_Side(cost) for cost in (cost_x, cost_y)]
        self._is_skew = all(side.skew is not None for side in self._sides)
        self.features = features
        self.alpha = 1.0 if features is None else alpha

    def product(self, plan: Any) -> Any:
        """S T S' - K T K': what the loss rewards."""
        x, y = self._sides
        found = x.even @ _applied(plan, y.even)
        return found - x.skew @ _applied(plan, y.skew) if self._is_skew else found

    def value_of_product(self, a: Any, b: Any) -> Any:
        """The objective of the plan a bᵀ / Σ a, by products with vectors alone; of NumPy arrays."""
        x, y = self._sides
        b = b / a.sum()
        reward = np.outer(x.even @ a, y.even @ b)
        if self._is_skew:
            reward += np.outer(x.skew @ a, y.skew @ b)  # K' is skew: T K' = - a (K' b)ᵀ
        return self.value(np.outer(a, b), reward)

    def moments(self, plan: Any) -> Any:
        """C² r + C'² s, of the plan's own marginals."""
        x, y = self._sides
        return x.squares @ plan.sum(-1)[..., :, None] + transposed(y.squares @ plan.sum(-2)[..., :, None])

    def spread(self, slope: Any) -> Any:
        """Unit of temperature."""
        return spread(slope)

    def slope(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient of the objective; `product` saves computing it again."""
        found = self.slope_of_loss(plan, product)
        return found if self.features is None else found + (1 - self.alpha) * self.features

    def slope_of_loss(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient of the structure's part of the objective."""
        reward = self.product(plan) if product is None else product
        return self.alpha * (2 * self.moments(plan) - 4 * reward)

    def value(self, plan: Any, product: Any | None = None) -> Any:
        """The objective."""
        reward = self.product(plan) if product is None else product
        found = self.alpha * ((self.moments(plan) - 2 * reward) * plan).sum((-1, -2))
        return found if self.features is None else found + (1 - self.alpha) * (self.features * plan).sum((-1, -2))

    def value_of_matches(self, matches: Int64s) -> float:
        """The objective of a matching i -> matches[i] of two uniform spaces of one size."""
        x, y = self._sides
        found = self.alpha * float(((x.even - _seen(y.even, matches)) ** 2).mean())
        if x.skew is not None or y.skew is not None:
            found += self.alpha * float(((x.odd() - _seen(y.odd(), matches)) ** 2).mean())
        if self.features is not None:
            found += (1 - self.alpha) * float(self.features[np.arange(len(matches)), matches].mean())
        return found

    def slope_of_matches(self, matches: Int64s) -> Any:
        """Gradient of the objective at a matching, by one product of matrices."""
        x, y = self._sides
        found = x.even @ y.even[matches]
        if self._is_skew:
            found -= x.skew @ y.skew[matches]
        found *= -4 * self.alpha / len(matches)
        found += 2 * self.alpha * (x.squares.mean(axis=1)[:, None] + y.squares.mean(axis=1))
        return found if self.features is None else found + (1 - self.alpha) * self.features

    def changes_by_swap(self, matches: Int64s) -> Any:
        """(n, n): by how much the objective changes if two points exchange their matches."""
        n = len(matches)
        x, y = self._sides
        reward = _gains(x.even, _seen(y.even, matches))
        if self._is_skew:
            reward += _gains(x.skew, _seen(y.skew, matches))
        found = (-2 * self.alpha / n**2) * reward
        if self.features is not None:
            own = self.features[:, matches]
            here = own.diagonal()
            found += (1 - self.alpha) / n * (own + own.T - here[:, None] - here)
        return found


def _applied(plan: Any, cost: Any) -> Any:
    """The product of a plan and costs; of a large plan of few entries, such as a matching, without its zeros."""
    if library_of(plan) is np and plan.size > MANY and np.count_nonzero(plan) <= MOST_ATOMS * sum(plan.shape):
        from scipy.sparse import csr_array

        return csr_array(plan) @ cost
    return plan @ cost


def _seen(cost: Any, matches: Int64s) -> Any:
    """Costs between the matches of points."""
    return cost[matches][:, matches]


def _gains(c: Any, d: Any) -> Any:
    """(n, n): by how much Σ c_ij d_ij grows if rows and columns a and b of d are exchanged; both (skew-)symmetric.

    2 Σ_k (c_ak - c_bk)(d_bk - d_ak) over k other than a and b, and what happens on the diagonal; for skew matrices the
    entry between a and b changes its sign too.
    """
    product = c @ d.T
    own = product.diagonal()
    found = product + product.T - own[:, None] - own
    c_own, d_own = c.diagonal(), d.diagonal()
    found -= (c_own[:, None] - c.T) * (d.T - d_own[:, None]) + (c - c_own) * (d_own - d)
    found *= 2
    found += (c_own[:, None] - c_own) * (d_own - d_own[:, None])
    found += 2 * c * (d.T - d)
    return found


class _Side:
    """One space's costs: symmetric part, skew part if there is one, symmetrised squares."""

    def __init__(self, cost: Any) -> None:
        flipped = transposed(cost)
        difference = (cost - flipped) / 2
        is_even = not bool((difference != 0).any())
        self.even: Any = cost if is_even else (cost + flipped) / 2
        self.skew: Any = None if is_even else difference
        squares = cost * cost
        self.squares = squares if is_even else (squares + transposed(squares)) / 2

    def odd(self) -> Any:
        """The skew part, or zeros."""
        return 0 * self.even if self.skew is None else self.skew


def plan_loss(cost_x: Floats, cost_y: Floats, plan: Float64s) -> float:
    """Σ (C_ij - C'_kl)² T_ik T_jl of any plan, never negative, and 0 for exact copies.

    A sparse plan, such as a matching, is summed over pairs of its entries; a dense one by products of matrices, about
    the middle of all costs so that little cancels.
    """
    rows, columns = np.nonzero(plan)
    if len(rows) <= MOST_ATOMS * sum(plan.shape):
        mass = plan[rows, columns]
        difference = cost_x[np.ix_(rows, rows)] - cost_y[np.ix_(columns, columns)]
        return float(mass @ (difference * difference) @ mass)
    middle = (cost_x.mean() + cost_y.mean()) / 2
    return max(0.0, float(Quadratic(cost_x - middle, cost_y - middle).value(plan)))
