"""What the measured times say: means, spreads, and by which power of n they grow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import linregress

from experiments.common.rules import Interval
from experiments.scalability.climb import Measurement

FITTED_SIZES = 4  # the largest: small ones measure calls, not growth


@dataclass(frozen=True)
class Curve:
    """Times of one method, one row of `seconds` a size; where a repetition was spared stands nan."""

    sizes: np.ndarray
    seconds: np.ndarray

    @classmethod
    def of(cls, measurements: Sequence[Measurement]) -> "Curve":
        """Arrange the measurements of one method."""
        sizes = sorted({m.n for m in measurements})
        table = np.full((len(sizes), 1 + max(m.repetition for m in measurements)), np.nan)
        for m in measurements:
            table[sizes.index(m.n), m.repetition] = m.seconds
        return cls(np.array(sizes), table)

    @property
    def mean(self) -> np.ndarray:
        """Mean time at every size."""
        return np.nanmean(self.seconds, axis=1)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation of the time at every size, between draws of points; 0 of a single one."""
        squares = np.nansum((self.seconds - self.mean[:, None]) ** 2, axis=1)
        draws = np.isfinite(self.seconds).sum(axis=1)
        return np.sqrt(squares / np.maximum(draws - 1, 1))

    @property
    def fitted(self) -> np.ndarray:
        """Sizes on which the power of n is fitted."""
        return self.sizes[-FITTED_SIZES:]

    def exponent(self) -> Interval:
        """Slope of log time over log n on the largest sizes, over all draws."""
        times = self.seconds[-FITTED_SIZES:]
        sizes = np.broadcast_to(self.fitted[:, None], times.shape)
        there = np.isfinite(times)
        slope = linregress(np.log(sizes[there]), np.log(times[there]))
        return Interval.student(float(slope.slope), float(slope.stderr), int(there.sum()) - 2)

    def log_ratio(self, fast: "Curve", n: int) -> Interval:
        """Log of how many times as long it takes as another at a size, draw by draw."""
        own, other = (curve.seconds[np.flatnonzero(curve.sizes == n)[0]] for curve in (self, fast))
        ratios = np.log(own[: len(other)] / other[: len(own)])
        return Interval.mean(ratios[np.isfinite(ratios)])

    def at(self, n: int) -> float:
        """Mean time at a size."""
        return float(self.mean[np.flatnonzero(self.sizes == n)[0]])


def ratio(slow: Curve, fast: Curve) -> tuple[float, int]:
    """How many times as long the one takes as the other at the largest size that both have, and that size."""
    n = int(np.intersect1d(slow.sizes, fast.sizes).max())
    return slow.at(n) / fast.at(n), n


def largest_disagreement(measurements: Sequence[Measurement]) -> tuple[float, int]:
    """Largest relative difference between the values of methods that compute one quantity, and of how many pairs."""
    values: dict[tuple[int, int], list[float]] = {}
    for m in measurements:
        values.setdefault((m.n, m.repetition), []).append(m.value)
    compared = [np.array(found) for found in values.values() if len(found) > 1]
    return max(float(np.ptp(found) / abs(found[0])) for found in compared), len(compared)
