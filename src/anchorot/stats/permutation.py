"""Permutation tests: labels drawn in batches, ties counted, stopped early where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._html import card, histogram
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer, check_rng
from anchorot.stats.exchangeability import Exchange

TIE = 1e-12  # of the observed statistic: one that is less by no more is equal but for rounding
BATCH = 256  # labellings whose statistics are computed at once
CAUTIOUS_BATCH = 64  # where the test may stop after any of them
MANY = 1_000_000  # assignments, whose number is rounded

Statistics = Callable[[NDArray[Any]], Float64s]


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """What a permutation test found.

    Attributes
    ----------
    statistic : float
        Of the labels as given.
    pvalue : float
        (#{null >= statistic} + 1) / (len(null) + 1), ties included; of a test that stopped early
        #{null >= statistic} / len(null).
    null : ndarray
        The statistic under each permutation of the labels.
    stopped_early : bool
        Whether `stop_after` ended the test before all permutations.
    unit : str
        What was permuted: "items", "subjects", "items within subjects" and the like.
    n_assignments : int
        In how many ways the units can be divided into such groups. If these are no more than were to be drawn, `null`
        has each but the one given, once, and the p-value is exact.
    min_pvalue : float
        The smallest p-value that was possible.
    """

    statistic: float
    pvalue: float
    null: Float64s = field(repr=False)
    stopped_early: bool = False
    unit: str = "items"
    n_assignments: int = 0
    min_pvalue: float = 0.0

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts(), histogram(self.null, self.statistic), self._details())

    def _facts(self) -> dict[str, object]:
        """What a notebook tells in a table."""
        drawn = f"{len(self.null)} permutations{', stopped early' * self.stopped_early}"
        facts: dict[str, object] = {"statistic": f"{self.statistic:.6g}", "p-value": f"{self.pvalue:.4g} of {drawn}"}
        if self.n_assignments:
            facts["permuted"] = f"{self.unit}, {few_digits(self.n_assignments)} assignments"
            facts["smallest possible p-value"] = f"{self.min_pvalue:.4g}"
        return facts

    def _details(self) -> str:
        """What it shows below, as HTML."""
        return ""


def few_digits(count: int) -> str:
    """Return a count in full, or rounded if it is long."""
    return str(count) if count < MANY else f"about 1e{len(str(count)) - 1}"


def less_rounding(observed: float, rounding: float = 0.0) -> float:
    """Return the least statistic that equals the observed one but for rounding, of that or of its own digits."""
    return observed - max(TIE * abs(observed), rounding)


def permutation_test(
    exchange: Exchange,
    statistics: Statistics,
    *,
    n_resamples: int,
    rng: RngLike,
    stop_after: int | None = None,
    least_equal: Callable[[float], float] = less_rounding,
    progress: bool = True,
) -> PermutationTest:
    """Compare the statistic of the labels given with those of labels that might as well have been dealt.

    All divisions into groups are gone through if there are at most `n_resamples`; else that many are drawn, which
    depend on `rng` alone. With `stop_after` = h the test ends at the h-th draw whose statistic reaches the observed
    one, and p = h / l if there were l draws by then (Besag and Clifford 1991): a valid p-value, because under the null
    hypothesis l is that small with a probability of at most p.

    Statistics, which are asked for with the labels of all units, must not depend on what groups are called. Those
    from `least_equal` of the observed one on count as no less: the slack follows the values compared, and no other.
    """
    count = check_integer(n_resamples, "n_resamples", 1)
    enough = None if stop_after is None else check_integer(stop_after, "stop_after", 1)
    generator = check_rng(rng)
    listed = others_if_few(exchange, count)
    if listed is not None:
        count, enough = len(listed), None
    kept: dict[str, Any] = {
        "unit": exchange.name, "n_assignments": exchange.n_assignments, "min_pvalue": 1 / (count + 1)
    }  # fmt: skip
    size = BATCH if enough is None else CAUTIOUS_BATCH
    starts = [0, *range(size - 1, count, size)]  # the labels given go with the first: alone they take as long as 16

    def draw(start: int) -> NDArray[Any]:
        batch = min(size - (start == 0), count - start)
        drawn = exchange.draw(batch, generator) if listed is None else listed[start : start + batch]
        return np.concatenate([exchange.labels[None], drawn]) if start == 0 else drawn

    observed = least = 0.0
    null = np.empty(0)
    reached = np.empty(0, np.intp)
    batches = _drawn_ahead(draw, starts) if enough is None else (draw(start) for start in starts)
    with progress_bar(count, "permuting", "permutations", progress) as advance, closing(batches):
        for drawn in batches:
            found = statistics(drawn)
            if len(null) == 0:
                observed, found = float(found[0]), found[1:]
                least = least_equal(observed)
            null = np.append(null, found)
            reached = np.flatnonzero(null >= least)
            if enough is not None and len(reached) >= enough:
                null = null[: reached[enough - 1] + 1]
                return PermutationTest(observed, enough / len(null), null, stopped_early=True, **kept)
            advance(len(found))
    return PermutationTest(observed, (len(reached) + 1) / (count + 1), null, **kept)


def _drawn_ahead(draw: Callable[[int], NDArray[Any]], starts: list[int]) -> Generator[NDArray[Any]]:
    """Draw every batch while statistics of the one before are computed, which leaves the interpreter free."""
    with ThreadPoolExecutor(1, "anchorot") as thread:
        coming = thread.submit(draw, starts[0])
        for start in starts[1:]:
            drawn, coming = coming.result(), thread.submit(draw, start)
            yield drawn
        yield coming.result()


def others_if_few(exchange: Exchange, count: int) -> NDArray[Any] | None:
    """All labellings but the one given, if no more than `count` are possible."""
    return exchange.others() if exchange.n_assignments <= count else None
