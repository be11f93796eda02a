"""What the page shows of a plan or an alignment: whose mass lights up, who is matched with whom, how surely."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s
from anchorot.distances.alignment import Alignment, matches_of, spread_of
from anchorot.distances.plan import check_plan, match
from anchorot.distances.transport import Transport
from anchorot.report.colours import NO_COLOUR
from anchorot.report.packing import levels_for, pack, pack_plan


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


def answers_of(plan: Alignment | Transport | ArrayLike, shape: tuple[int, int]) -> list[Answer]:
    """The answer that was found, and the other one, if an alignment has a runner-up."""
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


def pack_answers(answers: list[Answer], places: np.ndarray) -> list[dict[str, Any]]:
    """Everything that the page's script needs to know about the answers."""
    levels = levels_for([answer.plan for answer in answers])
    return [
        {
            "plan": pack_plan(answer.plan, answer.weights, levels),
            "spread": [pack(spread_of(mass), "f4") for mass in (answer.plan, answer.plan.T)],
            "matches": [pack(matches, "i4") for matches in answer.matches],
            "colours": [pack(colours, "u1") for colours in answer.colours(places)],
            "sharp": answer.is_sharp,
            "text": answer.text,
        }
        for answer in answers
    ]


def _aligned(plan: Float64s, soft: Float64s, weights: tuple[Float64s, Float64s], text: str) -> Answer:
    matches = matches_of(plan, weights[0]), matches_of(plan.T, weights[1])
    return Answer(soft, matches, weights, is_sharp=True, text=text)


def _largest(mass: Float64s) -> Int64s:
    return np.where(mass.any(axis=1), match(mass), -1)
