"""What an alignment of two spaces is: who goes with whom, how good that is, and how sure one can be of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import card
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice, check_finite, check_numbers
from anchorot.exceptions import InputError

MATCHED = 0.5  # of a point's weight must be matched for the point to have a match


@dataclass(frozen=True)
class Start:
    """One of the starts that an alignment tried.

    Attributes
    ----------
    name : str
    objective : float
        What it ended at, in the scale of the alignment's `objective`; the soft plan's if it was given up.
    seconds : float
    n_iter : int
        Steps of annealing and of sharpening; of annealing alone if that led to the plan of an earlier start.
    converged : bool
        False where steps ran out, or where, of more than 800 points, a start promised so little that it was given up.
    """

    name: str
    objective: float
    seconds: float
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Rival:
    """Another alignment that is about as good: of a symmetric shape, say, its mirror image.

    Attributes
    ----------
    plan : ndarray of shape (n, m)
    matches : ndarray of shape (n,)
    objective : float
    differs : float
        Share of the first space's points that it matches otherwise.
    soft : ndarray of shape (n, m) or None
        Where else a point might belong by this answer, as `Alignment.soft`; None where it was not computed.
    """

    plan: Float64s = field(repr=False)
    matches: Int64s = field(repr=False)
    objective: float
    differs: float
    soft: Float64s | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Procrustes:
    """A rotation (or reflection) with translation, from the coordinates of one side to those of the other."""

    rotation: Float64s
    origin: Float64s
    target: Float64s

    def __call__(self, points: ArrayLike) -> Float64s:
        """Move points of the first side to the second."""
        return (np.asarray(points, dtype=np.float64) - self.origin) @ self.rotation + self.target


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which point of one space is which of the other.

    Attributes
    ----------
    plan : ndarray of shape (n, m)
        How much of point i goes to point j; between uniform spaces of one size a matching.
    soft : ndarray of shape (n, m)
        The plan before it was sharpened, at the last temperature: where else a point might belong.
    value : float
        The Gromov-Wasserstein loss of `plan`, in the scale of :func:`gromov_wasserstein`; infinite where that exceeds
        the range of floats, which does not harm the plan.
    objective : float
        What was minimised: the loss, joined with the cost of the features if there are any.
    bound : float
        No plan has a smaller loss: the best of :func:`lower_bounds`. 0 where a part of the mass stays unmatched.
    starts : tuple of Start
        All that was tried, best first.
    runner_up : Rival or None
        Another answer that is about as good; then only knowledge that is not in the costs can tell which is right.
    converged : bool
        Whether the best start's last step no longer helped.
    feature_scale : float
        Factor that made the features' costs comparable with the structure's; 0 without features.
    weights : (ndarray of shape (n,), ndarray of shape (m,))
        Of the points of both spaces; where a part of the mass is matched, what each may be matched with.
    """

    plan: Float64s
    soft: Float64s
    value: float
    objective: float
    bound: float
    starts: tuple[Start, ...]
    runner_up: Rival | None
    converged: bool
    feature_scale: float
    weights: tuple[Float64s, Float64s]

    def _repr_html_(self) -> str:
        n, m = self.plan.shape
        rival = self.runner_up
        facts = {
            "plan": f"{n} x {m}, {100 * self.mass:.4g} % matched",
            "value": f"{self.value:.6g}",
            "bound": f"{self.bound:.6g}",
            "runner-up": "none" if rival is None else f"{rival.objective:.6g}, differs on {100 * rival.differs:.3g} %",
            "solver": f"{'converged' if self.converged else 'NOT converged'}, best of {len(self.starts)} starts",
        }
        return card("Alignment", facts)

    @property
    def gap(self) -> float:
        """How far the loss may be from the smallest there is, at the most."""
        return max(0.0, self.value - self.bound)

    @property
    def mass(self) -> float:
        """Share of the mass that is matched."""
        return float(self.plan.sum())

    @cached_property
    def matches(self) -> Int64s:
        """Match of every point of the first space in the second, shape (n,); -1 for a point without one."""
        return matches_of(self.plan, self.weights[0])

    @cached_property
    def spread(self) -> Float64s:
        """Effective number of matches of every point of the first space in `soft`: 1 is certain, m is no idea.

        The exponential of the entropy of where its mass goes; NaN for a point whose mass goes nowhere.
        """
        return spread_of(self.soft)

    def project(self, values: ArrayLike, *, onto: str = "first", soft: bool = True) -> Float64s:
        """Carry one side's values (coordinates, features, colours) over to the points of the other.

        Parameters
        ----------
        values : array_like of shape (m,) or (m, k); (n,) or (n, k) with ``onto="second"``
        onto : {"first", "second"}
            Which side's points receive them.
        soft : bool
            Average over all that a point might belong to; else over `plan`, which for a matching copies values.

        Returns
        -------
        ndarray of shape (n,) or (n, k), or with m rows
            Mean of the values, weighted by the plan (barycentric projection); NaN for points without mass.
        """
        check_choice(onto, "onto", ("first", "second"))
        plan = self.soft if soft else self.plan
        plan = plan if onto == "first" else plan.T
        array = check_numbers(values, "values").astype(np.float64)
        if array.ndim not in (1, 2) or len(array) != plan.shape[1]:
            raise InputError(
                f"values has shape {array.shape}, but one row for each of {plan.shape[1]} points is needed"
            )
        check_finite(array, "values")
        mass = plan.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (plan @ array) / (mass if array.ndim == 1 else mass[:, None])

    def transform(self, first: ArrayLike, second: ArrayLike) -> Procrustes:
        """Rotation, perhaps with a reflection, that brings the first side's coordinates to the second's.

        Orthogonal Procrustes through the plan: the least mean square distance between matched points.

        Parameters
        ----------
        first, second : array_like of shape (n, d) and (m, d)

        Returns
        -------
        Procrustes
            Call it with points of the first side.
        """
        x, y = (
            check_numbers(points, name).astype(np.float64) for points, name in ((first, "first"), (second, "second"))
        )
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or (len(x), len(y)) != self.plan.shape:
            n, m = self.plan.shape
            raise InputError(f"points of shapes {x.shape} and {y.shape}, but ({n}, d) and ({m}, d) are needed")
        mass = self.plan / self.plan.sum()
        origin, target = mass.sum(axis=1) @ x, mass.sum(axis=0) @ y
        left, _, right = np.linalg.svd((x - origin).T @ mass @ (y - target))
        return Procrustes(left @ right, origin, target)

    def __repr__(self) -> str:
        n, m = self.plan.shape
        state = "converged" if self.converged else "NOT converged"
        rival = ", with a runner-up" if self.runner_up is not None else ""
        return f"Alignment({n} x {m}, value={self.value:.6g}, bound={self.bound:.6g}, {state}{rival})"


def matches_of(plan: Float64s, weights: Float64s) -> Int64s:
    """Column of the largest entry of every row; -1 where less than half of the point's weight is matched."""
    found = plan.argmax(axis=1)
    return np.where((plan.sum(axis=1) > MATCHED * weights) & (weights > 0), found, -1)


def spread_of(plan: Float64s) -> Float64s:
    """Effective number of matches of every row: the exponential of the entropy of its mass; NaN for rows of zeros."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = plan / plan.sum(axis=1, keepdims=True)
    terms = np.multiply(share, np.log(share, out=np.zeros_like(share), where=share > 0))
    return np.exp(-terms.sum(axis=1))


def differing(first: Int64s, second: Int64s) -> float:
    """Share of the points that two sets of matches disagree on."""
    return float(np.mean(first != second))


def runner_up(best: Any, others: Sequence[Any], weights: Float64s, room: float, least: float) -> Rival | None:
    """The best of the others that is within `room` of the best and differs on more than `least` of the points."""
    matches = matches_of(best.plan, weights)
    for other in sorted(others, key=lambda found: found.objective):
        own = matches_of(other.plan, weights)
        share = differing(matches, own)
        if other.objective <= best.objective + room and share > least:
            return Rival(other.plan, own, other.objective, share)
    return None
