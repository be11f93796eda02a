"""Match nodes: two networks in, a `GraphAlignment` out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from anchorot._typing import RngLike
from anchorot._validate import check_device, check_nonnegative, check_rng, check_threads
from anchorot.exceptions import InputError

if TYPE_CHECKING:
    from anchorot.align.graphs.result import GraphAlignment


def align_graphs(
    x: Any,
    y: Any,
    *,
    weight: str | bool | None = None,
    directed: bool | None = None,
    sparse: bool | None = None,
    types: str | tuple[Iterable[Hashable], Iterable[Hashable]] | None = None,
    features: str | list[str] | tuple[ArrayLike, ArrayLike] | None = None,
    seeds: Iterable[tuple[Any, Any]] | Mapping[Any, Any] | None = None,
    mass: float | None = None,
    rng: RngLike = None,
    threads: int = 1,
    device: str | None = None,
    progress: bool = True,
) -> GraphAlignment:
    r"""Match the nodes of two networks by their edges.

    Maximises the number of common edges over all one-to-one matchings of the smaller network's nodes with the larger
    one's, without training and without a parameter to choose. Several methods are tried, and the one with most common
    edges is kept: belief propagation between pairs of edges; a path from a convex form of the problem to the concave
    one, from plans between anchors of heat kernels; and, where no two of them agree, the same again after a vote of the
    most certain nodes. In large networks each node has a few candidates, which messages and votes of neighbours replace
    by better ones, until the number of common edges no longer rises. Isomorphic networks are mostly solved at once, by
    refining the colours of nodes; where most nodes are alike, as on a ring, a few are matched at random first, and the
    others by the heat that reaches them from these.

    Parameters
    ----------
    x, y : networkx or igraph graph, PyTorch Geometric data, SciPy sparse matrix, list of edges, or path
        As :func:`from_graph` takes them, or a file that :func:`read` takes for a graph. They may have any sizes,
        several components, nodes without edges, loops, and parallel edges, of which the heaviest counts.
    weight : None, bool or str
        Edge attribute that says how strong an edge is, as in :func:`from_graph`. By default all edges count alike.
    directed : bool, optional
        Whether edges have a direction. By default as networkx and igraph graphs are declared.
    sparse : bool, optional
        Whether each node is compared with a few candidates only, instead of with all nodes. By default that is so above
        5000 nodes; above 3000 it is tried first, and all pairs where less than 90 % of the edges are common. `features`
        and `device` need all pairs.
    types : str or (iterable of n hashable objects, iterable of m), optional
        The type of each node: the name of a node attribute, or the types of both networks' nodes. Nodes of different
        types are never matched.
    features : str, list of str, or (array_like of shape (n, k), array_like of shape (m, k)), optional
        Numbers of each point, comparable between the two sides.
        Names of node attributes, or arrays. A squared distance of average size costs as much as the edges of an average
        node are worth.
    seeds : iterable of pairs or mapping, optional
        Pairs of points that are known to match.
        Nodes, by name: one of the first network and one of the second, of one type.
    mass : float from 0 to 1, optional
        Match only this share of the points, by their weights.
        Of the smaller network's nodes, which weigh alike, those whose matches are surest.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides between matches that symmetry makes equal.
    threads : int
        Threads of the kernels; the result does not depend on it.
    device : str, optional
        Where PyTorch (extra ``torch``) does the heavy work, "cuda", say.
        Assignments stay on the CPU.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    GraphAlignment
        With `matches`, `pairs()`, `common_edges`, `edge_correctness`, `s3`, a `confidence` for each node, `candidates`
        and more. Where `reliable`, the estimated chance that the whole matching is right, is below 0.5, there is a
        `ConvergenceWarning`.

    Notes
    -----
    The path takes 240 steps of O(edges · nodes); belief propagation some 50 of O(edges²), and is left out where its
    messages do not fit. An assignment takes O(n³) at worst. Memory is O(n m). With a few candidates for each node,
    memory is O(edges + nodes), and so is the time of all but the first candidates, which are the nearest by what nodes
    look like.

    Examples
    --------
    >>> import anchorot as ao
    >>> kite = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("d", "e"), ("e", "f")]
    >>> found = ao.align_graphs(kite, [(1, 2), (2, 4), (4, 5), (5, 1), (5, 2), (1, 8), (8, 9)])
    >>> found.common_edges, dict(found.pairs())["f"]
    (7, 9)
    """
    from anchorot.align.graphs.inputs import Networks
    from anchorot.align.graphs.solve import align_networks  # which loads SciPy's sparse matrices

    share = 1.0 if mass is None else check_nonnegative(mass, "mass")
    if share > 1:
        raise InputError(f"mass must be a share of the nodes from 0 to 1, but got {mass!r}")
    where, count, generator = check_device(device), check_threads(threads), check_rng(rng)
    if sparse and (features is not None or where is not None):
        other = "device" if features is None else "features"
        raise InputError(
            f"sparse=True is not possible with {other}=, which needs all pairs of nodes; leave one of them out"
        )
    networks = Networks.of((x, y), types, features, seeds, weight, directed)
    return align_networks(networks, where, count, generator, share, sparse, progress)
