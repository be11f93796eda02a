"""What is known of which point is which: pairs of names, turned into numbers of points, and how many were found."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Int64s
from anchorot._validate import as_array, check_list, check_numbers, plain_item, shown
from anchorot.exceptions import InputError

Names = tuple[Sequence[object], Sequence[object]]
Truth = ArrayLike | Mapping[Any, Any] | Iterable[Any]


class Hits(float):
    """Share of the points whose match is the true one: a number, which prints with what it counts.

    Attributes
    ----------
    counted : int
        Points whose true match is known.
    up_to_twins : float or None
        Of two networks: the share of nodes whose match is the true one or a twin of it, which has the same neighbours,
        so that nothing distinguishes the two. None for other things.

    Examples
    --------
    >>> from anchorot.align.truth import Hits
    >>> Hits(0.95, 200, up_to_twins=0.99), Hits(0.95, 200) > 0.9
    (95% of 200, 99% up to twins, True)
    """

    counted: int
    up_to_twins: float | None

    def __new__(cls, exact: float, counted: int = 0, up_to_twins: float | None = None) -> Hits:
        """Make the number, and keep what it counts."""
        found = super().__new__(cls, exact)
        found.counted, found.up_to_twins = counted, up_to_twins
        return found

    def __getnewargs__(self) -> tuple[float, int, float | None]:  # type: ignore[override]
        return float(self), self.counted, self.up_to_twins

    def __repr__(self) -> str:
        more = "" if self.up_to_twins is None else f", {100 * self.up_to_twins:.4g}% up to twins"
        return f"{100 * float(self):.4g}% of {self.counted}{more}"


def numbered_pairs(
    pairs: Iterable[Any] | None,
    names: Names,
    what: str,
    sides: tuple[str, str],
    kinds: tuple[str, str] = ("node", "graph"),
) -> Int64s:
    """Turn pairs of names into pairs of numbers (k, 2); no name may be unknown or in two of them."""
    point, whole = kinds
    if isinstance(pairs, str) or not isinstance(pairs, Iterable | None):
        raise InputError(f"{what} must be pairs of {point}s, one of each {whole}, but got {shown(pairs)}")
    given = [] if pairs is None else list(pairs.items() if isinstance(pairs, Mapping) else pairs)
    found = []
    for side, own in enumerate(names):
        place = {name: number for number, name in enumerate(own)}
        column = []
        for pair in given:
            if not _is_pair(pair):
                raise InputError(f"{what} must be pairs of {point}s, one of each {whole}, but got {shown(pair)}")
            name = plain_item(pair[side])
            if not isinstance(name, Hashable) or name not in place:
                raise InputError(f"{what} has the {point} {name!r}, which {sides[side]} does not have")
            column.append(place[name])
        if len(set(column)) < len(column):
            twice = next(own[node] for node in column if column.count(node) > 1)
            raise InputError(
                f"{what} has the {point} {twice!r} of {sides[side]} in several pairs, but it can have one match"
            )
        found.append(column)
    return np.array(found, np.int64).T.reshape(-1, 2)


def true_matches(truth: Truth, names: Names) -> Int64s:
    """Turn what is known into the number of every point's true match; -1 where none is known."""
    if isinstance(truth, Mapping):
        return _of_pairs(list(truth.items()), names)
    n, m = len(names[0]), len(names[1])
    listed = (
        list(as_array(truth, "truth")) if hasattr(truth, "dtype") else check_list(truth, "truth", "match", "matches")
    )
    if any(not isinstance(plain_item(one), Real) for one in listed):
        there = set(names[1])
        if all(_is_pair(one) and not (isinstance(one, Hashable) and one in there) for one in listed):
            return _of_pairs(listed, names)
        if len(listed) != n:
            raise InputError(f"truth has {len(listed)} names, but one for each of {n} points is needed")
        return _of_pairs(list(zip(names[0], listed, strict=True)), names)
    goal = check_numbers(listed, "truth")
    if goal.shape != (n,):
        raise InputError(f"truth has shape {goal.shape}, but one match for each of {n} points is needed")
    if not ((goal >= -1) & (goal < m) & (goal == np.floor(goal))).all():
        raise InputError(f"truth must hold integers from -1 to {m - 1}")
    return goal.astype(np.int64)


def _is_pair(one: Any) -> bool:
    return not isinstance(one, str) and hasattr(one, "__len__") and len(one) == 2


def _of_pairs(pairs: list[tuple[Any, Any]], names: Names) -> Int64s:
    """Matches by names. A pair of which one side has not the name says nothing of any match."""
    first, second = ({name: number for number, name in enumerate(own)} for own in names)
    goal = np.full(len(first), -1)
    known = 0
    for pair in pairs:
        own, other = (plain_item(name) for name in pair)
        if not isinstance(own, Hashable) or not isinstance(other, Hashable) or own not in first or other not in second:
            continue
        if goal[first[own]] not in (-1, second[other]):
            raise InputError(f"truth has two matches of {own!r}, but one is needed")
        goal[first[own]] = second[other]
        known += 1
    if pairs and not known:
        have = f"they have names such as {names[0][0]!r} and {names[1][0]!r}"
        raise InputError(f"truth has no pair of names that both sides have, the first is {shown(pairs[0])}; {have}")
    return goal
