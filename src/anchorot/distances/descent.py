"""Minimise the loss from a given plan: annealing first, then assignments, swaps and conditional gradient.

Annealing. A step takes the gradient L of the objective at the plan T (two products of matrices) and replaces T by the
entropic plan of the costs L at epsilon = tau · std(L). Relative to the spread of the costs no scale is left to choose:
at tau = 1 the problem is all but convex and every start ends in the same plan; as tau falls to 0.03 the plan sharpens
step by step instead of falling into the nearest hole. Potentials are kept from step to step, so few iterations are
needed. Sinkhorn's iteration runs on scalings u, v of a fixed kernel exp((f + g - L) / epsilon), a matrix-vector product
each; the kernel's rows are made right in the log domain first, and scalings that grow large are absorbed into f and g.
All of that runs on NumPy arrays and on tensors.

Sharpening. Between uniform spaces of one size plans are matchings. An assignment step replaces the plan by the matching
of least linearised cost, which cannot raise a concave objective; where it no longer helps, exchanging the matches of
two points may, and one product of matrices tells the gain of every exchange. Other plans take conditional-gradient
steps: the transport plan of least linearised cost, and the exact minimum of the objective on the way there.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.distances.quadratic import SMALLEST_SINGLE, Objective, Quadratic, is_on_host, library_of, on_host, spread
from anchorot.exceptions import MissingExtraError

WARM_TEMPERATURES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)  # temperatures from where all starts are alike
COOL_TEMPERATURES = (0.12, 0.06, 0.03)  # for a start that is nearly right
COOLEST = COOL_TEMPERATURES[-1]
STEPS_PER_TEMPERATURE = 12  # at one temperature
MIN_MOVED_MASS = 1e-3  # of the mass moves in a step: go on to the next temperature
MARGINAL_GOAL = 4e-3  # of a step's plan, in sum
LAST_GOAL = 1e-3  # at the last temperature of few points and below; callers round the last one
MOST_ITERATIONS = 60  # of Sinkhorn in a step
LARGEST_LOG_SCALING = 25.0  # of u and v in float32, before they are absorbed
LEAST_EXPONENT = -60.0  # of a kernel: below is nothing beside 1, and denormal in float32, which Intel is slow at
LOOK_EVERY = 5  # iterations: at scalings; on a device, which must be waited for, also whether it is done
MOST_STEPS = 60  # of assignment, or of conditional gradient
HOPEFUL_STEPS = 20  # of conditional gradient as long as this one, after which the best objective must be reached
HOPEFUL_ASSIGNMENTS = 5  # likewise; gains of assignments halve from one to the next
MOST_ROUNDS = 12  # of swaps between two assignment steps
MIN_GAIN = 1e-6  # of the objective, by a swap
SWAP_LIMIT = 1.05  # times the best objective so far: from where swaps, which gain a few percent, are not tried
SINGLE_PRECISION_LIMIT = 1e-3  # of the objective of the product plan: below, there are gains that float32 does not see
MIN_DESCENT = 1e-9  # of the objective of the product plan: a gain below this is the end
HINT_TEMPERATURE = 0.03  # temperature of the potentials that make assignments quick


class Annealed(NamedTuple):
    """Where annealing ended."""

    plan: Any
    g: Any
    n_steps: int


@np.errstate(invalid="ignore")  # BLAS raises that flag now and then, of lanes that it does not use
def anneal(
    problem: Objective,
    plan: Any,
    a: Any,
    b: Any,
    temperatures: Sequence[float],
    g: Any | None = None,
    most_steps: int = STEPS_PER_TEMPERATURE,
) -> Annealed:
    """Lower the objective from a plan of marginals a, b > 0, at one temperature after the other.

    Columns' potentials `g` that an earlier temperature has left make the first step quick.
    """
    g = 0 * b if g is None else g
    n_steps = 0
    for temperature in temperatures:
        for _ in range(most_steps):
            slope = problem.slope(plan)
            epsilon = temperature * problem.spread(slope)
            found, _, g = entropic_step(slope, epsilon, a, b, g, LAST_GOAL if temperature <= COOLEST else MARGINAL_GOAL)
            moved = _total_difference(found, plan)
            plan = found
            n_steps += 1
            if moved < MIN_MOVED_MASS:
                break
    return Annealed(plan, g, n_steps)


def _total_difference(plan: Any, other: Any) -> float:
    """Sum of absolute differences, of the problem of a batch where it is largest."""
    difference = plan - other
    return float(library_of(plan).abs(difference, out=difference).sum((-1, -2)).max())


def entropic_step(cost: Any, epsilon: Any, a: Any, b: Any, g: Any, goal: float = LAST_GOAL) -> tuple[Any, Any, Any]:
    """Entropic plan of the costs, loosely, from columns' potentials that are nearly right; the new potentials too.

    What belongs to a row alone cancels when its sum is made right, so that rows need no potentials to begin with. All
    matrices are one, changed in place: to make a new one takes as long as to compute it.
    """
    xp = library_of(cost)
    n_iter = 0
    while True:
        kernel = cost * (-1 / epsilon)
        kernel += g[..., None, :] / epsilon
        top = xp.amax(kernel, -1)
        kernel -= top[..., :, None]
        xp.clip(kernel, LEAST_EXPONENT, None, out=kernel)
        xp.exp(kernel, out=kernel)
        rows = kernel.sum(-1)
        kernel *= (a / rows)[..., :, None]
        u, v, n_iter, done = _scale(xp, kernel, a, b, n_iter, goal)
        g = g + epsilon[..., 0, :] * xp.log(v)
        if done or n_iter >= MOST_ITERATIONS:
            kernel *= u[..., :, None]
            kernel *= v[..., None, :]
            return kernel, epsilon[..., 0] * (xp.log(u * a / rows) - top), g


def _scale(xp: Any, kernel: Any, a: Any, b: Any, n_iter: int, goal: float) -> tuple[Any, Any, int, bool]:
    """Sinkhorn's iteration on the scalings of a kernel whose row sums are a, until it is done or they grow large."""
    u, v = xp.ones_like(a), xp.ones_like(b)
    flipped = kernel.swapaxes(-1, -2)
    floor = SMALLEST_SINGLE + 0 * b
    is_near = is_on_host(kernel)
    while n_iter < MOST_ITERATIONS:
        v = b / xp.maximum((flipped @ u[..., None])[..., 0], floor)
        rows = (kernel @ v[..., None])[..., 0]
        n_iter += 1
        is_look = n_iter % LOOK_EVERY == 0
        if (is_near or is_look) and float(abs(u * rows - a).sum(-1).max()) < goal:
            return u, v, n_iter, True
        u = a / rows
        if is_look and float(xp.maximum(abs(xp.log(u)).max(), abs(xp.log(v)).max())) > LARGEST_LOG_SCALING:
            return u, v, n_iter, False
    return u, v, n_iter, True


# -- sharpening --------------------------------------------------------------------------------------------------------


class Sharp(NamedTuple):
    """Where sharpening ended."""

    plan: Float64s
    objective: float
    n_steps: int
    converged: bool


def sharpen(
    problem: Quadratic,
    plan: Float64s,
    a: Float64s,
    b: Float64s,
    best: float = np.inf,
    single: Quadratic | None = None,
) -> Sharp:
    """Lower the objective from a plan of marginals a, b until no step helps; the result has those marginals exactly.

    What ends far above `best` is not worth its last steps. If the problem is given in single precision too, most steps
    are taken there, in half the time.
    """
    if not are_equal_points(a, b):
        return conditional_gradient(problem, round_to_marginals(plan, a, b), a, b, best=best)
    matched = _match(problem, plan, a, b, SWAP_LIMIT * best, single)
    found = plan_of(matched.matches)
    if matched.is_fixed or matched.value > best:
        return Sharp(found, problem.value_of_matches(matched.matches), matched.n_steps, matched.converged)
    end = conditional_gradient(problem, found, a, b)
    return end._replace(n_steps=end.n_steps + matched.n_steps, converged=end.converged and matched.converged)


def conditional_gradient(
    problem: Objective,
    plan: Float64s,
    a: Float64s,
    b: Float64s,
    most_steps: int = MOST_STEPS,
    best: float = np.inf,
) -> Sharp:
    """Go from vertex to vertex of the set of plans, each time as far as the objective falls.

    What falls too slowly to come down to `best` is left where it is.
    """
    product = problem.product(plan)
    value = float(problem.value(plan, product))
    least = MIN_DESCENT * (abs(float(problem.value_of_product(a, b))) or 1.0)
    assign = Assignments(a, b) if are_equal_points(a, b) else None
    for step in range(most_steps):
        slope = problem.slope(plan, product)
        towards = cheapest_plan(slope, a, b) if assign is None else plan_of(assign(slope))
        if np.array_equal(towards, plan):
            return Sharp(plan, value, step, True)
        way = towards - plan
        fall = float((slope * way).sum())
        if value + HOPEFUL_STEPS * fall > best + least:
            return Sharp(plan, value, step, False)
        product_there = problem.product(towards)
        bend = float(problem.value(towards, product_there)) - value - fall  # value + t fall + t² bend along the way
        length = 1.0 if bend <= 0 else min(1.0, max(0.0, -fall / (2 * bend)))
        if length * fall + length**2 * bend > -least:  # at a saddle it is the bend that leads down
            return Sharp(plan, value, step, True)
        plan = plan + length * way if length < 1 else towards
        product = product + length * (product_there - product) if length < 1 else product_there
        value = float(problem.value(plan, product))
    return Sharp(plan, value, most_steps, False)


def cheapest_plan(costs: Float64s, a: Float64s, b: Float64s) -> Float64s:
    """Plan of marginals a, b that minimises linear costs: assignment for equal points, else the network simplex."""
    if are_equal_points(a, b):
        return plan_of(Assignments(a, b)(costs))
    try:
        import ot
    except ImportError:
        raise MissingExtraError("POT", "pot") from None
    unit = np.ascontiguousarray((costs - costs.min()) / (float(np.ptp(costs)) or 1.0))
    return ot.emd(a, b, unit, numItermax=10_000_000, check_marginals=False)


def are_equal_points(a: Float64s, b: Float64s) -> bool:
    """Whether plans between points of these weights can be matchings."""
    return len(a) == len(b) and bool((a == a[0]).all() and (b == b[0]).all())


def round_to_marginals(plan: Float64s, a: Float64s, b: Float64s) -> Float64s:
    """Bring a plan that nearly has the marginals to them exactly (Altschuler, Weed and Rigollet, 2017)."""
    found = plan * np.minimum(1.0, a / np.maximum(plan.sum(axis=1), 1e-300))[:, None]
    found *= np.minimum(1.0, b / np.maximum(found.sum(axis=0), 1e-300))
    missing_a, missing_b = np.maximum(a - found.sum(axis=1), 0), np.maximum(b - found.sum(axis=0), 0)
    total = missing_b.sum()
    return found if total <= 0 else found + np.outer(missing_a, missing_b / total)


def plan_of(matches: Int64s) -> Float64s:
    """Plan of a matching i -> matches[i]."""
    n = len(matches)
    plan = np.zeros((n, n))
    plan[np.arange(n), matches] = 1 / n
    return plan


class Matched(NamedTuple):
    """Where assignment steps and swaps ended."""

    matches: Int64s
    value: float
    n_steps: int
    converged: bool
    is_fixed: bool  # the last assignment was that of the matches themselves


def _match(
    problem: Quadratic, plan: Float64s, a: Float64s, b: Float64s, limit: float, single: Quadratic | None
) -> Matched:
    n_steps = 0
    if single is not None:
        tiny = SINGLE_PRECISION_LIMIT * float(problem.value_of_product(a, b))
        assign = Assignments(a.astype(np.float32), b.astype(np.float32))
        first = assign(single.slope(plan.astype(np.float32)))
        found = descend(single, first, assign, limit, enough=tiny)
        if found.value > tiny:
            return found
        limit, n_steps = min(limit, tiny), found.n_steps
    assign = Assignments(a, b)
    first = assign(problem.slope(plan)) if single is None else found.matches
    found = descend(problem, first, assign, limit)
    return found._replace(n_steps=n_steps + found.n_steps)


def descend(
    problem: Quadratic,
    matches: Int64s,
    assign: Callable[[Any], Int64s],
    limit: float,
    least_gain: float = MIN_GAIN,
    enough: float = -np.inf,
) -> Matched:
    """Assignment steps and swaps in turn, until neither helps or steps run out.

    `assign` finds a matching of small linear costs. Problems are of NumPy arrays or of tensors, matchings of arrays.
    Objectives above `limit` are not worth swaps, nor steps that hardly come nearer, and those up to `enough` no steps.
    """
    value = problem.value_of_matches(matches)
    for step in range(MOST_STEPS):
        if value <= enough:
            return Matched(matches, value, step, True, False)
        better = assign(problem.slope_of_matches(matches))
        is_fixed = np.array_equal(better, matches)
        there = value if is_fixed else problem.value_of_matches(better)
        if value - HOPEFUL_ASSIGNMENTS * (value - there) > limit:
            return Matched(better, there, step + 1, False, False)
        if there >= value * (1 - least_gain) and value <= limit:
            better, there = _swap(problem, matches, value)
        if there >= value * (1 - least_gain):
            return Matched(matches, value, step + 1, True, is_fixed)
        matches, value = better, there
    return Matched(matches, value, MOST_STEPS, False, False)


class Assignments:
    """Matchings of least costs, of one matrix after the other.

    Potentials of an entropic plan, kept from one to the next, are nearly those of the assignment: taken off the costs
    they change no result, and make it several times as fast.
    """

    def __init__(self, a: Floats, b: Floats) -> None:
        self._a, self._b = a, b
        self._g = 0 * b

    def __call__(self, costs: Floats) -> Int64s:
        """Return a matching i -> matches[i]."""
        from scipy.optimize import linear_sum_assignment

        _, f, self._g = entropic_step(costs, HINT_TEMPERATURE * spread(costs), self._a, self._b, self._g)
        reduced = costs - f[:, None]
        reduced -= self._g
        reduced -= reduced.min(axis=1, keepdims=True)
        reduced -= reduced.min(axis=0)
        return linear_sum_assignment(reduced)[1]


def _swap(problem: Quadratic, matches: Int64s, value: float) -> tuple[Int64s, float]:
    """Exchange the matches of pairs of points as long as that helps."""
    for _ in range(MOST_ROUNDS):
        change = problem.changes_by_swap(matches)
        partner, gain = on_host(change.argmin(1)), -on_host(library_of(change).amin(change, 1))
        order = np.argsort(-gain, kind="stable")
        order = order[gain[order] > MIN_GAIN * abs(value)]
        several, there = _apply_swaps(problem, matches, partner, order)
        if there >= value:
            several, there = _apply_swaps(problem, matches, partner, order[:1])
        if there >= value:
            break
        matches, value = several, there
    return matches, value


def _apply_swaps(problem: Quadratic, matches: Int64s, partner: Int64s, order: Int64s) -> tuple[Int64s, float]:
    """Carry out the swaps of the given points in this order, each point taking part in one at most."""
    swapped, moved = matches.copy(), np.zeros(len(matches), bool)
    for i in order:
        j = partner[i]
        if not (moved[i] or moved[j]):
            swapped[i], swapped[j] = matches[j], matches[i]
            moved[i] = moved[j] = True
    return swapped, problem.value_of_matches(swapped)
