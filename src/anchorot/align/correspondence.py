"""The base of all alignments: the match of each point, its confidence, and what can be transferred along matches."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import WithFacts
from anchorot._typing import Float64s, Int64s
from anchorot._validate import as_array, check_choice, check_finite, check_integer, check_numbers
from anchorot.align.plans import carried_labels, sparse_plan, top_of
from anchorot.align.truth import Hits, Truth, true_matches
from anchorot.exceptions import ConvergenceWarning, InputError
from anchorot.io.atomic import replacing
from anchorot.io.names import name_of

# A candidate is about as good as the chosen one if its objective is larger by no more than
MAX_EXCESS = 0.1  # of the chosen one's objective, or, where that is nearly 0,
MIN_EXCESS = 1e-3  # of what the chosen one gained over a reference that knows nothing
MIN_DIFFERENCE = 0.1  # share of the points that it must match differently
MIN_RELIABLE = 0.5  # a result that is more likely wrong than right gets a warning


@dataclass(frozen=True, eq=False)
class Candidate:
    """One of the alignments that were compared.

    Attributes
    ----------
    name : str
        How it was made.
    objective : float
        Smaller is better, as in the alignment's own `objective`.
    seconds : float
        Time that it took.
    matches : ndarray of shape (n,)
        -1 for a point without a match.
    differs : float
        Share of the points that it matches differently from the chosen candidate.
    details : mapping
        Further numbers of its kind, such as `n_iter` and `converged`, or a mesh map's `orientation`.
    """

    name: str
    objective: float
    seconds: float
    matches: Int64s = field(repr=False)
    differs: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def numbers(self) -> dict[str, Any]:
        """Its name and all its plain numbers, for tables and programs."""
        plain = {name: value for name, value in self.details.items() if np.ndim(value) == 0}
        return {
            "name": self.name,
            "objective": self.objective,
            **plain,
            "differs": self.differs,
            "seconds": self.seconds,
        }


def cell(name: str, value: Any) -> str:
    """Format one number of a candidate for a table."""
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.1%}" if name == "differs" else f"{value:.1f}" if name == "seconds" else f"{value:.4g}"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def excess_allowed(objective: float, reference: float) -> float:
    """By how much a candidate may be worse and still be about as good; `reference` is what knowing nothing costs."""
    return max(MAX_EXCESS * objective, MIN_EXCESS * (reference - objective))


def find_runner_up(candidates: Sequence[Candidate], excess: float) -> Candidate | None:
    """The best other candidate that is about as good as the first one and yet a different alignment."""
    chosen, *others = candidates
    for other in sorted(others, key=lambda one: one.objective):
        if other.objective <= chosen.objective + excess and other.differs > MIN_DIFFERENCE:
            return other
    return None


class Correspondence(WithFacts, ABC):
    """The match of every point of one object in another; the base class of all alignments.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        Match of every point of the first side in the second; -1 for a point without one.
    confidence : ndarray of shape (n,)
        Estimated chance that each match is right; 0 for a point without one.
    reliable : float or None
        Estimated chance that the alignment as a whole is right: that at least 80 % of the matches are at or near the
        truth, up to symmetries that nothing could tell apart. Below 0.5 there is a `ConvergenceWarning`, when it is
        computed. None where it is not estimated.
    objective : float
        What the alignment minimises.
    candidates : tuple of Candidate
        The alignments that were compared, best first; the first one is this alignment.
    runner_up : Candidate or None
        The best other candidate that is about as good: then only outside knowledge can tell which one is right.
    converged : bool
        Whether the solver stopped because nothing moved any more.
    """

    not_a_space: ClassVar[str] = 'it is what was found between two spaces; found.write("map.txt") writes its matches'
    is_one_to_one: ClassVar[bool] = False  # whether no two points ever have the same match
    is_map: ClassVar[bool] = True  # whether all that is known of where a point goes is its match
    method: ClassVar[str] = "align"  # the function that makes it
    points_are: ClassVar[str] = "points"  # what the points are called in `facts`
    numbers: ClassVar[tuple[str, ...]] = ("objective",)  # attributes that are plain numbers, for programs
    remedies: ClassVar[str] = "known pairs, features, types or more points may help"  # where it cannot be trusted

    if TYPE_CHECKING:

        @property
        def matches(self) -> Int64s:
            """See above."""

        @property
        def confidence(self) -> Float64s:
            """See above."""

        @property
        def reliable(self) -> float | None:
            """See above."""

        @property
        def objective(self) -> float:
            """See above."""

        @property
        def candidates(self) -> tuple[Candidate, ...]:
            """See above."""

        @property
        def runner_up(self) -> Candidate | None:
            """See above."""

        @property
        def converged(self) -> bool:
            """See above."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of points of either side."""

    @abstractmethod
    def _own_facts(self, full: bool) -> dict[str, str]:
        """What only this kind can say; `full` allows what takes long to compute."""

    def side_weights(self) -> tuple[Float64s, Float64s]:
        """Weights of the points of both sides, of which masses are shares."""
        n, m = self.shape
        return np.ones(n), np.ones(m)

    def soft(self, candidate: Candidate | None = None) -> Any:
        """Where each point might belong: an array or sparse array (n, m).

        Parameters
        ----------
        candidate : Candidate, optional
            The runner-up, to see where its points might belong instead.
        """
        return sparse_plan((candidate or self).matches, self.shape[1])

    def masses(self, soft: bool = True) -> Any:
        """How much of each point goes where: by :meth:`soft`, or by the plan or the matches alone."""
        return self.soft() if soft else sparse_plan(self.matches, self.shape[1])

    def backward(self, candidate: Candidate | None = None) -> Int64s:
        """Match of every point of the second side in the first; the first of several, -1 for none."""
        matches = (candidate or self).matches
        found = np.full(self.shape[1], -1)
        kept = np.flatnonzero(matches >= 0)[::-1]  # backwards: the first writes last
        found[matches[kept]] = kept
        return found

    def verdict(self) -> tuple[str, bool]:
        """Say whether the result as a whole can be relied on, and whether that is a warning; "" if nothing is known."""
        if self.reliable is None:
            return "", False
        if self.reliable < MIN_RELIABLE:
            text = distrust(self.reliable, self.remedies)
            return f"{text[0].upper()}{text[1:]}.", True
        return f"The chance that this alignment is right as a whole is estimated at {self.reliable:.0%}.", False

    def facts(self, full: bool = False) -> dict[str, str]:
        """Summarise the alignment in words; what `repr`, notebooks, reports and the command line show.

        Parameters
        ----------
        full : bool
            Include what is computed only on request, such as `confidence`, `reliable` and a bound.

        Returns
        -------
        dict of str to str
        """
        n, m = self.shape
        count = int((self.matches >= 0).sum())
        said = {"method": self.method} if full else {}
        said |= {self.points_are: f"{n} and {m}, {'all' if count == n else count} matched", **self._own_facts(full)}
        if (full or "reliable" in vars(self)) and self.reliable is not None:  # some kinds compute it on first use
            said["reliable"] = f"{self.reliable:.2g}"
        if full:
            said["matches that are right"] = f"about {self.confidence.sum():.0f} of {count}"
        other = self.runner_up
        said["runner-up"] = "none"
        if other is not None:
            said["runner-up"] = f"{other.name}, {other.objective:.6g}, {other.differs:.0%} of the matches differ"
        state = "converged" if self.converged else "NOT converged"
        said["solver"] = f"{state}, best of {len(self.candidates)}: {self.candidates[0].name}"
        return said

    def side_names(self) -> tuple[Sequence[object], Sequence[object]]:
        """What the points of both sides are called: numbers, or the names of a network's nodes."""
        n, m = self.shape
        return range(n), range(m)

    def hits(self, truth: Truth) -> Hits:
        """Share of the points whose match is the true one.

        Parameters
        ----------
        truth : array_like of int, shape (n,), sequence of names, mapping, or pairs
            The true match of every point: its number, -1 where there is none, as in `matches`; or its name, None where
            there is none. Or a dict from points of the first side to points of the second, or pairs of them, by names
            if they have some, else by numbers; what one of the sides does not have is not counted.

        Returns
        -------
        Hits
            A number that also says how many points were counted; NaN if none was. Of two networks it has the score up
            to twins too.
        """
        goal = true_matches(truth, self.side_names())
        counted = np.flatnonzero(goal >= 0)
        if not len(counted):
            return Hits(float("nan"))
        return self._hits(self.matches[counted], goal[counted])

    def _hits(self, found: Int64s, goal: Int64s) -> Hits:
        return Hits(float(np.mean(found == goal)), len(goal))

    def top_k(self, k: int) -> Int64s:
        """The k points that each may belong to: its match, then the likeliest others.

        Parameters
        ----------
        k : int

        Returns
        -------
        ndarray of shape (n, k)
            Indices of points of the second side; -1 where there are fewer.
        """
        count = check_integer(k, "k", 1)
        return top_of(self.soft() + 2 * sparse_plan(self.matches, self.shape[1]), count)

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
            apart this is about the chance that the label is right; it does not detect that whole classes were
            exchanged.

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
        masses = self.masses(soft)
        return masses if onto == "first" else masses.T


def distrust(reliable: float, remedies: str) -> str:
    """Say that a result is more likely wrong than right, and what may help."""
    return f"no alignment was found that can be trusted (reliable={reliable:.2g}); {remedies}"


def warn_if_unreliable(reliable: float, remedies: str, stacklevel: int) -> None:
    """Warn of a result that is more likely wrong than right; `stacklevel` counts from the caller of this function."""
    if reliable < MIN_RELIABLE:
        warnings.warn(distrust(reliable, remedies), ConvergenceWarning, stacklevel=stacklevel + 1)
