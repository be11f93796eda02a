"""From several starts to the best alignment: anneal and sharpen one after the other, until two agree.

Most starts lead to a few plans, long before the last temperature: those that have become alike go on as one. A start is
annealed and sharpened; if the next one ends at the same objective, and the caller finds the result sure, that is it.
Of many points, where every step counts, starts race instead: those far above the best are given up at every
temperature, costs are off by up to a fifth as long as plans are blurred, and the product plan, which takes longest to
anneal, is tried only if no two other starts agree on the best, a plan between near anchors only if the result is not
sure. What is left of a race is annealed further, to temperatures that distinguish near points, and sharpened. One more
start is the alignment of landmarks, found in the same way: at a plan between landmarks the gradient of the objective
compares points by their costs to landmarks and to the landmarks' matches, so the first step of annealing extends it to
all points.
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
    are_equal_points,
    cheapest_plan,
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
from anchorot.distances.starts import (
    LARGE_STARTS,
    LAST_DOUBT,
    LAST_RESORT,
    STARTS,
    StartingPlan,
    anchor_starts,
    starting_plans,
)
from anchorot.exceptions import InputError
from anchorot.space import Space

MIN_EXTRA_MASS = 1e-9  # of the mass: what the extra points have at least, since Sinkhorn's iteration takes logarithms
MIN_SHARE = 1e-9  # of the mass that is matched: less is lost in the rounding of the rest
MAX_TWIN_DIFFERENCE = 0.05  # of the mass: soft plans that differ by less lead to the same sharp one
MANY_POINTS = 800  # from where starts race
LANDMARKS = 400  # points of each side, aligned first beyond MANY_POINTS; half as many as are aligned without them
LANDMARK_STARTS = ("landmarks", "landmarks, otherwise")  # two results from the same landmarks: they confirm nothing
MAX_OBJECTIVE_RATIO = 1.1  # times the least objective of the soft plans: from where a start is given up
SETTLED_RATIO = 1.001  # times the least objective: two starts that end below have found the same,
SHARPENED_RATIO = 1.01  # as has one that was sharpened at once, and so ends a little above
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
    is_annealed: bool  # or sharpened at once


Judge = Callable[[list[Found]], bool]  # whether what starts have led to is enough, the best first


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
        approximate = cache(Approximations(*parts).at)
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
    found = solve(part, anchor_starts(part.x, part.y, rng, part.threads), share, is_race=True)
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
    is_found: bool = False  # is sharp already

    @property
    def is_racing(self) -> bool:
        """Whether it goes on."""
        return self.twin is None and not self.is_given_up and not self.is_found


def solve(
    setting: Setting,
    starts: list[StartingPlan],
    share: float | None,
    is_race: bool | None = None,
    is_enough: Judge = lambda found: True,
) -> list[Found]:
    """Go from one start after the other until two agree; the best comes first.

    In a race, as between many points, they go side by side, and what promises little is given up. If what two agree on
    is not enough, as `is_enough` judges, more are tried.
    """
    limits = None if share is None else Limits.of(setting.x, setting.y, share)
    solver = _Solver(setting, limits, setting.is_large if is_race is None else is_race)
    return ranked((solver.race if solver.is_race else solver.try_in_turn)(starts, is_enough))


def ranked(found: dict[int, Found]) -> list[Found]:
    """Sharp plans first, by their objectives."""
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


def _is_settled(found: dict[int, Found]) -> bool:
    """Whether two starts agree on the best."""
    least = min(one.objective for one in found.values())
    ratios = {True: SETTLED_RATIO, False: SHARPENED_RATIO}
    return sum(one.objective <= ratios[one.is_annealed] * least for one in found.values()) > 1


class _Solver:
    """Anneals and sharpens; what all starts need for that is made once."""

    def __init__(self, setting: Setting, limits: Limits | None, is_race: bool) -> None:
        self.is_race = is_race
        self._setting, self._limits = setting, limits
        self._a, self._b = (setting.x.weights, setting.y.weights) if limits is None else limits
        self._objectives = setting.annealed_objectives()
        self._exact = setting.exact()

    def begin(self, start: StartingPlan) -> Soft:
        """A start that takes its first step next."""
        limits = self._limits
        return Soft(start, self._setting.single(start.plan if limits is None else limits.extended(start.plan)))

    def try_in_turn(self, starts: list[StartingPlan], is_enough: Judge) -> dict[int, Found]:
        """One start after the other, until two agree on the best and that is enough.

        Where a part is to be matched, all of them: what has no match misleads all but "near" in the same way.
        """
        softs: list[Soft] = []
        found: dict[int, Found] = {}
        for start in starts:
            softs += self.anneal([self.begin(start)], np.inf, RACE_TEMPERATURE)
            softs = self.leave_out(softs, RACE_TEMPERATURE)
            found = self.finish(softs, found)
            is_settled = self._limits is None and _is_settled(found)
            if is_settled and is_enough(ranked(found)):
                break
        return found

    def race(self, starts: list[StartingPlan], is_enough: Judge) -> dict[int, Found]:
        """Starts side by side; the product plan if no two agree, and "near" if the best is not enough."""
        later = [start for start in starts if start.name in (LAST_RESORT, LAST_DOUBT)] if len(starts) > 1 else []
        softs = self.anneal([self.begin(start) for start in starts if start not in later], np.inf, RACE_TEMPERATURE)
        last = {start.name: self.begin(start) for start in later}
        if LAST_RESORT in last and not _agree(softs):
            softs += self.anneal([last[LAST_RESORT]], np.inf, RACE_TEMPERATURE)
            softs = self.leave_out(softs, RACE_TEMPERATURE)
        found = self.finish(softs, {})
        if LAST_DOUBT in last and not is_enough(ranked(found)):
            found = self.finish([*softs, last[LAST_DOUBT]], found)
        return found

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
        if self.is_race:
            problem = self._objective(temperature)
            values = {k: float(problem.value(softs[k].plan)) for k in racing}
            least = max(min(values.values(), default=0.0), 0.0)  # of copies, rounding is left
            for k, value in values.items():
                is_given_up = value > MAX_OBJECTIVE_RATIO * least
                found[k] = softs[k]._replace(objective=value, is_given_up=is_given_up)
        return found

    def finish(self, softs: list[Soft], found: dict[int, Found]) -> dict[int, Found]:
        """Anneal to the end and sharpen what is not among those found yet; first what promises most."""
        softs = self.anneal([soft._replace(is_found=k in found) for k, soft in enumerate(softs)], RACE_TEMPERATURE, 0.0)
        found = dict(found)
        for k in sorted(range(len(softs)), key=lambda k: (not softs[k].n_steps, softs[k].objective)):
            if softs[k].twin is None and k not in found:
                found[k] = self._finish(softs[k], list(found.values()))
        for k, soft in enumerate(softs):
            if soft.twin is not None and k not in found:
                one = found[_root(softs, k)]
                found[k] = one._replace(name=soft.start.name, seconds=soft.seconds, n_iter=soft.n_steps)
        return found

    def _finish(self, soft: Soft, found: list[Found]) -> Found:
        """Sharpen a plan that was not given up, unless it is about to end like one that was found."""
        begin = time.perf_counter()
        if soft.n_steps and not soft.is_given_up:
            soft = self._cool(soft, *self._setting.fine_temperatures)
        plan = self._inner(soft)
        if soft.is_given_up:
            sharp = Sharp(plan, float(self._single.value(plan.astype(np.float32))), 0, converged=False)
        else:
            if not soft.n_steps and found and self._limits is None and are_equal_points(self._a, self._b):
                plan = cheapest_plan(self._single.slope(plan.astype(np.float32)), self._a, self._b)
                twin = next((one for one in found if np.abs(one.plan - plan).sum() < MAX_TWIN_DIFFERENCE), None)
                if twin is not None:
                    self._setting.advance(1)
                    return twin._replace(name=soft.start.name, seconds=time.perf_counter() - begin, n_iter=1)
            sharp = self._sharpen(plan, min((one.objective for one in found), default=np.inf))
            sharp = sharp._replace(objective=self._setting.objective(sharp.plan))
        self._setting.advance(1)
        seconds, n_iter = soft.seconds + time.perf_counter() - begin, soft.n_steps + sharp.n_steps
        is_sharp = not soft.is_given_up
        is_annealed = soft.n_steps > 0
        name = soft.start.name
        return Found(sharp.plan, sharp.objective, is_sharp, name, seconds, n_iter, sharp.converged, is_annealed)

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
            return sharpen(self._exact, plan, self._a, self._b, best, self._single)
        sharp = conditional_gradient(Partial(self._exact), limits.extended(plan), *limits)
        return sharp._replace(plan=sharp.plan[:-1, :-1])

    @cached_property
    def _single(self) -> Quadratic:
        return self._setting.in_single()


def _are_alike(one: Soft, other: Soft) -> bool:
    """Whether both lead to the same sharp plan."""
    return float(abs(one.plan - other.plan).sum()) < MAX_TWIN_DIFFERENCE * float(one.plan.sum())


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
