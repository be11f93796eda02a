"""What the page shows of a plan or an alignment: whose mass lights up, who is matched with whom, how surely."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s
from anchorot.distances.alignment import (
    Alignment,
    Correspondence,
    check_plan,
    match,
    matches_of,
    sparse_plan,
    spread_of,
)
from anchorot.distances.wasserstein import Transport
from anchorot.exceptions import InputError
from anchorot.report.colours import NO_COLOUR
from anchorot.report.packing import levels_for, pack, pack_map, pack_plan


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer to who goes where.

    Attributes
    ----------
    plan : ndarray of shape (n, m)
        The masses that light up.
    matches : (ndarray of shape (n,), ndarray of shape (m,))
        The one match of every point of either side; -1 for a point without one.
    weights : (ndarray of shape (n,), ndarray of shape (m,))
        What shares are shares of.
    is_sharp : bool
        Whether the matches are more than the plan's largest entries, and so are marked.
    text : str
        What to say of it where there is another.
    """

    plan: Float64s
    matches: tuple[Int64s, Int64s]
    weights: tuple[Float64s, Float64s]
    is_sharp: bool = False
    text: str = ""

    def colours(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Colours of both sides, uint8, from those of the first side's places: a match has that of its point."""
        forth, back = self.matches
        own, carried = places.copy(), places[back]
        own[forth < 0] = carried[back < 0] = NO_COLOUR
        return own, carried

    def packed(self, levels: int | None) -> dict[str, Any]:
        """The masses, and how many matches each point has, effectively."""
        spread = [pack(spread_of(mass), "f4") for mass in (self.plan, self.plan.T)]
        return {"plan": pack_plan(self.plan, self.weights, levels), "spread": spread}


@dataclass(frozen=True, eq=False)
class MapAnswer:
    """One answer that is a map: every point of the first side has one match at most, any number may share it.

    Attributes
    ----------
    forth : ndarray of shape (n,)
        The match of every point of the first side; -1 for a point without one.
    m : int
        Number of points of the second side.
    text : str
        What to say of it where there is another.
    """

    forth: Int64s
    m: int
    text: str = ""
    is_sharp: bool = True

    @property
    def plan(self) -> Any:
        """All of every point goes to its match, (n, m), sparse."""
        return sparse_plan(self.forth, self.m)

    @property
    def matches(self) -> tuple[Int64s, Int64s]:
        """Matches of both sides; of the second the first of those that go there."""
        back = np.full(self.m, -1)
        matched = np.flatnonzero(self.forth >= 0)[::-1]  # backwards: the first writes last
        back[self.forth[matched]] = matched
        return self.forth, back

    def colours(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Colours of both sides from those of the second side's places, not all of which somebody is matched with."""
        own = places[self.forth]
        own[self.forth < 0] = NO_COLOUR
        return own, places

    def packed(self, levels: int | None) -> dict[str, Any]:
        """Who goes where, and how many share a match."""
        counts = np.bincount(self.forth[self.forth >= 0], minlength=self.m)
        spread = np.where(self.forth >= 0, 1.0, np.nan), np.where(counts > 0, counts, np.nan)
        return {"plan": pack_map(self.forth, counts), "spread": [pack(one, "f4") for one in spread]}


def answers_of(plan: Correspondence | Transport | ArrayLike, shape: tuple[int, int]) -> list[Answer] | list[MapAnswer]:
    """The answer that was found, and the other one, if an alignment has a runner-up."""
    if isinstance(plan, Correspondence) and not isinstance(plan, Alignment):
        return _maps(plan, shape)
    if not isinstance(plan, Alignment):
        mass = check_plan(plan, shape)
        return [Answer(mass, (_largest(mass), _largest(mass.T)), (mass.sum(axis=1), mass.sum(axis=0)))]
    best = f"Shown: the best answer, objective {plan.objective:.6g}."
    found = [_aligned(check_plan(plan.plan, shape), plan.soft, plan.weights, best)]
    rival = plan.runner_up
    if rival is not None:
        text = f"Shown: the other answer, objective {rival.objective:.6g}, with {rival.differs:.0%} other matches."
        found.append(_aligned(rival.plan, rival.plan if rival.soft is None else rival.soft, plan.weights, text))
    return found


def _maps(found: Correspondence, shape: tuple[int, int]) -> list[MapAnswer]:
    if found.shape != shape:
        raise InputError(
            f"the alignment is of {found.shape[0]} and {found.shape[1]} points, but what is to be drawn has "
            f"{shape[0]} and {shape[1]}; give write_report what align was given"
        )
    answers = [MapAnswer(found.matches, shape[1], "Shown: the best answer.")]
    if found.runner_up is not None:
        text = f"Shown: the other answer, with {found.runner_up.differs:.0%} other matches."
        answers.append(MapAnswer(found.runner_up.matches, shape[1], text))
    return answers


def pack_answers(answers: list[Answer] | list[MapAnswer], places: np.ndarray) -> list[dict[str, Any]]:
    """Everything that the page's script needs to know about the answers."""
    levels = levels_for([answer.plan for answer in answers if isinstance(answer, Answer)])
    return [
        {
            **answer.packed(levels),
            "matches": [pack(matches, "i4") for matches in answer.matches],
            "colours": [pack(colours, "u1") for colours in answer.colours(places)],
            "sharp": answer.is_sharp,
            "map": isinstance(answer, MapAnswer),
            "text": answer.text,
        }
        for answer in answers
    ]


def _aligned(plan: Float64s, soft: Float64s, weights: tuple[Float64s, Float64s], text: str) -> Answer:
    matches = matches_of(plan, weights[0]), matches_of(plan.T, weights[1])
    return Answer(soft, matches, weights, is_sharp=True, text=text)


def _largest(mass: Float64s) -> Int64s:
    return np.where(mass.any(axis=1), match(mass), -1)
