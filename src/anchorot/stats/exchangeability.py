"""Exchangeability: the labellings that are equally likely if groups do not differ.

Ten images of one patient are not ten patients. So labels are permuted between *units*: items, subjects with all their
items, or the visits or slides of a subject with all their items, if labels vary within subjects. They are permuted
among all units, or only among those of one stratum (a sex, a batch) or one subject.
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
    layer : ndarray of shape (U,)
        The stratum or subject of each unit; labels are permuted within layers.
    name : str
        What the units are, such as "subjects".
    """

    labels: NDArray[Any]
    unit: Int64s
    layer: Int64s
    name: str

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.labels)

    @cached_property
    def counts(self) -> Int64s:
        """Number of units of each layer (row) in each group (column)."""
        found = np.zeros((int(self.layer.max()) + 1, int(self.labels.max()) + 1), np.int64)
        np.add.at(found, (self.layer, self.labels), 1)
        return found

    @cached_property
    def alike(self) -> list[list[int]]:
        """Classes of groups with the same number of units in every layer; their names are interchangeable."""
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

    def among(self, units: NDArray[np.intp]) -> Exchange:
        """Restrict to some units; groups, units and layers are renumbered."""
        place = np.full(self.n_units, -1)
        place[units] = np.arange(len(units))
        kept = place[self.unit]
        labels = np.unique(self.labels[units], return_inverse=True)[1].astype(self.labels.dtype)
        return Exchange(labels, kept[kept >= 0], np.unique(self.layer[units], return_inverse=True)[1], self.name)

    def inside(self, strata: Int64s | None, subjects: Names, what: str) -> Exchange:
        """Permute only within strata, the stratum of each item; messages call a unit `what` and name its subject."""
        if strata is None:
            return self
        first = np.unique(self.unit, return_index=True)[1]
        crossing = np.flatnonzero(strata != strata[first][self.unit])
        if len(crossing):
            raise InputError(
                f"{what} {_nth(subjects, crossing[0])!r} is in several strata, but it is permuted as a whole inside "
                "strata; give strata that are constant within it"
            )
        layer = np.unique(np.stack([self.layer, strata[first]]), axis=1, return_inverse=True)[1]
        joint = " and strata" if self.layer.any() else " within strata"
        return Exchange(self.labels, self.unit, layer.ravel(), self.name + joint)

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return `count` random labellings of the units, one per row."""
        if self.layer.any():
            order = np.argsort(self.layer + generator.random((count, self.n_units)), axis=1)  # shuffled within layers
            drawn = np.empty((count, self.n_units), self.labels.dtype)
            drawn[:, np.argsort(self.layer, kind="stable")] = self.labels[order]
            return drawn
        return np.stack([self.labels[generator.permutation(self.n_units)] for _ in range(count)])

    def others(self) -> NDArray[Any]:
        """Return every other way to divide the units into such groups, one per row.

        Units are added one by one to every group that is not full. Of interchangeable groups, the first must get a unit
        first. Every partial row can be completed, so there are never more rows than in the result.
        """
        order = np.argsort(self.layer, kind="stable")
        used = np.zeros((1, self.counts.shape[1]), bool)
        left = np.zeros_like(used, np.int64)  # number of units that each group still takes
        layer = -1
        steps: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []  # for every row its previous row, and its group
        for unit in order:
            if self.layer[unit] != layer:
                layer = int(self.layer[unit])
                left = np.repeat(self.counts[layer][None], len(used), axis=0)
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
    """In how many ways labels can be assigned, given how many there are of each."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)


def exchange_of(
    codes: NDArray[Any],
    *,
    subjects: Names | None = None,
    strata: Names | None = None,
    within: bool = False,
    blocks: Names | None = None,
) -> Exchange:
    """Return the exchangeable labellings, from the group, subject, stratum and block of each item.

    Labels that are constant within subjects are permuted between subjects. Labels that vary within subjects need
    `within`, and are permuted within each subject, between its `blocks`; by default all items of a subject in one
    group are a block, because items of one visit are alike. With `strata`, only within strata.
    """
    count = len(codes)
    layers = None if strata is None else number_names(strata, "strata", count)
    if subjects is None:
        for name, given in (("within=True permutes labels", within), ("blocks are units", blocks is not None)):
            if given:
                raise InputError(f"{name} within subjects, but no subjects are given")
        name = "items" if layers is None else "items within strata"
        return Exchange(codes, np.arange(count), np.zeros(count, np.int64) if layers is None else layers, name)
    owner = number_names(subjects, "subjects", count)
    first = np.unique(owner, return_index=True)[1]
    _check_mixture(codes != codes[first][owner], owner, first, subjects, within)
    if not within:
        if blocks is not None:
            raise InputError(
                "blocks are permuted within subjects, but labels are constant within subjects: drop blocks to permute "
                "whole subjects, or give the blocks as subjects if they are independent"
            )
        block = np.zeros(len(first), np.int64)
        return Exchange(codes[first], owner, block, "subjects").inside(layers, subjects, "the subject")
    parts = codes if blocks is None else number_names(blocks, "blocks", count)
    unit = number_names(list(zip(owner.tolist(), parts.tolist(), strict=True)), "", count)
    first = np.unique(unit, return_index=True)[1]
    mixed = np.flatnonzero(codes != codes[first][unit])
    if blocks is not None and len(mixed):
        raise InputError(
            f"the block {_nth(blocks, mixed[0])!r} of the subject {_nth(subjects, mixed[0])!r} is in several groups, "
            "but whole blocks are permuted; give blocks that are in one group each"
        )
    kind = "items" if len(first) == count else "conditions" if blocks is None else "blocks"
    own = Exchange(codes[first], unit, owner[first], f"{kind} within subjects")
    return own.inside(layers, subjects, f"{'a condition' if blocks is None else 'a block'} of the subject")


def _check_mixture(differs: NDArray[np.bool_], owner: Int64s, first: Int64s, subjects: Names, within: bool) -> None:
    """Refuse labels that vary within some subjects only, or contradict `within`.

    A name in several groups may be one person or two: cohorts that both number their patients 1, 2, 3 are not paired.
    """
    varies = np.zeros(len(first), bool)
    varies[owner[differs]] = True
    n_varying, count = int(varies.sum()), len(first)
    if within and not n_varying:
        raise InputError("labels are constant within all subjects; drop within=True to permute whole subjects")
    if not n_varying or (within and n_varying == count):
        return
    shared = f"the subject {_nth(subjects, first[np.argmax(varies)])!r} is in several groups, as are"
    same = "are these the same persons? If not, make names unique, such as (group, name)"
    if n_varying < count:
        alone = _nth(subjects, first[np.argmin(varies)])
        raise InputError(
            f"{shared} {n_varying} of {count}, but others, such as {alone!r}, are in one: {same}; if so, test persons "
            "in one group apart from persons in several"
        )
    raise InputError(
        f"{shared} all {count}: {same}, since groups may each count theirs 1, 2, 3; only if every person was measured "
        "in several groups, use within=True"
    )


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
