"""Shared by tests of groups: group labels, dispersion within and between groups, adjustment for many statistics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot._validate import equals_itself, point_values
from anchorot.exceptions import InputError, note_input
from anchorot.io.cohort import Cohort

SUBJECT_COLUMNS = ("animal", "case", "donor", "individual", "mouse", "participant", "patient", "subject")
N_BOOTSTRAP = 999
CONFIDENCE = 0.95  # of intervals
MIN_SUBJECTS = 3  # of a group, to resample from
ROUNDING = 1e-12  # shares that differ by less are equal
MIN_SPREAD = 1e-9  # a spread of shares below is rounding


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
    """Return the values as a list, or the cohort's column of this name."""
    if values is None:
        return None
    if not isinstance(values, str) or not isinstance(spaces, Cohort):
        return point_values(values, name)
    if values not in spaces.metadata:
        known = ", ".join(spaces.metadata) or "none"
        raise InputError(f"{name}={values!r} is not a column of the cohort's metadata; its columns are: {known}")
    return spaces.metadata[values]


def subjects_of(spaces: Any, subjects: Any) -> Any:
    """Return the given subjects, else the cohort's; warn if a column looks like subjects but was not named."""
    if subjects is not None:
        return column_of(spaces, subjects, "subjects")
    if not isinstance(spaces, Cohort) or spaces.subjects is not None:
        return getattr(spaces, "subjects", None)
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
class UnitSums:
    """Distances between items, summed for every pair of units: sufficient for all statistics."""

    powers: Float64s
    sizes: Float64s  # items of each unit

    @classmethod
    def of(cls, powers: Float64s, unit: Int64s) -> UnitSums:
        """Sum distances over units; units of one item each need no sum."""
        count = int(unit.max()) + 1
        if count == len(unit):
            return cls(powers, np.ones(count))
        member = (unit == np.arange(count)[:, None]).astype(np.float64)
        return cls(member @ powers @ member.T, member.sum(axis=1))

    @property
    def n_items(self) -> int:
        """Number of items of all units."""
        return int(self.sizes.sum())


def dispersions(sums: UnitSums, labels: NDArray[Any]) -> tuple[float, Float64s]:
    """T, and W of every labelling (labellings, U)."""
    within = np.zeros(len(labels))
    for group in range(int(labels[0].max()) + 1):
        member = (labels == group).astype(np.float64)
        within += np.einsum("bi,bi->b", member @ sums.powers, member) / (2 * (member @ sums.sizes))
    return sums.powers.sum() / (2 * sums.n_items), within


# -- effect sizes ------------------------------------------------------------------------------------------------------

Effect = tuple[float, float, float]  # energy, and the ends of its interval


def effect_between(
    powers: Float64s,
    codes: NDArray[Any],
    owner: Int64s,
    groups: tuple[int, int],
    generator: np.random.Generator,
    within: bool,
) -> Effect:
    """The energy between two groups from pairs of different subjects, and its bootstrap interval over subjects."""
    (xx, yy, xy), drawn = mean_distances(powers, codes, owner, groups, generator, within)
    low, high = interval_of(2 * drawn[2] - drawn[0] - drawn[1])
    return 2 * xy - xx - yy, low, high


def interval_of(drawn: Float64s) -> tuple[float, float]:
    """The central interval with the share CONFIDENCE of the drawn values; NaN if there are none."""
    finite = drawn[np.isfinite(drawn)]
    if len(finite) == 0:
        return np.nan, np.nan
    low, high = np.quantile(finite, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def mean_distances(
    powers: Float64s,
    codes: NDArray[Any],
    owner: Int64s,
    groups: tuple[int, int],
    generator: np.random.Generator,
    within: bool = False,
) -> tuple[list[float], Float64s]:
    """Mean distances within the first group, within the second, and between them, over pairs of different subjects.

    Also their bootstrap values, (3, draws): each draw resamples subjects with replacement and weights each subject by
    how often it was drawn; two copies of one subject do not form a pair. If labels vary within subjects, both groups
    share one draw. With fewer than three subjects there are no draws.
    """
    places = [np.flatnonzero(codes == group) for group in groups]
    owners, subject = np.unique(np.concatenate([owner[own] for own in places]), return_inverse=True)
    of_each = np.split(subject, [len(places[0])])
    member = [(own == np.arange(len(owners))[:, None]).astype(np.float64) for own in of_each]  # (subjects, items)
    apart = 1.0 - np.eye(len(owners))
    blocks = [(0, 0), (1, 1), (0, 1)]
    sums = [apart * (member[i] @ powers[np.ix_(places[i], places[j])] @ member[j].T) for i, j in blocks]
    counts = [apart * np.outer(member[i].sum(axis=1), member[j].sum(axis=1)) for i, j in blocks]

    def means(weights: tuple[Float64s, Float64s]) -> Float64s:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack(
                [
                    np.einsum("bi,bi->b", weights[i] @ total, weights[j])
                    / np.einsum("bi,bi->b", weights[i] @ count, weights[j])
                    for (i, j), total, count in zip(blocks, sums, counts, strict=True)
                ]
            )

    ones = np.ones((1, len(owners)))
    values = means((ones, ones))[:, 0].tolist()
    if min(len(np.unique(own)) for own in of_each) < MIN_SUBJECTS:
        return values, np.empty((3, 0))
    first = _draw_counts(len(owners), np.unique(of_each[0]), generator)
    second = first if within else _draw_counts(len(owners), np.unique(of_each[1]), generator)
    return values, means((first, second))


def _draw_counts(count: int, subjects: NDArray[np.intp], generator: np.random.Generator) -> Float64s:
    """Number of times that each subject is drawn by the bootstrap, (draws, count)."""
    found = np.zeros((N_BOOTSTRAP, count))
    found[:, subjects] = generator.multinomial(len(subjects), np.full(len(subjects), 1 / len(subjects)), N_BOOTSTRAP)
    return found


# -- several statistics at once ----------------------------------------------------------------------------------------


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
