"""Where an alignment begins: plans between anchors, seen at several ranges, and the product plan.

An anchor cut off at a range sees its neighbourhood only. Near anchors tell left from right and front from back where
whole ones, which see everything, are nearly equal; whole ones distinguish the parts of a shape. No range is best for
all pairs, but the objective tells which one was.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from anchorot._kernels.records import StepRows
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_rng
from anchorot.anchors.rows import AnchorRows, row_costs
from anchorot.distances.descent import COOL_TEMPERATURES, WARM_TEMPERATURES, entropic_step
from anchorot.distances.plan import anchor_energy_plan
from anchorot.distances.quadratic import spread
from anchorot.space import Space

BLUR = 0.1  # epsilon of a plan between anchors, in units of the spread of their costs
LITTLE_BLUR = 0.02  # likewise, where anchors are seen at a short range and differ less


class StartingPlan(NamedTuple):
    """A plan to begin from, and the temperatures to go through."""

    name: str
    plan: Float64s
    temperatures: tuple[float, ...]


RANGES = {  # name of a start: share of all costs that anchors see, blur, temperatures
    "near": (0.1, LITTLE_BLUR, ()),
    "near_annealed": (0.1, BLUR, COOL_TEMPERATURES),
    "middle": (0.5, BLUR, COOL_TEMPERATURES),
    "aw": (1.0, BLUR, COOL_TEMPERATURES),
}
STARTS = (*RANGES, "aep", "product", "pinned")
ANCHOR_STARTS = ("middle", "near", "product", "near_annealed")  # what start="anchors" tries until two agree
WEIGHTED_STARTS = ("middle", "near_annealed", "near", "product")  # likewise, where "near" takes longest to sharpen
LAST_RESORT = "product"  # of many points: the longest to anneal, and tried if no two others agree
LAST_DOUBT = "near"  # likewise: tried if the result may be wrong; rescues scans from left-right flips
LARGE_STARTS = ("near_annealed", LAST_RESORT, LAST_DOUBT)  # beside landmarks, where points are many
LEVELS = 512  # quantiles of a weighted anchor that do for a start,
MAX_EXACT = 100  # where there are more points than these: merging their steps takes half the time of an alignment
TIED_ANCHORS = 48  # whose nearest ones are looked at
MIN_CERTAINTY = 0.7  # Σ of squared shares of a point's mass: from here on it has one match
MAX_PINS = 6  # points that are pinned to a match before the others' are clear


def starting_plans(names: Sequence[str], x: Space, y: Space, rng: RngLike, threads: int) -> list[StartingPlan]:
    """Return the starts of these names between two spaces without points of weight zero."""
    costs = cache(_Anchors(x, y, threads).costs)  # computed once for each range
    return [_starting_plan(name, x, y, costs, rng) for name in names]


def anchor_starts(x: Space, y: Space, rng: RngLike, threads: int) -> list[StartingPlan]:
    """Return the starts that are tried between few points; where anchors tie, one more that breaks symmetries."""
    anchors = _Anchors(x, y, threads)
    costs = cache(anchors.costs)
    names: tuple[str, ...] = ANCHOR_STARTS if x.is_uniform and y.is_uniform and x.n == y.n else WEIGHTED_STARTS
    if anchors.are_mostly_tied():
        names = ("pinned", *names)
    return [_starting_plan(name, x, y, costs, rng) for name in names]


def _starting_plan(name: str, x: Space, y: Space, costs: Callable[[float], Float64s], rng: RngLike) -> StartingPlan:
    if name == "product":
        return StartingPlan(name, np.outer(x.weights, y.weights), WARM_TEMPERATURES)
    if name == "aep":
        return StartingPlan(name, anchor_energy_plan(x, y), (0.25, *COOL_TEMPERATURES))
    if name == "pinned":
        return StartingPlan(name, _pin_points(costs(1.0), x, y, rng), ())
    share, blur, temperatures = RANGES[name]
    return StartingPlan(name, _blur(costs(share), blur, x, y), temperatures)


class _Anchors:
    """The anchors of two spaces, sorted once."""

    def __init__(self, x: Space, y: Space, threads: int) -> None:
        self._threads = threads
        self._rows = [AnchorRows.of(space, threads) for space in (x, y)]
        if max(x.n, y.n) > MAX_EXACT and any(own.quantiles is None for own in self._rows):
            self._rows = [_sampled(own) for own in self._rows]
        self._all = x.cost, y.cost

    @cached_property
    def _max_costs(self) -> dict[float, float]:
        """The quantiles of all costs that anchors see."""
        shares = sorted({share for share, *_ in RANGES.values()} - {1.0})
        every = np.concatenate([cost.ravel() for cost in self._all])
        return dict(zip(shares, np.quantile(every, shares).tolist(), strict=True))

    def costs(self, share: float) -> Float64s:
        """Transport costs between anchors that see costs up to a quantile of all, the rest as far as that."""
        rows = self._rows if share == 1 else [_cut(own, self._max_costs[share]) for own in self._rows]
        return row_costs(rows[0], rows[1], 1, self._threads)

    def are_mostly_tied(self) -> bool:
        """Whether most anchors have several equally near ones, as where a symmetry exchanges points.

        Some anchors are looked at, from small ones to large ones.
        """
        first, second = self._rows
        sizes = (first.steps.value if first.quantiles is None else first.quantiles.T).mean(axis=1)
        chosen = np.argsort(sizes, kind="stable")[:: max(1, first.n // TIED_ANCHORS)]
        costs = row_costs(_some(first, chosen), second, 1, self._threads)
        tied = costs <= costs.min(axis=1, keepdims=True) + 1e-9 * np.ptp(costs)
        return bool(np.median(tied.sum(axis=1)) > 1)


def anchor_costs(x: Space, y: Space, share: float, threads: int) -> Float64s:
    """Transport costs between anchors that see costs up to a quantile of all, the rest as far as that."""
    return _Anchors(x, y, threads).costs(share)


def _cut(rows: AnchorRows, max_cost: float) -> AnchorRows:
    """Anchors with larger costs cut down to one."""
    if rows.quantiles is not None:
        return AnchorRows(rows.weights, quantiles=np.minimum(rows.quantiles, max_cost))
    return AnchorRows(rows.weights, steps=rows.steps._replace(value=np.minimum(rows.steps.value, max_cost)))


def _some(rows: AnchorRows, chosen: Int64s) -> AnchorRows:
    """Some of the anchors."""
    if rows.quantiles is not None:
        return AnchorRows(rows.weights[chosen], quantiles=np.ascontiguousarray(rows.quantiles[:, chosen]))
    return AnchorRows(rows.weights[chosen], steps=StepRows(rows.steps.value[chosen], rows.steps.end[chosen]))


def _sampled(rows: AnchorRows) -> AnchorRows:
    """Anchors by their quantiles in the middle of equally wide levels: of weighted points, much quicker to compare."""
    middles = (np.arange(LEVELS) + 0.5) / LEVELS
    steps = rows.steps
    quantiles = [value[np.searchsorted(end, middles)] for value, end in zip(steps.value, steps.end, strict=True)]
    return AnchorRows(rows.weights, quantiles=np.ascontiguousarray(np.transpose(quantiles)))


def _blur(costs: Float64s, blur: float, x: Space, y: Space) -> Float64s:
    """Entropic plan at an epsilon in units of the spread of the costs."""
    a, b = x.weights, y.weights
    return entropic_step(costs, blur * spread(costs), a, b, 0 * b)[0]


def _pin_points(costs: Float64s, x: Space, y: Space, rng: RngLike) -> Float64s:
    """Break symmetry: match one undecided point after the other, and let the costs to it distinguish the rest."""
    generator = check_rng(rng)
    unit = float(spread(np.subtract.outer(x.cost[0], y.cost[0]))[0, 0])
    costs = costs / float(spread(costs)[0, 0])
    for _ in range(min(MAX_PINS, x.n)):
        plan = _blur(costs, LITTLE_BLUR, x, y)
        share = plan / plan.sum(axis=1, keepdims=True)
        certain = (share**2).sum(axis=1) + 1e-6 * generator.uniform(size=x.n)
        # the most certain of the undecided: of a small class of equals, if there is one
        point = int(np.where(certain < MIN_CERTAINTY, certain, 0).argmax())
        match = int((share[point] + 1e-3 * generator.uniform(size=y.n)).argmax())
        costs = costs + np.abs(x.cost[point][:, None] - y.cost[match]) / unit
    return _blur(costs, LITTLE_BLUR, x, y)
