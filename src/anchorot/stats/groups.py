"""Permutation tests for differences between groups of spaces, on a matrix of all-pairs distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import rows
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_finite, check_nonnegative, check_rng, check_square
from anchorot.anchors.attributes import AttributesLike
from anchorot.exceptions import InputError
from anchorot.io.cohort import Cohort
from anchorot.many.pairwise import pairwise
from anchorot.stats.dispersion import (
    ROUNDING,
    Effect,
    UnitSums,
    check_groups,
    column_of,
    dispersions,
    effect_between,
    subjects_of,
)
from anchorot.stats.exchangeability import Exchange, exchange_of, number_names
from anchorot.stats.permutation import PermutationTest, permutation_test

MAX_ASYMMETRY = 1e-9  # of the largest distance: more is not rounding


@dataclass(frozen=True)
class PairOfGroups:
    """Comparison of two groups.

    Attributes
    ----------
    first, second : object
        Their labels.
    statistic, pvalue : float
        Result of :func:`~anchorot.group_test` on these two groups.
    adjusted_pvalue : float
        Corrected for the number of pairs by Holm's method: if all pairs below 0.05 are rejected, the probability of any
        false rejection is at most 5 %.
    share : float
        Share of the dispersion of both groups that lies between them: from 0 to 1.
    energy : float
        Distance between the groups, :math:`2 E[d(x, y)] - E[d(x, x')] - E[d(y, y')]` in units of the distances to the
        given power, from pairs of different subjects (or items): 0 on average for groups that do not differ. NaN if a
        group has one subject.
    low, high : float
        Its 95 % bootstrap interval over subjects (or items). It is too short for groups that differ much and have few
        subjects, even with eight a side; NaN for fewer than three in a group.
    """

    first: Any
    second: Any
    statistic: float
    pvalue: float
    adjusted_pvalue: float
    share: float
    energy: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GroupTest(PermutationTest):
    """Result of a test of several groups.

    Attributes
    ----------
    groups : tuple
        The labels of the groups, sorted.
    sizes : tuple of int
        Number of members of each.
    n_subjects : tuple of int
        Number of subjects of each; without subjects the number of members.
    share : float
        Share of the total dispersion that lies between the groups, 1 - W / T: from 0 to 1, above 0 even by chance.
    pairs : tuple of PairOfGroups
        Comparisons of all pairs of groups; empty with ``post_hoc=False``.
    """

    groups: tuple[Any, ...] = ()
    sizes: tuple[int, ...] = ()
    n_subjects: tuple[int, ...] = ()
    share: float = 0.0
    pairs: tuple[PairOfGroups, ...] = ()

    def _facts(self) -> dict[str, object]:
        return super()._facts() | {"share between groups": f"{self.share:.3g}"}

    def _details(self) -> str:
        members = zip(self.groups, self.sizes, self.n_subjects, strict=True)
        sizes = rows(["group", "members", "subjects"], [list(map(str, row)) for row in members])
        shown = [
            [
                f"{pair.first} and {pair.second}",
                f"{pair.adjusted_pvalue:.4g}",
                _with_interval(pair),
            ]
            for pair in self.pairs
        ]
        return sizes + (rows(["pair", "adjusted p-value", "energy, 95 % interval"], shown) if shown else "")


def _with_interval(pair: PairOfGroups) -> str:
    if np.isnan(pair.energy):
        return "one subject in a group"
    return f"{pair.energy:.4g}" + ("" if np.isnan(pair.low) else f" ({pair.low:.4g} to {pair.high:.4g})")


def group_test(
    distances: ArrayLike | Cohort,
    labels: Sequence[Any] | NDArray[Any] | str,
    *,
    subjects: Sequence[Any] | NDArray[Any] | str | None = None,
    strata: Sequence[Any] | NDArray[Any] | str | None = None,
    within: bool = False,
    power: float = 1.0,
    post_hoc: bool = True,
    attributes: AttributesLike = None,
    max_cost: float | None = None,
    n_resamples: int = 999,
    rng: RngLike = None,
    stop_after: int | None = None,
    progress: bool = True,
) -> GroupTest:
    r"""Test whether groups differ, from the distances between all their members.

    With :math:`d` the distances to the given power, :math:`N` members and :math:`K` groups of :math:`n_k`, the
    dispersions of all and within groups are

    .. math:: T = \frac{1}{2N} \sum_{ij} d_{ij}, \qquad W = \sum_k \frac{1}{2 n_k} \sum_{i, j \in k} d_{ij}

    and the statistic is :math:`F = \frac{(T - W) / (K - 1)}{W / (N - K)}`, compared with its values under permuted
    labels. The hypothesis depends on the distances:

    - *squared* distances, such as Anchor Energies, or distances with ``power=2``: PERMANOVA, which tests whether the
      groups have the same centre;
    - distances, or Anchor Energies with ``power=0.5``: the energy test DISCO (Rizzo and Székely 2010), which tests
      whether the groups have the same distribution.

    Only exchangeable units are permuted. Ten images of a patient are not ten patients: give the subject of each member
    as `subjects`, and whole subjects are permuted.

    Parameters
    ----------
    distances : array_like of shape (N, N), or Cohort
        Symmetric and not negative, as :func:`pairwise` returns them. The diagonal is ignored. For a cohort its Anchor
        Energies are computed, and the subjects that it has from :func:`from_cohort` are used.
    labels : sequence of length N
        The group of each member: any hashable value except NaN. There must be at least two groups, and one of them must
        have two members or more. For a cohort also the name of a column of its metadata; so for `subjects` and
        `strata`.
    subjects : sequence of length N, optional
        The subject of each member. Labels are permuted between subjects; group sizes stay the same.
    strata : sequence of length N, optional
        Labels are permuted only within each stratum: a sex, a batch, a slide.
    within : bool
        Labels vary within every subject (before and after, left and right), and are permuted within each.
    power : float > 0
        Exponent of the distances.
    post_hoc : bool
        Also compare all pairs of groups, with effect sizes and Holm's correction for the number of pairs. No p-value is
        below 1 / (n_resamples + 1), so many groups need more permutations.
    attributes, max_cost
        For a cohort, see :func:`anchor_energy`.
    n_resamples : int
        Number of random permutations. If no more are possible, all are enumerated, and the p-value is exact.
    rng, stop_after, progress
        As for :func:`energy_test`.

    Returns
    -------
    GroupTest
        With `.pvalue`, `.unit` (what was permuted), `.n_assignments` (number of possible labellings), `.min_pvalue`
        (the smallest possible p-value), `.share` and `.pairs`.

    Warns
    -----
    InputWarning
        If a cohort seems to have several samples per subject, but no subjects were given.

    Notes
    -----
    O(N² K) time per permutation, as matrix products; for S subjects O(S² K).

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> here = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> found = ao.group_test(abs(here[:, None] - here), list("aaabbb"), rng=0)
    >>> found.groups, found.pvalue, found.n_assignments
    (('a', 'b'), 0.1, 10)
    >>> patients = [1, 1, 2, 3, 4, 4]
    >>> found = ao.group_test(abs(here[:, None] - here), list("aaabbb"), subjects=patients, rng=0)
    >>> found.unit, found.n_assignments, round(found.min_pvalue, 2)
    ('subjects', 3, 0.33)
    """
    names, owners, layers = (
        column_of(distances, labels, "labels"),
        subjects_of(distances, subjects),
        column_of(distances, strata, "strata"),
    )
    generator = check_rng(rng)
    matrix = _check_distances(_distances(distances, attributes, max_cost, progress))
    strength = check_nonnegative(power, "power")
    if strength == 0:
        raise InputError("power must be positive, but got 0")
    groups, codes = check_groups(names, len(matrix), "distances between ")
    scale = matrix.max(initial=0) or 1.0
    powers = (matrix / scale) ** strength  # F does not depend on scale, and at this one nothing overflows
    exchange = exchange_of(codes.astype(np.min_scalar_type(len(groups))), subjects=owners, strata=layers, within=within)
    owner = np.arange(len(codes)) if owners is None else number_names(owners, "subjects", len(codes))
    draws = generator.spawn(1)[0]

    def test_members(part: Exchange, members: NDArray[np.intp], show: bool) -> PermutationTest:
        own = UnitSums.of(powers[np.ix_(members, members)], part.unit)
        return permutation_test(
            part,
            lambda drawn: f_statistics(own, drawn),
            n_resamples=n_resamples,
            rng=generator,
            stop_after=stop_after,
            least_equal=partial(_least_equal_f, freedom=_freedom(own, part.labels)),
            progress=show,
        )

    def test_pair(a: int, b: int) -> tuple[PermutationTest, float, Effect]:
        members = np.flatnonzero((codes == a) | (codes == b))
        part = exchange.among(members)
        effect = effect_between(powers, codes, owner, (a, b), draws, within)
        return test_members(part, members, False), _share(powers[np.ix_(members, members)], part), effect

    whole = test_members(exchange, np.arange(len(codes)), progress)
    sizes = np.bincount(codes)
    pairs: tuple[PairOfGroups, ...] = ()
    if post_hoc:
        both = [(a, b) for a, b in combinations(range(len(groups)), 2) if sizes[a] + sizes[b] > 2]
        found = [test_pair(a, b) for a, b in both]
        adjusted = holm([test.pvalue for test, _, _ in found])
        with np.errstate(over="ignore", invalid="ignore"):
            unit = np.float64(scale) ** strength
            pairs = tuple(
                PairOfGroups(
                    groups[a], groups[b], test.statistic, test.pvalue, p, share, *(float(unit * e) for e in effect)
                )
                for (a, b), (test, share, effect), p in zip(both, found, adjusted, strict=True)
            )
    return GroupTest(
        **vars(whole),
        groups=groups,
        sizes=tuple(sizes.tolist()),
        n_subjects=tuple(len(np.unique(owner[codes == group])) for group in range(len(groups))),
        share=_share(powers, exchange),
        pairs=pairs,
    )


def _distances(
    given: ArrayLike | Cohort, attributes: AttributesLike, max_cost: float | None, progress: bool
) -> ArrayLike:
    if isinstance(given, Cohort):
        return pairwise(given, attributes=attributes, max_cost=max_cost, progress=progress)
    if attributes is not None or max_cost is not None:
        raise InputError("attributes and max_cost need a cohort, but got distances; pass them to `pairwise`")
    return given


def f_statistics(sums: UnitSums, labels: NDArray[Any]) -> Float64s:
    """F of every labelling (labellings, U); infinite if there is no dispersion within groups."""
    total, within = dispersions(sums, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = _freedom(sums, labels[0]) * ((total - within) / within)
    return np.where(within > 0, f, np.inf if total > 0 else 0.0)


def _freedom(sums: UnitSums, labels: NDArray[Any]) -> float:
    """(N - K) / (K - 1), for N items in K groups."""
    groups = int(labels.max()) + 1
    return (sums.n_items - groups) / (groups - 1)


def _least_equal_f(observed: float, freedom: float) -> float:
    """The smallest F that counts as a tie; rounding is that of W / T = freedom / (freedom + F)."""
    within = freedom / (freedom + observed) + ROUNDING
    return freedom * (1 - within) / within


def _share(powers: Float64s, exchange: Exchange) -> float:
    """1 - W / T of the given labels; 0 if all distances are zero."""
    own = np.unique(exchange.labels, return_inverse=True)[1]
    total, within = dispersions(UnitSums.of(powers, exchange.unit), own[None])
    return float(1 - within[0] / total) if total > 0 else 0.0


def holm(pvalues: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down method."""
    order = np.argsort(pvalues, kind="stable")
    factors = np.arange(len(pvalues), 0, -1)
    stepped = np.minimum(1.0, np.maximum.accumulate(np.asarray(pvalues)[order] * factors))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = stepped
    return adjusted.tolist()


def _check_distances(distances: ArrayLike) -> Float64s:
    matrix: Float64s = check_square(distances, "distances").astype(np.float64)
    np.fill_diagonal(matrix, 0.0)
    check_finite(matrix, "distances", "; remove the spaces that could not be compared")
    if (matrix < 0).any():
        raise InputError(f"distances must not be negative, but the least is {matrix.min():g}")
    if np.abs(matrix - matrix.T).max(initial=0) > MAX_ASYMMETRY * matrix.max(initial=0):
        raise InputError("distances must be symmetric, as `pairwise` returns them")
    return matrix
