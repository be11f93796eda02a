"""From several starts to the best alignment: anneal each, sharpen it, and compare.

Of many points annealing takes seconds and sharpening many more. There all starts are annealed first, and only those
that promise an answer as good as the best one's are annealed further, to temperatures that tell near points apart, and
sharpened. One start more is the answer of landmarks, which all that is tried for few points has led to: at a plan
between landmarks the gradient of the objective compares points by their costs to landmarks and to the landmarks'
matches, so the first step of annealing extends it to all points.
"""

import time
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._units import in_unit_range
from anchorot._validate import check_choice, check_numbers
from anchorot.distances.descent import (
    COOL_TEMPERATURES,
    Sharp,
    anneal,
    cheapest_plan,
    conditional_gradient,
    round_to_marginals,
    sharpen,
)
from anchorot.distances.landmarks import Landmarks, SpaceDistances, farthest
from anchorot.distances.quadratic import (
    LARGEST_ERROR,
    SMALL_ERROR,
    Partial,
    Quadratic,
    approximate_quadratic,
    on_host,
    plan_loss,
)
from anchorot.distances.starts import LARGE_STARTS, STARTS, StartingPlan, anchor_starts, starting_plans
from anchorot.exceptions import InputError
from anchorot.space import Space, heavy_part

MIN_EXTRA_MASS = 1e-9  # of the mass: what the extra points have at least, since Sinkhorn's iteration takes logarithms
MIN_SHARE = 1e-9  # of the mass that is matched: less is lost in the rounding of the rest
MAX_TWIN_DIFFERENCE = 0.05  # of the mass: soft plans that differ by less lead to the same sharp one
MAX_DEVIATIONS = 4.0  # deviations from the median distortion: beyond, a point is not matched if the mass is free
DISTORTION_ROUNDING = 1e-6  # of the unit of costs, beside that
ROUNDS = 4  # of trimming
MANY_POINTS = 800  # from where not every start is sharpened
LANDMARKS = 400
MAX_OBJECTIVE_RATIO = 1.1  # times the least objective of the soft plans: from where a start is given up
RESOLVED_POINTS = 500  # points that the last temperature of few points still tells apart; it falls with their number


class Found(NamedTuple):
    """Where one start ended."""

    plan: Float64s
    soft: Float64s
    objective: float
    is_sharp: bool
    name: str
    seconds: float
    n_iter: int
    converged: bool


def unit_spaces(x: Space, y: Space) -> tuple[list[Space], float]:
    """The points of positive weight, with costs in float64 less the least of them all, as multiples of a unit.

    The loss sees differences of costs only, but is computed from their squares, and annealed in float32.
    """
    heavy = [heavy_part(space) for space in (x, y)]
    costs, unit = in_unit_range([space.cost for space in heavy])
    return [Space(cost, space.weights, copy=False) for cost, space in zip(costs, heavy, strict=True)], unit


class Limits(NamedTuple):
    """Marginals of the extended plans.

    Points of uniform spaces are counted, so that one can be matched with one: each may be matched with 1 / max(n, m).
    Other points may be matched with their weights.
    """

    a: Float64s
    b: Float64s

    @classmethod
    def of(cls, x: Space, y: Space, share: float) -> Self:
        """Limits that leave `share` of the smaller side's mass to be matched."""
        a, b = x.weights, y.weights
        if x.is_uniform and y.is_uniform:
            a, b = np.full(x.n, 1 / max(x.n, y.n)), np.full(y.n, 1 / max(x.n, y.n))
        matched = share * min(a.sum(), b.sum()) * (1 - MIN_EXTRA_MASS)
        return cls(np.append(a, b.sum() - matched), np.append(b, a.sum() - matched))

    @property
    def matched(self) -> float:
        """The mass between the points themselves."""
        return float(self.a[:-1].sum() - self.b[-1])

    def extended(self, plan: Float64s) -> Float64s:
        """A plan between the points, scaled to the mass to be matched, with the rest towards the extra points."""
        found = np.zeros((len(self.a), len(self.b)))
        found[:-1, :-1] = plan * (self.matched / plan.sum())
        found[:-1, -1] = np.maximum(self.a[:-1] - found[:-1].sum(axis=1), 0)
        found[-1, :-1] = np.maximum(self.b[:-1] - found[:, :-1].sum(axis=0), 0)
        return round_to_marginals(found, self.a, self.b)


class Setting(NamedTuple):
    """A problem in units of the largest cost, without points of weight zero: see `unit_spaces`."""

    x: Space  # float64
    y: Space
    features: Float64s | None
    alpha: float
    threads: int
    device: str | None

    def exact(self) -> Quadratic:
        """The objective."""
        return Quadratic(self.x.cost, self.y.cost, self.features, self.alpha)

    def quick(self, largest_error: float = LARGEST_ERROR) -> Quadratic:
        """The objective for annealing, in float32: on the device if there is one, else approximately."""
        parts = self._in_single(self.device)
        return approximate_quadratic(*parts, largest_error) if self.device is None else Quadratic(*parts)

    def in_single(self) -> Quadratic:
        """The objective in float32, on the CPU."""
        return Quadratic(*self._in_single(None))

    def _in_single(self, device: str | None) -> tuple[Any, Any, Any, float]:
        """Costs, features and alpha; less the least cost of features, which all plans pay alike."""
        costs = in_single(self.x.cost, device), in_single(self.y.cost, device)
        features = None if self.features is None else in_single(self.features - self.features.min(), device)
        return *costs, features, self.alpha

    @property
    def is_large(self) -> bool:
        """Whether sharpening takes so long that not every start is worth it."""
        return max(self.x.n, self.y.n) > MANY_POINTS

    @property
    def fine_temperatures(self) -> tuple[float, ...]:
        """Temperatures below the last one of few points, for points that lie closer."""
        n_halvings = int(np.ceil(np.log2(max(self.x.n, self.y.n) / RESOLVED_POINTS))) if self.is_large else 0
        return tuple(COOL_TEMPERATURES[-1] / 2**k for k in range(1, n_halvings + 1))

    def single(self, array: Floats) -> Any:
        """Return an array in float32, on the device if there is one."""
        return in_single(array, self.device)

    def objective(self, plan: Float64s) -> float:
        """The objective of a plan, summed so that nothing cancels."""
        loss = plan_loss(self.x.cost, self.y.cost, plan)
        if self.features is None:
            return loss
        return self.alpha * loss + (1 - self.alpha) * float((self.features * plan).sum())


def chosen_starts(
    start: str | ArrayLike,
    setting: Setting,
    kept: list[Int64s],
    shape: tuple[int, int],
    rng: RngLike,
    share: float | None = None,
) -> list[StartingPlan]:
    """Starts by name, or the one plan given, between the points of positive weight."""
    if isinstance(start, str):
        check_choice(start, "start", ("anchors", *STARTS))
        if start == "anchors" and not setting.is_large:
            return anchor_starts(setting.x, setting.y, rng, setting.threads)
        begun = [] if start != "anchors" else _landmark_starts(setting, share, rng)
        names = (start,) if start != "anchors" else LARGE_STARTS
        return begun + starting_plans(names, setting.x, setting.y, rng, setting.threads)
    plan = check_numbers(start, "start").astype(np.float64)
    if plan.shape != shape or (plan < 0).any() or not np.isfinite(plan).all() or not plan.sum() > 0:
        raise InputError(f"start has shape {plan.shape}, but a plan {shape} of positive mass, not negative, is needed")
    inner = plan[np.ix_(*kept)]
    return [StartingPlan("plan", round_to_marginals(inner / plan.sum(), setting.x.weights, setting.y.weights), ())]


def _landmark_starts(setting: Setting, share: float | None, rng: RngLike) -> list[StartingPlan]:
    """Plans between landmarks of either side: the best, and the best of those that differ from it."""
    sides = [farthest(SpaceDistances(space), LANDMARKS, 1.0) for space in (setting.x, setting.y)]
    are_counted = setting.x.is_uniform and setting.y.is_uniform
    first, second = (_cells(side, space, are_counted) for side, space in zip(sides, setting[:2], strict=True))
    inside = np.ix_(first[0], second[0])
    features = None if setting.features is None else setting.features[inside]
    part = setting._replace(x=first[1], y=second[1], features=features)
    found = solve(part, anchor_starts(part.x, part.y, rng, part.threads), share)
    rivals = [one for one in found if np.abs(one.plan - found[0].plan).sum() > one.plan.sum()]
    plans = []
    for name, one in zip(("landmarks", "landmarks, otherwise"), found[:1] + rivals, strict=False):
        plan = np.zeros((setting.x.n, setting.y.n))
        plan[inside] = one.plan
        plans.append(StartingPlan(name, plan, COOL_TEMPERATURES))
    return plans


def _cells(side: Landmarks, space: Space, are_counted: bool) -> tuple[Int64s, Space]:
    """Landmarks, and their space: all alike if points are counted, else with the mass of what they are nearest to."""
    mass = np.bincount(side.rows.argmin(axis=0), space.weights, len(side.chosen))
    kept = np.flatnonzero(mass) if not are_counted else np.arange(len(mass))
    points = side.chosen[kept]
    return points, Space(space.cost[np.ix_(points, points)], None if are_counted else mass[kept], copy=False)


class Soft(NamedTuple):
    """Where annealing led one start."""

    name: str
    plan: Float64s
    objective: float  # approximately
    n_steps: int
    seconds: float


def solve(setting: Setting, starts: list[StartingPlan], share: float | None) -> list[Found]:
    """Go from all starts; the best comes first."""
    quick = setting.quick()
    limits = None if share is None else Limits.of(setting.x, setting.y, share)
    softs = [_anneal_start(quick, setting, start, limits) for start in starts]
    if setting.is_large:
        softs = sorted(softs, key=lambda soft: (soft.n_steps == 0, soft.objective))
    finish = _Finish(setting, limits)
    found: list[Found] = []
    for soft in softs:
        begin = time.perf_counter()
        twin = next(
            (other for other in found if np.abs(other.soft - soft.plan).sum() < MAX_TWIN_DIFFERENCE * soft.plan.sum()),
            None,
        )
        end = twin or finish(soft, softs[0].objective, min((other.objective for other in found), default=np.inf))
        n_iter = soft.n_steps if twin else end.n_iter
        seconds = soft.seconds + time.perf_counter() - begin
        found.append(end._replace(name=soft.name, seconds=seconds, n_iter=n_iter))
    return sorted(found, key=lambda one: (not one.is_sharp, one.objective))


def _anneal_start(quick: Quadratic, setting: Setting, start: StartingPlan, limits: Limits | None) -> Soft:
    """Where a start's temperatures lead."""
    begin = time.perf_counter()
    plan, n_steps = _cool(quick, setting, start.plan, start.temperatures, limits)
    objective = float(quick.value(setting.single(plan))) if setting.is_large else 0.0
    return Soft(start.name, plan, objective, n_steps, time.perf_counter() - begin)


def _cool(
    quick: Quadratic, setting: Setting, plan: Float64s, temperatures: tuple[float, ...], limits: Limits | None
) -> tuple[Float64s, int]:
    """The plan at the end of some temperatures, and the number of steps."""
    if not temperatures:
        return plan, 0
    single = setting.single
    if limits is None:
        a, b = setting.x.weights, setting.y.weights
        soft = anneal(quick, single(plan), single(a), single(b), temperatures)
        return round_to_marginals(in_double(soft.plan), a, b), soft.n_steps
    begun, a, b = limits.extended(plan), limits.a, limits.b
    soft = anneal(Partial(quick), single(begun), single(a), single(b), temperatures)
    inner = in_double(soft.plan[:-1, :-1])
    return (inner if inner.sum() > 0 else plan), soft.n_steps  # float32 may lose a very small mass


class _Finish:
    """From a soft plan to a sharp one; what all soft plans need for that is made once."""

    def __init__(self, setting: Setting, limits: Limits | None) -> None:
        self._setting, self._limits = setting, limits
        self._exact = setting.exact()
        self._fine = self._single = None
        if setting.is_large:
            self._fine = setting.quick(SMALL_ERROR)
            self._single = setting.in_single()

    def __call__(self, soft: Soft, softest: float, best: float) -> Found:
        """Sharpen a plan, unless it promises nothing near the best objective so far and that of the best soft plan."""
        if self._single is not None and self._limits is None and np.isfinite(best):
            given_up = self._give_up(self._single, soft, softest, best)
            if given_up is not None:
                return given_up
        sharp = self._sharpen(soft, best)
        objective = self._setting.objective(sharp.plan)
        n_iter = soft.n_steps + sharp.n_steps
        return Found(sharp.plan, soft.plan, objective, True, soft.name, 0.0, n_iter, sharp.converged)

    def _give_up(self, single: Quadratic, soft: Soft, softest: float, best: float) -> Found | None:
        """What promises nothing: by its soft plan, or where it was not annealed, by the first sharp one."""
        plan = soft.plan.astype(np.float32)
        if soft.n_steps > 0:
            end, objective, limit = soft.plan, float(single.value(plan)), MAX_OBJECTIVE_RATIO * softest
        else:
            slope = single.slope(plan).astype(np.float64)
            end = cheapest_plan(slope, self._setting.x.weights, self._setting.y.weights)
            objective, limit = self._setting.objective(end), MAX_OBJECTIVE_RATIO * best
        if objective <= limit:
            return None
        return Found(end, soft.plan, objective, False, soft.name, 0.0, soft.n_steps, converged=False)

    def _sharpen(self, soft: Soft, best: float) -> Sharp:
        setting, limits = self._setting, self._limits
        plan, n_steps = soft.plan, 0
        if self._fine is not None and soft.n_steps > 0:
            plan, n_steps = _cool(self._fine, setting, plan, setting.fine_temperatures, limits)
        if limits is None:
            sharp = sharpen(self._exact, plan, setting.x.weights, setting.y.weights, best, self._single)
        else:
            sharp = conditional_gradient(Partial(self._exact), limits.extended(plan), *limits)
            sharp = sharp._replace(plan=sharp.plan[:-1, :-1])
        return sharp._replace(n_steps=sharp.n_steps + n_steps)


def solve_freely(setting: Setting, starts: list[StartingPlan]) -> list[Found]:
    """Match all that can be, then leave out what fits far worse than the rest, until that stays the same.

    How much worse is too much is settled by the first answer: what is left always fits better than what was there, and
    a limit that went down with it would end at the few points that fit best.
    """
    share, limits = 1.0, None
    for _ in range(ROUNDS):
        found = solve(setting, starts, share)
        distortions = _distortions(setting.exact(), found[0].plan)
        limits = limits or [_limit(own) for _, own in distortions]
        kept = min(
            float(mass[own <= limit].sum() / mass.sum()) for (mass, own), limit in zip(distortions, limits, strict=True)
        )
        if kept > 1 - 1e-3 or share * kept < MIN_SHARE:  # as it stays, or nothing would be left
            break
        share *= kept
    return found


def _distortions(problem: Quadratic, plan: Float64s) -> list[tuple[Float64s, Float64s]]:
    """Of either side's matched points: their mass, and the root of what each adds to the objective per mass.

    Without features that is how far its costs are distorted, root mean square. The loss is a mean over pairs, of which
    a point sees as much as is matched; features are the point's own, so what they add does not depend on that.
    """
    total = plan.sum()
    cost = problem.slope_of_loss(plan) * plan / (2 * total)
    if problem.features is not None:
        cost += (1 - problem.alpha) * problem.features * plan
    found = []
    for axis in (1, 0):
        mass = plan.sum(axis=axis)
        is_matched = mass > 0
        squares = cost.sum(axis=axis)[is_matched] / mass[is_matched]
        found.append((mass[is_matched], np.sqrt(np.maximum(squares, 0))))
    return found


def _limit(distortions: Float64s) -> float:
    """From where a distortion is far from the others, and more than rounding."""
    middle = np.median(distortions)
    return float(middle + MAX_DEVIATIONS * 1.4826 * np.median(np.abs(distortions - middle))) + DISTORTION_ROUNDING


def in_single(array: Floats, device: str | None) -> Any:
    """Return a float32 array, or a tensor on the device if there is one."""
    single = array.astype(np.float32)
    if device is None:
        return single
    import torch

    return torch.from_numpy(single).to(device)


def in_double(array: Any) -> Float64s:
    """Return an array or tensor as a float64 array."""
    return on_host(array).astype(np.float64)
