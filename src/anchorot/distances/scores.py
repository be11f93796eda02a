"""How right an alignment is, where the truth is known: the figures that people report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_integer, check_square
from anchorot.distances.alignment import Alignment
from anchorot.distances.plan import check_plan
from anchorot.exceptions import InputError


@dataclass(frozen=True)
class AlignmentScores:
    """Scores of an alignment; None where what they need was not given.

    Attributes
    ----------
    hits : float or None
        Share of the points with a true match whose match is the true one.
    top_k : float or None
        Share of them whose true match is among the k that get most of their mass.
    k : int
    error : float or None
        Mean cost, in the second space, between match and true match (on a mesh: mean geodesic error). An unmatched
        point counts as one matched at the mean cost of the space.
    hits_up_to_symmetry, error_up_to_symmetry : float or None
        The same against the truth or its image under `symmetry`, whichever the whole alignment fits better.
    is_mirrored : bool or None
        Whether that is the image: of the smaller error, or without `cost`, of more hits. One choice for all points.
    foscttm : float or None
        Mean fraction of points closer than the true match to where a point goes: 0 is perfect, 0.5 chance.
    label_transfer : float or None
        Share of the points whose label is that which most of their mass goes to.
    n_matched : int
        Points that have a match at all.
    """

    hits: float | None
    top_k: float | None
    k: int
    error: float | None
    hits_up_to_symmetry: float | None
    error_up_to_symmetry: float | None
    is_mirrored: bool | None
    foscttm: float | None
    label_transfer: float | None
    n_matched: int


def alignment_scores(
    found: Alignment | ArrayLike,
    truth: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    *,
    k: int = 5,
    symmetry: ArrayLike | None = None,
    soft: bool = True,
) -> AlignmentScores:
    """Score an alignment against what is known.

    Parameters
    ----------
    found : Alignment, array_like of shape (n, m) or of integers of shape (n,)
        An alignment, a plan, or matches (-1: none).
    truth : array_like of int, shape (n,), optional
        The true match of every point of the first space; -1 for a point that has none and is not counted.
    cost : array_like of shape (m, m), optional
        Costs of the second space: for errors, and for FOSCTTM.
    labels : (sequence of length n, sequence of length m), optional
        Labels of the points of both spaces, for label transfer.
    k : int
        For `top_k`.
    symmetry : array_like of int, shape (m,), optional
        The image of every point of the second space under its symmetry, such as left and right exchanged. An answer
        that is mirrored as a whole is then as good as one that is not; one that is half mirrored is not.
    soft : bool
        Of an `Alignment`: use its soft plan for `top_k`, FOSCTTM and label transfer.

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
    matches, plan = _matches_and_plan(found, soft)
    k = check_integer(k, "k", 1)
    costs = None if cost is None else check_square(cost, "cost").astype(np.float64)
    goal = None if truth is None else _check_indices(truth, len(matches), "truth", -1, costs, plan)
    image = None if symmetry is None else _check_symmetry(symmetry, goal, costs, plan)
    hits = top = error = fraction = None
    best: _Fit | None = None
    is_mirrored: bool | None = None
    if goal is not None:
        counted = np.flatnonzero(goal >= 0)
        if not len(counted):
            raise InputError("truth is -1 for all points, but at least one true match is needed")
        matches_in, goal_in = matches[counted], goal[counted]
        hits, error = plain = _Fit.of(matches_in, goal_in, costs)
        if image is not None:
            mirrored = _Fit.of(matches_in, image[goal_in], costs)
            best, is_mirrored = (mirrored, True) if mirrored.is_better_than(plain) else (plain, False)
        top = None if plan is None else _top(plan[counted], goal_in, k)
        if costs is not None:
            fraction = None if plan is None else _foscttm(costs, plan[counted], goal_in)
    transfer = None if labels is None or plan is None else _label_transfer(plan, *labels)
    return AlignmentScores(
        hits=hits,
        top_k=top,
        k=k,
        error=error,
        hits_up_to_symmetry=best and best.hits,
        error_up_to_symmetry=best and best.error,
        is_mirrored=is_mirrored,
        foscttm=fraction,
        label_transfer=transfer,
        n_matched=int((matches >= 0).sum()),
    )


class _Fit(NamedTuple):
    """How well matches fit a goal."""

    hits: float
    error: float | None

    @classmethod
    def of(cls, matches: Int64s, goal: Int64s, costs: Float64s | None) -> Self:
        """Count hits, and where costs are known, the mean cost between match and goal."""
        return cls(float(np.mean(matches == goal)), None if costs is None else _error(costs, matches, goal))

    def is_better_than(self, other: _Fit) -> bool:
        """Whether the error is smaller, or where costs are not known, hits are more."""
        if self.error is None or other.error is None:
            return self.hits > other.hits
        return self.error < other.error


def _matches_and_plan(found: Alignment | ArrayLike, soft: bool) -> tuple[Int64s, Float64s | None]:
    if isinstance(found, Alignment):
        return found.matches, found.soft if soft else found.plan
    array = np.asarray(found)
    if array.ndim == 1 and array.dtype.kind in "iu":
        return array.astype(np.int64), None
    plan = check_plan(found)
    return np.where(plan.sum(axis=1) > 0, plan.argmax(axis=1), -1), plan


def _check_indices(
    values: ArrayLike, length: int, name: str, least: int, costs: Float64s | None, plan: Float64s | None
) -> Int64s:
    array = np.asarray(values)
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise InputError(f"{name} has shape {array.shape} and dtype {array.dtype}, but {length} integers are needed")
    most = len(costs) if costs is not None else plan.shape[1] if plan is not None else None
    if array.min() < least or (most is not None and array.max() >= most):
        raise InputError(f"{name} has entries from {array.min()} to {array.max()}, but points go from 0 to {most}")
    return array.astype(np.int64)


def _check_symmetry(symmetry: ArrayLike, goal: Int64s | None, costs: Float64s | None, plan: Float64s | None) -> Int64s:
    if goal is None:
        raise InputError("got symmetry without truth, but only a known match has an image: give truth too")
    least = int(goal.max()) + 1
    n = len(costs) if costs is not None else plan.shape[1] if plan is not None else max(least, np.size(symmetry))
    return _check_indices(symmetry, n, "symmetry", 0, costs, plan)


def _top(plan: Float64s, goal: Int64s, k: int) -> float:
    own = plan[np.arange(len(goal)), goal]
    return float(np.mean((plan > own[:, None]).sum(axis=1) < k))


def _error(costs: Float64s, matches: Int64s, goal: Int64s) -> float:
    return float(np.where(matches >= 0, costs[matches, goal], costs.mean()).mean())


def _foscttm(costs: Float64s, plan: Float64s, goal: Int64s) -> float:
    """Of every point: the share of the others whose mean cost from where its mass goes is below the true match's."""
    mass = plan.sum(axis=1)
    heavy = mass > 0
    away = plan[heavy] @ costs / mass[heavy, None]
    own = away[np.arange(len(away)), goal[heavy]]
    fractions = (away < own[:, None]).sum(axis=1) / max(1, costs.shape[1] - 1)
    return float(np.append(fractions, np.full(int((~heavy).sum()), 0.5)).mean())


def _label_transfer(plan: Float64s, first: Sequence[Any], second: Sequence[Any]) -> float:
    if (len(first), len(second)) != plan.shape:
        raise InputError(
            f"there are {len(first)} and {len(second)} labels, but {plan.shape[0]} and {plan.shape[1]} points"
        )
    names = list(dict.fromkeys([*first, *second]))
    code = {name: number for number, name in enumerate(names)}
    own, theirs = (np.array([code[label] for label in side]) for side in (first, second))
    votes = np.stack([plan[:, theirs == number].sum(axis=1) for number in range(len(names))], axis=1)
    return float(np.mean((votes.argmax(axis=1) == own) & (votes.max(axis=1) > 0)))
