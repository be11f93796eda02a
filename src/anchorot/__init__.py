"""Compare and match spaces that share no coordinates: shapes, graphs, cells and embeddings.

A space is a set of weighted points and the matrix of costs between them. Anchor Energy compares two spaces, exactly
and fast, by each point's distribution of costs to all others.

>>> import anchorot as ao
>>> square = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])
>>> moved = ao.from_points([[5, 5], [5, 6], [4, 5], [4, 6]])
>>> ao.anchor_energy(square, moved)
0.0

More is in `anchorot.anchors`, `anchorot.distances`, `anchorot.io`, `anchorot.search` and `anchorot.config`. Loaded on
first use: `anchorot.datasets` (sample data), `anchorot.plot` (figures), `anchorot.estimators` (scikit-learn) and
`anchorot.torch` (tensors).
"""

from typing import TYPE_CHECKING

from anchorot import _startup as _startup  # first: it handles Ctrl-C during the imports below
from anchorot import anchors as anchors
from anchorot import config as config
from anchorot import distances as distances
from anchorot import io as io
from anchorot import search as search
from anchorot.align.correspondence import Candidate, Correspondence
from anchorot.align.embeddings.cells import align_cells
from anchorot.align.embeddings.pipeline import align_embeddings
from anchorot.align.embeddings.result import EmbeddingAlignment
from anchorot.align.graphs.pipeline import align_graphs
from anchorot.align.graphs.result import GraphAlignment
from anchorot.align.matching import match, read_matches
from anchorot.align.meshes.pipeline import align_meshes
from anchorot.align.meshes.result import MeshAlignment
from anchorot.align.scores import AlignmentScores, alignment_scores
from anchorot.align.spaces.landmarks import DenseAlignment
from anchorot.align.spaces.pipeline import align
from anchorot.align.spaces.result import Alignment
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.signature import signature
from anchorot.barycenter import Barycenter, barycenter
from anchorot.config import __version__
from anchorot.distances.bounds import LowerBounds, lower_bounds
from anchorot.distances.energy import anchor_energy
from anchorot.distances.estimate import EnergyEstimate, anchor_energy_estimate
from anchorot.distances.gromov import gromov_wasserstein
from anchorot.distances.nearest import Neighbors
from anchorot.distances.plan import anchor_energy_plan
from anchorot.distances.sliced import sliced_anchor_wasserstein
from anchorot.distances.wasserstein import Transport, anchor_wasserstein
from anchorot.exceptions import AnchorotError, ConvergenceWarning, InputError, InputWarning, MissingExtraError
from anchorot.io.cells import from_cells
from anchorot.io.cohort import Cohort, from_cohort
from anchorot.io.crystals import from_crystal
from anchorot.io.files import read, write
from anchorot.io.graphs import from_graph
from anchorot.io.meshes import from_mesh
from anchorot.io.points import from_neighbors, from_points
from anchorot.many.convert import convert
from anchorot.many.duplicates import Duplicates, duplicates
from anchorot.many.pairwise import pairwise
from anchorot.rows import Rows
from anchorot.search.embedding import embed
from anchorot.search.index import SearchIndex
from anchorot.space import Space
from anchorot.stats.composition import CompositionTest, composition_test
from anchorot.stats.energy_test import energy_distance, energy_test, graph_model_test
from anchorot.stats.graphs import GraphDistance, GraphScore
from anchorot.stats.group_comparison import GroupTest
from anchorot.stats.groups import group_test
from anchorot.stats.permutation import PermutationTest
from anchorot.stats.scale import scale_test
from anchorot.stats.scale_result import ScaleTest

if TYPE_CHECKING:
    from types import ModuleType

    from anchorot import datasets as datasets
    from anchorot import estimators as estimators
    from anchorot import plot as plot
    from anchorot import torch as torch

__all__ = [
    "Alignment",
    "AlignmentScores",
    "AnchorFeatures",
    "AnchorotError",
    "Barycenter",
    "Candidate",
    "Cohort",
    "CompositionTest",
    "ConvergenceWarning",
    "Correspondence",
    "DenseAlignment",
    "Duplicates",
    "EmbeddingAlignment",
    "EnergyEstimate",
    "GraphAlignment",
    "GraphDistance",
    "GraphScore",
    "GroupTest",
    "InputError",
    "InputWarning",
    "LowerBounds",
    "MeshAlignment",
    "MissingExtraError",
    "Neighbors",
    "PermutationTest",
    "Rows",
    "ScaleTest",
    "SearchIndex",
    "Space",
    "Transport",
    "__version__",
    "align",
    "align_cells",
    "align_embeddings",
    "align_graphs",
    "align_meshes",
    "alignment_scores",
    "anchor_energy",
    "anchor_energy_estimate",
    "anchor_energy_plan",
    "anchor_wasserstein",
    "barycenter",
    "composition_test",
    "convert",
    "duplicates",
    "embed",
    "energy_distance",
    "energy_test",
    "from_cells",
    "from_cohort",
    "from_crystal",
    "from_graph",
    "from_mesh",
    "from_neighbors",
    "from_points",
    "graph_model_test",
    "gromov_wasserstein",
    "group_test",
    "lower_bounds",
    "match",
    "pairwise",
    "read",
    "read_matches",
    "scale_test",
    "signature",
    "sliced_anchor_wasserstein",
    "write",
]

_SUBPACKAGES = ("anchors", "config", "distances", "io", "search")  # public, and loaded with the package
# modules that are loaded on first use, and the package that each needs
_LAZY_MODULES = {"datasets": "numpy", "estimators": "sklearn", "plot": "matplotlib", "torch": "torch"}


def __dir__() -> list[str]:
    from importlib.util import find_spec

    installed = (name for name, package in _LAZY_MODULES.items() if find_spec(package) is not None)
    return sorted([*__all__, *_SUBPACKAGES, *installed])


if not TYPE_CHECKING:  # a type checker that saw this would accept any name

    def __getattr__(name: str) -> "ModuleType":
        if name not in _LAZY_MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
