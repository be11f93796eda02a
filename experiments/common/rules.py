"""The rules of PROTOCOL.md: by which a number with its interval becomes a verdict. A test compares both."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

CONFIDENCE = 0.95


class Verdict(StrEnum):
    """Whether a claim is borne out."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"


class Side(StrEnum):
    """Where a number should lie: above or below the margin, or within minus the margin and the margin."""

    ABOVE = "above"
    BELOW = "below"
    WITHIN = "within"


@dataclass(frozen=True)
class Interval:
    """A number and its 95 % interval.

    Attributes
    ----------
    value : float
    low, high : float
        Ends of the interval; both the value itself where nothing is random.
    error : float or None
        Its standard error, where the interval is Student's.
    """

    value: float
    low: float
    high: float
    error: float | None = None

    @classmethod
    def mean(cls, values: ArrayLike) -> "Interval":
        """Return the mean of independent values, or of differences of pairs, by Student's t; two at least."""
        values = np.asarray(values, dtype=np.float64)
        return cls.student(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values) - 1)

    @classmethod
    def student(cls, value: float, error: float, freedom: int) -> "Interval":
        """Return a number of known standard error, by Student's t."""
        from scipy.stats import t

        reach = float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
        return cls(value, value - reach, value + reach, error)

    @classmethod
    def share(cls, count: int, of: int) -> "Interval":
        """Return how often something happened, by Clopper and Pearson."""
        from scipy.stats import binomtest

        found = binomtest(count, of).proportion_ci(CONFIDENCE, method="exact")
        return cls(count / of, float(found.low), float(found.high))

    @classmethod
    def exact(cls, value: float) -> "Interval":
        """Return a number that nothing random has gone into."""
        return cls(value, value, value)

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
        return f"{self.value:+.3f} ± {self.error:.3f} ({self.low:+.3f} to {self.high:+.3f})"


@dataclass(frozen=True)
class Rule:
    """On which side of a margin an interval should lie, how it is made, and of how many draws."""

    interval: str
    side: Side
    margin: float
    draws: int

    def judge(self, found: Interval) -> Verdict:
        """Whole interval on the right side: it holds; whole on the wrong side: it does not; else undecided."""
        low, high, margin = found.low, found.high, self.margin
        right, wrong = {
            Side.ABOVE: (low > margin, high < margin),
            Side.BELOW: (high < margin, low > margin),
            Side.WITHIN: (-margin < low and high < margin, low > margin or high < -margin),
        }[self.side]
        return Verdict.HOLDS if right else Verdict.FAILS if wrong else Verdict.OPEN

    def __str__(self) -> str:
        return f"{self.side} {'±' if self.side is Side.WITHIN else ''}{self.margin:g}"


@dataclass(frozen=True)
class Part:
    """A number that is part of a claim, and the rule that judges it."""

    what: str
    rule: str
    found: Interval

    @property
    def verdict(self) -> Verdict:
        """What the rule says."""
        return RULES[self.rule].judge(self.found)

    def __str__(self) -> str:
        return f"{self.what} {self.found}"


def judge_all(parts: Iterable[Part]) -> Verdict:
    """Judge a claim of several parts: it holds if all do, does not if one does not, and is undecided otherwise."""
    found = {part.verdict for part in parts}
    return Verdict.FAILS if Verdict.FAILS in found else Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.OPEN


ABOVE, BELOW, WITHIN = Side.ABOVE, Side.BELOW, Side.WITHIN
RULES = {
    "scalability.exact": Rule("exact", BELOW, 1e-9, 3),
    "scalability.sweep_power": Rule("slope", BELOW, 2.5, 3),
    "scalability.naive_power": Rule("slope", ABOVE, 2.7, 3),
    "scalability.naive_ratio": Rule("t", ABOVE, 0, 3),
    "scalability.rival_ratio": Rule("t", ABOVE, 0, 3),
    "trade_off.aw": Rule("t", WITHIN, 0.05, 12),
    "trade_off.gw": Rule("t", WITHIN, 0.05, 12),
    "robustness.ahead": Rule("t", ABOVE, 0, 12),
    "robustness.falls": Rule("t", ABOVE, 0, 12),
    "robustness.loses": Rule("t", BELOW, 0.1, 12),
    "robustness.gw_ahead": Rule("t", ABOVE, 0, 5),
    "robustness.gw_falls": Rule("t", ABOVE, 0, 5),
    "robustness.gw_loses": Rule("t", BELOW, 0.1, 5),
    "robustness.mean_clean": Rule("t", ABOVE, 0, 12),
    "robustness.ranks_spoiled": Rule("t", ABOVE, 0, 12),
    "node_assignment.better": Rule("t", ABOVE, 0, 200),
    "node_assignment.others_fail": Rule("t", ABOVE, 0, 200),
    "node_assignment.roles": Rule("share", ABOVE, 0.9, 200),
    "graph_models.weak": Rule("share", ABOVE, 0.5, 40),
    "graph_models.graphrnn": Rule("share", BELOW, 0.5, 40),
    "graph_models.nearer": Rule("t", ABOVE, 0, 40),
    "graph_models.training": Rule("share", BELOW, 0.5, 40),
    "graph_models.level": Rule("share", BELOW, 0.075, 600),
    "graph_models.rewired_degree": Rule("share", BELOW, 0.5, 40),
    "graph_models.rewired_clustering": Rule("share", ABOVE, 0.5, 40),
    "barycenters.ae_fails": Rule("share", BELOW, 0.5, 15),
    "barycenters.aw_preserves": Rule("share", ABOVE, 0.8, 15),
    "beyond.align_scot": Rule("t", ABOVE, 0, 20),
    "beyond.neurons": Rule("t", ABOVE, 0, 97),
    "power.level": Rule("t", BELOW, 0.075, 80),
    "power.ae_blind": Rule("share", BELOW, 0.2, 80),
    "power.w2_sees": Rule("share", ABOVE, 0.8, 80),
    "power.ranks_blind": Rule("share", BELOW, 0.2, 80),
    "power.ranks_outliers": Rule("t", ABOVE, 0, 80),
    "power.marks_see": Rule("t", ABOVE, 0, 80),
    "consistency.theory": Rule("t", WITHIN, 0.02, 200),
    "typed_graphs.marks_help": Rule("t", ABOVE, 0, 10),
    "typed_graphs.ahead_of_wl": Rule("t", ABOVE, 0, 10),
    "typed_graphs.like_wl": Rule("t", WITHIN, 0.05, 10),
    "networks.rivals": Rule("t", ABOVE, 0.05, 6),
    "surfaces.pyfm": Rule("t", ABOVE, 0, 11),
    "embeddings.rivals": Rule("t", ABOVE, 0.05, 10),
    "patients.level": Rule("share", BELOW, 0.075, 1000),
    "patients.images": Rule("share", ABOVE, 0.075, 1000),
    "patients.power": Rule("t", ABOVE, 0, 150),
}
MINUTES = {  # of every experiment on two quiet cores
    "scalability": 12,
    "trade_off": 34,
    "robustness": 14,
    "node_assignment": 9,
    "graph_models": 4,
    "barycenters": 12,
    "beyond": 4,
    "power": 7,
    "consistency": 6,
    "typed_graphs": 2,
    "networks": 7,
    "surfaces": 2,
    "embeddings": 3,
    "patients": 3,
}
NAMES = tuple(MINUTES)
