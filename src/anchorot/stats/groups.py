"""Do groups of spaces differ? Permutation tests on a matrix of all-pairs distances."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import rows
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_finite, check_nonnegative, check_square, equals_itself, point_values
from anchorot.exceptions import InputError
from anchorot.stats.permutation import PermutationTest, permutation_test

ASYMMETRY = 1e-9  # of the largest distance: more is no rounding


@dataclass(frozen=True)
class PairOfGroups:
    """Two groups, compared by themselves.

    Attributes
    ----------
    first, second : object
        Their labels.
    statistic, pvalue : float
        As of :func:`group_test` on the two groups alone.
    adjusted_pvalue : float
        Corrected for the number of pairs by Holm's method: those below 0.05 are, all together, wrong with a
        probability of at most 5 %.
    """

    first: Any
    second: Any
    statistic: float
    pvalue: float
    adjusted_pvalue: float


@dataclass(frozen=True, eq=False)
class GroupTest(PermutationTest):
    """What a test of several groups found.

    Attributes
    ----------
    groups : tuple
        The labels of the groups, sorted.
    sizes : tuple of int
        Members of each.
    pairs : tuple of PairOfGroups
        Every two groups by themselves; empty unless asked for.
    """

    groups: tuple[Any, ...] = ()
    sizes: tuple[int, ...] = ()
    pairs: tuple[PairOfGroups, ...] = ()

    def _details(self) -> str:
        sizes = rows(["group", "members"], list(zip(self.groups, self.sizes, strict=True)))
        shown = [[f"{pair.first} and {pair.second}", f"{pair.adjusted_pvalue:.4g}"] for pair in self.pairs]
        return sizes + (rows(["pair", "adjusted p-value"], shown) if shown else "")


def group_test(
    distances: ArrayLike,
    labels: Sequence[Any] | NDArray[Any],
    *,
    power: float = 1.0,
    post_hoc: bool = True,
    n_resamples: int = 999,
    rng: RngLike = None,
    stop_after: int | None = None,
    progress: bool = True,
) -> GroupTest:
    r"""Test whether groups differ, from the distances between all their members.

    With :math:`d` the distances to the given power, :math:`N` members and :math:`K` groups of :math:`n_k`, the
    dispersions of all and within groups are

    .. math:: T = \frac{1}{2N} \sum_{ij} d_{ij}, \qquad W = \sum_k \frac{1}{2 n_k} \sum_{i, j \in k} d_{ij}

    and the statistic is :math:`F = \frac{(T - W) / (K - 1)}{W / (N - K)}`, compared with its values when the labels
    are permuted. What is tested depends on the distances:

    - *squared* distances, such as Anchor Energies, or distances with ``power=2``: PERMANOVA, which asks whether the
      groups have one centre;
    - distances, or Anchor Energies with ``power=0.5``: the energy test DISCO (Rizzo and Székely 2010), which asks
      whether the groups have one distribution.

    Parameters
    ----------
    distances : array_like of shape (N, N)
        Symmetric and not negative: what :func:`pairwise` returns, of marked spaces and up to a reach too. The diagonal
        is not looked at.
    labels : sequence of length N
        The group of each, anything that can be a key of a dict, but not NaN; at least two groups, and one of them with
        two members or more.
    power : float > 0
        Of the distances.
    post_hoc : bool
        Compare every two groups by themselves too, with Holm's correction for their number. Note that no p-value is
        below 1 / (n_resamples + 1), so many groups need more permutations to be told apart.
    n_resamples, rng, stop_after, progress
        As for :func:`energy_test`.

    Returns
    -------
    GroupTest

    Notes
    -----
    O(N² K) time per permutation, as products of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> here = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> found = ao.group_test(abs(here[:, None] - here), list("aaabbb"), rng=0)
    >>> found.groups, found.pvalue < 0.15
    (('a', 'b'), True)
    """
    matrix = _check_distances(distances)
    strength = check_nonnegative(power, "power")
    if strength == 0:
        raise InputError("power must be positive, but got 0")
    groups, codes = check_groups(labels, len(matrix), "distances between ")
    sizes = np.bincount(codes)
    powers = (
        matrix / (matrix.max() or 1.0)
    ) ** strength  # F is the same at any scale, and nothing overflows at this one
    generator = np.random.default_rng(rng)

    def test_members(members: NDArray[np.intp], show: bool) -> PermutationTest:
        own = np.unique(codes[members], return_inverse=True)[1].astype(np.min_scalar_type(len(groups)))
        part = powers[np.ix_(members, members)]
        return permutation_test(
            own,
            lambda drawn: f_statistics(part, drawn),
            n_resamples=n_resamples,
            rng=generator,
            stop_after=stop_after,
            progress=show,
        )

    whole = test_members(np.arange(len(codes)), progress)
    pairs: tuple[PairOfGroups, ...] = ()
    if post_hoc:
        both = [(a, b) for a, b in combinations(range(len(groups)), 2) if sizes[a] + sizes[b] > 2]
        found = [test_members(np.flatnonzero((codes == a) | (codes == b)), False) for a, b in both]
        adjusted = holm([test.pvalue for test in found])
        pairs = tuple(
            PairOfGroups(groups[a], groups[b], test.statistic, test.pvalue, p)
            for (a, b), test, p in zip(both, found, adjusted, strict=True)
        )
    return GroupTest(
        whole.statistic, whole.pvalue, whole.null, whole.stopped_early, groups, tuple(sizes.tolist()), pairs
    )


def f_statistics(powers: Float64s, labels: NDArray[Any]) -> Float64s:
    """F of every labelling (labellings, N); infinite where groups have no dispersion within."""
    count, groups = len(powers), int(labels[0].max()) + 1
    total, within = dispersions(powers, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = ((total - within) / (groups - 1)) / (within / (count - groups))
    return np.where(within > 0, f, np.inf if total > 0 else 0.0)


def dispersions(powers: Float64s, labels: NDArray[Any]) -> tuple[float, Float64s]:
    """T, and W of every labelling (labellings, N)."""
    within = np.zeros(len(labels))
    for group, size in enumerate(np.bincount(labels[0])):
        member = (labels == group).astype(np.float64)
        within += np.einsum("bi,bi->b", member @ powers, member) / (2 * size)
    return powers.sum() / (2 * len(powers)), within


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
    check_finite(matrix, "distances", "; leave out the spaces that could not be compared")
    if (matrix < 0).any():
        raise InputError(f"distances must not be negative, but the least is {matrix.min():g}")
    if np.abs(matrix - matrix.T).max(initial=0) > ASYMMETRY * matrix.max(initial=0):
        raise InputError("distances must be symmetric, as `pairwise` returns them")
    return matrix


def check_groups(
    labels: Sequence[Any] | NDArray[Any], count: int, of: str = ""
) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the groups and, for each of `count` spaces, which it is in; refuse labels that leave nothing to test."""
    names = point_values(labels, "labels")
    if len(names) != count:
        raise InputError(f"there are {len(names)} labels, but {of}{count} spaces")
    groups, codes = _codes(names)
    if len(groups) < 2:
        found_one = f"all labels are {groups[0]!r}" if groups else "there are no labels"
        raise InputError(f"{found_one}, but at least two groups are needed")
    if np.bincount(codes).max() < 2:
        raise InputError("every group has one member, but at least one of two or more is needed")
    return groups, codes


def _codes(labels: list[Any]) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the different labels, sorted where they can be, and the number of each."""
    for i, label in enumerate(labels):
        if not equals_itself(label):
            raise InputError(f"labels[{i}] is NaN, but every space needs a group; leave it out, or name its group")
    try:
        different = list(dict.fromkeys(labels))
    except TypeError as error:
        raise InputError(f"labels must be numbers, texts or other keys of a dict: {error}") from None
    with suppress(TypeError):  # labels of several types stay in the order in which they are given
        different.sort()
    number = {label: i for i, label in enumerate(different)}
    return tuple(different), np.array([number[label] for label in labels], np.intp)
