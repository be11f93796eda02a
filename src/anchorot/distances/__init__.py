"""Distances between two spaces, their parts and bounds; and distances within a space, computed on demand."""

from anchorot.distances.arrangement import arrangement_energy
from anchorot.distances.energy import expected_cost
from anchorot.distances.lazy_distances import MeshDistances, PointDistances
from anchorot.distances.nearest import nearest_gw
from anchorot.distances.w2_energy import ProjectedEnergy, projected_energy

__all__ = [
    "MeshDistances",
    "PointDistances",
    "ProjectedEnergy",
    "arrangement_energy",
    "expected_cost",
    "nearest_gw",
    "projected_energy",
]
