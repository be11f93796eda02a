"""Permutation tests: labels drawn in batches, ties counted, stopped early where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._html import card, histogram
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer

TIE = 1e-12  # statistics that differ by less, as a share of the largest of the first batch, are equal but for rounding
BATCH = 256  # labellings whose statistics are computed at once
CAUTIOUS_BATCH = 64  # where the test may stop after any of them

Statistics = Callable[[NDArray[np.uint8]], Float64s]


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
    """

    statistic: float
    pvalue: float
    null: Float64s = field(repr=False)
    stopped_early: bool = False

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts(), histogram(self.null, self.statistic), self._details())

    def _facts(self) -> dict[str, object]:
        """What a notebook tells in a table."""
        drawn = f"{len(self.null)} permutations{', stopped early' * self.stopped_early}"
        return {"statistic": f"{self.statistic:.6g}", "p-value": f"{self.pvalue:.4g} of {drawn}"}

    def _details(self) -> str:
        """What it shows below, as HTML."""
        return ""


def permutation_test(
    labels: NDArray[np.uint8],
    statistics: Statistics,
    *,
    n_resamples: int,
    rng: RngLike,
    stop_after: int | None = None,
    rounding: float = 0.0,
    progress: bool = True,
) -> PermutationTest:
    """Compare the statistic of some labels with those of random permutations of them.

    The permutations drawn depend on `rng` alone. With `stop_after` = h the test ends at the h-th permutation whose
    statistic reaches the observed one, and p = h / l if l permutations were drawn by then (Besag and Clifford 1991): a
    valid p-value, because under the null hypothesis l is that small with a probability of at most p.

    Statistics that differ by no more than `rounding`, or by a share `TIE` of the largest, are equal.
    """
    count = check_integer(n_resamples, "n_resamples", 1)
    enough = None if stop_after is None else check_integer(stop_after, "stop_after", 1)
    generator = np.random.default_rng(rng)
    observed = float(statistics(labels[None])[0])
    null = np.empty(0)
    least = observed
    with progress_bar(count, "permuting", "permutations", progress) as advance:
        while len(null) < count:
            batch = min(BATCH if enough is None else CAUTIOUS_BATCH, count - len(null))
            found = statistics(permuted(labels, batch, generator))
            if len(null) == 0:
                slack = max(TIE * max(abs(observed), float(np.abs(found).max())), rounding)
                least = observed - slack if np.isfinite(slack) else observed
            null = np.append(null, found)
            reached = np.flatnonzero(null >= least)
            if enough is not None and len(reached) >= enough:
                null = null[: reached[enough - 1] + 1]
                return PermutationTest(observed, enough / len(null), null, stopped_early=True)
            advance(batch)
    return PermutationTest(observed, (len(reached) + 1) / (count + 1), null)


def permuted(labels: NDArray[Any], count: int, generator: np.random.Generator) -> NDArray[Any]:
    """Return `count` random permutations of labels, one per row."""
    return np.stack([labels[generator.permutation(len(labels))] for _ in range(count)])
