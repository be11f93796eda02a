"""What an alignment of two spaces is: who goes with whom, how good that is, and how sure one can be of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import card
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import as_array, check_choice, check_finite, check_numbers, check_rng, point_values
from anchorot.align.spaces.score import Evidence
from anchorot.distances.bounds import least_loss
from anchorot.distances.wasserstein import Transport
from anchorot.exceptions import InputError, printable
from anchorot.io.atomic import replacing
from anchorot.io.names import name_of
from anchorot.io.safe_open import MAX_BYTES, about, content_of
from anchorot.space import Space

EQUAL = 1e-9  # entries of a plan that differ by less than this, relatively, are equal to `match`
MIN_MATCHED_SHARE = 0.5  # of a point's weight must be matched for the point to have a match


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
        Steps of annealing and of sharpening; of a start that led to the plan of an earlier one, up to there.
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


class Correspondence:
    """What all alignments share: the match of every point, and what can be carried over by it.

    A kind of alignment has `shape`, `matches`, `confidence`, `starts` and `runner_up`, and, if it knows more than
    matches, `_masses`: how much of every point goes where.
    """

    not_a_space: ClassVar[str] = 'it is what was found between two spaces; found.write("map.txt") writes its matches'

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, int]:
            """Number of points of either side."""

        @property
        def matches(self) -> Int64s:
            """Match of every point of the first side in the second; -1 for a point without one."""

        @property
        def confidence(self) -> Float64s:
            """Estimated chance that each point's match is right, shape (n,); 0 for a point without one."""

        @property
        def starts(self) -> tuple[Start, ...]:
            """All that was tried, best first."""

        @property
        def runner_up(self) -> Any:
            """Another answer that is about as good, with `matches` and the share of points that it `differs` on."""

    def _masses(self, soft: bool) -> Any:
        """How much of every point goes where: an array or a sparse one; here all of it to its match."""
        return sparse_plan(self.matches, self.shape[1])

    def project(self, values: ArrayLike, *, onto: str = "first", soft: bool = True) -> Float64s:
        """Carry one side's numbers (coordinates, features, colours) over to the points of the other.

        Parameters
        ----------
        values : array_like of shape (m,) or (m, k); (n,) or (n, k) with ``onto="second"``
            Numbers, which have a mean; :meth:`transfer` carries labels.
        onto : {"first", "second"}
            Which side's points receive them.
        soft : bool
            Average over all that a point might belong to, where that is known; else over the plan or the matches.

        Returns
        -------
        ndarray of shape (n,) or (n, k), or with m rows
            Mean of the values, weighted by the plan (barycentric projection); NaN for points without mass.

        Examples
        --------
        >>> import anchorot as ao
        >>> x = ao.from_points([[0.0], [1.0], [3.0]])
        >>> ao.align(x, x.take([2, 0, 1])).project([30.0, 0.0, 10.0], soft=False).round(9).tolist()
        [0.0, 10.0, 30.0]
        """
        masses = self._masses_onto(onto, soft)
        given = as_array(values, "values")
        if given.dtype.kind not in "biuf":
            raise InputError("values are not all real numbers, so they have no mean; transfer(labels) carries labels")
        array = check_numbers(given, "values").astype(np.float64)
        if array.ndim not in (1, 2) or len(array) != masses.shape[1]:
            raise InputError(
                f"values has shape {array.shape}, but one row for each of {masses.shape[1]} points is needed"
            )
        check_finite(array, "values")
        total = masses.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Float64s = (masses @ array) / (total if array.ndim == 1 else total[:, None])
        return found

    def transfer(
        self, labels: Iterable[Any], *, onto: str = "first", soft: bool = True
    ) -> tuple[NDArray[Any], Float64s]:
        """Give each point of one side the label of the other side's points that most of its mass goes to.

        Parameters
        ----------
        labels : iterable of m hashable objects; of n with ``onto="second"``
            Texts, integers, categories.
        onto : {"first", "second"}
            Which side's points receive them.
        soft : bool
            Count all that a point might belong to, where that is known; else its matches alone.

        Returns
        -------
        labels : ndarray of shape (n,), or (m,)
            Of the kind of the given ones; with None among them where points have no mass to vote.
        share : ndarray of shape (n,), or (m,)
            Of a point's mass that goes to points of its label: 1 where all do, 0 where there is none. Where classes lie
            apart this is about the chance that the label is right; that whole classes were exchanged it does not see.

        Examples
        --------
        >>> import anchorot as ao
        >>> x = ao.from_points([[0.0], [1.0], [3.0]])
        >>> labels, share = ao.align(x, x.take([2, 0, 1])).transfer(["far", "near", "near"])
        >>> labels.tolist(), bool((share > 0.5).all())
        (['near', 'near', 'far'], True)
        """
        return carried_labels(self._masses_onto(onto, soft), labels)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the matches as text, one to a line, counted from 0, -1 for none; :func:`read_matches` reads them.

        Parameters
        ----------
        path : path
            Ending in .txt. It appears whole or not at all; a file of that name is replaced.
        """
        file = Path(path)
        if file.suffix.lower() != ".txt":
            raise InputError(f"{name_of(file)}: matches are written as .txt, one to a line")
        with replacing(file) as temporary:
            np.savetxt(temporary, self.matches, fmt="%d")

    def _masses_onto(self, onto: str, soft: bool) -> Any:
        check_choice(onto, "onto", ("first", "second"))
        masses = self._masses(soft)
        return masses if onto == "first" else masses.T


@dataclass(frozen=True, eq=False)
class Alignment(Correspondence):
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
    evidence : Evidence
        What `confidence` and `bound` are computed from, when they are asked for.
    """

    plan: Float64s
    soft: Float64s
    value: float
    objective: float
    starts: tuple[Start, ...]
    runner_up: Rival | None
    converged: bool
    feature_scale: float
    weights: tuple[Float64s, Float64s]
    evidence: Evidence = field(repr=False)

    def _repr_html_(self) -> str:
        n, m = self.plan.shape
        rival = self.runner_up
        facts = {
            "plan": f"{n} x {m}, {100 * self.mass:.4g} % matched",
            "value": f"{self.value:.6g}",
            "bound of the loss": f"{self.bound:.6g}",
            "runner-up": "none" if rival is None else f"{rival.objective:.6g}, differs on {100 * rival.differs:.3g} %",
            "solver": f"{'converged' if self.converged else 'NOT converged'}, best of {len(self.starts)} starts",
        }
        return card("Alignment", facts)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either space."""
        n, m = self.plan.shape
        return n, m

    def _masses(self, soft: bool) -> Float64s:
        return self.soft if soft else self.plan

    @cached_property
    def bound(self) -> float:
        """No plan has a smaller loss: the best of :func:`lower_bounds`; 0 where a part of the mass stays unmatched.

        It certifies how far the loss can be from the least, not that matches are right. O(n³), computed when first
        asked for.
        """
        return min(self.value, least_loss(*self.evidence.spaces)) if self.evidence.is_whole else 0.0

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
    def confidence(self) -> Float64s:
        """Estimated chance that the match of every point of the first space is right, shape (n,); 0 without a match.

        From what the next best exchange of matches would cost, whether neighbours stay neighbours, whether other starts
        agree, and how many answers are as good; points that symmetry makes alike share it. O(n³), computed when first
        asked for. `docs/alignment.md` says how well it holds on which data.
        """
        return self.evidence.confidence()

    @cached_property
    def spread(self) -> Float64s:
        """Effective number of matches of every point of the first space in `soft`, from 1 to m.

        The exponential of the entropy of where its mass goes; NaN for a point whose mass goes nowhere. It says how
        large the region is that the point might belong to, not whether it is the right one.
        """
        return spread_of(self.soft)

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
        check_finite(x, "first")
        check_finite(y, "second")
        mass = self.plan / self.plan.sum()
        origin, target = mass.sum(axis=1) @ x, mass.sum(axis=0) @ y
        inner, outer = (moved / (float(np.abs(moved).max()) or 1.0) for moved in (x - origin, y - target))
        left, _, right = np.linalg.svd(inner.T @ mass @ outer)  # a scale of either side turns nothing
        return Procrustes(left @ right, origin, target)

    def __repr__(self) -> str:
        n, m = self.plan.shape
        state = "converged" if self.converged else "NOT converged"
        rival = ", with a runner-up" if self.runner_up is not None else ""
        return f"Alignment({n} x {m}, value={self.value:.6g}, bound={self.bound:.6g}, {state}{rival})"


def sparse_plan(matches: Int64s, m: int) -> Any:
    """A plan that sends all of each point's mass, 1, to its match: a sparse array (n, m)."""
    from scipy.sparse import csr_array

    is_matched = matches >= 0
    ends = np.append(0, np.cumsum(is_matched))
    return csr_array((np.ones(ends[-1]), matches[is_matched], ends), shape=(len(matches), m))


def carried_labels(masses: Any, labels: Iterable[Any]) -> tuple[NDArray[Any], Float64s]:
    """The label that most of every row's mass goes to, None for a row without mass; and its share of the mass."""
    from scipy.sparse import csr_array, issparse

    kinds, codes = encode_labels(labels, masses.shape[1])
    members = csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), len(kinds)))
    votes = masses @ members
    most = votes.max(axis=1)
    most, best = (most.toarray(), votes.tocsr().argmax(axis=1)) if issparse(votes) else (most, votes.argmax(axis=1))
    total = masses.sum(axis=1)
    share = np.divide(most, total, out=np.zeros(len(total)), where=total > 0)
    found = kinds[best]
    if not (total > 0).all():
        found = found.astype(object)
        found[total <= 0] = None
    return found, np.minimum(share, 1.0)


def encode_labels(labels: Iterable[Any], count: int) -> tuple[NDArray[Any], Int64s]:
    """Different labels, in order where they have one, and the place of each point's label among them."""
    if isinstance(labels, str | bytes):
        raise InputError(f"labels must be one label for each of {count} points, but got {labels!r}")
    items = point_values(labels, "labels")
    if len(items) != count:
        raise InputError(f"labels has {len(items)} entries, but there are {count} points")
    try:
        names = list(dict.fromkeys(items))
    except TypeError:
        raise InputError("labels must be hashable, such as texts or integers, one for each point") from None
    if {type(name) for name in names} in ({str}, {int}, {float}, {bool}):
        names.sort()  # so that equal votes do not depend on how points are numbered
        kinds = np.array(names)
    else:
        kinds = np.empty(len(names), object)
        kinds[:] = names
    place = {name: number for number, name in enumerate(names)}
    return kinds, np.array([place[item] for item in items], np.int64)


def read_matches(path: str | os.PathLike[str]) -> Int64s:
    """Read matches as an alignment writes them: one to a line, counted from 0, -1 for a point without one.

    Parameters
    ----------
    path : path

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> import tempfile
    >>> import anchorot as ao
    >>> x = ao.from_points([[0.0], [1.0], [3.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ao.align(x, x.take([2, 0, 1])).write(f"{folder}/map.txt")
    ...     ao.read_matches(f"{folder}/map.txt").tolist()
    [1, 2, 0]
    """
    file = Path(path)
    with about(file):
        lines = content_of(file, MAX_BYTES).decode("utf-8", "replace").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        for number, line in enumerate(lines, 1):
            if not re.fullmatch(r"-1|[0-9]{1,18}", line.strip(), re.ASCII):
                shown = printable(line[:40])
                raise InputError(f"line {number} is {shown!r}, but the number of a match is needed, -1 for none")
    return np.array([int(line) for line in lines], np.int64)


def match(
    plan: Correspondence | Transport | ArrayLike, method: str = "argmax", *, ties: str = "first", rng: RngLike = None
) -> Int64s:
    """Match of every point of the first space in the second, from a plan.

    Parameters
    ----------
    plan : Alignment, DenseAlignment, Transport or array_like of shape (n, m)
        Mass between every point of the one and of the other space, not negative. :func:`align` makes the best ones.
    method : {"argmax", "assignment"}
        "argmax": where most of the point's mass goes; several points may have the same match. "assignment": one to one,
        with the largest total mass.
    ties : {"first", "random"}
        Which of several equally good matches "argmax" takes.
    rng : None, int or numpy.random.Generator
        Source of randomness for ``ties="random"``.

    Returns
    -------
    ndarray of shape (n,)
        Index of the match; -1 for the n - m points that a one-to-one assignment must leave out if n > m, and for those
        that an alignment leaves unmatched.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.match([[0.4, 0.1], [0.3, 0.2]]).tolist(), ao.match([[0.4, 0.1], [0.3, 0.2]], "assignment").tolist()
    ([0, 0], [0, 1])
    """
    if isinstance(plan, Space):
        raise InputError("got a Space, but a plan between two spaces is needed, such as: match(align(x, y))")
    check_choice(method, "method", ("argmax", "assignment"))
    check_choice(ties, "ties", ("first", "random"))
    if isinstance(plan, Alignment):
        return np.where(plan.matches >= 0, match(plan.plan, method, ties=ties, rng=rng), -1)
    if isinstance(plan, Correspondence) and method == "argmax":
        return plan.matches
    array = check_plan(plan)
    if method == "assignment":
        from scipy.optimize import linear_sum_assignment

        found = np.full(len(array), -1)
        points, matches = linear_sum_assignment(array, maximize=True)
        found[points] = matches
        return found
    best = array >= array.max(axis=1, keepdims=True) * (1 - EQUAL)
    if ties == "first":
        return best.argmax(axis=1)
    return np.where(best, check_rng(rng).uniform(size=best.shape), -1.0).argmax(axis=1)


def check_plan(plan: Correspondence | Transport | ArrayLike, shape: tuple[int, int] | None = None) -> Float64s:
    """Turn a plan into a float64 matrix of finite masses, of the given shape if there is one."""
    if isinstance(plan, Correspondence) and not isinstance(plan, Alignment):
        raise InputError(f"a {type(plan).__name__} has one match of every point, but no plan: take its .matches")
    given = plan.plan if isinstance(plan, Alignment | Transport) else plan
    array: Float64s = check_numbers(given, "plan").astype(np.float64, copy=False)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"plan has shape {array.shape}, but (n, m) with n, m >= 1 is needed")
    if shape is not None and array.shape != shape:
        raise InputError(f"plan has shape {array.shape}, but the spaces have {shape[0]} and {shape[1]} points")
    check_finite(array, "plan")
    least = array.min()
    if least < -EQUAL * array.max():  # more than what rounding leaves
        i, j = (int(k) for k in np.unravel_index(array.argmin(), array.shape))
        raise InputError(f"plan must not be negative, but plan[{i}, {j}] is {least}")
    return np.maximum(array, 0) if least < 0 else array


def matches_of(plan: Float64s, weights: Float64s) -> Int64s:
    """Column of the largest entry of every row; -1 where less than half of the point's weight is matched."""
    found = plan.argmax(axis=1)
    return np.where((plan.sum(axis=1) > MIN_MATCHED_SHARE * weights) & (weights > 0), found, -1)


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
