"""Exchangeability: the labellings that are equally likely if groups do not differ.

Ten images of one patient are not ten patients. So labels are permuted between *units*: items, or subjects with all
their items. They are permuted within *blocks* of units: all units, those of one stratum (a sex, a batch), or the items
of one subject, if labels vary within subjects.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Int64s
from anchorot._validate import equals_itself, point_values
from anchorot.exceptions import InputError

Names = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class Exchange:
    """The labellings that are as likely as the given one, if groups do not differ.

    Attributes
    ----------
    labels : ndarray of shape (U,)
        The group of each unit, a number from 0.
    unit : ndarray of shape (N,)
        The unit of each item; units are numbered as they first appear.
    block : ndarray of shape (U,)
        The block of each unit; labels are permuted within blocks.
    name : str
        What the units are, such as "subjects".
    """

    labels: NDArray[Any]
    unit: Int64s
    block: Int64s
    name: str

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.labels)

    @cached_property
    def counts(self) -> Int64s:
        """Number of units of each block (row) in each group (column)."""
        found = np.zeros((int(self.block.max()) + 1, int(self.labels.max()) + 1), np.int64)
        np.add.at(found, (self.block, self.labels), 1)
        return found

    @cached_property
    def alike(self) -> list[list[int]]:
        """Classes of groups with the same number of units in every block; their names are interchangeable."""
        classes: dict[tuple[int, ...], list[int]] = {}
        for group, column in enumerate(self.counts.T.tolist()):
            classes.setdefault(tuple(column), []).append(group)
        return list(classes.values())

    @cached_property
    def n_assignments(self) -> int:
        """Number of ways to divide the units into such groups: 35 for four against four.

        The statistics of all tests here do not depend on the groups' names.
        """
        ways = math.prod(_ways(row) for row in self.counts.tolist())
        return ways // math.prod(math.factorial(len(groups)) for groups in self.alike)

    def items(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Labels of the items, from those of the units, (..., U)."""
        return labels if self.n_units == len(self.unit) else labels[..., self.unit]

    def among(self, items: NDArray[np.intp]) -> Exchange:
        """Restrict to some items, with whole units; groups, units and blocks are renumbered."""
        units, unit = np.unique(self.unit[items], return_inverse=True)
        labels = np.unique(self.labels[units], return_inverse=True)[1].astype(self.labels.dtype)
        return Exchange(labels, unit, np.unique(self.block[units], return_inverse=True)[1], self.name)

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return `count` random labellings of the units, one per row."""
        if self.block.any():
            order = np.argsort(self.block + generator.random((count, self.n_units)), axis=1)  # shuffled within blocks
            drawn = np.empty((count, self.n_units), self.labels.dtype)
            drawn[:, np.argsort(self.block, kind="stable")] = self.labels[order]
            return drawn
        return np.stack([self.labels[generator.permutation(self.n_units)] for _ in range(count)])

    def others(self) -> NDArray[Any]:
        """Return every other way to divide the units into such groups, one per row.

        Units are added one by one to every group that is not full. Of interchangeable groups, the first must get a unit
        first. Every partial row can be completed, so there are never more rows than in the result.
        """
        order = np.argsort(self.block, kind="stable")
        used = np.zeros((1, self.counts.shape[1]), bool)
        left = np.zeros_like(used, np.int64)  # number of units that each group still takes
        block = -1
        steps: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []  # for every row its previous row, and its group
        for unit in order:
            if self.block[unit] != block:
                block = int(self.block[unit])
                left = np.repeat(self.counts[block][None], len(used), axis=0)
            row, group = np.nonzero((left > 0) & self._may_begin(used))
            used, left = used[row], left[row]
            used[np.arange(len(row)), group] = True
            left[np.arange(len(row)), group] -= 1
            steps.append((row, group))
        rows = np.empty((len(used), self.n_units), self.labels.dtype)
        place = np.arange(len(used))
        for unit, (row, group) in zip(order[::-1], steps[::-1], strict=True):
            rows[:, unit] = group[place]
            place = row[place]
        given = np.empty_like(self.labels)
        given[order] = self._renamed(self.labels[order].tolist())
        return rows[(rows != given).any(axis=1)]

    def _may_begin(self, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether a group has units already, or all interchangeable groups before it have."""
        may = used.copy()
        for groups in self.alike:
            before = np.ones(len(used), bool)
            for group in groups:
                may[:, group] |= before
                before = before & used[:, group]
        return may

    def _renamed(self, labels: list[int]) -> list[int]:
        """The same division, with interchangeable groups renamed so that the first gets a unit first."""
        own: dict[int, Iterator[int]] = {}
        for groups in self.alike:
            own |= dict.fromkeys(groups, iter(groups))
        names: dict[int, int] = {}
        for label in labels:
            if label not in names:
                names[label] = next(own[label])
        return [names[label] for label in labels]


def _ways(counts: list[int]) -> int:
    """In how many ways labels can be dealt, if there are so many of each."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)


def exchange_of(
    codes: NDArray[Any],
    *,
    subjects: Names | None = None,
    strata: Names | None = None,
    within: bool = False,
) -> Exchange:
    """Return the exchangeable labellings, from the group, subject and stratum of each item.

    Labels that are constant within subjects are permuted between subjects. Labels that vary within subjects need
    `within`, and are permuted within each subject. With `strata`, only within strata.
    """
    count = len(codes)
    items = np.arange(count)
    layers = None if strata is None else number_names(strata, "strata", count)
    if subjects is None:
        if within:
            raise InputError("within=True permutes labels within subjects, but no subjects are given")
        name = "items" if layers is None else "items within strata"
        return Exchange(codes, items, np.zeros(count, np.int64) if layers is None else layers, name)
    owner = number_names(subjects, "subjects", count)
    first = np.unique(owner, return_index=True)[1]
    _check_mixture(codes != codes[first][owner], owner, first, subjects, within)
    if within:
        block = (
            owner
            if layers is None
            else number_names(list(zip(owner.tolist(), layers.tolist(), strict=True)), "", count)
        )
        return Exchange(codes, items, block, "items within subjects" + " and strata" * (layers is not None))
    if layers is None:
        return Exchange(codes[first], owner, np.zeros(len(first), np.int64), "subjects")
    crossing = np.flatnonzero(layers != layers[first][owner])
    if len(crossing):
        raise InputError(
            f"the subject {_nth(subjects, crossing[0])!r} is in several strata, but whole subjects are permuted inside "
            "strata; give strata that are constant within subjects"
        )
    return Exchange(codes[first], owner, layers[first], "subjects within strata")


def _check_mixture(differs: NDArray[np.bool_], owner: Int64s, first: Int64s, subjects: Names, within: bool) -> None:
    """Refuse labels that vary within some subjects only, or contradict `within`."""
    varies = np.zeros(len(first), bool)
    varies[owner[differs]] = True
    n_varying, count = int(varies.sum()), len(first)
    if 0 < n_varying < count:
        constant = _nth(subjects, first[np.argmin(varies)])
        raise InputError(
            f"labels vary within {n_varying} of {count} subjects and are constant within the others, such as "
            f"{constant!r}: neither whole subjects nor labels within subjects are exchangeable; test them apart"
        )
    if n_varying and not within:
        raise InputError(
            f"labels vary within subjects, such as {_nth(subjects, first[0])!r}, so whole subjects cannot be permuted; "
            "use within=True to permute labels within each"
        )
    if within and not n_varying:
        raise InputError("labels are constant within all subjects; drop within=True to permute whole subjects")


def _nth(values: Names, place: Any) -> Any:
    value = values[int(place)]
    return value.item() if isinstance(value, np.generic) else value


def number_names(values: Names, name: str, count: int) -> Int64s:
    """Number values in order of first appearance; refuse missing ones."""
    listed = point_values(values, name)
    if len(listed) != count:
        raise InputError(f"{name} has {len(listed)} values, but there are {count} items")
    number: dict[Any, int] = {}
    codes = np.empty(count, np.int64)
    for i, value in enumerate(listed):
        if value is None or not equals_itself(value):
            raise InputError(f"{name}[{i}] is missing; remove that item, or give it a value")
        if not isinstance(value, Hashable):
            raise InputError(f"{name}[{i}] is a {type(value).__name__}, but a name or a number is needed")
        codes[i] = number.setdefault(value, len(number))
    return codes
