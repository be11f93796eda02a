"""What a map between two meshes is: where every vertex goes, which way round, and how sure one can be of it."""

from __future__ import annotations

from dataclasses import dataclass

from anchorot._typing import Float64s, Int64s
from anchorot.align.correspondence import Candidate, Correspondence


@dataclass(frozen=True, eq=False, repr=False)
class MeshAlignment(Correspondence):
    """An alignment of two surfaces: the match of every vertex.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        The vertex of the second mesh that every vertex of the first goes to; -1 for vertices outside the largest
        component, which take no part. Several vertices may have one match.
    confidence : ndarray of shape (n,)
        Estimated chance that a vertex's match is within a twentieth of the root of the area of the right one; 0 without
        a match.
    reliable : float
        Estimated chance that the whole map is the right way round: neither left for right, nor front for back. The
        chance of the map by its own look, times the share of the surface that would stay where it is in a likely one of
        the other maps. Below 0.5 there is a warning.
    objective : float
        The chance that it is not the right way round, by its own look.
    candidates : tuple of Candidate
        The maps that were compared, the chosen one first, then by their objective. Their `differs` is the share of the
        first surface that goes elsewhere, by a tenth of the root of the area or more. Their `details`:

        - "orientation", float or None: from -1 to 1, area of the first surface whose triangles keep their sense on the
          second, seen from outside, less the area of those that are turned over. Near 1 in a right map, negative in one
          that mirrors. None where the faces of a mesh do not tell inside from outside.
        - "distortion": mean difference between distances along the first surface and those between matches, in roots of
          the area.
        - "curvature": correlation, from -1 to 1, of mean curvature, with its sign, at points and at their matches.
        - "turns": mean correlation, from -1 to 1, of numbers that left and right of a body have with opposite signs.
        - "rigidity": how far neighbourhoods fall short of being turned and moved as a whole: root mean square distance
          to where the best rotation would bring them, by their size.
    runner_up : Candidate or None
        The most likely of the others that differ on more than a tenth of the surface, if it is at least a fifth as
        likely as the chosen one.
    converged : bool
        True: every stage has a fixed number of steps.
    n_second : int
        Number of vertices of the second mesh.
    """

    matches: Int64s
    confidence: Float64s
    reliable: float
    objective: float
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    n_second: int
    converged: bool = True

    method = "align_meshes"
    points_are = "vertices"
    numbers = ("orientation", "distortion")
    remedies = "look at it and at the other candidates, or give more complete meshes"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vertices of either mesh."""
        return len(self.matches), self.n_second

    @property
    def orientation(self) -> float | None:
        """From -1 to 1, as in `candidates`: near 1 in a right map, negative in one that mirrors."""
        found: float | None = self.candidates[0].details["orientation"]
        return found

    @property
    def is_mirrored(self) -> bool | None:
        """Whether the map exchanges left and right, seen from outside; None where the faces do not tell."""
        return None if self.orientation is None else self.orientation < 0

    @property
    def distortion(self) -> float:
        """Mean difference of distances along the surface, in roots of the area."""
        return float(self.candidates[0].details["distortion"])

    def verdict(self) -> tuple[str, bool]:
        """Say whether the map can be relied on, and which way round it is; and whether that is a warning."""
        text, is_warning = super().verdict()
        if self.is_mirrored:
            text += " Seen from outside, it exchanges left and right."
        elif self.is_mirrored is None:
            text += " The faces do not tell inside from outside, so it may be a mirror image."
        return text, is_warning

    def _own_facts(self, full: bool) -> dict[str, str]:
        turned = "unknown" if self.orientation is None else f"{self.orientation:.3g} of -1 to 1"
        return {"orientation": turned, "distortion": f"{self.distortion:.3g} roots of the area"}
