"""Test whether groups of spaces differ, from the distances between all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from anchorot._typing import RngLike
from anchorot.anchors.attributes import AttributesLike
from anchorot.exceptions import InputError
from anchorot.io.cohort import Cohort
from anchorot.many.pairwise import pairwise
from anchorot.stats.group_comparison import GroupOptions, GroupTest, compare_groups


def group_test(
    distances: ArrayLike | Cohort,
    labels: Sequence[Any] | NDArray[Any] | str,
    *,
    subjects: Sequence[Any] | NDArray[Any] | str | None = None,
    strata: Sequence[Any] | NDArray[Any] | str | None = None,
    within: bool = False,
    blocks: Sequence[Any] | NDArray[Any] | str | None = None,
    weight_items: bool = False,
    welch: bool = False,
    power: float = 1.0,
    post_hoc: bool = True,
    metric: str = "ae",
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
    as `subjects`, and whole subjects are permuted. Their members are averaged: with :math:`B_{ab}` the mean distance of
    the members of a and b, :math:`E_{ab} = B_{ab} - (B_{aa} + B_{bb}) / 2` takes the place of d, and subjects have
    weights :math:`n_a / (1 + (n_a - 1) \rho)` for :math:`n_a` members with intraclass correlation :math:`\rho`, which
    is estimated without labels.

    Parameters
    ----------
    distances : array_like of shape (N, N), or Cohort
        Symmetric and not negative, as :func:`pairwise` returns them. The diagonal is ignored. For a cohort its Anchor
        Energies are computed. The subjects that a cohort has from :func:`from_cohort` are used, also with the distances
        that :func:`pairwise` makes of it.
    labels : sequence of length N
        The group of each member: any hashable value except NaN. There must be at least two groups, and one of them must
        have two members or more. For a cohort, or its distances, also the name of a column of its metadata; so for
        `subjects`, `strata` and `blocks`.
    subjects : sequence of length N, optional
        The subject of each member. Labels are permuted between subjects; group sizes stay the same.
    strata : sequence of length N, optional
        Labels are permuted only within each stratum: a sex, a batch, a slide.
    within : bool
        Labels vary within every subject (before and after, left and right), and are permuted within each. All members
        of a subject in one group are permuted together, as one visit.
    blocks : sequence of length N, optional
        With `within`: what is permuted within a subject instead, such as the slides of a patient. The members of a
        block are in one group; names need to be unique only within a subject.
    weight_items : bool
        Weigh subjects by their numbers of members, if members are of interest rather than subjects: a subject with many
        members can then decide alone, and groups with unequal numbers of members reject too often or too rarely.
    welch : bool
        Use Welch's statistic, for groups that may differ in spread: centres are compared in units of each group's own
        spread. It costs some power where spreads agree.
    power : float > 0
        Exponent of the distances.
    post_hoc : bool
        Also compare all pairs of groups, with effect sizes and Holm's correction for the number of pairs. No p-value is
        below 1 / (n_resamples + 1), so many groups need more permutations.
    metric : str
        For a cohort, as for :func:`pairwise`: "ae" with ``attributes="types"`` depends on composition, density and
        arrangement together, "arrangement" on arrangement alone.
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
        If a cohort seems to have several samples per subject, but no subjects were given; if groups differ in their
        fields of view, densities or compositions, which Anchor Energies depend on too.

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
    options = GroupOptions(
        within=within,
        weight_items=weight_items,
        welch=welch,
        power=power,
        post_hoc=post_hoc,
        n_resamples=n_resamples,
        rng=rng,
        stop_after=stop_after,
        progress=progress,
    )
    found = _distances(distances, metric, attributes, max_cost, progress)
    return compare_groups(found, labels, subjects, strata, blocks, options)


def _distances(
    given: ArrayLike | Cohort, metric: str, attributes: AttributesLike, max_cost: float | None, progress: bool
) -> ArrayLike:
    if isinstance(given, Cohort):
        return pairwise(given, metric=metric, attributes=attributes, max_cost=max_cost, progress=progress)
    if metric != "ae" or attributes is not None or max_cost is not None:
        raise InputError("metric, attributes and max_cost need a cohort, but got distances; pass them to `pairwise`")
    return given
