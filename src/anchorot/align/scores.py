"""How right an alignment is, where the truth is known: the figures that people report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import as_array, check_integer, point_values
from anchorot.align.correspondence import Correspondence
from anchorot.align.plans import carried_labels, check_plan, sparse_plan
from anchorot.distances.landmarks import Distances, SpaceDistances
from anchorot.distances.lazy_distances import MeshDistances, distances_of
from anchorot.exceptions import InputError


@dataclass(frozen=True, eq=False)
class AlignmentScores:
    """Scores of an alignment; None where what they need was not given.

    Attributes
    ----------
    hits : float or None
        Share of the points with a true match whose match is the true one.
    top_k : float or None
        Share of them whose true match is among k candidates: the match, and then those that get most of the point's
        mass, or those that the alignment's own `top_k` names. With k = 1 that is `hits`. None where matches alone are
        known.
    k : int
    error : float or None
        Mean of `errors`.
    errors : ndarray of shape (n,) or None
        Cost, in the second space, between match and true match (on a mesh: geodesic error). An unmatched point counts
        as one matched at the mean cost of the space; a point without a true match has NaN.
    diameter : float or None
        The largest cost of the second space, to divide errors by. Where costs are computed row by row, the larger of
        two from one end of the thing to the other.
    root_area : float or None
        Root of the area of the second mesh, to divide errors by; None for what has no area.
    hits_up_to_symmetry, error_up_to_symmetry, errors_up_to_symmetry : float, float, ndarray or None
        The same against the truth or its image under `symmetry`, whichever the whole alignment fits better.
    is_mirrored : bool or None
        Whether that is the image: of the smaller error, or without `cost`, of more hits. One choice for all points.
    foscttm : float or None
        Mean fraction of points closer than the true match to where a point goes: 0 is perfect, 0.5 chance.
    label_hits : float or None
        Share of the points whose match has their label (the category rate).
    label_transfer : float or None
        Share of the points whose label is that which most of their mass goes to; where matches alone are known, as
        `label_hits`.
    n_matched : int
        Points that have a match at all.
    """

    hits: float | None
    top_k: float | None
    k: int
    error: float | None
    errors: Float64s | None = field(repr=False)
    diameter: float | None
    root_area: float | None
    hits_up_to_symmetry: float | None
    error_up_to_symmetry: float | None
    errors_up_to_symmetry: Float64s | None = field(repr=False)
    is_mirrored: bool | None
    foscttm: float | None
    label_hits: float | None
    label_transfer: float | None
    n_matched: int

    @property
    def error_in_diameters(self) -> float | None:
        """Mean error as a share of the diameter."""
        return _in_units(self.error, self.diameter)

    @property
    def error_in_roots_of_area(self) -> float | None:
        """Mean error in roots of the second mesh's area; a hundred times this is what the field's tables hold."""
        return _in_units(self.error, self.root_area)

    @property
    def error_in_diameters_up_to_symmetry(self) -> float | None:
        """The same against the truth or its image."""
        return _in_units(self.error_up_to_symmetry, self.diameter)

    @property
    def error_in_roots_of_area_up_to_symmetry(self) -> float | None:
        """The same against the truth or its image."""
        return _in_units(self.error_up_to_symmetry, self.root_area)


def _in_units(error: float | None, unit: float | None) -> float | None:
    if error is None or unit is None:
        return None
    return error / unit if unit > 0 else 0.0


def alignment_scores(
    found: Correspondence | ArrayLike,
    truth: ArrayLike | None = None,
    cost: Any = None,
    labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    *,
    k: int = 5,
    symmetry: ArrayLike | None = None,
    soft: bool = True,
) -> AlignmentScores:
    """Score an alignment against what is known.

    Parameters
    ----------
    found : Correspondence, array_like of shape (n, m) or of integers of shape (n,)
        An alignment of any kind, a plan, or matches (-1: none), such as :func:`read_matches` reads.
    truth : array_like of int, shape (n,), optional
        The true match of every point of the first space; -1 for a point that has none and is not counted.
    cost : array_like of shape (m, m), Space, or what `align` takes with `n_landmarks`, optional
        Costs of the second space: for errors, and for FOSCTTM. Those of a mesh (a path, a pair of vertices and faces,
        `MeshDistances`) or of points (m, d) are computed row by row, one row for every different true match.
    labels : (sequence of length n, sequence of length m), optional
        Labels of the points of both spaces, such as categories, for `label_hits` and `label_transfer`.
    k : int
        For `top_k`.
    symmetry : array_like of int, shape (m,), optional
        The image of every point of the second space under its symmetry, such as left and right exchanged. An alignment
        that is mirrored as a whole is then as good as one that is not; one that is half mirrored is not. Images are
        needed of true matches alone; others may be -1.
    soft : bool
        Use the alignment's soft plan, if it has one, for the further candidates of `top_k`, for FOSCTTM and for label
        transfer.
        Hits and errors are always of its matches.

    Returns
    -------
    AlignmentScores

    Examples
    --------
    >>> import anchorot as ao
    >>> scores = ao.alignment_scores([1, 0, 2], truth=[1, 0, 0], cost=[[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> round(scores.hits, 3), round(scores.error, 3)
    (0.667, 0.667)
    """
    k = check_integer(k, "k", 1)
    costs = None if cost is None else _costs_of(cost)
    matches, plan, m = _matches_and_plan(found, soft, costs)
    goal = None if truth is None else _check_indices(truth, len(matches), "truth", -1, m)
    image = None if symmetry is None else _check_symmetry(symmetry, goal, m)
    truth_fit = best_fit = None
    top = fraction = None
    is_mirrored: bool | None = None
    if goal is not None:
        counted = np.flatnonzero(goal >= 0)
        if not len(counted):
            raise InputError("truth is -1 for all points, but at least one true match is needed")
        goals = [goal] if image is None else [goal, np.where(goal >= 0, image[goal], -1)]
        truth_fit, *mirrored = _fits(matches, goals, costs)
        if mirrored:
            is_mirrored = mirrored[0].is_better_than(truth_fit)
            best_fit = mirrored[0] if is_mirrored else truth_fit
        if plan is not None:
            top = _top(plan[counted], matches[counted], goal[counted], k)
            if isinstance(costs, _Matrix):
                fraction = _foscttm(costs.matrix, plan[counted], goal[counted])
        elif soft and isinstance(found, Correspondence) and not found.is_map:
            top = _top_listed(found.top_k(k)[counted], matches[counted], goal[counted], k)
    same_label, same_carried = (None, None) if labels is None else _label_rates(found, matches, plan, labels, soft)
    return AlignmentScores(
        hits=truth_fit and truth_fit.hits,
        top_k=top,
        k=k,
        error=truth_fit and truth_fit.error,
        errors=truth_fit and truth_fit.errors,
        diameter=None if costs is None else costs.diameter,
        root_area=None if costs is None else costs.root_area,
        hits_up_to_symmetry=best_fit and best_fit.hits,
        error_up_to_symmetry=best_fit and best_fit.error,
        errors_up_to_symmetry=best_fit and best_fit.errors,
        is_mirrored=is_mirrored,
        foscttm=fraction,
        label_hits=same_label,
        label_transfer=same_carried,
        n_matched=int((matches >= 0).sum()),
    )


class _Costs(Protocol):
    """Costs of the second space, from some points to others."""

    @property
    def size(self) -> int:
        """Number of points."""

    @property
    def diameter(self) -> float:
        """The largest cost."""

    @property
    def root_area(self) -> float | None:
        """Root of the area of the surface that the points are on, if there is one."""

    def errors(self, matches: Int64s, goals: Sequence[Int64s]) -> list[Float64s]:
        """Costs between matches and each of several goals; a point without a match counts as one at the mean cost."""


class _Matrix:
    """Costs that are there."""

    root_area = None

    def __init__(self, matrix: Float64s) -> None:
        self.matrix = matrix
        self.size, self.diameter = len(matrix), float(matrix.max())

    def errors(self, matches: Int64s, goals: Sequence[Int64s]) -> list[Float64s]:
        return [np.where(matches >= 0, self.matrix[matches, goal], _mean(self.matrix)) for goal in goals]


class _Rows:
    """Costs that are computed a row at a time."""

    def __init__(self, source: Distances) -> None:
        self._source = source
        self.size = source.total
        self.root_area = source.root_area if isinstance(source, MeshDistances) else None
        rim = source.row(source.begin)
        self.diameter = float(max(rim.max(), source.row(int(np.argmax(rim))).max()))
        self._place = np.full(source.total, -1)
        self._place[source.kept] = np.arange(len(source.kept))

    def errors(self, matches: Int64s, goals: Sequence[Int64s]) -> list[Float64s]:
        """One row for every different goal, whichever of the goals it is in."""
        wanted = np.concatenate(goals)
        places = self._place[wanted]
        if (places < 0).any():
            outside = int(wanted[places < 0][0])
            raise InputError(f"truth has the point {outside}, which is not in the largest component of the thing")
        own = np.tile(np.where(matches >= 0, self._place[matches], -1), len(goals))
        order = np.argsort(places, kind="stable")
        different, starts = np.unique(places[order], return_index=True)
        errors, means = np.empty(len(places)), np.empty(len(different))
        for k, here in enumerate(np.split(order, starts[1:])):
            row = np.asarray(self._source.row(int(different[k])), np.float64)
            errors[here] = row[own[here]]
            means[k] = _mean(row)
        errors[own < 0] = _mean(means)
        return np.split(errors, len(goals))


def _mean(costs: Floats) -> float:
    """The mean, of whatever size costs are."""
    unit = unit_of(float(np.abs(costs).max()))
    return float((costs / unit).mean()) * unit


def _costs_of(cost: Any) -> _Matrix | _Rows:
    """Turn what people have into costs between the second space's points."""
    source = distances_of(cost)
    return _Matrix(source.whole.cost.astype(np.float64)) if isinstance(source, SpaceDistances) else _Rows(source)


class _Fit(NamedTuple):
    """How well matches fit a goal."""

    hits: float
    errors: Float64s | None  # (n,)

    @property
    def error(self) -> float | None:
        """Mean error of the points that have a goal."""
        return None if self.errors is None else _mean(self.errors[~np.isnan(self.errors)])

    def is_better_than(self, other: _Fit) -> bool:
        """Whether the error is smaller, or where costs are not known, hits are more."""
        if self.error is None or other.error is None:
            return self.hits > other.hits
        return self.error < other.error


def _fits(matches: Int64s, goals: Sequence[Int64s], costs: _Costs | None) -> list[_Fit]:
    """Count hits of each goal, -1 where there is none, and where costs are known, measure errors."""
    counted = goals[0] >= 0
    own, wanted = matches[counted], [goal[counted] for goal in goals]
    hits = [float(np.mean(own == goal)) for goal in wanted]
    if costs is None:
        return [_Fit(share, None) for share in hits]
    found = []
    for share, errors in zip(hits, costs.errors(own, wanted), strict=True):
        every = np.full(len(matches), np.nan)
        every[counted] = errors
        found.append(_Fit(share, every))
    return found


def _matches_and_plan(
    found: Correspondence | ArrayLike, soft: bool, costs: _Costs | None
) -> tuple[Int64s, Float64s | None, int | None]:
    """The matches, the plan if there is one, and the number of points of the second space if that is known."""
    if not isinstance(found, Correspondence):
        array = as_array(found, "the alignment")
        if array.ndim == 1 and array.dtype.kind in "iu" and len(array):
            size = None if costs is None else costs.size
            return _check_indices(array, len(array), "the alignment", -1, size), None, size
    if isinstance(found, Correspondence):
        masses = found.masses(soft)
        plan = masses if isinstance(masses, np.ndarray) else None
        matches, m = found.matches, found.shape[1]
    else:
        plan = check_plan(found)
        matches, m = np.where(plan.sum(axis=1) > 0, plan.argmax(axis=1), -1), plan.shape[1]
    if costs is not None and costs.size != m:
        raise InputError(f"cost is of {costs.size} points, but the alignment's second space has {m}")
    return matches, plan, m


def _check_indices(values: ArrayLike, length: int, name: str, least: int, m: int | None) -> Int64s:
    array = as_array(values, name)
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise InputError(f"{name} has shape {array.shape} and dtype {array.dtype}, but {length} integers are needed")
    if array.min() < least or array.max() >= (np.iinfo(np.int64).max if m is None else m):
        most = "" if m is None else f" to {m - 1}"
        raise InputError(f"{name} has entries from {array.min()} to {array.max()}, but they go from {least}{most}")
    return array.astype(np.int64)


def _check_symmetry(symmetry: ArrayLike, goal: Int64s | None, m: int | None) -> Int64s:
    if goal is None:
        raise InputError("got symmetry without truth, but only a known match has an image: give truth too")
    size = max(int(goal.max()) + 1, np.size(symmetry)) if m is None else m
    image = _check_indices(symmetry, size, "symmetry", -1, m)
    lost = goal[(goal >= 0) & (image[goal] < 0)]
    if len(lost):
        raise InputError(f"symmetry has no image of the point {lost[0]}, which is a true match; others may be -1")
    return image


def _top(plan: Float64s, matches: Int64s, goal: Int64s, k: int) -> float:
    """Share of the goals among the first k candidates: the match, then those of the most mass."""
    own = plan[np.arange(len(goal)), goal]
    better = (plan > own[:, None]).sum(axis=1)
    is_match = matches == goal
    counted = (matches >= 0) & (plan[np.arange(len(goal)), matches] > own)  # the match is among the better ones already
    place = np.where(is_match, 0, better + 1 - counted)
    return float(np.mean((place < k) & (is_match | (own > 0))))


def _top_listed(listed: Int64s, matches: Int64s, goal: Int64s, k: int) -> float:
    """The same where an alignment lists its candidates, (n, k), -1 where there are no more."""
    others = (listed >= 0) & (listed != matches[:, None])
    place = np.cumsum(others, axis=1) - (matches < 0)[:, None]  # the match itself, if there is one, is the first
    return float(np.mean((matches == goal) | ((listed == goal[:, None]) & others & (place < k)).any(axis=1)))


def _foscttm(costs: Float64s, plan: Float64s, goal: Int64s) -> float:
    """Of every point: the share of the others whose mean cost from where its mass goes is below the true match's."""
    mass = plan.sum(axis=1)
    heavy = mass > 0
    away = plan[heavy] @ costs / mass[heavy, None]
    own = away[np.arange(len(away)), goal[heavy]]
    fractions = (away < own[:, None]).sum(axis=1) / max(1, costs.shape[1] - 1)
    return float(np.append(fractions, np.full(int((~heavy).sum()), 0.5)).mean())


def check_label_pair(labels: Any, n: int, m: int | None) -> tuple[list[Any], list[Any]]:
    """Turn labels of both sides into one for each point; m is None where the second side's size is unknown."""
    if not isinstance(labels, list | tuple) or len(labels) != 2:
        raise InputError("labels must be a pair, the labels of the first space's points and those of the second's")
    first, second = (point_values(side, "labels") for side in labels)
    for name, side, size in (("first", first, n), ("second", second, m)):
        if size is not None and len(side) != size:
            raise InputError(f"there are {len(side)} labels of the {name} space, but {size} points")
    return first, second


def check_labelled(matches: Int64s, second: list[Any]) -> None:
    """Refuse labels of the second space that its matched points are not among."""
    if not second:
        raise InputError("there are no labels of the second space, but one for each of its points is needed")
    if matches.max() >= len(second):
        raise InputError(
            f"there are {len(second)} labels of the second space, but a point is matched with {matches.max()}"
        )


def _label_rates(
    found: Correspondence | ArrayLike, matches: Int64s, plan: Float64s | None, labels: Any, soft: bool
) -> tuple[float, float]:
    """Shares of the points whose match, and most of whose mass, has their label."""
    first, second = check_label_pair(
        labels, len(matches), found.shape[1] if isinstance(found, Correspondence) else None
    )
    check_labelled(matches, second)
    by_match = sparse_plan(matches, len(second))
    masses = found.masses(soft) if isinstance(found, Correspondence) else by_match if plan is None else plan

    def share(mass: Any) -> float:
        carried, weight = carried_labels(mass, second)  # nothing is carried to a point without mass, not even None
        pairs = zip(first, carried.tolist(), weight, strict=True)
        return float(np.mean([part > 0 and bool(own == other) for own, other, part in pairs]))

    return share(by_match), share(masses)
