"""Permutation tests: labels drawn in batches, with ties and optional early stopping."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._html import card, histogram
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer, check_rng
from anchorot.stats.exchangeability import Exchange

TIE = 1e-12  # of the observed statistic: differences up to this are rounding
BATCH = 256  # labellings whose statistics are computed together
CAUTIOUS_BATCH = 64  # the same for tests that may stop early
MANY = 1_000_000  # assignments; larger numbers are rounded
LEVEL = 0.05  # of verdicts

Statistics = Callable[[NDArray[Any]], Float64s]


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    statistic : float
        Statistic of the given labels.
    pvalue : float
        (#{null >= statistic} + 1) / (len(null) + 1), ties included; #{null >= statistic} / len(null) if the test
        stopped early.
    null : ndarray
        The statistic under each permutation of the labels.
    stopped_early : bool
        Whether `stop_after` ended the test before all permutations.
    unit : str
        What was permuted: "items", "subjects", "items within subjects" and the like.
    n_assignments : int
        Number of ways to divide the units into such groups. If it is at most `n_resamples`, `null` has each of them
        except the given one once, and the p-value is exact.
    min_pvalue : float
        The smallest possible p-value.
    """

    statistic: float
    pvalue: float
    null: Float64s
    stopped_early: bool = False
    unit: str = "items"
    n_assignments: int = 0
    min_pvalue: float = 0.0

    def __repr__(self) -> str:
        """At most six lines: the verdict, then what it rests on."""
        return "\n  ".join([f"{type(self).__name__}: {self._verdict()}", *self._findings(), self._permuted()])

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, texts and arrays, which `AnnData.uns` can hold; other values as texts, None is left out."""
        return {name: plain(value) for name, value in vars(self).items() if value is not None}

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self.facts(), histogram(self.null, self.statistic), self._details())

    def _verdict(self) -> str:
        if self.min_pvalue > LEVEL:
            return f"too few assignments to find a difference at 5 % (p = {self.pvalue:.4g})"
        differs = self.pvalue <= LEVEL
        return f"{'the groups differ' if differs else 'no difference found'} (p = {self.pvalue:.4g})"

    def _findings(self) -> list[str]:
        """Lines with estimates."""
        return [f"statistic: {self.statistic:.6g}"]

    def _permuted(self) -> str:
        total, count = few_digits(self.n_assignments), len(self.null)
        drawn = f"all {total}" if count + 1 == self.n_assignments else f"{count} of {total}"
        stopped = ", stopped early" * self.stopped_early
        return f"permuted: {self.unit}; {drawn} assignments{stopped}, smallest possible p = {self.min_pvalue:.4g}"

    def facts(self) -> dict[str, str]:
        """Summarise the test in words; what notebooks and the command line show."""
        drawn = f"{len(self.null)} permutations{', stopped early' * self.stopped_early}"
        facts = {"statistic": f"{self.statistic:.6g}", "p-value": f"{self.pvalue:.4g} of {drawn}"}
        if self.n_assignments:
            facts["permuted"] = f"{self.unit}, {few_digits(self.n_assignments)} assignments"
            facts["smallest possible p-value"] = f"{self.min_pvalue:.4g}"
        return facts

    def _details(self) -> str:
        """HTML below the table."""
        return ""


def plain(value: Any) -> Any:
    """Return a value that files can hold: of a tuple an array of numbers or texts."""
    if isinstance(value, bool | int | float | str | np.ndarray):
        return value
    are_numbers = all(isinstance(each, int | float) for each in value)
    return np.array(value if are_numbers else [str(each) for each in value])


def columns_of(rows: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of a list of named tuples."""
    return {name: plain(column) for name, column in zip(rows[0]._fields, zip(*rows, strict=True), strict=True)}


def percent(share: float) -> str:
    """Format a share."""
    return f"{100 * share:.3g} %"


def few_digits(count: int) -> str:
    """Format a count, rounded if it is large."""
    return str(count) if count < MANY else f"about 1e{len(str(count)) - 1}"


def less_rounding(observed: float, rounding: float = 0.0) -> float:
    """Return the smallest statistic that counts as a tie with the observed one, within `rounding` or `TIE`."""
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
    """Compare the statistic of the given labels with those of equally likely labels.

    All divisions into groups are enumerated if there are at most `n_resamples`; else that many are drawn, depending
    only on `rng`. With `stop_after` = h the test ends at the h-th draw whose statistic reaches the observed one, and
    p = h / l after l draws (Besag and Clifford 1991). This p-value is valid: under the null hypothesis l is that small
    with a probability of at most p.

    `statistics` gets the labels of all units, and must not depend on the groups' names. Values from
    `least_equal(observed)` on count as reaching the observed one.
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
    starts = [
        0,
        *range(size - 1, count, size),
    ]  # the given labels join the first batch: alone they take as long as 16

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
    """Draw each batch in a thread while statistics of the previous one are computed without the GIL."""
    with ThreadPoolExecutor(1, "anchorot") as thread:
        coming = thread.submit(draw, starts[0])
        for start in starts[1:]:
            drawn, coming = coming.result(), thread.submit(draw, start)
            yield drawn
        yield coming.result()


def others_if_few(exchange: Exchange, count: int) -> NDArray[Any] | None:
    """All labellings except the given one, if at most `count` are possible."""
    return exchange.others() if exchange.n_assignments <= count else None
