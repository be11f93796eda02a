"""From several starts to the best alignment: anneal each, sharpen it, and compare."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._validate import check_choice, check_numbers
from anchorot.distances.annealing import anneal
from anchorot.distances.device import in_double, in_single
from anchorot.distances.factored import nearly
from anchorot.distances.partial import Limits, Partial
from anchorot.distances.quadratic import Quadratic, plan_loss
from anchorot.distances.sharpening import Sharp, conditional_gradient, round_to_marginals, sharpen
from anchorot.distances.starts import STARTS, StartingPlan, starting_plans
from anchorot.exceptions import InputError
from anchorot.space import Space

SAME = 0.05  # of the mass: soft plans that differ by less lead to the same sharp one
TRIMMED = 4.0  # deviations from the median distortion: beyond, a point is not matched if the mass is free
ROUNDS = 4  # of trimming


class Found(NamedTuple):
    """Where one start ended."""

    plan: Float64s
    soft: Float64s
    objective: float
    name: str
    seconds: float
    n_iter: int
    converged: bool


class Setting(NamedTuple):
    """A problem in units of the largest cost, without points of weight zero."""

    x: Space  # float64
    y: Space
    features: Float64s | None
    alpha: float
    threads: int
    device: str | None

    def exact(self) -> Quadratic:
        """The objective."""
        return Quadratic(self.x.cost.astype(np.float64), self.y.cost.astype(np.float64), self.features, self.alpha)

    def quick(self) -> Quadratic:
        """The objective for annealing, in float32: on the device if there is one, else to a few percent."""
        features = None if self.features is None else self.single(self.features)
        make = nearly if self.device is None else Quadratic
        return make(self.single(self.x.cost), self.single(self.y.cost), features, self.alpha)

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
    start: str | ArrayLike, setting: Setting, kept: list[Int64s], shape: tuple[int, int], rng: RngLike
) -> list[StartingPlan]:
    """Starts by name, or the one plan given, between the points of positive weight."""
    if isinstance(start, str):
        check_choice(start, "start", ("anchors", *STARTS))
        return starting_plans(start, setting.x, setting.y, rng, setting.threads)
    plan = check_numbers(start, "start").astype(np.float64)
    if plan.shape != shape or (plan < 0).any() or not np.isfinite(plan).all() or not plan.sum() > 0:
        raise InputError(f"start has shape {plan.shape}, but a plan {shape} of positive mass, not negative, is needed")
    inner = plan[np.ix_(*kept)]
    return [StartingPlan("plan", round_to_marginals(inner / plan.sum(), setting.x.weights, setting.y.weights), ())]


def solve(setting: Setting, starts: list[StartingPlan], share: float | None) -> list[Found]:
    """Go from all starts; the best comes first."""
    quick, exact = setting.quick(), setting.exact()
    limits = None if share is None else Limits.of(setting.x, setting.y, share)
    found: list[Found] = []
    for start in starts:
        begin = time.perf_counter()
        soft, n_iter = _annealed(quick, setting, start, limits)
        twin = next((other for other in found if np.abs(other.soft - soft).sum() < SAME * soft.sum()), None)
        if twin is None:
            best = min((other.objective for other in found), default=np.inf)
            sharp = _sharpened(exact, setting, soft, limits, best)
            n_iter += sharp.n_steps
            twin = Found(sharp.plan, soft, setting.objective(sharp.plan), start.name, 0.0, 0, sharp.converged)
        found.append(twin._replace(name=start.name, seconds=time.perf_counter() - begin, n_iter=n_iter))
    return sorted(found, key=lambda one: one.objective)


def _annealed(quick: Quadratic, setting: Setting, start: StartingPlan, limits: Limits | None) -> tuple[Float64s, int]:
    """The plan at the end of a start's temperatures, and the number of steps."""
    if not start.temperatures:
        return start.plan, 0
    single = setting.single
    if limits is None:
        a, b = setting.x.weights, setting.y.weights
        soft = anneal(quick, single(start.plan), single(a), single(b), start.temperatures)
        return round_to_marginals(in_double(soft.plan), a, b), soft.n_steps
    plan, a, b = limits.extended(start.plan), limits.a, limits.b
    soft = anneal(Partial(quick), single(plan), single(a), single(b), start.temperatures)
    inner = in_double(soft.plan[:-1, :-1])
    return (inner if inner.sum() > 0 else start.plan), soft.n_steps  # float32 may lose a very small mass


def _sharpened(exact: Quadratic, setting: Setting, soft: Float64s, limits: Limits | None, best: float) -> Sharp:
    if limits is None:
        return sharpen(exact, soft, setting.x.weights, setting.y.weights, best)
    sharp = conditional_gradient(Partial(exact), limits.extended(soft), *limits)
    return sharp._replace(plan=sharp.plan[:-1, :-1])


def solve_freely(setting: Setting, starts: list[StartingPlan]) -> list[Found]:
    """Match all that can be, then leave out what fits far worse than the rest, until that stays the same."""
    share = 1.0
    for _ in range(ROUNDS):
        found = solve(setting, starts, share)
        kept = share * _share_well_matched(setting.exact(), found[0].plan)
        if kept > share - 1e-3:
            break
        share = kept
    return found


def _share_well_matched(problem: Quadratic, plan: Float64s) -> float:
    """Share of the matched mass whose points are not distorted far more than the median point, on the worse side."""
    cost = problem.slope(plan) * plan
    shares = []
    for axis in (1, 0):
        mass = plan.sum(axis=axis)
        own = cost.sum(axis=axis)[mass > 0] / mass[mass > 0]
        middle = np.median(own)
        deviation = 1.4826 * np.median(np.abs(own - middle))
        shares.append(float(mass[mass > 0][own <= middle + TRIMMED * deviation].sum() / mass.sum()))
    return min(shares)
