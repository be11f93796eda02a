"""Spaces from what people have: points, graphs, meshes, neurons, cells, and files of them."""

from anchorot.io.cells import from_cells
from anchorot.io.cohort import Cohort, from_cohort
from anchorot.io.files import read, write
from anchorot.io.graph_sets import GraphSet, read_gin, read_tu
from anchorot.io.graphs import from_graph
from anchorot.io.meshes import from_mesh
from anchorot.io.points import from_neighbors, from_points

__all__ = [
    "Cohort",
    "GraphSet",
    "from_cells",
    "from_cohort",
    "from_graph",
    "from_mesh",
    "from_neighbors",
    "from_points",
    "read",
    "read_gin",
    "read_tu",
    "write",
]
