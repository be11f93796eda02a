"""What a map between two surfaces is: where every vertex goes, which way round, and how sure one can be of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anchorot._html import card
from anchorot._typing import Float64s, Int64s
from anchorot.align.correspondence import Correspondence, Start

MIN_RELIABLE = 0.8  # below this there is a warning


@dataclass(frozen=True, eq=False)
class MeshCandidate:
    """One of the maps that were compared.

    Attributes
    ----------
    name : str
        How it was made.
    matches : ndarray of shape (n,)
    orientation : float or None
        From -1 to 1: area of the first surface whose triangles keep their sense on the second, seen from outside, less
        the area of those that are turned over. Near 1 in a right map, negative in one that mirrors. None where the
        faces of a mesh do not tell inside from outside.
    distortion : float
        Mean difference between distances along the first surface and those between matches, in roots of the area.
    curvature : float
        Correlation, from -1 to 1, of mean curvature, with its sign, at points and at their matches.
    turns : float
        Mean correlation, from -1 to 1, of numbers that left and right of a body have with opposite signs.
    rigidity : float
        How far neighbourhoods fall short of being turned and moved as a whole: root mean square distance to where the
        best rotation would bring them, by their size.
    probability : float
        Estimated chance that this map is the right way round.
    differs : float
        Share of the first surface that goes elsewhere than by the map that was chosen, by a tenth of the root of the
        area or more.
    seconds : float
    """

    name: str
    matches: Int64s = field(repr=False)
    orientation: float | None
    distortion: float
    curvature: float
    turns: float
    rigidity: float
    probability: float
    differs: float
    seconds: float


@dataclass(frozen=True, eq=False)
class MeshAlignment(Correspondence):
    """Which point of one surface is which of another.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        The vertex of the second mesh that every vertex of the first goes to; -1 for vertices outside the largest
        component, which take no part. Several vertices may have one match.
    confidence : ndarray of shape (n,)
        Estimated chance that a vertex's match is within a twentieth of the root of the area of the right one; 0 without
        a match.
    reliable : float
        Estimated chance that the whole map is the right way round: neither left for right, nor front for back. Below
        0.8 there is a warning.
    candidates : tuple of MeshCandidate
        The maps that were compared, the chosen one first, then by their probability.
    runner_up : MeshCandidate or None
        The most probable of the others that differ on more than a tenth of the surface, if it is worth a look: not much
        less probable than the chosen one.
    n_second : int
        Number of vertices of the second mesh.
    """

    matches: Int64s
    confidence: Float64s
    reliable: float
    candidates: tuple[MeshCandidate, ...]
    runner_up: MeshCandidate | None
    n_second: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vertices of either mesh."""
        return len(self.matches), self.n_second

    @property
    def orientation(self) -> float | None:
        """From -1 to 1, as in `MeshCandidate`: near 1 in a right map, negative in one that mirrors."""
        return self.candidates[0].orientation

    @property
    def is_mirrored(self) -> bool | None:
        """Whether the map exchanges left and right, seen from outside; None where the faces do not tell."""
        return None if self.orientation is None else self.orientation < 0

    @property
    def distortion(self) -> float:
        """Mean difference of distances along the surface, in roots of the area."""
        return self.candidates[0].distortion

    @property
    def starts(self) -> tuple[Start, ...]:
        """All that was tried, the chosen one first; an objective is one less the probability."""
        return tuple(Start(one.name, 1 - one.probability, one.seconds, 0, True) for one in self.candidates)

    @property
    def converged(self) -> bool:
        """Whether the map is more likely right than MIN_RELIABLE: what the warning is about."""
        return self.reliable >= MIN_RELIABLE

    def __repr__(self) -> str:
        n, m = self.shape
        rival = ", with a runner-up" if self.runner_up is not None else ""
        return (
            f"MeshAlignment({n} -> {m} vertices, reliable={self.reliable:.2g}, best of {len(self.candidates)}{rival})"
        )

    def _repr_html_(self) -> str:
        n, m = self.shape
        rival, chosen = self.runner_up, self.candidates[0]
        said = (
            None if rival is None else f"{rival.name}, {rival.probability:.2g}, differs on {100 * rival.differs:.3g} %"
        )
        facts = {
            "vertices": f"{n} and {m}, {100 * np.mean(self.matches >= 0):.4g} % matched",
            "reliable": f"{self.reliable:.2g}",
            "orientation": "unknown" if chosen.orientation is None else f"{chosen.orientation:.3g}",
            "distortion": f"{chosen.distortion:.3g} roots of the area",
            "chosen": f"{chosen.name}, of {len(self.candidates)} candidates",
            "runner-up": said or "none",
        }
        return card("MeshAlignment", facts)
