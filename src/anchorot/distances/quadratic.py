"""The Gromov-Wasserstein loss as a quadratic form of the plan, on NumPy arrays or on tensors, one problem or a batch.

With the square loss, marginals r = T 1 and s = Tᵀ 1 of the plan, and costs split into symmetric and skew parts,
C = S + K and C' = S' + K':

    loss(T) = Σ (C_ij - C'_kl)² T_ik T_jl = <M(T), T>,
    M(T)_ik = (C² r)_i + (C'² s)_k - 2 (S T S' - K T K')_ik        (squares entry by entry, symmetrised)

Two products of matrices per evaluation, four if both spaces are asymmetric. M is half the gradient of the loss.
Features add a linear term: objective(T) = alpha loss(T) + (1 - alpha) <F, T>.

A step of annealing needs the gradient to a few percent only. Distances between points are nearly of low rank r: with
C ≈ U diag(s) Uᵀ the product C T C' takes O(n m r) operations instead of O(n² m + n m²). Paths in graphs are not; but as
the product is linear in T, and T changes little from step to step, what factors miss is computed once in a few steps
(`FactoredQuadratic.corrected`). And what is not matched, where alignments leave something out, goes to one more point
on either side (`Partial`).
"""

from typing import Any, NamedTuple, Self

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s

MOST_ATOMS = 4  # times n + m entries: a plan of fewer is summed over pairs of its entries, which cannot cancel
MIN_SPARSE_SIZE = 20_000  # entries of a plan, from where it pays to look whether it is sparse
SMALLEST_SINGLE = 1e-30  # what float32 still tells from zero
RANKS = (32, 64, 128, 256, 512)  # that are tried, doubled, until the error is small enough
LARGE_ERROR = 0.2  # of what is left of the costs, by its norm, once their mean is taken out
MIDDLE_ERROR = 0.02  # of the same, at temperatures in between
SMALL_ERROR = 0.004  # where points lie close, and temperatures are low
MIN_RANK_GAIN = 4  # times the rank must be below the number of points for factors to pay


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


def transpose(x: Any) -> Any:
    """Swap the last two axes of an array or tensor."""
    return x.swapaxes(-1, -2)


def spread(costs: Any) -> Any:
    """Standard deviation of all entries, at least a rounding of the largest; with two axes to divide costs by."""
    xp = library_of(costs)
    middle = costs.mean((-1, -2))[..., None, None]
    squares = costs - middle
    squares *= squares
    deviation = xp.sqrt(squares.mean((-1, -2)))
    largest = xp.maximum(xp.amax(costs, (-1, -2)), -xp.amin(costs, (-1, -2)))
    floor = 1e-6 * largest + SMALLEST_SINGLE
    return xp.maximum(deviation, floor)[..., None, None]


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
        found = x.even @ _times(plan, y.even)
        return found - x.skew @ _times(plan, y.skew) if self._is_skew else found

    def value_of_product(self, a: Any, b: Any) -> Any:
        """The objective of the plan a bᵀ / Σ a, by products with vectors alone; of NumPy arrays."""
        x, y = self._sides
        b = b / a.sum()
        found = a @ x.squares @ a * b.sum() ** 2 + b @ y.squares @ b * a.sum() ** 2
        found = self.alpha * (found - 2 * (a @ x.even @ a) * (b @ y.even @ b))  # aᵀ K a = 0: K is skew
        return found if self.features is None else found + (1 - self.alpha) * (a @ self.features @ b)

    def moments(self, plan: Any) -> tuple[Any, Any]:
        """C² r and C'² s, of the plan's own marginals: a column and a row."""
        x, y = self._sides
        return x.squares @ plan.sum(-1)[..., :, None], transpose(y.squares @ plan.sum(-2)[..., :, None])

    def spread(self, slope: Any) -> Any:
        """Unit of temperature."""
        return spread(slope)

    def corrected(self, plan: Any, largest_error: float) -> "Quadratic":
        """The same, which is right everywhere."""
        return self

    def slope(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient of the objective; `product` saves computing it again."""
        found = self.slope_of_loss(plan, product)
        if self.features is not None:
            found += (1 - self.alpha) * self.features
        return found

    def slope_of_loss(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient of the structure's part of the objective."""
        found = self.product(plan) if product is None else 1 * product
        found *= -4 * self.alpha  # in place, since these matrices are large
        for moment in self.moments(plan):
            found += 2 * self.alpha * moment
        return found

    def value(self, plan: Any, product: Any | None = None) -> Any:
        """The objective."""
        reward = self.product(plan) if product is None else product
        column, row = self.moments(plan)
        found = self.alpha * ((column + row - 2 * reward) * plan).sum((-1, -2))
        return found if self.features is None else found + (1 - self.alpha) * (self.features * plan).sum((-1, -2))

    def value_of_matches(self, matches: Int64s) -> float:
        """The objective of a matching i -> matches[i] of two uniform spaces of one size."""
        x, y = self._sides
        found = self.alpha * float(((x.even - _between_matches(y.even, matches)) ** 2).mean())
        if x.skew is not None or y.skew is not None:
            found += self.alpha * float(((x.odd() - _between_matches(y.odd(), matches)) ** 2).mean())
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
        reward = _gains(x.even, _between_matches(y.even, matches))
        if self._is_skew:
            reward += _gains(x.skew, _between_matches(y.skew, matches))
        found = (-2 * self.alpha / n**2) * reward
        if self.features is not None:
            own = self.features[:, matches]
            here = own.diagonal()
            found += (1 - self.alpha) / n * (own + own.T - here[:, None] - here)
        return found


def _times(plan: Any, cost: Any) -> Any:
    """The product of a plan and costs; of a large plan of few entries, such as a matching, without its zeros."""
    if (
        library_of(plan) is np
        and plan.size > MIN_SPARSE_SIZE
        and np.count_nonzero(plan) <= MOST_ATOMS * sum(plan.shape)
    ):
        from scipy.sparse import csr_array

        return csr_array(plan) @ cost
    return plan @ cost


def _between_matches(cost: Any, matches: Int64s) -> Any:
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
        flipped = transpose(cost)
        difference = (cost - flipped) / 2
        is_even = not bool((difference != 0).any())
        self.even: Any = cost if is_even else (cost + flipped) / 2
        self.skew: Any = None if is_even else difference
        squares = cost * cost
        self.squares = squares if is_even else (squares + transpose(squares)) / 2

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


class Factors(NamedTuple):
    """Leading eigenvectors (n, r) of a symmetric matrix, their eigenvalues (r,), and what each adds to the accuracy."""

    vectors: Floats
    values: Floats  # the largest first, by their size
    missed: Float64s  # (r,), by how much the first 1, 2, ... factors miss the matrix, of its norm about the mean

    def truncate(self, largest_error: float) -> Self:
        """As many as an accuracy needs."""
        rank = int(np.searchsorted(-self.missed, -largest_error)) + 1
        return type(self)(np.ascontiguousarray(self.vectors[:, :rank]), self.values[:rank], self.missed[:rank])


def factors_of(cost: Floats, largest_error: float) -> Factors | None:
    """Return factors that nearly reproduce a symmetric matrix, or as many as may pay; None where none do.

    A randomised range finder with one power iteration (Halko, Martinsson and Tropp, 2011). To a few percent it does not
    matter what it draws, so it draws the same every time.
    """
    n = len(cost)
    if MIN_RANK_GAIN * RANKS[0] > n or not np.array_equal(cost, cost.T):
        return None
    total, about_mean = float(np.linalg.norm(cost)) ** 2, float(np.linalg.norm(cost - cost.mean()))
    for rank in (rank for rank in RANKS if MIN_RANK_GAIN * rank <= n):
        drawn = np.random.default_rng(0).normal(size=(n, rank)).astype(cost.dtype)
        basis = np.linalg.qr(cost @ (cost @ drawn))[0]
        inner = basis.T @ cost @ basis
        values, rotation = np.linalg.eigh((inner + inner.T) / 2)
        order = np.argsort(-np.abs(values), kind="stable")
        left = total - np.cumsum(values[order].astype(np.float64) ** 2)
        missed = np.sqrt(np.maximum(left, 0)) / (about_mean or 1.0)
        if missed[-1] <= largest_error:
            break
    return Factors(basis @ rotation[:, order], values[order], missed)


class FactoredQuadratic(Quadratic):
    """The objective with the product of costs computed from factors, and corrected by what they miss at one plan.

    The product is linear in the plan, so that what a nearby plan lacks is what factors miss of the difference.
    """

    def __init__(self, whole: Quadratic, x: Factors, y: Factors, missed: Any | None = None) -> None:
        self._sides, self._is_skew, self.features, self.alpha = whole._sides, False, whole.features, whole.alpha
        self._whole, self._x, self._y, self._missed = whole, x, y, missed

    def product(self, plan: Any) -> Any:
        """C T C', nearly."""
        inner = self._x.vectors.T @ (plan @ self._y.vectors)
        found = self._x.vectors @ ((self._x.values[:, None] * inner * self._y.values) @ self._y.vectors.T)
        if self._missed is not None:
            found += self._missed
        return found

    def corrected(self, plan: Any, largest_error: float) -> Quadratic:
        """The objective that is right at a plan, if the factors are not accurate enough."""
        if max(self._x.missed[-1], self._y.missed[-1]) <= largest_error:
            return self
        missed = self._whole.product(plan)
        missed -= FactoredQuadratic(self._whole, self._x, self._y).product(plan)
        return FactoredQuadratic(self._whole, self._x, self._y, missed)


class Approximations:
    """The objective of two spaces at several accuracies, computed from factors where that is quicker.

    Where no factors are accurate enough, few of them are given, to be corrected, or the whole.
    """

    def __init__(self, cost_x: Floats, cost_y: Floats, features: Floats | None, alpha: float) -> None:
        self._whole = Quadratic(cost_x, cost_y, features, alpha)
        factors = factors_of(cost_x, SMALL_ERROR), factors_of(cost_y, SMALL_ERROR)
        self._factors = None if factors[0] is None or factors[1] is None else (factors[0], factors[1])

    def at(self, largest_error: float) -> Quadratic:
        """The objective with costs that are off by no more than a share of their norm about the mean, if factors do."""
        if self._factors is None:
            return self._whole
        if any(own.missed[-1] > largest_error for own in self._factors):
            largest_error = LARGE_ERROR
        x, y = (own.truncate(max(largest_error, float(own.missed[-1]))) for own in self._factors)
        return FactoredQuadratic(self._whole, x, y)


class Partial:
    """An objective of plans (n + 1, m + 1) whose last row and column take the mass that stays unmatched, at no cost.

    The corner between the two extra points is prohibitive, so that the mass between the points themselves is fixed by
    the marginals, and no point is matched with more than its own.
    """

    def __init__(self, whole: Quadratic) -> None:
        self._whole = whole

    def corrected(self, plan: Any, largest_error: float) -> "Partial":
        """An objective that is right at a plan."""
        return Partial(self._whole.corrected(plan[:-1, :-1], largest_error))

    def product(self, plan: Any) -> Any:
        """What can be kept of an evaluation, linear in the plan."""
        return self._whole.product(plan[:-1, :-1])

    def value_of_product(self, a: Any, b: Any) -> Any:
        """The objective of the product plan's part between the points."""
        return self._whole.value_of_product(a[:-1], b[:-1] * (a[:-1].sum() / a.sum()))

    def slope(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient: that between points, none towards the extra points, a prohibitive one between those."""
        inner = self._whole.slope(plan[:-1, :-1], product)
        found = library_of(plan).zeros_like(plan)
        found[:-1, :-1] = inner
        found[-1, -1] = 4 * abs(inner).max()
        return found

    def spread(self, slope: Any) -> Any:
        """Unit of temperature."""
        return self._whole.spread(slope[:-1, :-1])

    def value(self, plan: Any, product: Any | None = None) -> Any:
        """The objective of the plan between the points."""
        return self._whole.value(plan[:-1, :-1], product)


Objective = Quadratic | Partial  # what is annealed, and descended along
