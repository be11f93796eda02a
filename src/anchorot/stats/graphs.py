"""Distance between generated and real graphs: a score from 0 to 1 with an interval, from features of their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels import kernels
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer, check_level, check_list, check_nonnegative, check_rng
from anchorot.anchors.attribute_features import TypedFeatures, attribute_features
from anchorot.anchors.attributes import AttributeRule
from anchorot.anchors.cell_averages import Parts, part_averages
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.anchors.type_blocks import sorted_types
from anchorot.exceptions import InputError
from anchorot.io.graph_costs import adjacency
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graphs import from_graph
from anchorot.stats.dispersion import compare_together
from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.permutation import BATCH, others_if_few
from anchorot.stats.pooled import PooledMeasures, matrix_energies

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GRID = Grid((16, 32), 0.0, 1.0)  # of heat costs, which lie in [0, 1], and of levels
MIN_GRAPHS = 3  # to resample from
N_BOOTSTRAP = 999  # resamples; with the sample itself 1000
ROUNDING = 1e-12  # of the sum of squares that an energy is computed from: smaller energies are zero


@dataclass(frozen=True)
class GraphScore:
    """Distance of generated graphs from reference graphs.

    Attributes
    ----------
    score : float
        From 0, same distribution, to 1: the largest of `subscores`.
    pvalue : float
        For the hypothesis that both collections have the same distribution, by permutation, for all descriptors
        together.
    descriptor : str
        The descriptor that differs most.
    subscores : dict of str to float
        The scores of "anchors", "degree" and "clustering".
    n_reference, n_graphs : int
        Number of graphs of each collection.
    drawn : ndarray
        Scores of bootstrap samples of both collections.
    """

    score: float
    pvalue: float
    descriptor: str
    subscores: dict[str, float]
    n_reference: int
    n_graphs: int
    drawn: Float64s = field(repr=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the bootstrap interval of the score."""
        outside = (1 - check_level(level)) / 2
        low, high = np.quantile(self.drawn, [outside, 1 - outside])
        return float(low), float(high)


class _Description(NamedTuple):
    """Descriptors of each graph of a collection."""

    anchors: list[AnchorFeatures]
    degree: list[Float64s]
    clustering: list[Float64s]


class GraphDistance:
    r"""Score collections of graphs against a reference, which is prepared once.

    Two graphs are compared in three ways: by the Anchor Energy, on a grid, of their nodes with heat costs
    (:func:`from_graph`), which describe every node's neighbourhood and need no connected graph; by :math:`W_1` between
    the degrees of their nodes; and by :math:`W_1` between their clustering coefficients. With d such a distance (for
    energies the root), the score is the coefficient of inhomogeneity of Székely and Rizzo,

    .. math:: 1 - \frac{E\,d(x, x') + E\,d(y, y')}{2\,E\,d(x, y)},

    which is 0 for collections of the same distribution, and 1 if the graphs are identical within each collection but
    differ between them. Pairs within a collection are of different graphs, so a perfect generator scores 0 on average,
    except for the clipping at 0.

    Parameters
    ----------
    reference : sequence of graphs
        networkx or igraph graphs, SciPy sparse matrices or lists of edges, as for :func:`from_graph`; at least three.
    time : float
        Diffusion time of the heat: short times describe neighbours, long ones the whole graph.
    types : str, optional
        The node attribute with the type of each node, such as an element; anchors are compared by it too.

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
            same = np.random.default_rng(seed)  # the same graphs for every descriptor
            means, others = _mean_distances(own, sizes, same)
            scores[name] = float(_scores(means[:, None])[0])
            drawn.append(_scores(others))
        exchange = exchange_of(labels)
        listed = others_if_few(exchange, count)
        labellings = np.concatenate([labels[None], exchange.draw(count, generator) if listed is None else listed])
        energies = np.stack([_energies(own, labellings) for own in distances.values()])
        best = max(scores, key=lambda name: scores[name])
        pvalue = float(compare_together(energies).adjusted.min())
        return GraphScore(scores[best], pvalue, best, scores, *sizes, np.max(drawn, axis=0))

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
    """W1 between all pairs."""
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


def _mean_distances(
    distances: Float64s, sizes: tuple[int, int], generator: np.random.Generator
) -> tuple[Float64s, Float64s]:
    """Mean distances within the first graphs, within the others, and between them, over pairs of different graphs.

    Also their bootstrap values, (3, draws), which weight each graph by how often it was drawn; two copies of one graph
    do not form a pair.
    """
    parts = [slice(None, sizes[0]), slice(sizes[0], None)]
    drawn = [np.concatenate([np.ones((1, n)), generator.multinomial(n, np.full(n, 1 / n), N_BOOTSTRAP)]) for n in sizes]

    def mean(i: int, j: int) -> Float64s:
        total = np.einsum("bi,bi->b", drawn[i] @ distances[parts[i], parts[j]], drawn[j])
        pairs = sizes[i] * sizes[j] - (i == j) * (drawn[i] ** 2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return total / pairs

    found = np.stack([mean(0, 0), mean(1, 1), mean(0, 1)])
    whole = np.flatnonzero(np.isfinite(found[:, 1:]).all(axis=0))  # but not where one graph was drawn only
    return found[:, 0], found[:, 1 + whole]


def _scores(means: Float64s) -> Float64s:
    """1 - (xx + yy) / 2 xy of mean distances xx, yy, xy, clipped to [0, 1]; 0 if all graphs are identical."""
    xx, yy, xy = means
    return np.where(xy > 0, np.clip(1 - (xx + yy) / np.where(xy > 0, 2 * xy, 1.0), 0.0, 1.0), 0.0)


def _energies(distances: Float64s, labels: NDArray[np.uint8]) -> Float64s:
    """Energy distances of labellings, in units of the mean distance of all."""
    unit = float(distances.mean()) or 1.0
    batches = (matrix_energies(distances, labels[i : i + BATCH]) for i in range(0, len(labels), BATCH))
    return np.concatenate(list(batches)) / unit


# -- descriptors of a graph, as distributions over its nodes -----------------------------------------------------------


def tables_of(graphs: Iterable[Any], name: str) -> list[EdgeTable]:
    """Read graphs of any library, or lists of edges; messages call the collection `name`."""
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
    """Clustering coefficients of the nodes of every graph: the share of pairs of neighbours that are linked."""
    links = _all_links(tables)
    degree = np.diff(links.indptr)
    closed = (links @ links).multiply(links).sum(axis=1)  # each triangle at a node, in both directions
    possible = degree * (degree - 1)
    return _by_graph(np.divide(closed, possible, out=np.zeros(len(degree)), where=possible > 0), tables)


def _all_links(tables: Sequence[EdgeTable]) -> csr_array:
    """One block-diagonal sparse matrix of all graphs, without directions, loops and parallel edges."""
    sizes = np.array([table.n for table in tables])
    first = np.cumsum(sizes) - sizes
    edges = np.concatenate([table.edges + start for table, start in zip(tables, first, strict=True)])
    edges = edges[edges[:, 0] != edges[:, 1]]
    return adjacency(int(sizes.sum()), edges, None, directed=False)


def _by_graph(values: Float64s, tables: Sequence[EdgeTable]) -> list[Float64s]:
    return np.split(values, np.cumsum([table.n for table in tables])[:-1])
