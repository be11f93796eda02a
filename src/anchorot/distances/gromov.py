"""Gromov-Wasserstein: from anchors by anchorot's own solvers, or from the product plan by POT.

With an epsilon by mirror descent. The fixed points of T = argmin_P <L(T), P> - eps H(P), with L the gradient of the
loss, are the stationary points of loss(T) - eps H(T). A step goes to the entropic plan of the gradient, which
:mod:`anchorot.distances.sinkhorn` finds at any epsilon, or, where that would raise the objective, part of the way.
"""

from __future__ import annotations

import threading
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice, check_integer, check_nonnegative, check_overflow
from anchorot.distances.descent import conditional_gradient, round_to_marginals
from anchorot.distances.plan import anchor_energy_plan
from anchorot.distances.quadratic import Quadratic
from anchorot.distances.sinkhorn import entropic_plan, is_exact, marginal_error
from anchorot.distances.solver import Setting, chosen_starts, solve
from anchorot.distances.starts import STARTS, StartingPlan
from anchorot.distances.wasserstein import Transport, with_entropy
from anchorot.exceptions import ConvergenceWarning, InputError, MissingExtraError
from anchorot.space import Space, as_space, unit_spaces

INNER_SHARE = 1e-4  # of the mass that the last step moved: tolerance of the next entropic plan
MIN_INNER_TOLERANCE = 1e-11  # what rounding allows
INNER_ITERATIONS = 10_000  # of Sinkhorn within one step, after which a warning says that it did not converge
HALVINGS = 30  # of a step that would raise the objective
ROUNDING = 1e-14  # of the square of the unit of costs: no rise
STUCK = "no step lowers the objective, though the plan is not stationary; try another start"
AT_LIMIT = "the limit of iterations was reached; raise max_iter"
LOOSE = "Sinkhorn's iteration did not reach its tolerance; raise epsilon or the tolerance"
LARGEST_EPSILON = 1e6  # in units of the largest squared cost: beyond, the plan is the product of the weights
TOLERANCE = 1e-6  # norm of the last change of a plan, and relative change of POT's loss: converged
DESCENT_STEPS, ENTROPIC_STEPS = 10_000, 1_000  # without max_iter; chosen by hand, to end at all
SEVERAL_STARTS = ("anchors", "quick")  # starts that stand for more than one
QUICK_TEMPERATURES = (0.12,)  # the one temperature of "quick"
ENTROPIC_STARTS = {"anchors": ("near", "aw", "product"), "quick": ("aep", "product")}  # what these are with an epsilon
RNG = 0  # symmetric spaces have many best plans; the same two spaces give the same one


class Search(NamedTuple):
    """How to look for the minimum.

    Attributes
    ----------
    start : str or array_like of shape (n, m)
    epsilon : float
    max_iter : int, optional
    tolerance : float
    """

    start: str | ArrayLike = "anchors"
    epsilon: float = 0.0
    max_iter: int | None = None
    tolerance: float = TOLERANCE

    @property
    def is_baseline(self) -> bool:
        """Whether POT is asked: no regularisation, from the product plan."""
        return self.epsilon == 0 and isinstance(self.start, str) and self.start == "product"


class Solved(NamedTuple):
    """A plan between points of positive weight, and how it was found."""

    plan: Float64s
    objective: float
    n_iter: int
    problem: str  # what kept it from converging, or nothing


def gromov_wasserstein(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    epsilon: float | None = None,
    robust: bool = False,
    *,
    start: str | ArrayLike = "anchors",
    max_iter: int | None = None,
    tolerance: float | None = None,
) -> Transport:
    r"""Gromov-Wasserstein with the square loss: the best of the local minima that several starts lead to.

    .. math:: \min_P \sum_{ijkl} (C_{ij} - C'_{kl})^2 P_{ik} P_{jl}

    This is POT's scale, :math:`4\,GW_2^2` in Mémoli's (who takes half the root), and the paper's. :func:`align` has the
    same solver with features, missing parts, a certificate and matches.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
    epsilon : float >= 0, optional
        Strength of the entropic regularisation; by default 0, none. Above 0 the loss less `epsilon` times the entropy
        of the plan is lowered, in POT's convention: the paper's program (Solomon et al., Algorithm 1) with alpha has
        the fixed points of epsilon = 4 alpha. The solver is anchorot's own; it takes any epsilon, and its plan always
        has its mass.
    robust : bool
        Compare the ranks of the costs instead of the costs: the paper's robust GW.
    start : str, or array_like of shape (n, m)
        Where to begin.

        - "anchors": all starts of :func:`align`, and a descent from the product of the weights; the best is kept.
        - "quick": the Anchor Energy Plan, briefly annealed, and a descent from the product: a few times the time of
          "product". What ``pairwise(metric="gw")`` takes.
        - Another name of :func:`align`, or a plan: that start only. The result is never above the start's own loss.
        - "product": the usual baseline, POT's conditional gradient from the product of the weights. It gets
          stuck in a nearby local minimum, often far above the others.

        With an epsilon all of them, "product" as well, go by the entropic solver; "anchors" and "quick" compare a few.
    max_iter : int, optional
        Limit of steps of a descent: 10 000, with an epsilon 1 000. At it there is a `ConvergenceWarning`.
    tolerance : float, optional
        1e-6 as in the paper: of the change of an entropic plan (root of the sum of squares), or of the loss (POT).

    Returns
    -------
    Transport
        `cost` is the loss of the plan, and `value` without an epsilon as well; `potentials` is None.

    Notes
    -----
    O(n² m + n m²) per iteration. The problem is not convex, and the value is an upper bound of the minimum;
    :func:`lower_bounds` gives the other side. POT (extra ``pot``) is needed for the baseline, and for spaces of
    different sizes or with weights if there is no epsilon.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> found = ao.gromov_wasserstein(line, triangle)
    >>> round(found.value, 6), ao.lower_bounds(line, triangle).loss() <= found.value
    (0.222222, True)
    """
    search = _check_search(start, check_gromov_epsilon(epsilon), max_iter, tolerance)
    space_x, space_y = as_space(x, robust=robust), as_space(y, robust=robust)
    found, problem = interruptible(lambda: gromov_transport(space_x, space_y, search), max(space_x.n, space_y.n))
    if problem:
        warnings.warn(f"Gromov-Wasserstein did not converge: {problem}", ConvergenceWarning, stacklevel=2)
    return found


def check_gromov_epsilon(epsilon: float | None) -> float:
    """Return epsilon as a number: 0, no regularisation, by default."""
    return 0.0 if epsilon is None else check_nonnegative(epsilon, "epsilon")


def _check_search(start: str | ArrayLike, epsilon: float, max_iter: int | None, tolerance: float | None) -> Search:
    if isinstance(start, str):
        check_choice(start, "start", (*SEVERAL_STARTS, *STARTS))
    limit = None if max_iter is None else check_integer(max_iter, "max_iter", 1)
    near = TOLERANCE if tolerance is None else check_nonnegative(tolerance, "tolerance")
    search = Search(start, epsilon, limit, near)
    if tolerance is not None and epsilon == 0 and not search.is_baseline:
        raise InputError(
            f"tolerance is for an epsilon or start='product', but got tolerance={tolerance!r} with neither"
        )
    return search


def gromov_transport(x: Space, y: Space, search: Search) -> tuple[Transport, str]:
    """Gromov-Wasserstein of checked arguments, and what kept it from converging, or an empty string."""
    (unit_x, unit_y), unit = unit_spaces(x, y)
    kept = [np.flatnonzero(space.weights) for space in (x, y)]
    setting = Setting(unit_x, unit_y, None, 1.0, threads=1, device=None)
    if search.is_baseline:
        solved = _by_pot(setting, search)
    elif search.epsilon == 0:
        solved = _descend(setting, _starts(search.start, setting, kept, (x.n, y.n)), search)
    else:
        starts = _entropic_starts(search.start, setting, kept, (x.n, y.n))
        solved = _solve_entropic(setting, starts, min(search.epsilon / unit / unit, LARGEST_EPSILON), search)
    loss = setting.objective(solved.plan) * unit * unit  # in this order: 0 stays 0 where the unit's square is infinite
    check_overflow(loss, 2)
    plan = np.zeros((x.n, y.n))
    plan[np.ix_(*kept)] = solved.plan
    missed = marginal_error(solved.plan, unit_x.weights, unit_y.weights)
    value = with_entropy(loss, plan, search.epsilon)
    found = Transport(value, loss, plan, None, search.epsilon, solved.n_iter, solved.problem == "", missed)
    return found, solved.problem


def _starts(start: str | ArrayLike, setting: Setting, kept: list[Int64s], shape: tuple[int, int]) -> list[StartingPlan]:
    if isinstance(start, str) and start == "quick":
        return [StartingPlan("aep", anchor_energy_plan(setting.x, setting.y), QUICK_TEMPERATURES)]
    return chosen_starts(start, setting, kept, shape, RNG)


def _entropic_starts(
    start: str | ArrayLike, setting: Setting, kept: list[Int64s], shape: tuple[int, int]
) -> list[StartingPlan]:
    names = ENTROPIC_STARTS.get(start, (start,)) if isinstance(start, str) else (start,)
    return [found for name in names for found in chosen_starts(name, setting, kept, shape, RNG)]


def _descend(setting: Setting, starts: list[StartingPlan], search: Search) -> Solved:
    """The best of where the solver of `align` gets, and of plain descents from where that ends above.

    Annealing may climb before it falls, and so may the step from a plan to a matching.
    """
    problem, a, b = setting.exact(), setting.x.weights, setting.y.weights
    best = solve(setting, starts, None, is_enough=lambda found: False)[0]  # all of them: the loss is what counts
    begun = [round_to_marginals(start.plan, a, b) for start in starts]  # plans between anchors are approximate
    begun = [plan for plan in begun if setting.objective(plan) < best.objective]
    if isinstance(search.start, str) and search.start in SEVERAL_STARTS:
        begun.append(np.outer(a, b))
    if not best.converged:
        begun.append(best.plan)
    limit = search.max_iter or DESCENT_STEPS
    ends = [conditional_gradient(problem, plan, a, b, limit) for plan in begun]
    found = [Solved(best.plan, best.objective, best.n_iter, "")] if best.converged else []  # else it was descended from
    found += [
        Solved(end.plan, setting.objective(end.plan), end.n_steps, "" if end.converged else AT_LIMIT) for end in ends
    ]
    return min(found, key=lambda one: one.objective)


def _solve_entropic(setting: Setting, starts: list[StartingPlan], strength: float, search: Search) -> Solved:
    """The entropic plan of the smallest objective that the starts lead to."""
    problem, a, b = setting.exact(), setting.x.weights, setting.y.weights
    limit = search.max_iter or ENTROPIC_STEPS
    ends = [
        mirror_descent(problem, round_to_marginals(start.plan, a, b), a, b, strength, limit, search.tolerance)
        for start in starts
    ]
    return min(ends, key=lambda end: end.objective)


def _by_pot(setting: Setting, search: Search) -> Solved:
    """POT's conditional gradient from the product plan."""
    try:
        import ot
    except ImportError:
        raise MissingExtraError("POT", "pot") from None
    limit = search.max_iter or DESCENT_STEPS
    with _warnings_lock, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # POT stops by a relative or an absolute change of the loss; the latter matters near zero only
        plan, log = ot.gromov.gromov_wasserstein(
            setting.x.cost,
            setting.y.cost,
            setting.x.weights,
            setting.y.weights,
            "square_loss",
            max_iter=limit,
            tol_rel=search.tolerance,
            tol_abs=search.tolerance**2,
            log=True,
        )
    unconverged = next((str(warning.message) for warning in caught if "onverge" in str(warning.message)), "")
    n_iter = len(log["loss"]) - 1
    return Solved(plan, setting.objective(plan), n_iter, AT_LIMIT if n_iter >= limit else unconverged)


# -- entropic ----------------------------------------------------------------------------------------------------------


def mirror_descent(
    problem: Quadratic, plan: Float64s, a: Float64s, b: Float64s, epsilon: float, max_iter: int, tolerance: float
) -> Solved:
    """Lower loss - epsilon H from a plan of marginals a, b > 0 until the plan changes by no more than the tolerance.

    An epsilon that float64 does not tell from zero is zero: the descent is then the conditional gradient.
    """
    if is_exact(epsilon, float(np.ptp(problem.slope(plan)))):
        sharp = conditional_gradient(problem, plan, a, b)
        return Solved(sharp.plan, sharp.objective, sharp.n_steps, "" if sharp.converged else AT_LIMIT)
    f, g, moved = 0 * a, 0 * b, 1.0
    value = _objective(problem, plan, epsilon)
    for n_iter in range(1, max_iter + 1):
        slope = problem.slope(plan) - f[:, None] - g  # less what is known: the same plan, in fewer iterations
        inner = max(INNER_SHARE * moved, MIN_INNER_TOLERANCE)
        found = entropic_plan(slope - slope.min(), a, b, epsilon, INNER_ITERATIONS, inner)
        f, g, before = f + found.f, g + found.g, plan
        towards = round_to_marginals(found.plan, a, b)
        moved = float(np.abs(towards - before).sum())
        plan, value = _step_downhill(problem, before, towards, value, epsilon, inner)
        if np.linalg.norm(towards - before) <= tolerance:  # POT's rule
            return Solved(plan, value, n_iter, "" if found.converged else LOOSE)
        if plan is before:
            return Solved(plan, value, n_iter, STUCK)
    return Solved(plan, value, max_iter, AT_LIMIT)


def _objective(problem: Quadratic, plan: Float64s, epsilon: float) -> float:
    return with_entropy(float(problem.value(plan)), plan, epsilon)


def _step_downhill(
    problem: Quadratic, plan: Float64s, towards: Float64s, value: float, epsilon: float, inexact: float
) -> tuple[Float64s, float]:
    """The first plan on the way, halved again and again, that is no worse; the plan itself if there is none.

    Mass that an inexact plan has misplaced may cost as much as itself, in units of the costs' square.
    """
    for share in 0.5 ** np.arange(HALVINGS):
        there = towards if share == 1 else plan + share * (towards - plan)
        reached = _objective(problem, there, epsilon)
        if reached <= value + ROUNDING + inexact:
            return there, reached
    return plan, value


_warnings_lock = threading.Lock()  # catching warnings changes what all threads share
