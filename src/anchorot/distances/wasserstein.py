"""Anchor Wasserstein: optimal transport between two spaces' anchors; and what every solver of transport returns."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import card
from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_integer, check_nonnegative, check_overflow, check_power, check_threads
from anchorot.anchors.rows import AnchorRows, row_costs
from anchorot.distances.descent import are_equal_points, plan_of
from anchorot.distances.sinkhorn import (
    DEFAULT_EPSILON,
    LEAST_MEAN,
    entropic_plan,
    is_exact,
    marginal_error,
    not_converged,
)
from anchorot.exceptions import ConvergenceWarning, MissingExtraError
from anchorot.space import Space, as_space


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
    epsilon : float
        Strength of the entropic regularisation; 0 without one.
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
    epsilon: float
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
            "epsilon": f"{self.epsilon:.4g}",
            "solver": f"{'converged' if self.converged else 'NOT converged'} in {self.n_iter}",
        }
        return card("Transport", facts)


def with_entropy(cost: float, plan: Float64s, epsilon: float) -> float:
    """The cost of a plan less epsilon times its entropy."""
    logs = np.log(plan, out=np.zeros_like(plan), where=plan > 0)
    return cost + epsilon * float(np.sum(plan * (logs - 1)))


def anchor_wasserstein(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    p: int = 1,
    epsilon: float | None = None,
    robust: bool = False,
    *,
    max_iter: int = 10_000,
    tolerance: float = 1e-6,
    threads: int = 1,
) -> Transport:
    r"""Anchor Wasserstein: optimal transport between two spaces' anchors, with optimal transport as ground cost.

    .. math:: AW_p = \min_{P} \sum_{ij} P_{ij}\, OT_p(h_i, g_j) - \epsilon H(P),
              \qquad H(P) = -\sum_{ij} P_{ij} (\log P_{ij} - 1)

    with the anchors :math:`h_i, g_j`, the distributions of costs that point i of x and point j of y see. It is the
    p-th power of a distance, not its root. Without regularisation it is the third lower bound of Gromov-Wasserstein
    (:func:`lower_bounds`).

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
        A bare cost matrix stands for a uniform space.
    p : int from 1 to 64
    epsilon : float >= 0, optional
        Strength of the entropic regularisation, in units of the costs to the power p; by default 1e-3 of the mean cost
        between anchors, whatever their scale (the result's `epsilon` says what that was). 0 solves the problem exactly:
        by linear assignment for uniform spaces of the same size, else by the network simplex of POT (extra ``pot``).
        So does any epsilon up to 1e-13 of the range of the costs between anchors, which float64 hardly tells from 0;
        the result's epsilon is then 0. Down to there the solver converges.
    robust : bool
        Compare the ranks of the costs instead of the costs.
    max_iter : int
        Limit of iterations over all stages; at it there is a `ConvergenceWarning` and ``converged=False``.
    tolerance : float
        Of the relative change of the plan, as in the paper, and of its marginals: ``converged=True`` says that neither
        exceeds it.
    threads : int
        Threads for the cost matrix; the answer is the same to the last bit.

    Returns
    -------
    Transport
        `value` has the entropy term, `cost` has not. The potentials f, g satisfy P = exp((f + g - C) / epsilon), or
        f + g <= C with equality where P > 0 if the problem was solved exactly.

    Notes
    -----
    O(n m (n + m)) time for the cost matrix, once, then O(n m) per iteration of Sinkhorn and O(n m²) per step of
    Newton's method. The solver is anchorot's own (`anchorot.distances.sinkhorn`) rather than POT's because it converges
    at every epsilon from 1e-13 of the costs' range on, not because it is faster (``benchmarks/RESULTS.md``). Given the
    costs, POT's plain ``sinkhorn`` takes half to one and a half times as long at 1e-1 and 1e-2 of the mean cost. At
    1e-3 its kernel underflows unless it is given the potentials of a larger epsilon, and then it takes a quarter of our
    time (2000 points) to three times as long (300 points). ``sinkhorn_log`` takes dozens of times as long.

    The authors' program multiplies the cost by :math:`a_i b_j`: its epsilon is this one divided by n m.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> round(ao.anchor_wasserstein(line, triangle, epsilon=0).value, 6)
    0.222222
    """
    p = check_power(p)
    strength = None if epsilon is None else check_nonnegative(epsilon, "epsilon")
    tolerance = check_nonnegative(tolerance, "tolerance")
    max_iter = check_integer(max_iter, "max_iter", 1)
    threads = check_threads(threads)
    spaces = [as_space(space, robust=robust) for space in (x, y)]

    def solved() -> Transport:
        rows_x, rows_y = (AnchorRows.of(space, threads) for space in spaces)
        return anchor_transport(rows_x, rows_y, p, strength, max_iter=max_iter, tolerance=tolerance, threads=threads)

    found = interruptible(solved, max(space.n for space in spaces))
    if not found.converged:
        text = not_converged(found.epsilon, found.n_iter, found.marginal_error)
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return found


def anchor_transport(
    x: AnchorRows,
    y: AnchorRows,
    p: int,
    epsilon: float | None,
    *,
    max_iter: int = 10_000,
    tolerance: float = 1e-6,
    threads: int = 1,
) -> Transport:
    """Anchor Wasserstein between spaces whose rows are sorted already; says nothing if it does not converge."""
    costs = row_costs(x, y, p, threads)
    a, b = x.weights, y.weights
    counted = costs[_heavy(a, b)]
    check_overflow(counted, p)
    costs[~np.isfinite(costs)] = np.finfo(np.float64).max  # of points without weight, which pay nothing of it
    if epsilon is None:
        lows, highs = zip(x.heavy().span, y.heavy().span, strict=True)
        epsilon = _default_epsilon(float(a[a > 0] @ counted @ b[b > 0]), max(highs) - min(lows), p)
    if is_exact(epsilon, float(np.ptp(counted))):
        return exact_transport(costs, a, b)
    return entropic_transport(costs, a, b, epsilon, max_iter, tolerance)


def _default_epsilon(mean: float, span: float, p: int) -> float:
    """A share of the mean cost between anchors; where these are rounding of the span of costs, of more than that."""
    with np.errstate(over="ignore"):
        least = np.float64(LEAST_MEAN * span) ** p
    return DEFAULT_EPSILON * (max(mean, float(least) if np.isfinite(least) else 0.0) or 1.0)


def exact_transport(costs: Float64s, a: Float64s, b: Float64s, with_potentials: bool = True) -> Transport:
    """Plan between points of weights a and b that minimises the given costs; potentials of a matching take as long."""
    n_iter, converged = 1, True
    potentials: tuple[Float64s, Float64s] | None
    if min(costs.shape) == 1:  # there is one plan only
        plan = np.outer(a, b)
        potentials = (costs[:, 0], np.zeros(1)) if len(b) == 1 else (np.zeros(1), costs[0])
    elif are_equal_points(a, b):
        from scipy.optimize import linear_sum_assignment

        matches = linear_sum_assignment(costs)[1]
        plan = plan_of(matches)
        potentials = _assignment_potentials(costs, matches) if with_potentials else None
    else:
        plan, potentials, converged = _network_simplex(costs, a, b)
    cost = float(np.sum(plan * costs))
    return Transport(cost, cost, plan, potentials, 0.0, n_iter, converged, marginal_error(plan, a, b))


def _heavy(a: Float64s, b: Float64s) -> tuple[Int64s, ...]:
    """Index of the costs between points that have a weight; the others take no part."""
    index: tuple[Int64s, ...] = np.ix_(np.flatnonzero(a), np.flatnonzero(b))
    return index


def _network_simplex(costs: Float64s, a: Float64s, b: Float64s) -> tuple[Float64s, tuple[Float64s, Float64s], bool]:
    """Plan, potentials, and whether POT got to the end."""
    try:
        import ot
    except ImportError:
        raise MissingExtraError("POT", "pot") from None
    heavy = _heavy(a, b)
    rows, columns = (index.ravel() for index in heavy)
    scale = float(np.abs(costs[heavy]).max()) or 1.0  # POT compares reduced costs with an absolute tolerance
    plan, f, g = np.zeros(costs.shape), np.empty(len(a)), np.empty(len(b))
    plan[heavy], log = ot.emd(a[rows], b[columns], costs[heavy] / scale, numItermax=10_000_000, log=True)
    f[rows], g[columns] = log["u"] * scale, log["v"] * scale
    # the largest potentials that the points without weight may have
    f[a == 0] = np.min(costs[a == 0][:, columns] - g[columns], axis=1)
    g[b == 0] = np.min(costs[:, b == 0] - f[:, None], axis=0)
    return plan, (f, g), log["warning"] is None


def _assignment_potentials(costs: Float64s, matches: Int64s) -> tuple[Float64s, Float64s]:
    """Dual variables of an optimal assignment i -> matches[i]: f_i + g_j <= costs[i, j], with equality on it.

    f is a shortest distance in the graph with edges k -> i of length costs[i, matches[k]] - costs[k, matches[k]], which
    has no negative cycle because the assignment is optimal (Bellman and Ford).
    """
    matched = costs[np.arange(len(costs)), matches]
    lengths = costs[:, matches] - matched  # [i, k]
    f = np.zeros(len(costs))
    for _ in range(len(costs)):
        shorter = np.min(f + lengths, axis=1)
        if np.allclose(shorter, f, rtol=0, atol=1e-15 * float(np.ptp(costs))):
            break
        f = shorter
    g = np.empty_like(f)
    g[matches] = matched - f
    return f, g


def entropic_transport(
    costs: Float64s, a: Float64s, b: Float64s, epsilon: float, max_iter: int, tolerance: float
) -> Transport:
    """Plan between points of weights a and b that minimises the given costs and epsilon times minus its entropy."""
    inside = _heavy(a, b)
    rows, columns = (index.ravel() for index in inside)
    least = costs[inside].min()  # a constant moves into f: what is left is no larger than the range of costs
    found = entropic_plan(costs[inside] - least, a[rows], b[columns], epsilon, max_iter, tolerance)
    plan = np.zeros(costs.shape)
    plan[inside] = found.plan
    f, g = np.full(len(a), -math.inf), np.full(len(b), -math.inf)
    f[rows], g[columns] = found.f + least, found.g
    cost = float(np.sum(plan * costs))
    value = with_entropy(cost, plan, epsilon)
    ended = int(found.n_iter), bool(found.converged), float(found.marginal_error)
    return Transport(value, cost, plan, (f, g), epsilon, *ended)
