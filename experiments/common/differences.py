"""Differences between two methods on the same problems, and what may be said of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """The mean difference of two methods over problems that both were given.

    Attributes
    ----------
    mean : float
    error : float
        Its standard error.
    low, high : float
        Ends of its confidence interval, by Student's t.
    """

    mean: float
    error: float
    low: float
    high: float

    @classmethod
    def paired(cls, first: NDArray[np.float64], second: NDArray[np.float64]) -> "Difference":
        """Return the first less the second, problem by problem; at least two problems are needed."""
        return cls.of(first - second)

    @classmethod
    def of(cls, gaps: NDArray[np.float64], confidence: float = CONFIDENCE) -> "Difference":
        """Return the mean of differences, one a problem."""
        from scipy.stats import t

        mean, error = float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
        reach = float(t.ppf((1 + confidence) / 2, len(gaps) - 1)) * error
        return cls(mean, error, mean - reach, mean + reach)

    def comparable(self, margin: float) -> str:
        """Whether the two are alike within a margin, by two one-sided tests: the interval decides.

        At a level of 5 % each, the interval is to be that of 90 %.
        """
        if -margin < self.low and self.high < margin:
            return "comparable"
        return "not comparable" if self.low > margin or self.high < -margin else "undecided"

    @property
    def word(self) -> str:
        """Whether the first is ahead, behind, or neither: "nil" where the interval holds zero."""
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "nil"

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}"
