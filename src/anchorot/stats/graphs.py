"""How far are generated graphs from real ones? A score from 0 to 1 with an interval, by what their nodes look like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels import kernels
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer, check_list, check_nonnegative, check_rng
from anchorot.anchors.attribute_features import Parts, TypedFeatures, attribute_features, part_averages, sorted_types
from anchorot.anchors.attributes import AttributeRule
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.exceptions import InputError
from anchorot.io.geodesics import adjacency
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graphs import from_graph
from anchorot.stats.dispersion import compare_together, interval_of, mean_distances
from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.permutation import BATCH, others_if_few
from anchorot.stats.pooled import PooledMeasures, matrix_energies

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GRID = Grid((16, 32), 0.0, 1.0)  # of costs of heat, which go from 0 to 1, and of levels
MIN_GRAPHS = 3  # to draw anew from
ROUNDING = 1e-12  # of the two squares that an energy is computed from: less is zero


@dataclass(frozen=True)
class GraphScore:
    """How far generated graphs are from reference graphs.

    Attributes
    ----------
    score : float
        From 0, one distribution, to 1: the largest of `subscores`.
    low, high : float
        Its 95 % interval, from draws of graphs with replacement.
    pvalue : float
        Of the hypothesis that both collections have one distribution, by permutation, for all descriptors together.
    descriptor : str
        Which of them differs most.
    subscores : dict of str to float
        Of "anchors", "degree" and "clustering".
    n_reference, n_graphs : int
        Graphs of each.
    """

    score: float
    low: float
    high: float
    pvalue: float
    descriptor: str
    subscores: dict[str, float]
    n_reference: int
    n_graphs: int


class _Description(NamedTuple):
    """What is known of each graph of a collection."""

    anchors: list[AnchorFeatures]
    degree: list[Float64s]
    clustering: list[Float64s]


class GraphDistance:
    r"""Score collections of graphs against a reference, which is prepared once.

    Two graphs are compared in three ways: by the Anchor Energy of their nodes with costs of heat (:func:`from_graph`),
    on a grid: what every node sees of its neighbourhood, whether the graph is connected or not; and by :math:`W_1`
    between the degrees of their nodes, and between their clustering coefficients. With d such a distance (a root, of
    energies), the score is the coefficient of inhomogeneity of Székely and Rizzo,

    .. math:: 1 - \frac{E\,d(x, x') + E\,d(y, y')}{2\,E\,d(x, y)},

    0 for collections of one distribution and 1 for two that are each all alike, but different. Pairs within are of
    different graphs, so that a perfect generator's is 0 on average but for the cut at 0.

    Parameters
    ----------
    reference : sequence of graphs
        networkx or igraph graphs, SciPy sparse matrices or lists of edges, as for :func:`from_graph`; at least three.
    time : float
        Of heat: short times see neighbours, long ones the whole graph.
    types : str, optional
        The node attribute that says what kind each node is, such as an element; anchors are told apart by it.

    Examples
    --------
    >>> import anchorot as ao
    >>> import networkx as nx
    >>> real = [nx.barabasi_albert_graph(30, 2, seed=k) for k in range(20)]
    >>> metric = ao.GraphDistance(real)
    >>> good = metric.compute([nx.barabasi_albert_graph(30, 2, seed=100 + k) for k in range(20)], rng=0)
    >>> weak = metric.compute([nx.gnm_random_graph(30, 56, seed=k) for k in range(20)], rng=0)
    >>> good.score < 0.1 < weak.score, good.pvalue > 0.05, weak.pvalue
    (True, True, 0.001)
    """

    def __init__(self, reference: Sequence[Any], *, time: float = 3.0, types: str | None = None) -> None:
        self.time = check_nonnegative(time, "time")
        self.types = types
        self._reference = self._describe(reference, "reference")

    def compute(self, graphs: Sequence[Any], *, n_resamples: int = 999, rng: RngLike = None) -> GraphScore:
        """Score graphs, at least three, against the reference.

        Parameters
        ----------
        graphs : sequence of graphs
            As the reference.
        n_resamples : int
            Permutations for the p-value.
        rng : None, int or numpy.random.Generator
            Source of randomness for the permutations and the interval.
        """
        count, generator = check_integer(n_resamples, "n_resamples", 1), check_rng(rng)
        found = self._describe(graphs, "graphs")
        sizes = len(self._reference.anchors), len(found.anchors)
        labels = np.repeat(np.array([1, 0], np.uint8), sizes)
        seed = int(generator.spawn(1)[0].integers(1 << 62))
        distances = _all_distances(self._reference, found)
        scores, drawn = {}, []
        for name, own in distances.items():
            same = np.random.default_rng(seed)  # draws the same graphs for every descriptor
            means, others = mean_distances(own, labels, np.arange(len(labels)), (1, 0), same)
            scores[name] = float(_scores(np.array(means)[:, None])[0])
            drawn.append(_scores(others))
        low, high = interval_of(np.max(drawn, axis=0))
        exchange = exchange_of(labels)
        listed = others_if_few(exchange, count)
        dealt = np.concatenate([labels[None], exchange.draw(count, generator) if listed is None else listed])
        energies = np.stack([_energies(own, dealt) for own in distances.values()])
        best = max(scores, key=lambda name: scores[name])
        pvalue = float(compare_together(energies).adjusted.min())
        return GraphScore(scores[best], low, high, pvalue, best, scores, *sizes)

    def _describe(self, graphs: Sequence[Any], name: str) -> _Description:
        graphs = check_list(graphs, name, "graph")
        if len(graphs) < MIN_GRAPHS:
            raise InputError(f"{name} has {len(graphs)} graphs, but at least {MIN_GRAPHS} are needed")
        tables = tables_of(graphs, name)
        attribute_rule = None if self.types is None else AttributeRule("types", 1.0)
        anchors = []
        for i, graph in enumerate(graphs):
            try:
                space = from_graph(graph, weight=False, cost="heat", time=self.time, types=self.types)
                anchors.append(attribute_features(space, attribute_rule, robust=False))
            except InputError as error:
                raise InputError(f"{name}[{i}]: {error}") from None
        return _Description(anchors, degrees(tables), clustering(tables))


def _all_distances(reference: _Description, found: _Description) -> dict[str, Float64s]:
    """Distances between all graphs of two collections, by every descriptor."""
    return {
        "anchors": _anchor_distances([*reference.anchors, *found.anchors]),
        "degree": _value_distances([*reference.degree, *found.degree]),
        "clustering": _value_distances([*reference.clustering, *found.clustering]),
    }


def _value_distances(rows: list[Float64s]) -> Float64s:
    """W1 between all of them."""
    steps = PooledMeasures.of(rows, None, "graphs").steps()
    return kernels.step_costs(steps, steps, 1, 1)


def _anchor_distances(features: list[AnchorFeatures]) -> Float64s:
    """Roots of Anchor Energies, of averages of F over the cells of the grid."""
    parts = Parts(1)
    if isinstance(features[0], TypedFeatures):
        alphabet = sorted_types(kind for own in features if isinstance(own, TypedFeatures) for kind in own.alphabet)
        parts = Parts(len(alphabet) ** 2, alphabet)
    vectors = np.stack([part_averages(own, GRID.cells, parts) for own in features])
    vectors -= vectors.mean(axis=0)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    sums = squares[:, None] + squares
    energies = sums - 2 * vectors @ vectors.T
    return np.sqrt(np.where(energies > ROUNDING * sums, 2 * GRID.cell_area * energies, 0.0))


def _scores(means: Float64s) -> Float64s:
    """1 - (xx + yy) / 2 xy of mean distances xx, yy, xy, from 0 to 1; 0 where all graphs are alike."""
    xx, yy, xy = means
    return np.where(xy > 0, np.clip(1 - (xx + yy) / np.where(xy > 0, 2 * xy, 1.0), 0.0, 1.0), 0.0)


def _energies(distances: Float64s, labels: NDArray[np.uint8]) -> Float64s:
    """Energy distances of labellings, in units of the mean distance of all."""
    unit = float(distances.mean()) or 1.0
    batches = (matrix_energies(distances, labels[i : i + BATCH]) for i in range(0, len(labels), BATCH))
    return np.concatenate(list(batches)) / unit


# -- what a graph looks like, as a distribution over its nodes ---------------------------------------------------------


def tables_of(graphs: Iterable[Any], name: str) -> list[EdgeTable]:
    """Read graphs of any library, or lists of edges; `name` is what messages call the collection."""
    tables = []
    for i, graph in enumerate(check_list(graphs, name, "graph")):
        try:
            tables.append(edge_table(graph, None, False))
        except InputError as error:
            raise InputError(f"{name}[{i}]: {error}") from None
    return tables


def degrees(tables: Sequence[EdgeTable]) -> list[Float64s]:
    """Degrees of the nodes of every graph."""
    links = _all_links(tables)
    return _by_graph(np.diff(links.indptr).astype(np.float64), tables)


def clustering(tables: Sequence[EdgeTable]) -> list[Float64s]:
    """Clustering coefficients of the nodes of every graph: links between neighbours, of those there could be."""
    links = _all_links(tables)
    degree = np.diff(links.indptr)
    closed = (links @ links).multiply(links).sum(axis=1)  # each triangle at a node, both ways round
    possible = degree * (degree - 1)
    return _by_graph(np.divide(closed, possible, out=np.zeros(len(degree)), where=possible > 0), tables)


def _all_links(tables: Sequence[EdgeTable]) -> csr_array:
    """One sparse matrix of all graphs side by side, without directions, loops and parallel edges."""
    sizes = np.array([table.n for table in tables])
    first = np.cumsum(sizes) - sizes
    edges = np.concatenate([table.edges + start for table, start in zip(tables, first, strict=True)])
    edges = edges[edges[:, 0] != edges[:, 1]]
    return adjacency(int(sizes.sum()), edges, None, directed=False)


def _by_graph(values: Float64s, tables: Sequence[EdgeTable]) -> list[Float64s]:
    return np.split(values, np.cumsum([table.n for table in tables])[:-1])
