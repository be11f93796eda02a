"""Gromov-Wasserstein, the baseline: POT's solvers behind anchorot's face."""

import math
import threading
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s
from anchorot._validate import check_integer, check_nonnegative, check_overflow
from anchorot.distances.transport import Transport, marginal_error
from anchorot.exceptions import ConvergenceWarning, InputError, MissingExtraError
from anchorot.space import Space, as_space, heavy_part, unit_of

_warnings_lock = threading.Lock()  # catching warnings changes what all threads share
MOST_MISSED = 0.05  # of the mass: a plan that misses its marginals by more is no answer
AT_LIMIT = "the limit of iterations was reached; raise max_iter"
LARGEST_EPSILON = 1e6  # in units of the largest squared cost: beyond, the plan is the product of the weights


def gromov_wasserstein(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    epsilon: float | None = None,
    robust: bool = False,
    *,
    max_iter: int | None = None,
    tolerance: float = 1e-6,
) -> Transport:
    r"""Gromov-Wasserstein with the square loss, a local minimum found by POT (extra ``pot``).

    .. math:: \min_P \sum_{ijkl} (C_{ij} - C'_{kl})^2 P_{ik} P_{jl}

    This is POT's scale, :math:`4\,GW_2^2` in Mémoli's (who takes half the root), and the paper's.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
    epsilon : float, optional
        None: conditional gradient, no regularisation. Otherwise projected gradient with entropic regularisation of that
        strength, in POT's convention: the paper's program (Solomon et al., Algorithm 1) with alpha has the fixed points
        of epsilon = 4 alpha.
    robust : bool
        Compare the ranks of the costs instead of the costs: the paper's robust GW.
    max_iter : int, optional
        Limit of (outer) iterations; 10 000 without, 1 000 with regularisation. At it there is a `ConvergenceWarning`.
    tolerance : float
        Of POT's stopping rules: the relative change of the loss (conditional gradient) or the change of the plan
        (projected gradient); 1e-6 as in the paper.

    Returns
    -------
    Transport
        `value` and `cost` are both the loss of the plan, without any entropy term; `potentials` is None.

    Raises
    ------
    InputError
        If there is no answer: at an epsilon far below the squared costs POT's solver underflows, and its plan has lost
        its mass. :func:`pairwise` has NaN there.

    Notes
    -----
    O(n² m + n m²) an iteration. The problem is not convex: another start can lead to another plan, and the value is
    an upper bound of the minimum. :func:`lower_bounds` gives the other side.
    """
    epsilon = check_gromov_epsilon(epsilon)
    limit = None if max_iter is None else check_integer(max_iter, "max_iter", 1)
    tolerance = check_nonnegative(tolerance, "tolerance")
    space_x, space_y = as_space(x, robust=robust), as_space(y, robust=robust)
    found, problem = gromov_transport(space_x, space_y, epsilon, max_iter=limit, tolerance=tolerance)
    if math.isnan(found.value):
        raise InputError(f"POT's Gromov-Wasserstein has no answer at epsilon={epsilon}: {problem}")
    if problem:
        warnings.warn(f"POT's Gromov-Wasserstein did not converge: {problem}", ConvergenceWarning, stacklevel=2)
    return found


def check_gromov_epsilon(epsilon: float | None) -> float | None:
    """Return epsilon as a positive number, or None."""
    if epsilon is None:
        return None
    strength = check_nonnegative(epsilon, "epsilon")
    if strength == 0:
        raise InputError("epsilon must be positive, or None for no regularisation, but got 0")
    return strength


def gromov_transport(
    x: Space, y: Space, epsilon: float | None, *, max_iter: int | None = None, tolerance: float = 1e-6
) -> tuple[Transport, str]:
    """Gromov-Wasserstein of checked arguments, and what kept it from converging, or an empty string.

    Where POT has no answer, as at an epsilon so small that its plan underflows to zeros, `value` and `plan` are NaN.
    """
    limit = max_iter if max_iter is not None else (10_000 if epsilon is None else 1_000)
    costs, unit = _unit_costs(x, y)
    rows, columns = np.flatnonzero(x.weights), np.flatnonzero(y.weights)
    a, b = x.weights[rows], y.weights[columns]
    strength = None if epsilon is None else min(epsilon / unit / unit, LARGEST_EPSILON)
    solved = _solve(costs, a, b, strength, limit, tolerance)
    missed = marginal_error(solved.plan, a, b)
    failure = _failure(solved, missed)
    problem = failure or (AT_LIMIT if solved.n_iter >= limit else solved.told)
    value, plan = solved.loss * unit * unit, np.zeros((x.n, y.n))
    plan[np.ix_(rows, columns)] = solved.plan
    if failure:
        value, plan = math.nan, np.full_like(plan, np.nan)
    else:
        check_overflow(value, 2)
    return Transport(value, value, plan, None, epsilon, solved.n_iter, problem == "", missed), problem


class _Solved(NamedTuple):
    """What POT found."""

    plan: Float64s
    loss: float
    n_iter: int
    told: str  # its own warning that it did not converge, if there was one


def _unit_costs(x: Space, y: Space) -> tuple[list[Float64s], float]:
    """Costs between points of positive weight, less the smallest of them, as multiples of a unit.

    The loss sees differences of costs only, but POT computes it from squares of costs.
    """
    costs = [heavy_part(space).cost.astype(np.float64) for space in (x, y)]
    least = min(float(cost.min()) for cost in costs)
    with np.errstate(over="ignore"):
        costs = [cost - least for cost in costs]
    largest = max(float(cost.max()) for cost in costs)
    check_overflow(largest, 1)
    unit = unit_of(largest)
    return [cost / unit for cost in costs], unit


def _solve(
    costs: list[Float64s], a: Float64s, b: Float64s, strength: float | None, limit: int, tolerance: float
) -> _Solved:
    try:
        import ot
    except ImportError:
        raise MissingExtraError("POT", "pot") from None
    with _warnings_lock, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if strength is None:
            # POT stops by a relative or an absolute change of the loss; the latter matters near zero only
            plan, log = ot.gromov.gromov_wasserstein(
                *costs, a, b, "square_loss", max_iter=limit, tol_rel=tolerance, tol_abs=tolerance**2, log=True
            )
            n_iter = len(log["loss"]) - 1
        else:
            plan, log = ot.gromov.entropic_gromov_wasserstein(
                *costs, a, b, "square_loss", epsilon=strength, max_iter=limit, tol=tolerance, solver="PGD", log=True
            )
            n_iter = min(10 * len(log["err"]), limit)  # POT looks at its error every ten iterations
    unconverged = next((str(warning.message) for warning in told if "onverge" in str(warning.message)), "")
    return _Solved(plan, float(log["gw_dist"]), n_iter, unconverged)


def _failure(solved: _Solved, missed: float) -> str:
    """Why what POT returned is no answer, or an empty string."""
    if not (np.isfinite(solved.plan).all() and np.isfinite(solved.loss)):
        return "the plan is not finite; a larger epsilon may help"
    if missed > MOST_MISSED:  # POT's Sinkhorn underflows at a small epsilon, and returns zeros without a word
        return f"the plan misses its marginals by {missed:.2g}; a larger epsilon may help"
    return ""
