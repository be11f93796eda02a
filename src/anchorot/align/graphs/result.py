"""What an alignment of two networks is: who goes with whom, which edges they share, and how sure one can be of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import card
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_numbers
from anchorot.align.correspondence import Correspondence, Start
from anchorot.exceptions import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class GraphRival:
    """Another alignment of two networks that is about as good.

    Attributes
    ----------
    matches : ndarray of shape (n,)
    objective : float
    differs : float
        Share of the matched nodes that it matches otherwise, with no twin of their matches.
    """

    matches: Int64s = field(repr=False)
    objective: float
    differs: float


@dataclass(frozen=True, eq=False)
class GraphAlignment(Correspondence):
    """Which node of one network is which of the other.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        Index of every node's match; -1 for a node without one. No two nodes have the same.
    confidence : ndarray of shape (n,)
        Estimated chance that a node's match is the right one, and no twin of it; 0 without a match. The guide on
        networks says how it was set up, and how well it holds on other networks.
    objective : float
        What was maximised: common edges, the products of their weights if they have some, and what features are worth.
    starts : tuple of Start
        All that was tried, best first; an `objective` is larger the better.
    runner_up : GraphRival or None
        Another answer with about as many common edges.
    converged : bool
        Whether the search ended because nothing better was to be expected: as many common edges as there can be, nearly
        so, or two ways that led to the same answer.
    twins : (ndarray of shape (n,), ndarray of shape (m,))
        Nodes of one network with the same number have the same neighbours (but for each other), types, features and
        loops, so that exchanging them changes nothing: no method can tell which is which.
    names : (tuple of length n, tuple of length m)
        What the caller calls the nodes.
    graphs : (csr_array of shape (n, n), csr_array of shape (m, m))
        Weights of the edges of both networks; symmetric unless `directed`.
    directed : bool
    doubts : callable
        What computes `soft`, which is as large as a plan, when that is asked for.
    """

    matches: Int64s
    confidence: Float64s
    objective: float
    starts: tuple[Start, ...]
    runner_up: GraphRival | None
    converged: bool
    twins: tuple[Int64s, Int64s]
    names: tuple[tuple[object, ...], tuple[object, ...]]
    graphs: tuple[csr_array, csr_array]
    directed: bool
    doubts: Callable[[], Float64s] = field(repr=False)

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
        plan: Float64s = self._masses(soft=False).toarray()
        return plan / max(1, int((self.matches >= 0).sum()))

    @cached_property
    def soft(self) -> Float64s:
        """Where nodes might belong if all others stay, shape (n, m).

        Rows (columns if the first network is the larger) sum to 1: the match has its `confidence`, and other nodes
        share the rest by how many common edges an exchange would cost.
        """
        return self.doubts()

    @cached_property
    def common(self) -> csr_array:
        """Sparse (n, n): 1 where an edge of the first network is one of the second too; symmetric unless directed."""
        first, second = (graph.astype(bool).astype(np.float64) for graph in self.graphs)
        moved = self._masses(soft=False)
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

    def hits(self, truth: ArrayLike, *, up_to_twins: bool = True) -> float:
        """Share of the nodes whose match is the true one, or with `up_to_twins` a twin of that.

        Parameters
        ----------
        truth : array_like of int, shape (n,)
            True matches; nodes with -1 are not counted.
        up_to_twins : bool

        Returns
        -------
        float
        """
        n, m = self.shape
        goal = check_numbers(truth, "truth")
        if goal.shape != (n,) or not ((goal >= -1) & (goal < m) & (goal == np.floor(goal))).all():
            raise InputError(f"truth must be {n} integers from -1 to {m - 1}, but has shape {goal.shape}, or others")
        counted = np.flatnonzero(goal >= 0)
        right, found = goal[counted].astype(np.int64), self.matches[counted]
        classes = self.twins[1] if up_to_twins else np.arange(m)
        return float(np.mean((found >= 0) & (classes[right] == classes[found]))) if len(counted) else float("nan")

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

    def __repr__(self) -> str:
        n, m = self.shape
        state = "" if self.converged else ", NOT converged"
        return f"GraphAlignment({n} x {m} nodes, {self.common_edges} common edges, S3={self.s3:.4g}{state})"

    def _repr_html_(self) -> str:
        rival = self.runner_up
        n, m = self.shape
        matched = int((self.matches >= 0).sum())
        facts = {
            "nodes": f"{n} and {m}, {matched} matched",
            "common edges": f"{self.common_edges}, {100 * self.edge_correctness:.4g} % of the smaller network's",
            "S3": f"{self.s3:.4g}",
            "confidence": f"{self.confidence[self.matches >= 0].mean() if matched else 0:.3g} on average",
            "runner-up": "none" if rival is None else f"{rival.objective:.6g}, differs on {100 * rival.differs:.3g} %",
            "search": f"{'converged' if self.converged else 'NOT converged'}, best of {len(self.starts)} starts",
        }
        return card("GraphAlignment", facts)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def rival_of(
    best: Int64s, others: Sequence[tuple[Int64s, float]], twins: Int64s, least_objective: float, least_share: float
) -> GraphRival | None:
    """The best of other answers that has this objective at least and differs on more than a share of the nodes."""
    kept = np.flatnonzero(best >= 0)
    for matches, objective in others:
        here, there = best[kept], matches[kept]
        differs = float(np.mean((there < 0) | (twins[here] != twins[there]))) if len(kept) else 0.0
        if objective >= least_objective and differs > least_share:
            return GraphRival(matches, objective, differs)
    return None
