"""Shared by tests of groups: group labels, units and their dispersion, adjustment for many statistics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot._validate import equals_itself, point_values
from anchorot.exceptions import InputError, note_input
from anchorot.io.cohort import Cohort
from anchorot.many.cohort_distances import CohortDistances

SUBJECT_COLUMNS = ("animal", "case", "donor", "individual", "mouse", "participant", "patient", "subject")
ROUNDING = 1e-12  # shares that differ by less are equal
MIN_SPREAD = 1e-9  # a spread of shares below is rounding
BLOCK = 256  # rows of a matrix of distances that are worked on together


def check_groups(
    labels: Sequence[Any] | NDArray[Any], count: int, of: str = ""
) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the groups, and the group number of each of `count` spaces; refuse labels that cannot be tested."""
    names = point_values(labels, "labels")
    if len(names) != count:
        raise InputError(f"got {len(names)} labels, but {of}{count} spaces")
    groups, codes = _codes(names)
    if len(groups) < 2:
        found_one = f"all labels are {groups[0]!r}" if groups else "there are no labels"
        raise InputError(f"{found_one}, but at least two groups are needed")
    if np.bincount(codes).max() < 2:
        raise InputError("every group has one member, but at least one of two or more is needed")
    return groups, codes


def _codes(labels: list[Any]) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the distinct labels, sorted if possible, and the number of each item's label."""
    for i, label in enumerate(labels):
        if not equals_itself(label):
            raise InputError(f"labels[{i}] is NaN, but every space needs a group; leave it out, or name its group")
    try:
        different = list(dict.fromkeys(labels))
    except TypeError as error:
        raise InputError(f"labels must be numbers, texts or other keys of a dict: {error}") from None
    with suppress(TypeError):  # labels of several types keep the order in which they are given
        different.sort()
    number = {label: i for i, label in enumerate(different)}
    return tuple(different), np.array([number[label] for label in labels], np.intp)


def column_of(spaces: Any, values: Any, name: str) -> Any:
    """Return the values as a list, or the column of this name of a cohort, or of a cohort's distances."""
    if values is None:
        return None
    if not isinstance(values, str) or not isinstance(spaces, Cohort | CohortDistances):
        return point_values(values, name)
    if values not in spaces.metadata:
        known = ", ".join(spaces.metadata) or "none"
        raise InputError(f"{name}={values!r} is not a column of the cohort's metadata; its columns are: {known}")
    return spaces.metadata[values]


def subjects_of(spaces: Any, subjects: Any) -> Any:
    """Return the given subjects, else the cohort's; warn if a column looks like subjects but was not named."""
    if subjects is not None:
        return column_of(spaces, subjects, "subjects")
    if not isinstance(spaces, Cohort | CohortDistances) or spaces.subjects is not None:
        return getattr(spaces, "subjects", None)
    if isinstance(spaces, CohortDistances) and spaces.has_lost_subjects:
        note_input(
            "these distances are of a cohort whose subjects an operation dropped, so that items are permuted as if all "
            "were from different subjects; pass subjects=, or select rows and columns alike: D[np.ix_(kept, kept)]"
        )
    for name, values in spaces.metadata.items():
        known = name.lower().removesuffix("id").rstrip("_ -") in SUBJECT_COLUMNS
        if known and None not in values and len(set(values)) < len(values):
            note_input(
                f"{len(values)} samples are permuted as if all were from different subjects, but {name!r} has only "
                f"{len(set(values))} values; pass from_cohort(..., subject={name!r}), or subjects={name!r}"
            )
            break
    return None


# -- dispersion --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Units:
    """Mean distances between units, with their own items at distance 0: sufficient for all statistics.

    Items of unequal units are averaged, so that a subject with many images does not count as many subjects.
    """

    distances: Float64s  # (U, U)
    sizes: Float64s  # items of each unit
    weighting: str = "precision"  # or "equal", or "items"

    @classmethod
    def of(cls, powers: Float64s, unit: Int64s, weighting: str = "precision") -> Units:
        """Average distances between items over units; units of one item each need no average."""
        count = int(unit.max()) + 1
        if count == len(unit):
            return cls(powers, np.ones(count), weighting)
        from scipy.sparse import csr_array  # slow to import

        sizes = np.bincount(unit).astype(np.float64)
        member = csr_array((1 / sizes[unit], (unit, np.arange(len(unit)))), shape=(count, len(unit)))
        distances = np.empty((count, count))
        for part in blocks_of(count):
            distances[part] = (member @ (member[part] @ powers).T).T
        return cls(distances, sizes, weighting)

    def among(self, units: NDArray[np.intp]) -> Units:
        """Restrict to some units."""
        if len(units) == len(self.sizes):
            return self
        return Units(self.distances[np.ix_(units, units)], self.sizes[units], self.weighting)

    @cached_property
    def energies(self) -> Float64s:
        """E_ab = B_ab - (B_aa + B_bb) / 2 of mean distances B: squared distances between the units' mean embeddings."""
        own = self.distances.diagonal() / 2
        if not own.any():
            return self.distances
        energies = np.empty_like(self.distances)
        for part in blocks_of(len(own)):
            sums = own[part, None] + own
            energies[part] = self.distances[part] - sums
            sums += self.distances[part]
            energies[part][np.abs(energies[part]) <= ROUNDING * sums] = 0.0
        return energies

    def weights(self) -> Float64s:
        """How much each unit weighs: n / (1 + (n - 1) rho) for n items with intraclass correlation rho.

        rho is estimated without labels, so that weights are the same whatever the labels are.
        """
        n, count = self.sizes, len(self.sizes)
        several = n > 1
        if self.weighting == "items":
            return n
        if self.weighting == "equal" or (n == n[0]).all():
            return np.ones(count)
        own = self.distances.diagonal()[several] * n[several] / 2  # (n - 1) times the variance within
        within = own.sum() / (n[several] - 1).sum()
        between = self.energies.sum() / (2 * count * (count - 1)) - within * (1 / n).mean()
        rho = between / (between + within) if between > 0 else 0.0
        weights = n / (1 + (n - 1) * rho)
        return weights / weights.max()

    def sums(self) -> UnitSums:
        """What dispersions need; of items, if these are weighed."""
        weights = self.weights()
        by_items = self.weighting == "items"
        return UnitSums(
            self.distances if by_items else self.energies, weights, weights.sum() if by_items else len(weights)
        )


class UnitSums(NamedTuple):
    """Squared distances between units, and what each unit weighs."""

    distances: Float64s
    weights: Float64s
    n: float  # independent units, or items


def blocks_of(count: int) -> list[slice]:
    """Blocks of rows of a large matrix: temporary arrays stay small."""
    return [slice(start, start + BLOCK) for start in range(0, count, BLOCK)]


def dispersions(sums: UnitSums, labels: NDArray[Any]) -> tuple[float, Float64s]:
    """T, and W of every labelling (labellings, U)."""
    within = np.zeros(len(labels))
    for group in range(int(labels[0].max()) + 1):
        member = np.where(labels == group, sums.weights, 0.0)
        within += np.einsum("bi,bi->b", member @ sums.distances, member) / (2 * member.sum(axis=1))
    return float(sums.weights @ sums.distances @ sums.weights) / (2 * sums.weights.sum()), within


# -- several statistics at once ----------------------------------------------------------------------------------------


def holm(pvalues: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down method."""
    order = np.argsort(pvalues, kind="stable")
    factors = np.arange(len(pvalues), 0, -1)
    stepped = np.minimum(1.0, np.maximum.accumulate(np.asarray(pvalues)[order] * factors))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = stepped
    return adjusted.tolist()


def standardise(share: Float64s, expected: Float64s, spread: Float64s) -> Float64s:
    """(share - expected) / spread; 0 if labels make no difference."""
    return np.where(spread > MIN_SPREAD, (share - expected) / np.maximum(spread, MIN_SPREAD), 0.0)


class Comparison(NamedTuple):
    """Several statistics of the given labels, compared with those of permuted labels."""

    expected: Float64s
    spread: Float64s
    scores: Float64s
    null: Float64s  # the largest score of each permutation
    pvalues: Float64s
    adjusted: Float64s


def compare_together(shares: Float64s) -> Comparison:
    """Compare statistics (K, 1 + permutations) from 0 to 1; the first column has those of the given labels.

    Mean and deviation include the given labels: they are then the same whichever labelling is given, and p-values are
    exact.
    """
    expected, spread = shares.mean(axis=1), shares.std(axis=1)
    scores = standardise(shares, expected[:, None], spread[:, None])
    slack = np.where(spread > MIN_SPREAD, ROUNDING / np.maximum(spread, MIN_SPREAD), 0.0)  # of the scores of each
    observed, null = scores[:, 0], scores[:, 1:].max(axis=0)
    ordered = np.sort((scores[:, 1:] + slack[:, None]).max(axis=0))

    def pvalue(reached: NDArray[np.intp]) -> Float64s:
        return (reached + 1) / (len(null) + 1)

    adjusted = pvalue(len(null) - np.searchsorted(ordered, observed - slack))
    alone = pvalue((scores[:, 1:] >= (observed - slack)[:, None]).sum(axis=1))
    return Comparison(expected, spread, observed, null, alone, adjusted)
