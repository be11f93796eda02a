"""Two meshes in, candidates compared, the best ones sharpened, one of them out: a `MeshAlignment`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Int64s, RngLike
from anchorot.surfaces.candidates import Candidate, candidates
from anchorot.surfaces.choice import Scores, local_confidence, log_odds, probability, scores_of
from anchorot.surfaces.result import MeshAlignment, MeshCandidate
from anchorot.surfaces.shape import Shape
from anchorot.surfaces.upsampling import sharpened

N_FINALISTS = 2
FAR = 0.1  # from the chosen match, where the area is 1: another match
MIN_RIVAL_DIFFERENCE = 0.1  # of the surface goes elsewhere by another answer
MIN_RIVAL_PROBABILITY = 0.2  # of the chosen map's: what a runner-up must have


class Judged(NamedTuple):
    """A candidate and what it looks like."""

    candidate: Candidate
    scores: Scores

    @property
    def value(self) -> float:
        """What maps are chosen by."""
        return log_odds(self.scores)


def answer(first: Any, second: Any, mass: float | str | None, rng: RngLike, threads: int) -> MeshAlignment:
    """Align two meshes."""
    x, y = Shape.of(first), Shape.of(second)
    judged = [Judged(one, scores_of(x, y, one.image)) for one in candidates(x, y, rng, threads)]
    judged.sort(key=lambda one: -one.value)
    maps = {id(one): sharpened(x, y, one.candidate.image) for one in judged[:N_FINALISTS]}
    final = [
        (Judged(one.candidate._replace(image=maps[id(one)][x.sample.chosen]), one.scores), maps[id(one)])
        for one in judged[:N_FINALISTS]
    ]
    final = [(one._replace(scores=scores_of(x, y, one.candidate.image)), full) for one, full in final]
    final.sort(key=lambda pair: -pair[0].value)
    (best, matches), *rest = final
    others = [*rest, *((one, one.candidate.image[x.sample.owner]) for one in judged[N_FINALISTS:])]

    def listed(one: Judged, full: Int64s) -> MeshCandidate:
        differs = _differs(x, y, best.candidate.image, one.candidate.image)
        numbered = _numbered(x, y, full)
        return MeshCandidate(
            one.candidate.name, numbered, *one.scores[:4], probability(one.scores), differs, one.candidate.seconds
        )

    table = [listed(one, full) for one, full in ((best, matches), *others)]
    rivals = [one for one in table if one.differs > MIN_RIVAL_DIFFERENCE]
    reliable = table[0].probability
    confidence = np.zeros(x.total)
    confidence[x.kept] = reliable * local_confidence(x, y, best.candidate.image)[x.sample.owner]
    return MeshAlignment(
        matches=table[0].matches,
        confidence=confidence,
        reliable=reliable,
        candidates=tuple(table),
        runner_up=next((one for one in rivals if one.probability > MIN_RIVAL_PROBABILITY * reliable), None),
        n_second=y.total,
    )
