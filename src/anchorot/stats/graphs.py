"""Does a model generate graphs like the real ones? Two collections of graphs, tested by what their nodes look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._typing import Disconnected, Float64s, RngLike
from anchorot._validate import check_choice
from anchorot.exceptions import InputError
from anchorot.io.geodesics import adjacency
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graphs import n_kept, note_collection, single, table_space
from anchorot.space import Space
from anchorot.stats.energy_test import energy_test
from anchorot.stats.exchange import Names
from anchorot.stats.permutation import PermutationTest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STATISTICS = ("degree", "clustering", "anchors")


def graph_model_test(
    graphs_a: Sequence[Any],
    graphs_b: Sequence[Any],
    statistic: str = "degree",
    *,
    subjects: tuple[Names, Names] | None = None,
    strata: tuple[Names, Names] | None = None,
    within: bool = False,
    disconnected: Disconnected = "error",
    ground: str = "w1",
    pooled: bool = False,
    n_resamples: int = 999,
    rng: RngLike = None,
    stop_after: int | None = None,
    threads: int = 1,
    progress: bool = True,
) -> PermutationTest:
    """Test whether two collections of graphs come from one distribution, by the energy distance (the paper's Q5).

    Parameters
    ----------
    graphs_a, graphs_b : sequences of graphs
        networkx or igraph graphs, SciPy sparse matrices, lists of edges, or what :func:`read_tu` returns. Directions,
        loops, lengths and parallel edges do not count.
    statistic : {"degree", "clustering", "anchors"}
        What stands for a graph:

        - "degree": the distribution of its nodes' degrees;
        - "clustering": that of its nodes' clustering coefficients;
        - "anchors": its anchors, the distributions of the lengths of shortest paths from each node; two graphs are at
          the root of their Anchor Energy. With ``pooled=True`` the anchors of all graphs of a side are pooled, which is
          faster for thousands of graphs, but does not see which are of one graph.
    subjects, strata, within
        Where each graph is from, if some are not independent (several of one patient, one molecule, one seed); as for
        :func:`energy_test`.
    disconnected
        Of "anchors": what to do with graphs in several parts, as for :func:`from_graph`.
    pooled
        Of "anchors", as for :func:`energy_test`.
    ground, n_resamples, rng, stop_after, threads, progress
        As for :func:`energy_test`.

    Returns
    -------
    PermutationTest
        With `.statistic` (the energy distance), `.pvalue` and `.null`.

    Examples
    --------
    >>> import anchorot as ao
    >>> rings = [[(i, (i + 1) % n) for i in range(n)] for n in range(5, 25)]
    >>> stars = [[(0, i) for i in range(1, n)] for n in range(5, 25)]
    >>> ao.graph_model_test(rings, stars, rng=0).pvalue
    0.001
    """
    check_choice(statistic, "statistic", STATISTICS)
    a, b = (
        _items(graphs, statistic, disconnected, name)
        for graphs, name in ((graphs_a, "graphs_a"), (graphs_b, "graphs_b"))
    )
    return energy_test(
        a,
        b,
        subjects=subjects,
        strata=strata,
        within=within,
        ground=ground,
        pooled=pooled,
        n_resamples=n_resamples,
        rng=rng,
        stop_after=stop_after,
        threads=threads,
        progress=progress,
    )


def _items(graphs: Sequence[Any], statistic: str, disconnected: Disconnected, name: str) -> Sequence[Any]:
    tables = tables_of(graphs, name)
    if statistic == "degree":
        return degrees(tables)
    if statistic == "clustering":
        return clustering(tables)
    spaces: list[Space] = []
    for i, table in enumerate(tables):
        try:
            spaces.append(single(table_space(table, disconnected)))
        except InputError as error:
            raise InputError(f"{name}[{i}]: {error}") from None
    note_collection(name, tables, [n_kept(space) for space in spaces])
    return spaces


# -- what a graph looks like, as a distribution over its nodes ---------------------------------------------------------


def tables_of(graphs: Sequence[Any], name: str) -> list[EdgeTable]:
    """Read graphs of any library, or lists of edges; `name` is what messages call the collection."""
    if len(graphs) == 0:
        raise InputError(f"{name} is empty, but at least one graph is needed")
    tables = []
    for i, graph in enumerate(graphs):
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
