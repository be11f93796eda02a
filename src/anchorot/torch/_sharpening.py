"""From the soft plans of a batch to sharp ones, one entry after the other.

Few points, and plans that are no matchings, go to the CPU (:mod:`anchorot.distances.sharpening`); many points are
matched on the device (:mod:`anchorot.torch._matching`).
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from anchorot._typing import Float64s, Int64s
from anchorot.distances.quadratic import Quadratic, on_host, plan_loss
from anchorot.distances.sharpening import HOPELESS, LEAST_GAIN, descend, round_to_marginals, sharpen
from anchorot.torch._levels import blocks
from anchorot.torch._matching import Assignment

ON_HOST = 500  # points: up to here the CPU is as quick
IN_DOUBLE = 4096  # points: up to here a device sharpens in float64
COARSE_GAIN = 1e-4  # of the objective, beyond


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

    def sharpened(self, soft: Tensor, best: float) -> Sharp:
        """Lower the objective from a plan until no step helps; what ends far above `best` gets no last steps."""
        if self._is_matching and len(self._a) > ON_HOST:
            return self._matched(soft, best)
        a, b = self._a, self._b
        plan, _, n_steps, converged = sharpen(self._host, round_to_marginals(on_host(soft.double()), a, b), a, b, best)
        is_sharp = self._is_matching and np.count_nonzero(plan) == len(a)
        return self._result(plan.argmax(1), None if is_sharp else plan, n_steps, converged)

    def _matched(self, soft: Tensor, best: float) -> Sharp:
        """The same for many points, on the device."""
        assign = Assignment(len(self._a), soft.new_empty(0, dtype=self._precision))
        first = assign(self._device.slope(soft.to(self._precision)))
        gain = LEAST_GAIN if len(first) <= IN_DOUBLE else COARSE_GAIN
        matches, n_steps, converged = descend(self._device, first, assign, HOPELESS * best, gain)
        return self._result(matches, None, n_steps, converged)

    @property
    def _precision(self) -> torch.dtype:
        return torch.float64 if len(self._a) <= IN_DOUBLE else torch.float32

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
