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
        from scipy.stats import t

        gaps = first - second
        mean, error = float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
        reach = float(t.ppf((1 + CONFIDENCE) / 2, len(gaps) - 1)) * error
        return cls(mean, error, mean - reach, mean + reach)

    @property
    def word(self) -> str:
        """Whether the first is ahead, behind, or neither: "nil" where the interval holds zero."""
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "nil"

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}"
