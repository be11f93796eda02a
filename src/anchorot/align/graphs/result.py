"""What an alignment of two networks is: matches, the edges that they share, and their confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.align.correspondence import Candidate, Correspondence
from anchorot.align.truth import Hits

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from anchorot.align.graphs.problem import Problem


class SolvedGraphs(NamedTuple):
    """The problem that was solved, with the smaller network first, and its solution."""

    problem: Problem
    whole: Int64s  # matches of all nodes, also those that the caller does not see
    kept: Int64s  # nodes whose matches the caller sees
    confidence: Float64s
    m: int  # nodes of the larger network
    is_turned: bool  # the caller has the smaller network second

    def soft(self) -> Float64s:
        """Where else nodes might belong, (n, m) in the order of the caller."""
        from anchorot.align.graphs.score import candidates  # which loads SciPy's sparse matrices

        found = candidates(self.problem, self.whole, self.kept, self.confidence, self.m)
        return found.T if self.is_turned else found


@dataclass(frozen=True, eq=False, repr=False)
class GraphAlignment(Correspondence):
    """An alignment of two networks: the match of every node.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        Index of every node's match; -1 for a node without one. No two nodes have the same.
    confidence : ndarray of shape (n,)
        Estimated chance that a node's match is the right one, and no twin of it; 0 without a match. The guide on
        networks says how it was set up, and how well it holds on other networks.
    objective : float
        Edges, by the squares of their weights if they have some, that only one of the two networks has under the
        matching, plus what features cost: 0 where the networks are isomorphic and the matching shows it.
    candidates : tuple of Candidate
        The matchings that were compared, best first. Their `differs` is the share of matched nodes that they match
        differently, with no twin of their matches.
    runner_up : Candidate or None
        Another matching with about as many common edges.
    converged : bool
        Whether the search for the best matching stopped because no exchange of two nodes helped any more.
    is_settled : bool
        Whether nothing better was to be expected: as many common edges as there can be, nearly so, or two ways that led
        to the same matching.
    twins : (ndarray of shape (n,), ndarray of shape (m,))
        Nodes of one network with the same number have the same neighbours (but for each other), types, features and
        loops, so that exchanging them changes nothing: no method can tell which is which.
    names : (tuple of length n, tuple of length m)
        What the caller calls the nodes.
    graphs : (csr_array of shape (n, n), csr_array of shape (m, m))
        Weights of the edges of both networks; symmetric unless `directed`.
    directed : bool
    reliable : float
        Estimated chance that the matching as a whole is right: that at least 80 % of the matches are at or near the
        truth, up to symmetries. From the common edges, compared with what a search finds between networks that have
        nothing in common, and from how many matches seem to be in the right neighbourhood. 1 where the matching shows
        that both networks are isomorphic. Below 0.5 there is a `ConvergenceWarning`, unless there are as many common
        edges as there can be, or features.
    """

    matches: Int64s
    confidence: Float64s
    objective: float
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    converged: bool
    is_settled: bool
    reliable: float
    twins: tuple[Int64s, Int64s]
    names: tuple[tuple[object, ...], tuple[object, ...]]
    graphs: tuple[csr_array, csr_array]
    directed: bool
    _solved: SolvedGraphs = field(repr=False)

    is_one_to_one = True
    is_map = False
    method = "align_graphs"
    points_are = "nodes"
    remedies = "seeds, types or features may help"
    numbers = (
        "objective",
        "is_settled",
        "common_edges",
        "edge_correctness",
        "induced_conserved_structure",
        "s3",
    )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of nodes of either network."""
        return len(self.names[0]), len(self.names[1])

    def pairs(self) -> list[tuple[object, object]]:
        """Names of the nodes that are matched with each other, in the order of the first network."""
        return [(self.names[0][i], self.names[1][j]) for i, j in enumerate(self.matches.tolist()) if j >= 0]

    @cached_property
    def plan(self) -> Float64s:
        """The matching as a plan, shape (n, m): each pair has the same mass, and all together 1."""
        plan: Float64s = self.masses(soft=False).toarray()
        return plan / max(1, int((self.matches >= 0).sum()))

    def soft(self, candidate: Candidate | None = None) -> Any:
        """Where nodes might belong if all others stay, shape (n, m).

        Rows (columns if the first network is the larger) sum to 1: the match has its `confidence`, and other nodes
        share the rest by how many common edges an exchange would cost.
        """
        return self._solved.soft() if candidate is None else super().soft(candidate)

    def masses(self, soft: bool = True) -> Any:
        """All of each node goes to its match: :meth:`soft` is as large as a plan, and is looked at on request only."""
        return super().masses(soft=False)

    @cached_property
    def common(self) -> csr_array:
        """Sparse (n, n): 1 where an edge of the first network is one of the second too; symmetric unless directed."""
        first, second = (graph.astype(bool).astype(np.float64) for graph in self.graphs)
        moved = self.masses(soft=False)
        return first.multiply(moved @ second @ moved.T).tocsr()

    @property
    def common_edges(self) -> int:
        """Number of edges of the first network whose ends' matches are joined in the second."""
        return self._count(self.common)

    @property
    def edge_correctness(self) -> float:
        """Share of the smaller network's edges that are common; NaN if it has none."""
        return _share(self.common_edges, self._edges_of_smaller)

    @property
    def induced_conserved_structure(self) -> float:
        """Share of common edges among those of the larger network between nodes that are matched."""
        return _share(self.common_edges, self._induced)

    @property
    def s3(self) -> float:
        """Symmetric substructure score: common edges by those that either network has where the smaller one lies."""
        return _share(self.common_edges, self._edges_of_smaller + self._induced - self.common_edges)

    def side_names(self) -> tuple[Sequence[object], Sequence[object]]:
        """What the caller calls the nodes of both networks."""
        return self.names

    def _hits(self, found: Int64s, goal: Int64s) -> Hits:
        is_twin = (found >= 0) & (self.twins[1][goal] == self.twins[1][found])
        return Hits(float(np.mean(found == goal)), len(goal), float(np.mean(is_twin)))

    def _count(self, matrix: csr_array) -> int:
        """Edges of a 0-1 matrix; those without direction stand in it twice, but loops once."""
        loops = int(np.count_nonzero(matrix.diagonal()))
        entries = int(np.count_nonzero(matrix.data))
        return entries if self.directed else (entries - loops) // 2 + loops

    @property
    def _edges_of_smaller(self) -> int:
        return self._count(self.graphs[0] if self.shape[0] <= self.shape[1] else self.graphs[1])

    @cached_property
    def _induced(self) -> int:
        is_first = self.shape[0] > self.shape[1]
        used = np.flatnonzero(self.matches >= 0) if is_first else self.matches[self.matches >= 0]
        return self._count(self.graphs[0 if is_first else 1][used][:, used])

    def _own_facts(self, full: bool) -> dict[str, str]:
        said = {
            "common edges": f"{self.common_edges}, {self.edge_correctness:.1%} of the smaller network's",
            "S3": f"{self.s3:.4g}",
            "search": "settled" if self.is_settled else "NOT settled: a better matching may exist",
        }
        if full:
            said["induced conserved structure"] = f"{self.induced_conserved_structure:.4g}"
            sizes = np.bincount(self.twins[0])
            said["nodes with twins"] = str(int(sizes[sizes > 1].sum()))
        return said


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
