"""Spaces from graphs, with shortest paths, heat or resistance as costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Disconnected, Float64s, Int64s, RngLike
from anchorot._validate import check_nonnegative, check_rng, check_weights
from anchorot.exceptions import InputError
from anchorot.geometry import Geometry, renumber
from anchorot.io.attributes import NO_POINT_ATTRIBUTES, Features, PointAttributes, Types, attributes_of, draw_points
from anchorot.io.graph_costs import GraphCost, adjacency, components
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.safe_open import note
from anchorot.space import Space


@overload
def from_graph(
    graph: Any,
    weight: str | bool | None = ...,
    disconnected: Disconnected = ...,
    *,
    cost: str = ...,
    time: float | None = ...,
    directed: bool | None = ...,
    weights: ArrayLike | None = ...,
    types: Types | None = ...,
    features: Features | None = ...,
    n_points: int | None = ...,
    rng: RngLike = ...,
) -> Space: ...


@overload
def from_graph(
    graph: Any,
    weight: str | bool | None = ...,
    *,
    disconnected: Literal["split"],
    cost: str = ...,
    time: float | None = ...,
    directed: bool | None = ...,
    weights: ArrayLike | None = ...,
    types: Types | None = ...,
    features: Features | None = ...,
    n_points: int | None = ...,
    rng: RngLike = ...,
) -> list[Space]: ...


def from_graph(
    graph: Any,
    weight: str | bool | None = None,
    disconnected: Disconnected | Literal["split"] = "error",
    *,
    cost: str = "paths",
    time: float | None = None,
    directed: bool | None = None,
    weights: ArrayLike | None = None,
    types: Types | None = None,
    features: Features | None = None,
    n_points: int | None = None,
    rng: RngLike = None,
) -> Space | list[Space]:
    r"""Make the space of a graph's nodes; costs are shortest paths, or as `cost` says.

    Parameters
    ----------
    graph : networkx or igraph graph, PyTorch Geometric data, SciPy sparse matrix, or list of edges
        Edges of a list, an array (E, 2) or a tensor are pairs of nodes, or triples of two nodes and a length. From
        PyTorch Geometric's `Data`, or any object with an ``edge_index`` (2, E), that and ``num_nodes`` are used.
        Of parallel edges the shortest counts; loops are ignored.
    weight : None, bool or str
        None or False: every edge has length 1; None warns if there are lengths. A name: that attribute of the edge is
        its length. True: the attribute ``"weight"``, ``edge_weight`` or else ``edge_attr`` beside an ``edge_index``,
        the values of a sparse matrix (stored zeros are edges of length 0), or the third entry of the edges in a list.
        Heat and resistance use these numbers as strengths: strongly joined nodes are near.
    disconnected : {"error", "largest", "split"} or float
        What to do if some nodes cannot be reached from others: raise an error; keep the largest (if directed: strongly)
        connected component, with an `InputWarning` that gives its size; return a list with a space for every
        component, the largest first; or give unreachable pairs this finite cost. Heat needs no connected graph.
    cost : {"paths", "heat", "resistance"}
        Lengths of shortest paths; heat distance, :math:`1 - \sqrt{K_t(i, j)}` with the heat kernel
        :math:`K_t = e^{-tL}` of the normalised Laplacian; or the effective resistance of a network of conductors.
        Adding or removing one edge changes many paths a lot, but heat and resistance only a little.
    time : float, optional
        For heat: the mean number of steps of a random walk; 3 by default. Short times reflect neighbours, long times
        the whole graph.
    directed : bool, optional
        Follow edges in their direction only. By default as the networkx or igraph graph is declared; all others are
        undirected.
    weights : array_like of shape (n,), optional
        Weights of the nodes; uniform by default. Renormalised over the nodes that are kept.
    types : str, mapping, or iterable of n hashable objects, optional
        The type of each node: the name of a node attribute (networkx and igraph); a mapping from node names to types;
        or one type per node, in the order of the nodes. For a list of edges this is the order of ``Space.labels`` when
        all nodes are kept.
    features : str, list of str, mapping, or array_like of shape (n, k) or (n,), optional
        Features of the nodes, in the same ways: names of node attributes (numbers, or vectors of one length), a
        mapping, or a row for each node.
    n_points : int, optional
        Keep at most this many nodes, drawn uniformly; paths still use all of them.
    rng : None, int or numpy.random.Generator
        Source of randomness for the sample.

    Returns
    -------
    Space, or list of Space
        The labels are the names of the nodes.

    Notes
    -----
    Paths: one search per kept node, O(E + n log n) each. With rustworkx (extra ``graph``), all pairs of an unweighted
    graph are several times faster. Heat and resistance: O(n³) for n nodes in the whole graph.

    Examples
    --------
    >>> import anchorot as ao
    >>> path = ao.from_graph([("a", "b"), ("b", "c")])
    >>> path.cost.tolist(), path.labels
    ([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]], ('a', 'b', 'c'))
    >>> ao.from_graph([("a", "b"), ("b", "c")], types={"a": "H", "b": "O", "c": "H"}).types
    ('H', 'O', 'H')
    >>> ao.from_graph([(0, 1), (2, 3)], cost="heat", time=1).cost[0].round(3).tolist()
    [0.247, 0.342, 1.0, 1.0]
    """
    how = GraphCost.of(cost, time)
    table = edge_table(graph, weight, directed)
    attributes = node_attributes(table, types, features)
    options: dict[str, Any] = {"weights": weights, "attributes": attributes, "n_points": n_points, "rng": rng}
    found = table_space(table, disconnected, cost=how, **options, another_way="disconnected='split', cost='heat'")
    return note_ignored("the graph", table, found)


def note_ignored(name: str, table: EdgeTable, found: Space | list[Space]) -> Space | list[Space]:
    """Return the space or spaces of a graph; warn about ignored lengths of edges and dropped nodes."""
    if table.has_unused_lengths:
        advice = "weight=True (--weight weight) uses them, weight=False silences this"
        note(name, f"has edges with lengths, which are not used; {advice}")
    if isinstance(found, Space) and (kept := n_kept(found)) < table.n:
        note(name, f"is not connected; the largest part is kept, {kept} of {table.n} nodes")
    return found


def single(found: Space | list[Space]) -> Space:
    """Return a single space; raise if a graph was split into components."""
    if isinstance(found, list):
        raise InputError(
            "disconnected='split' is not possible, since one space is read; use 'largest' or a number, or from_graph"
        )
    return found


def note_collection(name: str, tables: Sequence[EdgeTable], kept: Sequence[int]) -> None:
    """Warn once about the graphs of a collection that lost nodes, given how many of each are kept."""
    sizes = [table.n for table in tables]
    smaller = sum(k < n for k, n in zip(kept, sizes, strict=True))
    if smaller:
        parts = f"the largest part of each is kept, {sum(kept)} of {sum(sizes)} nodes"
        note(name, f"has {smaller} of {len(sizes)} graphs that are not connected; {parts}")


def n_kept(space: Space) -> int:
    """Return the number of nodes that a space's points were sampled from."""
    return space.n if space.geometry is None else space.geometry.n_sites


def n_connected(table: EdgeTable) -> int:
    """Return the number of nodes in the largest component."""
    graph = adjacency(table.n, table.edges, table.lengths, directed=table.directed)
    return len(components(graph, directed=table.directed)[0])


def node_attributes(table: EdgeTable, types: Types | None = None, features: Features | None = None) -> PointAttributes:
    """Validate types and features of all nodes of a graph."""
    return attributes_of(types, features, table.names, table.columns, "the graph")


def table_space(
    table: EdgeTable,
    disconnected: Disconnected | Literal["split"],
    *,
    cost: GraphCost = GraphCost(),  # noqa: B008  # frozen
    weights: ArrayLike | None = None,
    attributes: PointAttributes = NO_POINT_ATTRIBUTES,
    n_points: int | None = None,
    rng: RngLike = None,
    positions: Float64s | None = None,
    another_way: str = "",
) -> Space | list[Space]:
    """Make the space of an edge table, whose nodes may have positions.

    `another_way` is a further remedy for several components, named in the error message.
    """
    if isinstance(disconnected, str) and disconnected not in ("error", "largest", "split"):
        raise InputError(
            f"disconnected must be 'error', 'largest', 'split' or a finite number, but got {disconnected!r}"
        )
    graph = cost.graph(table.n, table.edges, table.lengths, directed=table.directed)
    parts = components(graph, directed=table.directed)
    generator = check_rng(rng)

    shares = None if weights is None else check_weights(weights, table.n, "the graph")

    def space_of(nodes: Int64s) -> Space:
        kept = draw_points(nodes, n_points, generator, shares)
        costs = cost.between(graph, kept, directed=table.directed, unweighted=table.lengths is None)
        if not isinstance(disconnected, str):
            costs[np.isinf(costs)] = check_nonnegative(disconnected, "disconnected")
        labels = [table.names[node] for node in kept]
        sites = None if positions is None else positions[nodes]
        edges = renumber(table.edges, nodes, table.n)
        geometry = Geometry(np.searchsorted(nodes, kept), len(nodes), sites, edges=edges)
        mass = None if shares is None else shares[kept]
        if mass is not None:
            if not mass.sum() > 0:
                raise InputError(f"the {len(kept)} nodes kept have total weight 0, but a space needs a positive one")
            mass = mass / mass.sum()
        return Space(costs, mass, **attributes.of(kept), labels=labels, geometry=geometry, copy=False)

    if disconnected == "split":
        return [space_of(part) for part in parts]
    if disconnected == "largest":
        return space_of(parts[0])
    if disconnected == "error" and len(parts) > 1 and not cost.is_finite:
        raise InputError(_explain(parts, table, another_way))
    return space_of(np.arange(table.n))


def _explain(parts: list[Int64s], table: EdgeTable, another_way: str) -> str:
    sizes = ", ".join(str(len(part)) for part in parts[:5]) + (", ..." if len(parts) > 5 else "")
    kind = "strongly connected components" if table.directed else "components"
    remedies = "disconnected='largest', " + (f"{another_way}, " if another_way else "")
    return (
        f"the graph has {len(parts)} {kind} (of {sizes} nodes), so some costs are infinite; "
        f"use {remedies}or a finite number as the cost of unreachable pairs"
    )
