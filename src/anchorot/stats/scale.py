"""Test at which distances groups of spaces differ: one permutation test for all distances together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import card, line
from anchorot._parallel import Threads
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._validate import check_integer, check_list, check_overflow, check_rng, check_threads, check_values
from anchorot.anchors.attribute_features import (
    TypedFeatures,
    VectorFeatures,
    attribute_features,
    energy_profile,
    pair_profiles,
    sorted_types,
)
from anchorot.anchors.attributes import AttributesLike, attribute_rule_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, heavy_part
from anchorot.stats.dispersion import (
    ROUNDING,
    UnitSums,
    check_groups,
    column_of,
    compare_together,
    dispersions,
    standardise,
    subjects_of,
)
from anchorot.stats.exchangeability import Exchange, exchange_of, number_names
from anchorot.stats.permutation import BATCH, PermutationTest, others_if_few

N_BANDS = 32
N_QUANTILES = 1025  # of each space's costs, from which the ends of bands are chosen
MIN_GAP = 1e-9  # of the height above the smallest cost: costs that differ by less are equal up to rounding
ENERGY_ROUNDING = 1e-14  # of the largest possible energy in the range of costs: less is rounding
FAR_ROUNDING = 1e-24  # the same beyond all costs, where the integrand is a square of rounding errors

Band = tuple[float, float]


class PairBand(NamedTuple):
    """A band of distances at which groups differ in the distances between points of two types."""

    first: Hashable
    second: Hashable
    low: float
    high: float
    share: float  # largest of its bands
    pvalue: float  # smallest of its bands, adjusted


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
    pair_shares : ndarray of shape (P, K)
        The share of every pair of types and band.
    pair_pvalues : ndarray of shape (P, K)
        For every pair of types and band, adjusted for all of them.
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
    pair_shares: Float64s = field(default_factory=lambda: np.empty((0, 0)))
    pair_pvalues: Float64s = field(default_factory=lambda: np.empty((0, 0)))

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

    def which(self, level: float = 0.05) -> list[PairBand]:
        """Return the types and distances at which the groups differ, most certain first; errors are as for `where`."""
        found = [
            PairBand(
                *pair, float(self.edges[a]), float(self.edges[b]), float(shares[a:b].max()), float(pvalues[a:b].min())
            )
            for pair, shares, pvalues in zip(self.pairs, self.pair_shares, self.pair_pvalues, strict=True)
            for a, b in _runs(pvalues <= level)
        ]
        return sorted(found, key=lambda band: (band.pvalue, -band.share))

    def limit(self, level: float = 0.05) -> Float64s:
        """Return the share of each band above which groups differ there; infinite with too few permutations."""
        allowed = int(np.floor(level * (len(self.null) + 1) + ROUNDING)) - 1  # permutations that may reach it
        if allowed < 0:
            return np.full(len(self.share), np.inf)
        return self.expected + np.sort(self.null)[-1 - allowed] * self.spread

    def _facts(self) -> dict[str, object]:
        low, high = self.band
        found = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in self.where()) or "none"
        facts = {"most from": f"{low:.4g} to {high:.4g}", "at 5 %": found}
        return super()._facts() | facts

    def _details(self) -> str:
        return card("share between groups, by distance", {}, line(self.share))

    def __repr__(self) -> str:
        found = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in self.where()) or "none"
        low, high = self.band
        return (
            f"ScaleTest(pvalue={self.pvalue:.4g}, most from {low:.4g} to {high:.4g}, at 5 %: {found}; "
            f"{len(self.share)} bands, groups {', '.join(map(repr, self.groups))})"
        )


def scale_test(
    spaces: Sequence[Space | ArrayLike],
    labels: Sequence[Any] | NDArray[Any] | str,
    max_costs: ArrayLike | None = None,
    *,
    subjects: Sequence[Any] | NDArray[Any] | str | None = None,
    strata: Sequence[Any] | NDArray[Any] | str | None = None,
    within: bool = False,
    attributes: AttributesLike = None,
    type_pairs: bool = False,
    robust: bool = False,
    n_resamples: int = 999,
    rng: RngLike = None,
    threads: int = 1,
    progress: bool = True,
) -> ScaleTest:
    r"""Test at which distances groups of spaces differ, for all distances together.

    Anchor Energy is an integral over distances x. Its part in a band of distances,

    .. math:: AE(R_k) - AE(R_{k - 1}) = 2 \int_{R_{k-1}}^{R_k} \int_0^1 |F(x, t) - G(x, t)|^2 dt\, dx,

    is itself a squared distance: it compares how many points (of which types, with `attributes`) the points of a space
    have within x, for x in that band. For each band the share of the dispersion that lies between the groups,
    :math:`1 - W / T` as in :func:`group_test`, is compared with its values under permuted labels. All bands use the
    same permutations. Shares are standardised by their mean and deviation under permutation, so that bands with many
    and with few points are comparable; p-values are adjusted by the largest of all bands.

    Bands are more informative than energies up to a maximal cost, which stay large beyond the distance at which spaces
    differ. For a single maximal cost use ``group_test(pairwise(spaces, max_cost=...), labels)``.

    Parameters
    ----------
    spaces : sequence of N Space or array_like of shape (n, n)
    labels : sequence of length N
        The group of each space; as for :func:`group_test`.
    subjects, strata, within
        As for :func:`group_test`.
    max_costs : array_like of shape (K,), optional
        Ascending ends of the bands. The first band begins at the smallest cost of all spaces. By default there are 32
        costs from the spaces, denser at short distances; the last is the largest cost. If the spaces have fewer
        distinct costs, as graphs do, all are used.
    attributes : {"types", "features"}, FeatureMap, optional
        As for :func:`anchor_energy`.
    type_pairs : bool
        With ``attributes="types"``: also test every pair of types, by its part of the energy. These p-values are
        adjusted for all pairs of types and all bands together.
    robust : bool
        Compare ranks of costs; `max_costs` are then ranks from 0 to 1.
    n_resamples : int
        Number of random permutations. No p-value is below 1 / (n_resamples + 1).
    rng : None, int or numpy.random.Generator
        Source of randomness for the permutations.
    threads : int
        Pairs of spaces to compare at the same time; the result does not depend on it.
    progress : bool
        Show a bar, on a terminal or in a notebook.

    Returns
    -------
    ScaleTest
        With `.pvalue`, `.band` (the distances at which the groups differ most), `.where()` (all such distances) and
        `.which()` (with types); :func:`anchorot.plot.scale_curve` draws it.

    Notes
    -----
    One pass over a pair of spaces computes its energies in all bands. O(S² K) memory for S subjects, or spaces if there
    are no subjects; times the number of pairs of types with ``type_pairs=True``.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> alone = [rng.random(40) for _ in range(6)]
    >>> paired = [np.repeat(rng.random(20), 2) + np.tile([0, 0.02], 20) for _ in range(6)]
    >>> spaces = [ao.Space(np.abs(np.subtract.outer(line, line))) for line in alone + paired]
    >>> ao.scale_test(spaces, ["alone"] * 6 + ["paired"] * 6, rng=0)
    ScaleTest(pvalue=0.01082, most from 0.02 to 0.0272, at 5 %: 0.01967 to 0.0272; 32 bands, groups 'alone', 'paired')
    """
    names, layers = column_of(spaces, labels, "labels"), column_of(spaces, strata, "strata")
    owners = subjects_of(spaces, subjects)
    spaces = check_list(spaces, "spaces", "space")
    seen = [heavy_part(as_space(space, robust=robust)) for space in spaces]
    groups, codes = check_groups(names, len(seen))
    exchange = exchange_of(
        codes.astype(np.min_scalar_type(len(groups))),
        subjects=owners,
        strata=layers,
        within=within,
    )
    count = check_integer(n_resamples, "n_resamples", 1)
    threads, generator = check_threads(threads), check_rng(rng)
    ends = _default_max_costs(seen) if max_costs is None else _check_max_costs(max_costs)
    attribute_rule = attribute_rule_of(spaces, attributes, float(ends[-1]), robust=robust)
    features = [
        attribute_features(space, attribute_rule, robust=robust, name=f"spaces[{i}]") for i, space in enumerate(spaces)
    ]
    start = min(float(ends[0]), min(float(space.cost.min()) for space in seen))
    alphabet = _alphabet(features) if type_pairs else ()
    least = _rounding(features, ends, start, max(float(space.cost.max()) for space in seen))
    sums = _band_sums(features, ends, alphabet, exchange.unit, least, threads, progress)
    others = others_if_few(exchange, count)
    if others is None:
        others = exchange.draw(count, generator)
    drawn = np.concatenate([exchange.labels[None], others])
    sizes = np.bincount(exchange.unit).astype(np.float64)
    shares = np.stack([_shares_between(UnitSums(_square(part), sizes), drawn) for part in sums])
    whole, by_pair = compare_together(shares[: len(ends)]), compare_together(shares[len(ends) :]) if alphabet else None
    owner = exchange.unit if owners is None or within is False else number_names(owners, "subjects", len(seen))
    errors = [_jackknife_error(UnitSums(_square(part), sizes), exchange, owner) for part in sums[: len(ends)]]
    adjusted = whole.adjusted
    return ScaleTest(
        statistic=float(whole.scores.max()),
        pvalue=float(adjusted.min()),
        null=whole.null,
        unit=exchange.name,
        n_assignments=exchange.n_assignments,
        min_pvalue=1 / len(drawn),
        edges=np.append(start, ends),
        share=shares[: len(ends), 0],
        expected=whole.expected,
        spread=whole.spread,
        pvalues=whole.pvalues,
        adjusted_pvalues=adjusted,
        error=np.array(errors),
        groups=groups,
        sizes=tuple(np.bincount(codes).tolist()),
        **({} if by_pair is None else _pair_facts(alphabet, shares[len(ends) :, 0], by_pair.adjusted, len(ends))),
    )


def _alphabet(features: Sequence[AnchorFeatures]) -> tuple[Hashable, ...]:
    """All types that occur."""
    if not all(isinstance(own, TypedFeatures) for own in features):
        raise InputError("type_pairs=True needs attributes='types'")
    return sorted_types(kind for own in features if isinstance(own, TypedFeatures) for kind in own.alphabet)


def _pair_facts(alphabet: tuple[Hashable, ...], shares: Float64s, adjusted: Float64s, bands: int) -> dict[str, Any]:
    pairs = tuple(combinations_with_replacement(alphabet, 2))
    return {
        "pairs": pairs,
        "pair_shares": shares.reshape(len(pairs), bands),
        "pair_pvalues": adjusted.reshape(len(pairs), bands),
    }


def _check_max_costs(max_costs: ArrayLike) -> Float64s:
    ends = check_values(max_costs, "max_costs")
    if (np.diff(ends) <= 0).any():
        raise InputError(
            "max_costs must be strictly ascending, but got one that is not above its predecessor; "
            "pass np.unique(max_costs)"
        )
    return ends


def _default_max_costs(spaces: Sequence[Space]) -> Float64s:
    """Quantiles of the costs between different points, with equal weight for all spaces.

    Levels are squares: in the plane, where the number of neighbours grows with the square of the distance, all bands
    are about equally wide.
    """
    levels = np.linspace(0.0, 1.0, N_QUANTILES)
    pooled = np.concatenate([np.quantile(_other_costs(space), levels, method="inverted_cdf") for space in spaces])
    different = _distinct_values(pooled)
    if len(different) <= N_BANDS:
        return different
    return _distinct_values(np.quantile(pooled, (np.arange(1, N_BANDS + 1) / N_BANDS) ** 2, method="inverted_cdf"))


def _distinct_values(values: Floats) -> Float64s:
    """Return the distinct values, sorted; of values that differ only by rounding the largest."""
    different: Float64s = np.unique(values).astype(np.float64)
    with np.errstate(over="ignore"):
        span = float(different[-1] - different[0])
    check_overflow(span, 1)
    return different[np.append(np.diff(different) > MIN_GAP * (different[1:] - different[0]), True)]


def _other_costs(space: Space) -> Floats:
    """Costs between different points; for a space of one point its only cost."""
    return space.cost[~np.eye(space.n, dtype=bool)] if space.n > 1 else space.cost.ravel()


def _band_sums(
    features: Sequence[AnchorFeatures],
    max_costs: Float64s,
    alphabet: tuple[Hashable, ...],
    unit: Int64s,
    least: Float64s,
    threads: int,
    progress: bool,
) -> Float64s:
    """Energies of all pairs of spaces in each band, summed for every pair of units u <= v, (bands, pairs of units).

    With an alphabet the energies of every pair of types follow, band after band. A band in which no energy exceeds
    `least` has only rounding errors, and is set to zero.
    """
    count, n_units = len(features), int(unit.max()) + 1
    parts = 1 + len(alphabet) * (len(alphabet) + 1) // 2 * bool(alphabet)
    sums = np.zeros((n_units * (n_units + 1) // 2, parts * len(max_costs)))

    has_energy = np.zeros((parts, len(max_costs)), bool)

    def compare(i: int) -> tuple[Float64s, NDArray[np.bool_]]:
        found = np.empty((count - i - 1, parts, len(max_costs)))
        for k, other in enumerate(features[i + 1 :]):
            found[k, 0] = energy_profile(features[i], other, max_costs)
            if alphabet:
                found[k, 1:] = pair_profiles(features[i], other, max_costs, alphabet)
        check_overflow(found, 1)
        bands = np.diff(found, axis=2, prepend=0.0)
        above = bands > least + ENERGY_ROUNDING * found  # of which a band is a difference
        return np.maximum(bands, 0.0).reshape(len(bands), -1), np.logical_or.reduce(above, axis=0)

    n_pairs = count * (count - 1) // 2
    with progress_bar(n_pairs, "comparing", "pairs", progress) as advance, Threads(threads) as pool:
        for i, (_, (found, above)) in enumerate(pool.map(compare, range(count - 1), in_order=True)):
            has_energy |= above
            low, high = np.minimum(unit[i], unit[i + 1 :]), np.maximum(unit[i], unit[i + 1 :])
            np.add.at(sums, high * (high + 1) // 2 + low, found)
            advance(len(found))
    return sums.T * has_energy.reshape(-1, 1)


def _rounding(features: Sequence[AnchorFeatures], max_costs: Float64s, start: float, largest: float) -> Float64s:
    """Largest rounding error of the energy of a band, which depends on costs up to its end but not on other bands.

    2 |F - G|² is at most 8 |F|², and |F| is 1 except for vectors.
    """
    vectors = [own.vectors for own in features if isinstance(own, VectorFeatures)]
    most = 8 * max((float(np.linalg.norm(own, axis=1).sum()) ** 2 for own in vectors), default=1.0)
    near = np.minimum(max_costs, max(largest, start))
    # term by term, since the difference may overflow
    near_rounding = ENERGY_ROUNDING * near - ENERGY_ROUNDING * start
    return most * (near_rounding + FAR_ROUNDING * max_costs - FAR_ROUNDING * start)


def _square(lower: Float64s) -> Float64s:
    """Sums over ordered pairs of items for every pair of units, from sums over unordered pairs."""
    count = math.isqrt(2 * len(lower))
    square = np.zeros((count, count))
    square[np.tril_indices(count)] = lower
    return square + square.T


def _shares_between(sums: UnitSums, labels: NDArray[Any]) -> Float64s:
    """1 - W / T of every labelling; 0 if all energies are zero."""
    batches = [dispersions(sums, labels[i : i + BATCH]) for i in range(0, len(labels), BATCH)]
    total, within = batches[0][0], np.concatenate([own for _, own in batches])
    return 1 - within / total if total > 0 else np.zeros(len(labels))


def _jackknife_error(sums: UnitSums, exchange: Exchange, owner: Int64s) -> float:
    """Jackknife standard error of the share between groups, leaving out each subject."""
    of_unit = np.empty(exchange.n_units, np.int64)
    of_unit[exchange.unit] = owner
    same = sums.powers * (of_unit[:, None] == of_unit)

    def dispersions_without(member: Float64s) -> Float64s:
        rows, own = (np.bincount(of_unit, (part @ member) * member) for part in (sums.powers, same))
        left = member @ sums.sizes - np.bincount(of_unit, sums.sizes * member)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (member @ sums.powers @ member - 2 * rows + own) / (2 * left)

    groups = [(exchange.labels == group).astype(np.float64) for group in range(int(exchange.labels.max()) + 1)]
    total, within = dispersions_without(np.ones(exchange.n_units)), sum(map(dispersions_without, groups))
    if not np.all(np.isfinite(within)):
        return np.nan
    shares = np.where(total > 0, 1 - within / np.where(total > 0, total, 1.0), 0.0)
    return float(np.sqrt((len(shares) - 1) * shares.var()))
