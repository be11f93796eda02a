"""At which distance do groups of spaces differ? One permutation test for all distances together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import card, line
from anchorot._parallel import Threads
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, Floats, RngLike
from anchorot._validate import check_integer, check_overflow, check_threads, check_values
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.marked import VectorFeatures, energy_profile, marked_features
from anchorot.anchors.marking import MarksLike, marking_of
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, heavy_part
from anchorot.stats.groups import check_groups, dispersions
from anchorot.stats.permutation import BATCH, PermutationTest, permuted

N_REACHES = 32
N_QUANTILES = 1025  # of each space's costs, from which reaches are chosen
ROUNDING = 1e-12  # shares that differ by less are equal
MIN_GAP = 1e-9  # of their range: costs that differ by less are equal but for rounding
MIN_SPREAD = 1e-9  # a spread of shares below is rounding
ENERGY_ROUNDING = 1e-14  # of all that there can be between two spaces: less is rounding

Band = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScaleTest(PermutationTest):
    """At which distances groups differ.

    `statistic` is the largest standardised share of all bands, `null` its values under permuted labels, and `pvalue`
    that of the hypothesis that the groups differ at no distance.

    Attributes
    ----------
    edges : ndarray of shape (K + 1,)
        Band k goes from distance ``edges[k]`` to ``edges[k + 1]``.
    share : ndarray of shape (K,)
        Of the dispersion of all spaces at the distances of a band, how much lies between the groups: from 0 to 1.
    expected, spread : ndarray of shape (K,)
        Mean and standard deviation of the share when labels are permuted.
    pvalues : ndarray of shape (K,)
        Of each band by itself.
    adjusted_pvalues : ndarray of shape (K,)
        Of each band among all: those below 0.05 are, all together, wrong with a probability of at most 5 %.
    groups : tuple
        The labels of the groups, sorted.
    sizes : tuple of int
        Members of each.
    """

    edges: Float64s
    share: Float64s
    expected: Float64s
    spread: Float64s
    pvalues: Float64s
    adjusted_pvalues: Float64s
    groups: tuple[Any, ...]
    sizes: tuple[int, ...]

    @property
    def band(self) -> Band:
        """The distances at which the groups differ most."""
        place = int(np.argmax(_standardise(self.share, self.expected, self.spread)))
        return float(self.edges[place]), float(self.edges[place + 1])

    @property
    def reach(self) -> float:
        """How far one must see for the distances at which the groups differ most."""
        return self.band[1]

    def where(self, level: float = 0.05) -> list[Band]:
        """Return the distances at which the groups differ, as bands; wrong with a probability of at most `level`."""
        differs = np.concatenate([[False], self.adjusted_pvalues <= level, [False]])
        start, end = (np.flatnonzero(step) for step in (differs[1:] & ~differs[:-1], differs[:-1] & ~differs[1:]))
        return [(float(self.edges[a]), float(self.edges[b])) for a, b in zip(start, end, strict=True)]

    def limit(self, level: float = 0.05) -> Float64s:
        """Return what the share of a band must exceed for the groups to differ there; infinite for few permutations."""
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
    labels: Sequence[Any] | NDArray[Any],
    reaches: ArrayLike | None = None,
    *,
    marks: MarksLike = None,
    robust: bool = False,
    n_resamples: int = 999,
    rng: RngLike = None,
    threads: int = 1,
    progress: bool = True,
) -> ScaleTest:
    r"""Test at which distances groups of spaces differ, for all distances together.

    Anchor Energy is an integral over distances x; the part of it between two reaches,

    .. math:: AE(R_k) - AE(R_{k - 1}) = 2 \int_{R_{k-1}}^{R_k} \int_0^1 |F(x, t) - G(x, t)|^2 dt\, dx,

    is a squared distance of its own: of how many points (of which types, with `marks`) the points of a space have
    within x, for x in that band. For each band the share of the dispersion that lies between the groups,
    :math:`1 - W / T` as in :func:`group_test`, is compared with its values under permuted labels. The same
    permutations serve all bands: shares are standardised by their mean and deviation under permutation, which makes
    bands of many and of few points comparable, and the largest of all bands is what p-values are adjusted by.

    Bands tell more than energies up to a reach, which stay large beyond the distance at which spaces differ; for one
    reach alone use ``group_test(pairwise(spaces, reach=...), labels)``.

    Parameters
    ----------
    spaces : sequence of N Space or array_like of shape (n, n)
    labels : sequence of length N
        The group of each space; as for :func:`group_test`.
    reaches : array_like of shape (K,), optional
        Ascending: where the bands end. The first begins at the least cost of all spaces. By default there are 32, of
        costs that occur, denser where distances are short; the last is the largest cost. If fewer than that many costs
        occur, as in graphs, all are taken.
    marks : {"types", "features"}, FeatureMap, optional
        As for :func:`anchor_energy`.
    robust : bool
        Compare ranks of costs; reaches are ranks too, from 0 to 1.
    n_resamples : int
        Permutations to draw. No p-value is below 1 / (n_resamples + 1).
    rng : None, int or numpy.random.Generator
        Source of randomness for the permutations.
    threads : int
        Pairs of spaces to compare at the same time; the answer does not depend on it.
    progress : bool
        Show a bar, on a terminal or in a notebook.

    Returns
    -------
    ScaleTest
        With `.pvalue`, `.reach` (where they differ most), `.where()` (all distances at which they differ); to be drawn
        by :func:`anchorot.plot.scale_curve`.

    Notes
    -----
    One pass over a pair of spaces gives its energies at all reaches. O(N² K) memory.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> alone = [rng.random(40) for _ in range(6)]
    >>> paired = [np.repeat(rng.random(20), 2) + np.tile([0, 0.02], 20) for _ in range(6)]
    >>> spaces = [ao.Space(np.abs(np.subtract.outer(line, line))) for line in alone + paired]
    >>> ao.scale_test(spaces, ["alone"] * 6 + ["paired"] * 6, rng=0)
    ScaleTest(pvalue=0.018, most from 0.02 to 0.0272, at 5 %: 0.02 to 0.0272; 32 bands, groups 'alone', 'paired')
    """
    seen = [heavy_part(as_space(space, robust=robust)) for space in spaces]
    groups, codes = check_groups(labels, len(seen))
    count = check_integer(n_resamples, "n_resamples", 1)
    threads = check_threads(threads)
    ends = _default_reaches(seen) if reaches is None else _check_reaches(reaches)
    marking = marking_of(spaces, marks, float(ends[-1]), robust=robust)
    features = [marked_features(space, marking, robust=robust, name=f"spaces[{i}]") for i, space in enumerate(spaces)]
    start = min(float(ends[0]), min(float(space.cost.min()) for space in seen))
    between = np.diff(_profiles(features, ends, threads, progress), axis=1, prepend=0.0)  # (pairs, K)
    between[between <= ENERGY_ROUNDING * _largest_energy(features, float(ends[-1]) - start)] = 0.0
    labelled = codes.astype(np.min_scalar_type(len(groups)))
    drawn = np.concatenate([labelled[None], permuted(labelled, count, np.random.default_rng(rng))])
    shares = np.stack([_shares_between(_square(column, len(seen)), drawn) for column in between.T])
    return _test_shares(shares, np.append(start, ends), groups, tuple(np.bincount(codes).tolist()))


def _check_reaches(reaches: ArrayLike) -> Float64s:
    ends = check_values(reaches, "reaches")
    if (np.diff(ends) <= 0).any():
        raise InputError(
            "reaches must ascend, but got one that is not above the one before it; give np.unique(reaches)"
        )
    return ends


def _default_reaches(spaces: Sequence[Space]) -> Float64s:
    """Quantiles of the costs between different points, all spaces weighing the same.

    Levels are squares: in the plane, where the number of neighbours grows with the square of their distance, the bands
    of short distances are about as wide as the others.
    """
    levels = np.linspace(0.0, 1.0, N_QUANTILES)
    pooled = np.concatenate([np.quantile(_other_costs(space), levels, method="inverted_cdf") for space in spaces])
    different = _different(pooled)
    if len(different) <= N_REACHES:
        return different
    return _different(np.quantile(pooled, (np.arange(1, N_REACHES + 1) / N_REACHES) ** 2, method="inverted_cdf"))


def _different(values: Floats) -> Float64s:
    """Return the different values, sorted; of those that differ by rounding alone the largest."""
    different: Float64s = np.unique(values).astype(np.float64)
    with np.errstate(over="ignore"):
        span = float(different[-1] - different[0])
    check_overflow(span, 1)
    return different[np.append(np.diff(different) > MIN_GAP * span, True)]


def _other_costs(space: Space) -> Floats:
    """Costs between different points; of a space of one point its only cost."""
    return space.cost[~np.eye(space.n, dtype=bool)] if space.n > 1 else space.cost.ravel()


def _profiles(features: Sequence[AnchorFeatures], reaches: Float64s, threads: int, progress: bool) -> Float64s:
    """Energies of all pairs i < j up to each reach, (pairs, K)."""
    count = len(features)
    curves = np.empty((count * (count - 1) // 2, len(reaches)))

    def fill_row(i: int) -> int:
        start = i * (2 * count - i - 1) // 2
        for k, other in enumerate(features[i + 1 :], start):
            curves[k] = energy_profile(features[i], other, reaches)
        return count - i - 1

    with progress_bar(len(curves), "comparing", "pairs", progress) as advance, Threads(threads) as pool:
        for _, done in pool.map(fill_row, range(count - 1)):
            advance(done)
    check_overflow(curves, 1)
    return curves


def _largest_energy(features: Sequence[AnchorFeatures], span: float) -> float:
    """More than any energy over a span of costs: 2 |F - G|² is at most 8 |F|², and |F| is 1 but of vectors."""
    vectors = [own.vectors for own in features if isinstance(own, VectorFeatures)]
    return 8 * span * max((float(np.linalg.norm(own, axis=1).sum()) ** 2 for own in vectors), default=1.0)


def _square(upper: Float64s, count: int) -> Float64s:
    """Return the symmetric matrix of what stands above its diagonal, row after row."""
    square = np.zeros((count, count))
    square[np.triu_indices(count, 1)] = upper
    return square + square.T


def _shares_between(distances: Float64s, labels: NDArray[Any]) -> Float64s:
    """1 - W / T of every labelling; 0 where all spaces are alike."""
    batches = [dispersions(distances, labels[i : i + BATCH]) for i in range(0, len(labels), BATCH)]
    total, within = batches[0][0], np.concatenate([own for _, own in batches])
    return 1 - within / total if total > 0 else np.zeros(len(labels))


def _standardise(share: Float64s, expected: Float64s, spread: Float64s) -> Float64s:
    """How many deviations a share is above what is expected; 0 if labels make no difference."""
    return np.where(spread > MIN_SPREAD, (share - expected) / np.maximum(spread, MIN_SPREAD), 0.0)


def _test_shares(shares: Float64s, edges: Float64s, groups: tuple[Any, ...], sizes: tuple[int, ...]) -> ScaleTest:
    """Compare shares (K, 1 + permutations), the first of the labels as given, with the others.

    Mean and deviation are of all labellings, the one given included: which of them is given then makes no difference,
    so that p-values are exact.
    """
    expected, spread = shares.mean(axis=1), shares.std(axis=1)
    scores = _standardise(shares, expected[:, None], spread[:, None])
    slack = ROUNDING / max(MIN_SPREAD, float(spread[spread > MIN_SPREAD].min(initial=1.0)))
    observed, null = scores[:, 0], scores[:, 1:].max(axis=0)

    def pvalue(reached: NDArray[np.bool_]) -> Float64s:
        return (reached.sum(axis=1) + 1) / (len(null) + 1)

    adjusted = pvalue(null >= observed[:, None] - slack)
    return ScaleTest(
        statistic=float(observed.max()),
        pvalue=float(adjusted.min()),
        null=null,
        edges=edges,
        share=shares[:, 0],
        expected=expected,
        spread=spread,
        pvalues=pvalue(scores[:, 1:] >= observed[:, None] - slack),
        adjusted_pvalues=adjusted,
        groups=groups,
        sizes=sizes,
    )
