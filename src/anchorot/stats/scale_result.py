"""Result of a test at which distances groups of spaces differ."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._html import card, line
from anchorot._typing import Float64s
from anchorot.stats.dispersion import ROUNDING, standardise
from anchorot.stats.permutation import PermutationTest, columns_of, percent

MAX_SHOWN = 3  # bands in a repr

Band = tuple[float, float]


class PairBand(NamedTuple):
    """A band of distances between points of two types, and how much groups differ in it."""

    first: Hashable
    second: Hashable
    low: float
    high: float
    effect: float  # share of the dispersion between groups, less its mean under permuted labels
    pvalue: float
    adjusted_pvalue: float  # for all pairs of types and all bands together


def _runs(differs: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of every run of True."""
    padded = np.concatenate([[False], differs, [False]])
    start, end = (np.flatnonzero(step) for step in (padded[1:] & ~padded[:-1], padded[:-1] & ~padded[1:]))
    return list(zip(start.tolist(), end.tolist(), strict=True))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScaleTest(PermutationTest):
    """Result of a test at which distances groups differ.

    `statistic` is the largest standardised share of all bands, `null` its values under permuted labels, and `pvalue`
    tests the hypothesis that the groups differ at no distance.

    Attributes
    ----------
    edges : ndarray of shape (K + 1,)
        Band k goes from distance ``edges[k]`` to ``edges[k + 1]``.
    share : ndarray of shape (K,)
        Share of the dispersion at the distances of a band that lies between the groups: from 0 to 1.
    expected, spread : ndarray of shape (K,)
        Mean and standard deviation of the share under permuted labels.
    pvalues : ndarray of shape (K,)
        For each band, unadjusted.
    adjusted_pvalues : ndarray of shape (K,)
        For each band, adjusted for all bands: if all below 0.05 are rejected, the probability of any false rejection is
        at most 5 %.
    error : ndarray of shape (K,)
        Jackknife standard error of the share, over subjects (or spaces); NaN if a group has only one.
    groups : tuple
        The labels of the groups, sorted.
    sizes : tuple of int
        Number of members of each.
    pairs : tuple of tuple
        The P pairs of types, with ``type_pairs=True``.
    pair_effects : ndarray of shape (P, K)
        The share of every pair of types and band, less its mean under permuted labels.
    pair_pvalues, pair_adjusted_pvalues : ndarray of shape (P, K)
        For every pair of types and band: unadjusted, and adjusted for all of them.
    """

    edges: Float64s
    share: Float64s
    expected: Float64s
    spread: Float64s
    pvalues: Float64s
    adjusted_pvalues: Float64s
    error: Float64s
    groups: tuple[Any, ...]
    sizes: tuple[int, ...]
    pairs: tuple[tuple[Hashable, Hashable], ...] = ()
    pair_effects: Float64s = field(default_factory=lambda: np.empty((0, 0)))
    pair_pvalues: Float64s = field(default_factory=lambda: np.empty((0, 0)))
    pair_adjusted_pvalues: Float64s = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def band(self) -> Band:
        """The distances at which the groups differ most."""
        place = int(np.argmax(standardise(self.share, self.expected, self.spread)))
        return float(self.edges[place]), float(self.edges[place + 1])

    @property
    def max_cost(self) -> float:
        """The largest cost needed to see the distances at which the groups differ most."""
        return self.band[1]

    def where(self, level: float = 0.05) -> list[Band]:
        """Return the bands of distances at which the groups differ, with a family-wise error of at most `level`."""
        return [(float(self.edges[a]), float(self.edges[b])) for a, b in _runs(self.adjusted_pvalues <= level)]

    def table(self) -> list[PairBand]:
        """Return every pair of types in every band, whether groups differ there or not.

        ``pandas.DataFrame(found.table())`` makes a data frame of it, and :func:`anchorot.plot.type_pairs` a picture.
        """
        bands = list(zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True))
        columns = (self.pair_effects, self.pair_pvalues, self.pair_adjusted_pvalues)
        return [
            PairBand(*pair, *band, *numbers)
            for pair, *rows in zip(self.pairs, *(column.tolist() for column in columns), strict=True)
            for band, *numbers in zip(bands, *rows, strict=True)
        ]

    def which(self, level: float = 0.05) -> list[PairBand]:
        """Return the types and distances at which the groups differ, most certain first; errors are as for `where`.

        Neighbouring bands are joined: effects are the largest, p-values the smallest of theirs.
        """
        found = [
            PairBand(
                *pair,
                float(self.edges[a]),
                float(self.edges[b]),
                float(effects[a:b].max()),
                float(pvalues[a:b].min()),
                float(adjusted[a:b].min()),
            )
            for pair, effects, pvalues, adjusted in zip(
                self.pairs, self.pair_effects, self.pair_pvalues, self.pair_adjusted_pvalues, strict=True
            )
            for a, b in _runs(adjusted <= level)
        ]
        return sorted(found, key=lambda band: (band.adjusted_pvalue, -band.effect))

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, texts and arrays, which `AnnData.uns` can hold; of pairs of types the table, by columns."""
        found = {name: value for name, value in super().to_dict().items() if not name.startswith("pair")}
        return found | ({"table": columns_of(self.table())} if self.pairs else {})

    def limit(self, level: float = 0.05) -> Float64s:
        """Return the share of each band above which groups differ there; infinite with too few permutations."""
        allowed = int(np.floor(level * (len(self.null) + 1) + ROUNDING)) - 1  # permutations that may reach it
        if allowed < 0:
            return np.full(len(self.share), np.inf)
        return self.expected + np.sort(self.null)[-1 - allowed] * self.spread

    def facts(self) -> dict[str, str]:
        """Summarise the test in words; what notebooks and the command line show."""
        low, high = self.band
        found = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in self.where()) or "none"
        facts = {"most from": f"{low:.4g} to {high:.4g}", "at 5 %": found}
        return super().facts() | facts

    def _details(self) -> str:
        return card("share between groups, by distance", {}, line(self.share))

    def _verdict(self) -> str:
        bands = [f"{low:.4g} to {high:.4g}" for low, high in self.where()]
        more = f" and {len(bands) - MAX_SHOWN} more" * (len(bands) > MAX_SHOWN)
        return super()._verdict() + (f" at distances {', '.join(bands[:MAX_SHOWN])}{more}" if bands else "")

    def _findings(self) -> list[str]:
        low, high = self.band
        place = int(np.argmax(standardise(self.share, self.expected, self.spread)))
        share, expected, error = self.share[place], self.expected[place], self.error[place]
        lines = [
            f"most at {low:.4g} to {high:.4g}: {percent(share)} of the dispersion between groups (standard error "
            f"{percent(error)}), {percent(expected)} by chance"
        ]
        if self.pairs:
            best = min(self.table(), key=lambda row: (row.adjusted_pvalue, -row.effect))
            lines.append(
                f"of {len(self.pairs)} pairs of types, most {best.first!r} and {best.second!r} at {best.low:.4g} to "
                f"{best.high:.4g}, adjusted p = {best.adjusted_pvalue:.4g}"
            )
        return [*lines, f"{len(self.share)} bands from {self.edges[0]:.4g} to {self.edges[-1]:.4g}"]
