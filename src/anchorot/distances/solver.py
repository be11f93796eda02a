"""From several starts to the best alignment: anneal them side by side, sharpen what is left, and compare.

Most starts lead to a few plans, long before the last temperature: those that have become alike go on as one. Of many
points, where every step counts, starts race: those far above the best are given up at every temperature, costs are
off by up to a fifth as long as plans are blurred, and the product plan, which takes longest to anneal, is tried only if
no two other starts agree on the best. What is left is annealed further, to temperatures that distinguish near points,
and sharpened. One more start is the alignment of landmarks, found in the same way: at a plan between landmarks the
gradient of the objective compares points by their costs to landmarks and to the landmarks' matches, so the first step
of annealing extends it to all points.
"""

import time
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._validate import check_choice, check_numbers
from anchorot.distances.descent import (
    COOL_TEMPERATURES,
    STEPS_PER_TEMPERATURE,
    Sharp,
    anneal,
    conditional_gradient,
    round_to_marginals,
    sharpen,
)
from anchorot.distances.landmarks import Landmarks, SpaceDistances, farthest
from anchorot.distances.quadratic import (
    LARGE_ERROR,
    MIDDLE_ERROR,
    SMALL_ERROR,
    Approximations,
    Objective,
    Partial,
    Quadratic,
    on_host,
    plan_loss,
)
from anchorot.distances.starts import LARGE_STARTS, LAST_RESORT, STARTS, StartingPlan, anchor_starts, starting_plans
from anchorot.exceptions import InputError
from anchorot.space import Space

MIN_EXTRA_MASS = 1e-9  # of the mass: what the extra points have at least, since Sinkhorn's iteration takes logarithms
MIN_SHARE = 1e-9  # of the mass that is matched: less is lost in the rounding of the rest
MAX_TWIN_DIFFERENCE = 0.05  # of the mass: soft plans that differ by less lead to the same sharp one
MAX_DEVIATIONS = 4.0  # deviations from the median distortion: beyond, a point is not matched if the mass is free
DISTORTION_ROUNDING = 1e-6  # of the unit of costs, beside that
ROUNDS = 4  # of trimming, at the most
MANY_POINTS = 800  # from where not every start is sharpened
LANDMARKS = 400  # points of each side, aligned first beyond MANY_POINTS; half as many as are aligned without them
LANDMARK_STARTS = ("landmarks", "landmarks, otherwise")  # two results from the same landmarks: they confirm nothing
MAX_OBJECTIVE_RATIO = 1.1  # times the least objective of the soft plans: from where a start is given up
RACE_TEMPERATURE = 0.06  # down to here it is settled which starts go on, and of many points costs are approximate
STEPS_PER_CORRECTION = 6  # that may be taken before what factors of the costs miss is computed again
RESOLVED_POINTS = 500  # points that the last temperature of few points still tells apart; it falls with their number


class Found(NamedTuple):
    """Where one start ended."""

    plan: Float64s
    objective: float
    is_sharp: bool
    name: str
    seconds: float
    n_iter: int
    converged: bool


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
    """A problem in units of the largest cost, without points of weight zero: see `unit_spaces` of `space`."""

    x: Space  # float64
    y: Space
    features: Float64s | None
    alpha: float
    threads: int
    device: str | None
    advance: Advance = no_progress  # is called with 1 after every stage: a temperature of a start, or its sharpening

    def exact(self) -> Quadratic:
        """The objective."""
        return Quadratic(self.x.cost, self.y.cost, self.features, self.alpha)

    def annealed_objectives(self) -> Callable[[float], Quadratic]:
        """The objective for annealing at a temperature, in float32: on the device if there is one, else approximately.

        A plan is blurred while it is warm, and details of the costs average out.
        """
        parts = self._in_single(self.device)
        if self.device is not None:
            whole = Quadratic(*parts)
            return lambda temperature: whole
        approximate = cache(Approximations(*parts, is_corrected=self.is_large).at)
        return lambda temperature: approximate(self.error_at(temperature))

    def error_at(self, temperature: float) -> float:
        """How far costs may be off at a temperature."""
        if self.is_large and temperature >= RACE_TEMPERATURE:
            return LARGE_ERROR
        return MIDDLE_ERROR if temperature >= COOL_TEMPERATURES[-1] else SMALL_ERROR

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
    if plan.shape != shape or (plan < 0).any() or not np.isfinite(plan).all() or not plan.any():
        raise InputError(f"start has shape {plan.shape}, but a plan {shape} of positive mass, not negative, is needed")
    plan /= plan.max()  # or the sum might overflow
    inner = plan[np.ix_(*kept)]
    return [StartingPlan("plan", round_to_marginals(inner / plan.sum(), setting.x.weights, setting.y.weights), ())]


def _landmark_starts(setting: Setting, share: float | None, rng: RngLike) -> list[StartingPlan]:
    """Plans between landmarks of either side: the best, and the best of those that differ and are about as good."""
    sides = [farthest(SpaceDistances(space), LANDMARKS, 1.0) for space in (setting.x, setting.y)]
    are_counted = setting.x.is_uniform and setting.y.is_uniform
    first, second = (_cells(side, space, are_counted) for side, space in zip(sides, setting[:2], strict=True))
    inside = np.ix_(first[0], second[0])
    features = None if setting.features is None else setting.features[inside]
    part = setting._replace(x=first[1], y=second[1], features=features)
    starts = [start for start in anchor_starts(part.x, part.y, rng, part.threads) if start.name != "near"]
    found = solve(part, starts, share, is_race=True)
    least = MAX_OBJECTIVE_RATIO * found[0].objective
    rivals = [
        one for one in found if one.objective <= least and np.abs(one.plan - found[0].plan).sum() > one.plan.sum()
    ]
    plans = []
    for name, one in zip(LANDMARK_STARTS, found[:1] + rivals, strict=False):
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
    """Where annealing has led one start so far."""

    start: StartingPlan
    plan: Any  # in float32, on the device if there is one; of a part of the mass, extended to what is not matched
    g: Any = None  # potentials of its columns
    n_steps: int = 0
    seconds: float = 0.0
    objective: float = 0.0  # of many points, approximately
    twin: int | None = None  # the number of another start that has led to the same plan, and goes on alone
    is_given_up: bool = False

    @property
    def is_racing(self) -> bool:
        """Whether it goes on."""
        return self.twin is None and not self.is_given_up


def solve(
    setting: Setting, starts: list[StartingPlan], share: float | None, is_race: bool | None = None
) -> list[Found]:
    """Go from all starts; the best comes first. In a race, as between many points, what promises little is given up."""
    limits = None if share is None else Limits.of(setting.x, setting.y, share)
    solver = _Solver(setting, limits, setting.is_large if is_race is None else is_race)
    later = [start for start in starts if start.name == LAST_RESORT] if setting.is_large and len(starts) > 1 else []
    softs = solver.anneal([solver.begin(start) for start in starts if start not in later], np.inf, RACE_TEMPERATURE)
    if later and not _agree(softs):
        softs += solver.anneal([solver.begin(start) for start in later], np.inf, RACE_TEMPERATURE)
        softs = solver.leave_out(softs, RACE_TEMPERATURE)
    softs = solver.anneal(softs, RACE_TEMPERATURE, 0.0)
    found: dict[int, Found] = {}
    for k in sorted(range(len(softs)), key=lambda k: softs[k].objective):
        if softs[k].twin is None:
            found[k] = solver.finish(softs[k], min((one.objective for one in found.values()), default=np.inf))
    for k, soft in enumerate(softs):
        if soft.twin is not None:
            found[k] = found[_root(softs, k)]._replace(name=soft.start.name, seconds=soft.seconds, n_iter=soft.n_steps)
    return sorted(found.values(), key=lambda one: (not one.is_sharp, one.objective))


def _root(softs: list[Soft], k: int) -> int:
    """The number of the start that goes on for this one."""
    twin = softs[k].twin
    return k if twin is None else _root(softs, twin)


def _agree(softs: list[Soft]) -> bool:
    """Whether two starts have led to the best plan, which are not both of the same landmarks."""
    best = min((k for k, soft in enumerate(softs) if soft.is_racing), key=lambda k: softs[k].objective)
    names = {soft.start.name for k, soft in enumerate(softs) if _root(softs, k) == best}
    return len(names) > 1 and not names <= set(LANDMARK_STARTS)


class _Solver:
    """Anneals and sharpens; what all starts need for that is made once."""

    def __init__(self, setting: Setting, limits: Limits | None, is_race: bool) -> None:
        self._setting, self._limits, self._is_race = setting, limits, is_race
        self._a, self._b = (setting.x.weights, setting.y.weights) if limits is None else limits
        self._objectives = setting.annealed_objectives()
        self._exact = setting.exact()

    def begin(self, start: StartingPlan) -> Soft:
        """A start that takes its first step next."""
        limits = self._limits
        return Soft(start, self._setting.single(start.plan if limits is None else limits.extended(start.plan)))

    def anneal(self, softs: list[Soft], warmest: float, coolest: float) -> list[Soft]:
        """Go through the starts' temperatures below one, down to another, side by side.

        Who is left out on the way takes no further step.
        """
        temperatures = {t for soft in softs for t in soft.start.temperatures if coolest <= t < warmest}
        for temperature in sorted(temperatures, reverse=True):
            softs = [
                self._cool(soft, temperature) if soft.is_racing and temperature in soft.start.temperatures else soft
                for soft in softs
            ]
            softs = self.leave_out(softs, temperature)
        return softs

    def leave_out(self, softs: list[Soft], temperature: float) -> list[Soft]:
        """Leave out plans that have become like an earlier one; of many points, also those that promise little."""
        found = list(softs)
        racing = [k for k, soft in enumerate(softs) if soft.is_racing and temperature in soft.start.temperatures]
        for place, k in enumerate(racing):
            twin = next((j for j in racing[:place] if found[j].is_racing and _are_alike(softs[j], softs[k])), None)
            found[k] = softs[k]._replace(twin=twin)
        racing = [k for k in racing if found[k].is_racing]
        if self._is_race:
            problem = self._objective(temperature)
            values = {k: float(problem.value(softs[k].plan)) for k in racing}
            for k, value in values.items():
                is_given_up = value > MAX_OBJECTIVE_RATIO * min(values.values())
                found[k] = softs[k]._replace(objective=value, is_given_up=is_given_up)
        return found

    def finish(self, soft: Soft, best: float) -> Found:
        """Sharpen a plan that was not given up; `best` is the least objective so far."""
        begin = time.perf_counter()
        if soft.n_steps and not soft.is_given_up:
            soft = self._cool(soft, *self._setting.fine_temperatures)
        plan = self._inner(soft)
        if soft.is_given_up:
            sharp = Sharp(plan, float(self._single.value(plan.astype(np.float32))), 0, converged=False)
        else:
            sharp = self._sharpen(plan, best)
            sharp = sharp._replace(objective=self._setting.objective(sharp.plan))
        self._setting.advance(1)
        seconds, n_iter = soft.seconds + time.perf_counter() - begin, soft.n_steps + sharp.n_steps
        is_sharp = not soft.is_given_up
        return Found(sharp.plan, sharp.objective, is_sharp, soft.start.name, seconds, n_iter, sharp.converged)

    def _inner(self, soft: Soft) -> Float64s:
        """The plan between the points themselves."""
        if not soft.n_steps:
            return soft.start.plan
        plan = in_double(soft.plan)
        if self._limits is None:
            return round_to_marginals(plan, self._a, self._b)
        inner = plan[:-1, :-1]
        return inner if inner.sum() > 0 else soft.start.plan  # float32 may lose a very small mass

    def _objective(self, temperature: float) -> Objective:
        whole = self._objectives(temperature)
        return whole if self._limits is None else Partial(whole)

    def _cool(self, soft: Soft, *temperatures: float) -> Soft:
        """Anneal a plan at the next temperatures."""
        begin = time.perf_counter()
        a, b = self._setting.single(self._a), self._setting.single(self._b)
        for temperature in temperatures:
            problem, error = self._objective(temperature), self._setting.error_at(temperature)
            for _ in range(STEPS_PER_TEMPERATURE // STEPS_PER_CORRECTION):
                near = problem.corrected(soft.plan, error)
                plan, g, n_steps = anneal(near, soft.plan, a, b, (temperature,), soft.g, STEPS_PER_CORRECTION)
                soft = soft._replace(plan=plan, g=g, n_steps=soft.n_steps + n_steps)
                if n_steps < STEPS_PER_CORRECTION:
                    break
            self._setting.advance(1)
        return soft._replace(seconds=soft.seconds + time.perf_counter() - begin)

    def _sharpen(self, plan: Float64s, best: float) -> Sharp:
        limits = self._limits
        if limits is None:
            single = self._single if self._setting.is_large else None
            return sharpen(self._exact, plan, self._a, self._b, best, single)
        sharp = conditional_gradient(Partial(self._exact), limits.extended(plan), *limits)
        return sharp._replace(plan=sharp.plan[:-1, :-1])

    @cached_property
    def _single(self) -> Quadratic:
        return self._setting.in_single()


def _are_alike(one: Soft, other: Soft) -> bool:
    """Whether both lead to the same sharp plan."""
    return float(abs(one.plan - other.plan).sum()) < MAX_TWIN_DIFFERENCE * float(one.plan.sum())


def solve_freely(setting: Setting, starts: list[StartingPlan]) -> list[Found]:
    """Match all that can be, then leave out what fits far worse than the rest, until that stays the same.

    How much worse is too much is settled by the first result: what is left always fits better than what was there, and
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
