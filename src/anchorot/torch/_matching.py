"""Starting plans of alignments of tensors, and matchings from soft plans: on the device, for batches.

*Starts* are the twin of :mod:`anchorot.distances.starts`. Rows of costs become quantile functions at K levels, and
anchors are compared by the mean difference at those. Between uniform spaces of one size, up to 1024 points, that is
exact (K = n); else K = 512 levels do for a start.

*Sharpening* goes one entry after the other. Few points, and plans that are no matchings, go to the CPU
(:mod:`anchorot.distances.descent`); many points are matched on the device. An exact assignment is the CPU's business
and takes minutes at 10 000 points. A nearly exact one needs potentials that make the right entries nearly zero:
entropic steps at falling temperature find them on the device. Then points that are each other's best are matched, round
by round; and among every point's best few candidates and that match the CPU finds the optimum, by sparse assignment,
which starts almost there.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from anchorot._typing import Float64s, Int64s
from anchorot.distances.descent import (
    MIN_GAIN,
    SWAP_LIMIT,
    WARM_TEMPERATURES,
    descend,
    entropic_step,
    round_to_marginals,
    sharpen,
)
from anchorot.distances.quadratic import Quadratic, on_host, plan_loss, spread
from anchorot.distances.starts import RANGES
from anchorot.torch._levels import blocks

TEMPERATURES = (0.03, 0.01, 0.003)  # of the spread of the costs, for the potentials; not tuned
HOST_REST_POINTS = 300  # that mutual matches leave: the CPU matches them
MAX_REST_POINTS = 1000  # that it still matches exactly
MIN_MATCHED_SHARE = 0.02  # of the points find each other in a round: else rounds do not help
CANDIDATES = 12  # of a point, the least of its reduced costs; not tuned
LEVELS = 512  # of weighted rows, or rows of different lengths, which are compared at as many shares
MOST_LEVELS = 1024  # all of them, up to here
# What start="anchors" tries. The one that is not annealed comes last: by then it shows whether it is worth its swaps.
ANCHOR_STARTS = ("middle", "near_annealed", "product", "near")
STARTS = (*RANGES, "product")
MAX_HOST_POINTS = 500  # up to here the CPU is as quick
MAX_DOUBLE_POINTS = 4096  # up to here a device sharpens in float64
COARSE_GAIN = 1e-4  # of the objective, beyond


class Assignment:
    """Finds matchings of small linear costs (n, n), from potentials that the call before has left."""

    def __init__(self, n: int, like: Tensor) -> None:
        self._a = torch.full((n,), 1 / n, dtype=like.dtype, device=like.device)
        self._g = torch.zeros_like(self._a)

    def __call__(self, costs: Tensor) -> Int64s:
        """Return a matching i -> matches[i]."""
        unit = spread(costs)
        for temperature in TEMPERATURES:
            _, f, self._g = entropic_step(costs, temperature * unit, self._a, self._a, self._g)
        reduced = (costs - f[:, None] - self._g) / unit
        return _best_of_candidates(reduced, _mutual_best(reduced))


def _mutual_best(costs: Tensor) -> Tensor:
    """Match points that are each other's best, then among those left, and so on."""
    rows, columns = (torch.arange(len(costs), device=costs.device) for _ in range(2))
    matches = torch.empty_like(rows)
    while len(rows) > HOST_REST_POINTS:
        best = costs.argmin(1)
        is_mutual = costs.argmin(0)[best] == torch.arange(len(rows), device=costs.device)
        matches[rows[is_mutual]] = columns[best[is_mutual]]
        is_free = torch.ones_like(is_mutual)
        is_free[best[is_mutual]] = False
        found = len(rows)
        rows, columns, costs = rows[~is_mutual], columns[is_free], costs[~is_mutual][:, is_free]
        if found - len(rows) < MIN_MATCHED_SHARE * found:
            break
    matches[rows] = columns[_rest(costs)]
    return matches


def _rest(costs: Tensor) -> Tensor:
    """Match what is left: at best if it is little, else in order, for the candidates to mend."""
    from scipy.optimize import linear_sum_assignment

    if len(costs) > MAX_REST_POINTS:
        return torch.arange(len(costs), device=costs.device)
    return torch.from_numpy(linear_sum_assignment(on_host(costs))[1]).to(costs.device)


def _best_of_candidates(costs: Tensor, matches: Tensor) -> Int64s:
    """Matching of least costs among every point's best candidates; the given one is among them, so there is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n = len(costs)
    k = min(CANDIDATES, n)
    columns = costs.topk(k, largest=False, sorted=True).indices
    is_missing = ~(columns == matches[:, None]).any(1)
    columns[:, -1] = torch.where(is_missing, matches, columns[:, -1])
    values = costs.gather(1, columns).double()
    values = values - values.min() + 1.0  # an entry of zero would count as none
    graph = csr_array((on_host(values).ravel(), on_host(columns).ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    graph.sort_indices()
    return min_weight_full_bipartite_matching(graph)[1].astype(np.int64)


class StartingPlans(NamedTuple):
    """Plans of a batch to begin from, and the temperatures to go through."""

    plan: Tensor  # (batch, n, m), float32
    temperatures: tuple[float, ...]


class Anchors:
    """The rows of two batches of spaces, sorted once, to be seen at several ranges."""

    def __init__(self, x: Tensor, y: Tensor, a: Tensor, b: Tensor, *, is_uniform: bool) -> None:
        n, m = x.shape[-1], y.shape[-1]
        levels = n if is_uniform and n == m <= MOST_LEVELS else LEVELS
        self._rows = [_quantiles(cost, None if is_uniform else w, levels) for cost, w in ((x, a), (y, b))]
        self._all = torch.cat([rows.flatten(1) for rows in self._rows], 1).sort(1).values
        self._a, self._b = a, b

    def start(self, name: str) -> StartingPlans:
        """Return the start of that name."""
        if name == "product":
            return StartingPlans(self._a[:, :, None] * self._b[:, None, :], WARM_TEMPERATURES)
        share, blur, temperatures = RANGES[name]
        costs = self._costs(share)
        plan, _, _ = entropic_step(costs, blur * spread(costs), self._a, self._b, 0 * self._b)
        return StartingPlans(plan, temperatures)

    def _costs(self, share: float) -> Tensor:
        """Transport costs between anchors that see costs up to a quantile of all, the rest as far as that."""
        place = share * (self._all.shape[1] - 1)
        low = int(place)
        high = min(low + 1, self._all.shape[1] - 1)
        max_cost = torch.lerp(self._all[:, low], self._all[:, high], place - low)[:, None, None]
        x, y = (torch.minimum(rows, max_cost) for rows in self._rows)
        return torch.cdist(x, y, p=1) / x.shape[-1]


def _quantiles(cost: Tensor, weights: Tensor | None, levels: int) -> Tensor:
    """(batch, n, levels): quantiles of every row of costs in the middle of equally wide levels."""
    n = cost.shape[-1]
    middles = (torch.arange(levels, device=cost.device, dtype=torch.float64) + 0.5) / levels
    if weights is None:
        ordered = cost.sort(-1).values
        return ordered if levels == n else ordered[..., (middles * n).long().clamp(max=n - 1)]
    ordered, order = cost.sort(-1)
    summed = weights.double()[:, None, :].expand(cost.shape).gather(-1, order).cumsum(-1)
    places = torch.searchsorted(summed, middles.expand(*cost.shape[:-1], levels).contiguous())
    return ordered.gather(-1, places.clamp(max=n - 1))


class Sharp(NamedTuple):
    """Where sharpening ended: a matching, or else a plan."""

    matches: Int64s
    plan: Float64s | None
    value: float
    objective: float
    n_steps: int
    converged: bool


class Entry:
    """One pair of a batch, in unit costs, without points of weight zero."""

    def __init__(self, x: Tensor, y: Tensor, a: Tensor, b: Tensor, features: Tensor | None, alpha: float) -> None:
        self._x, self._y, self._features = x, y, features
        self._alpha = 1.0 if features is None else alpha
        self._a, self._b = (on_host(weights) for weights in (a, b))
        if len(a) == len(b) and all(np.ptp(w) <= 1e-15 for w in (self._a, self._b)):
            self._a = self._b = np.full(len(a), 1 / len(a))
        self._is_matching = self._a is self._b

    def sharpen(self, soft: Tensor, best: float) -> Sharp:
        """Lower the objective from a plan until no step helps; what ends far above `best` gets no last steps."""
        if self._is_matching and len(self._a) > MAX_HOST_POINTS:
            return self._matched(soft, best)
        a, b = self._a, self._b
        plan, _, n_steps, converged = sharpen(self._host, round_to_marginals(on_host(soft.double()), a, b), a, b, best)
        is_sharp = self._is_matching and np.count_nonzero(plan) == len(a)
        return self._result(plan.argmax(1), None if is_sharp else plan, n_steps, converged)

    def _matched(self, soft: Tensor, best: float) -> Sharp:
        """The same for many points, on the device."""
        assign = Assignment(len(self._a), soft.new_empty(0, dtype=self._precision))
        first = assign(self._device.slope(soft.to(self._precision)))
        gain = MIN_GAIN if len(first) <= MAX_DOUBLE_POINTS else COARSE_GAIN
        matches, _, n_steps, converged, _ = descend(self._device, first, assign, SWAP_LIMIT * best, gain)
        return self._result(matches, None, n_steps, converged)

    @property
    def _precision(self) -> torch.dtype:
        return torch.float64 if len(self._a) <= MAX_DOUBLE_POINTS else torch.float32

    @cached_property
    def _host(self) -> Quadratic:
        features = None if self._features is None else on_host(self._features.double())
        return Quadratic(on_host(self._x.double()), on_host(self._y.double()), features, self._alpha)

    @cached_property
    def _device(self) -> Quadratic:
        features = None if self._features is None else self._features.to(self._precision)
        return Quadratic(self._x.to(self._precision), self._y.to(self._precision), features, self._alpha)

    def _result(self, matches: Int64s, plan: Float64s | None, n_steps: int, converged: bool) -> Sharp:
        if plan is None:
            value = _loss_of_matches(self._x, self._y, matches)
        else:
            value = plan_loss(on_host(self._x.double()), on_host(self._y.double()), plan)
        objective = self._alpha * value + (1 - self._alpha) * self._feature_cost(matches, plan)
        return Sharp(matches, plan, value, objective, n_steps, converged)

    def _feature_cost(self, matches: Int64s, plan: Float64s | None) -> float:
        if self._features is None:
            return 0.0
        if plan is None:
            return float(self._features[np.arange(len(matches)), matches].double().mean())
        return float((on_host(self._features) * plan).sum())


def _loss_of_matches(x: Tensor, y: Tensor, matches: Int64s) -> float:
    """Mean of (C_ij - C'_kl)² over matched pairs, in float64, by blocks of rows: 0 for exact copies."""
    n = len(matches)
    parts = (x[block].double() - y[matches[block]][:, matches].double() for block in blocks(n, n, x.device))
    return float(sum((part**2).sum() for part in parts)) / n**2
