"""Anchor Wasserstein: optimal transport between two spaces' anchors; and what every solver of transport returns."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import WithFacts
from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot._validate import (
    check_choice,
    check_integer,
    check_nonnegative,
    check_overflow,
    check_power,
    check_threads,
)
from anchorot.anchors.rows import AnchorRows, largest_gaps, row_costs
from anchorot.distances.descent import are_equal_points, entropic_step, plan_of
from anchorot.distances.quadratic import spread
from anchorot.distances.sinkhorn import (
    DEFAULT_EPSILON,
    LEAST_MEAN,
    entropic_plan,
    is_exact,
    marginal_error,
    not_converged,
)
from anchorot.exceptions import ConvergenceWarning, InputError, MissingExtraError
from anchorot.rows import Rows
from anchorot.space import Space, as_space

# Chosen on random clouds, scans, graphs and arbitrary matrices of 300 to 2000 points. From 1000 points on a matching
# takes 0.1 to 1.2 times as long as without potentials; of 300 points as long.
MANY_POINTS = 500
HINT_TEMPERATURE = 0.01  # epsilon of the potentials, as a share of the spread of the costs
HINT_LEVELS = 64  # levels whose potentials are averaged
ROW_METRICS = ("w", "linf")


@dataclass(frozen=True, eq=False, repr=False)
class Transport(WithFacts):
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

    def facts(self) -> dict[str, str]:
        """Summarise the transport in words; what `repr` and notebooks show."""
        n, m = self.plan.shape
        return {
            "value": f"{self.value:.6g}",
            "cost": f"{self.cost:.6g}",
            "plan": f"{n} x {m}",
            "epsilon": f"{self.epsilon:.4g}",
            "solver": f"{'converged' if self.converged else 'NOT converged'} in {self.n_iter}",
        }


def with_entropy(cost: float, plan: Float64s, epsilon: float) -> float:
    """The cost of a plan less epsilon times its entropy."""
    logs = np.log(plan, out=np.zeros_like(plan), where=plan > 0)
    return cost + epsilon * float(np.sum(plan * (logs - 1)))


def anchor_wasserstein(
    x: Space | Rows | ArrayLike,
    y: Space | Rows | ArrayLike,
    p: int = 1,
    epsilon: float | None = None,
    robust: bool = False,
    *,
    row_metric: str = "w",
    max_iter: int = 10_000,
    tolerance: float = 1e-6,
    threads: int = 1,
) -> Transport:
    r"""Anchor Wasserstein: optimal transport between two spaces' anchors, with optimal transport as ground cost.

    .. math:: AW_p = \min_{P} \sum_{ij} P_{ij}\, OT_p(h_i, g_j) - \epsilon H(P),
              \qquad H(P) = -\sum_{ij} P_{ij} (\log P_{ij} - 1)

    with the anchors :math:`h_i, g_j`, the distributions of the costs of point i of x and of point j of y. It is the
    p-th power of a distance, not its root. Without regularisation it is the third lower bound of Gromov-Wasserstein
    (:func:`lower_bounds`).

    Parameters
    ----------
    x, y : Space, Rows or array_like of shape (n, n)
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
    row_metric : {"w", "linf"}
        The cost between two anchors: OT_p, or the largest difference of their quantiles at one level (p = 1 only). The
        latter is at least OT_1; with ``epsilon=0`` and distances to the k nearest it is the distance of Pointwise
        Distance Distributions.
    max_iter : int
        Limit of iterations over all stages; at it there is a `ConvergenceWarning` and ``converged=False``.
    tolerance : float
        Of the relative change of the plan, as in the paper, and of its marginals: ``converged=True`` says that neither
        exceeds it.
    threads : int
        Threads for the cost matrix; the result is the same to the last bit.

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
    row_metric = check_row_metric(row_metric, p)
    spaces = [_spaces_or_rows(space, robust) for space in (x, y)]

    def solved() -> Transport:
        rows_x, rows_y = (AnchorRows.of(space, threads) for space in spaces)
        return anchor_transport(
            rows_x, rows_y, p, strength, row_metric=row_metric, max_iter=max_iter, tolerance=tolerance, threads=threads
        )

    found = interruptible(solved, max(space.n for space in spaces))
    if not found.converged:
        text = not_converged(found.epsilon, found.n_iter, found.marginal_error)
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return found


def _spaces_or_rows(x: Space | Rows | ArrayLike, robust: bool) -> Space | Rows:
    if isinstance(x, Rows):
        return x.ranked() if robust else x
    return as_space(x, robust=robust)


def check_row_metric(row_metric: str, p: int) -> str:
    """Refuse the largest difference with a power of it."""
    check_choice(row_metric, "row_metric", ROW_METRICS)
    if row_metric == "linf" and p != 1:
        raise InputError(f"row_metric='linf' goes with p=1, but got p={p}")
    return row_metric


def anchor_transport(
    x: AnchorRows,
    y: AnchorRows,
    p: int,
    epsilon: float | None,
    *,
    row_metric: str = "w",
    max_iter: int = 10_000,
    tolerance: float = 1e-6,
    threads: int = 1,
    with_potentials: bool = True,
) -> Transport:
    """Anchor Wasserstein between spaces whose rows are sorted already; says nothing if it does not converge."""
    costs = largest_gaps(x, y) if row_metric == "linf" else row_costs(x, y, p, threads)
    a, b = x.weights, y.weights
    counted = costs[_heavy(a, b)]
    check_overflow(counted, p)
    costs[~np.isfinite(costs)] = np.finfo(np.float64).max  # of points without weight, which pay nothing of it
    if epsilon is None:
        lows, highs = zip(x.heavy().span, y.heavy().span, strict=True)
        epsilon = _default_epsilon(float(a[a > 0] @ counted @ b[b > 0]), max(highs) - min(lows), p)
    if is_exact(epsilon, float(np.ptp(counted))):
        hint = _level_potentials(x, y) if p == 1 and len(costs) >= MANY_POINTS else None
        return exact_transport(costs, a, b, with_potentials, hint)
    return entropic_transport(costs, a, b, epsilon, max_iter, tolerance)


def _default_epsilon(mean: float, span: float, p: int) -> float:
    """A share of the mean cost between anchors; where these are rounding of the span of costs, of more than that."""
    with np.errstate(over="ignore"):
        least = np.float64(LEAST_MEAN * span) ** p
    return DEFAULT_EPSILON * (max(mean, float(least) if np.isfinite(least) else 0.0) or 1.0)


def exact_transport(
    costs: Float64s, a: Float64s, b: Float64s, with_potentials: bool = True, hint: Float64s | None = None
) -> Transport:
    """Plan between points of weights a and b that minimises the given costs; potentials of a matching take as long.

    `hint`, potentials of the columns that are nearly right, changes no result, but makes a matching quicker to find.
    """
    n_iter, converged = 1, True
    potentials: tuple[Float64s, Float64s] | None
    if min(costs.shape) == 1:  # there is one plan only
        plan = np.outer(a, b)
        potentials = (costs[:, 0], np.zeros(1)) if len(b) == 1 else (np.zeros(1), costs[0])
    elif are_equal_points(a, b):
        matches, f = _cheapest_matching(costs, hint)
        plan = plan_of(matches)
        potentials = _assignment_potentials(costs, matches, f) if with_potentials else None
    else:
        plan, potentials, converged = _network_simplex(costs, a, b)
    cost = float(np.sum(plan * costs))
    return Transport(cost, cost, plan, potentials, 0.0, n_iter, converged, marginal_error(plan, a, b))


def _level_potentials(x: AnchorRows, y: AnchorRows) -> Float64s | None:
    """Potentials of the columns that are nearly right, for p = 1 and uniform spaces of the same size; else None.

    At a level the optimal potentials on the line have slope sign(G - F), with the distribution functions F and G of the
    quantiles there. Their means over all levels satisfy f_i + g_j <= C_ij, and their value is SAW_1.
    """
    if x.quantiles is None or y.quantiles is None or x.quantiles.shape != y.quantiles.shape:
        return None
    levels = range(0, len(x.quantiles), max(1, len(x.quantiles) // HINT_LEVELS))
    g = np.zeros(y.quantiles.shape[1])
    for own, other in zip(x.quantiles[levels], y.quantiles[levels], strict=True):
        line = np.sort(np.concatenate([own, other]))
        ahead = np.searchsorted(np.sort(other), line[:-1], "right") - np.searchsorted(np.sort(own), line[:-1], "right")
        potential = np.append(0.0, np.cumsum(np.sign(ahead) * np.diff(line)))
        g -= potential[np.searchsorted(line, other)]
    return g / len(levels)


def _cheapest_matching(costs: Float64s, hint: Float64s | None) -> tuple[Int64s, Float64s]:
    """Matching of least costs, and potentials of the rows that are nearly right.

    With potentials taken off the costs, which changes no result, most points are matched at once.
    """
    from scipy.optimize import linear_sum_assignment

    n = len(costs)
    if n < MANY_POINTS:
        return linear_sum_assignment(costs)[1], np.zeros(n)
    unit = float(np.abs(costs).max()) or 1.0
    rough, share = (costs / unit).astype(np.float32), np.full(n, 1 / n, np.float32)
    start = 0 * share if hint is None else (hint / unit).astype(np.float32)
    _, f, g = entropic_step(rough, HINT_TEMPERATURE * spread(rough), share, share, start)
    f, g = unit * f.astype(np.float64), unit * g.astype(np.float64)
    reduced = costs - f[:, None]
    reduced -= g
    reduced -= reduced.min(axis=1, keepdims=True)
    reduced -= reduced.min(axis=0)
    return linear_sum_assignment(reduced)[1], f


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


def _assignment_potentials(costs: Float64s, matches: Int64s, f: Float64s) -> tuple[Float64s, Float64s]:
    """Dual variables of an optimal assignment i -> matches[i]: f_i + g_j <= costs[i, j], with equality on it.

    f is a shortest distance in the graph with edges k -> i of length costs[i, matches[k]] - costs[k, matches[k]], which
    has no negative cycle because the assignment is optimal (Bellman and Ford). Any potentials may be where paths begin;
    the nearer they are, the sooner none is shorter.
    """
    matched = costs[np.arange(len(costs)), matches]
    lengths = costs.T[matches] - matched[:, None]  # [k, i]
    tolerance = 1e-15 * float(np.ptp(costs))
    changed = np.arange(len(costs))
    for _ in range(len(costs)):
        shorter = np.minimum(f, np.min(f[changed, None] + lengths[changed], axis=0))
        changed = np.flatnonzero(shorter < f - tolerance)
        f = shorter
        if len(changed) == 0:
            break
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
