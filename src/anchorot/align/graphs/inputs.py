"""Two networks as they are given, and what is known of their nodes, checked and brought to one form."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from anchorot._rescale import in_unit_range
from anchorot._typing import Float32s, Float64s, Int64s
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.symmetry import Hashes, bits, mixed
from anchorot.align.truth import numbered_pairs
from anchorot.exceptions import InputError
from anchorot.io.attributes import PointAttributes, column_names
from anchorot.io.files import read_edges
from anchorot.io.graph_costs import GraphCost
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graphs import node_attributes
from anchorot.io.options import ReadOptions
from anchorot.io.safe_open import about, note

Types = str | tuple[Iterable[Hashable], Iterable[Hashable]]
Features = str | list[str] | tuple[ArrayLike, ArrayLike]
Seeds = Iterable[tuple[Any, Any]] | Mapping[Any, Any]
WHICH = "the first graph", "the second graph"


class Network(NamedTuple):
    """A graph: its weights, (n, n) and symmetric unless directed, and its nodes' names, types and features."""

    weights: csr_array
    names: tuple[object, ...]
    attributes: PointAttributes

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.names)


class Networks(NamedTuple):
    """Two graphs to be aligned, and pairs of nodes that are known to match."""

    first: Network
    second: Network
    seeds: Int64s  # (k, 2)
    is_directed: bool

    @classmethod
    def of(
        cls,
        graphs: tuple[Any, Any],
        types: Types | None,
        features: Features | None,
        seeds: Seeds | None,
        weight: str | bool | None,
        directed: bool | None,
    ) -> Networks:
        """Check what was given."""
        tables = [_table(graph, weight, directed) for graph in graphs]
        is_directed = any(table.directed for table in tables)
        own_types, own_features = _pair(types, "types"), _pair(features, "features")
        sides = []
        for which, table, kinds, numbers in zip(WHICH, tables, own_types, own_features, strict=True):
            if table.has_unused_lengths:
                note(
                    which,
                    "has edges with weights, which are not used; weight=True uses them, weight=False silences this",
                )
            sides.append(Network(_weights(table, is_directed), table.names, node_attributes(table, kinds, numbers)))
        first, second = sides
        widths = [None if side.attributes.features is None else side.attributes.features.shape[1] for side in sides]
        if widths[0] != widths[1] and None not in widths:
            raise InputError(
                f"features have {widths[0]} and {widths[1]} columns, but both graphs need the same number of columns"
            )
        places = numbered_pairs(seeds, (first.names, second.names), "seeds", WHICH)
        _check_types_of_seeds(places, first, second)
        return cls(first, second, places, is_directed)

    @property
    def has_features(self) -> bool:
        """Whether features of both sides count."""
        return all(side.attributes.features is not None for side in self[:2])

    def problem(self) -> Problem:
        """What is to be solved: weights in their own unit, the worth of features, and which nodes may be matched.

        Where the first graph has more nodes of a type than the second, the second is given as many without edges, at
        its end: to be matched with one of them is to stay alone, and is worth nothing.
        """
        first, second = (side.weights / (side.weights.data.max(initial=0) or 1.0) for side in self[:2])
        worth, kinds = self._worth([first, second]), self._kinds()
        if kinds is not None:
            missing = len(kinds[1]) - self.second.n
            second.resize(len(kinds[1]), len(kinds[1]))
            worth = None if worth is None else np.pad(worth, ((0, 0), (0, missing)))
        return Problem(first, second, worth, kinds, self.is_directed)

    def turned(self) -> Networks:
        """The same with the second graph first."""
        return Networks(self.second, self.first, self.seeds[:, ::-1], self.is_directed)

    def hashes(self) -> tuple[Hashes, Hashes]:
        """Of every node of the problem a number that distinguishes loops, types, features and seeds."""
        found = []
        kinds = self._kinds()
        for side, network in enumerate(self[:2]):
            known = mixed(bits(network.weights.diagonal()))
            for column in () if network.attributes.features is None else network.attributes.features.T:
                known = mixed(known + bits(column))
            if kinds is not None:
                known = np.append(known, np.zeros(len(kinds[side]) - network.n, np.uint64))
                known = mixed(known + kinds[side].astype(np.uint64))
            found.append(known)
        return found[0], found[1]

    def _type_codes(self) -> list[Int64s] | None:
        kinds = [side.attributes.types for side in self[:2]]
        if kinds[0] is None or kinds[1] is None:
            return None
        number = {kind: code for code, kind in enumerate(dict.fromkeys(sorted([*kinds[0], *kinds[1]], key=repr)))}
        return [np.array([number[kind] for kind in own], np.int64) for own in kinds if own is not None]

    def _kinds(self) -> tuple[Int64s, Int64s] | None:
        """Numbers of the problem's nodes: two nodes may be matched if theirs, which say type or seed, are equal."""
        codes = self._type_codes()
        if codes is None and not len(self.seeds):
            return None
        first, second = codes or [np.zeros(side.n, np.int64) for side in self[:2]]
        own = -1 - np.arange(len(self.seeds))
        first[self.seeds[:, 0]], second[self.seeds[:, 1]] = own, own
        kinds, count = np.unique(first, return_counts=True)
        missing = count - (second[:, None] == kinds).sum(axis=0)
        return first, np.append(second, np.repeat(kinds, np.maximum(missing, 0)))

    def _worth(self, weights: list[csr_array]) -> Float32s | None:
        """Squared distances of features: an average one costs as much as the edges of an average node are worth."""
        given = [side.attributes.features for side in self[:2]]
        if given[0] is None or given[1] is None:
            return None
        from scipy.spatial.distance import cdist

        arrays, _ = in_unit_range([given[0], given[1]], axis=0)
        costs: Float64s = cdist(*arrays, "sqeuclidean")
        mean = float(costs.mean())
        degree = min(max(float(own.sum()) / own.shape[0], 1.0) for own in weights)
        return (costs * (-degree / (mean or 1.0))).astype(np.float32)


def _table(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    if not isinstance(graph, str | os.PathLike):
        return edge_table(graph, weight, directed)
    path = Path(graph)
    with about(path):
        return read_edges(path, ReadOptions(weight=weight, directed=directed))


def _weights(table: EdgeTable, is_directed: bool) -> csr_array:
    """Weights of edges, 1 without; of parallel edges the heaviest counts, and a weight of 0 is no edge."""
    lengths = np.ones(len(table.edges)) if table.lengths is None else table.lengths
    edges = table.edges
    if is_directed and not table.directed:
        edges, lengths = np.concatenate([edges, edges[:, ::-1]]), np.tile(lengths, 2)
    return GraphCost("heat").graph(table.n, edges, lengths, directed=is_directed)


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    """What is given for either graph: the same name for both, or one of a pair."""
    if given is None or isinstance(given, str) or (isinstance(given, list) and column_names(given)):
        return given, given
    if not isinstance(given, tuple) or len(given) != 2:
        raise InputError(
            f"{name} must be the name of a node attribute, or a pair, {name}=(of the first, of the second)"
        )
    if (given[0] is None) != (given[1] is None):
        missing = WHICH[0 if given[0] is None else 1]
        raise InputError(f"{name} of {missing} are None, but both graphs need them; give both, or leave {name} out")
    return given[0], given[1]


def _check_types_of_seeds(seeds: Int64s, first: Network, second: Network) -> None:
    if first.attributes.types is None or second.attributes.types is None:
        return
    for i, j in seeds:
        kinds = first.attributes.types[i], second.attributes.types[j]
        if kinds[0] != kinds[1]:
            raise InputError(
                f"seeds has the pair {(first.names[i], second.names[j])!r} of types {kinds[0]!r} and {kinds[1]!r}, "
                "but only nodes of one type are matched; leave that pair out, or correct the types"
            )
