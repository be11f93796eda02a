"""Two networks to be aligned, and what is maximised.

For a matching π of the n nodes of the first network with some of the m >= n nodes of the second,

    value(π) = sum over i, k of A_ik B_π(i)π(k)  +  sum over i of linear_iπ(i)

counts common edges (by weight, each in both directions) and adds what pairs of nodes are worth by themselves. A loop of
a node is such a worth. Only nodes of one kind may be matched, and the second network has at least as many nodes of each
kind as the first, so that such a matching exists. Plans are matrices whose rows sum to one; if m > n, one row more
stands for the m - n nodes of the second network that stay alone, as `copies` says.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from anchorot._typing import Float32s, Float64s, Int64s

Bools = NDArray[np.bool_]


class Problem:
    """Networks as sparse matrices, the smaller one first.

    Parameters
    ----------
    first, second : csr_array
        Weights of edges, not negative; symmetric unless directed. Loops are moved into `linear`.
    features : ndarray of shape (n, m), optional
        What matching i with j is worth, in the scale of `value`.
    kinds : (ndarray of int, shape (n,), ndarray of int, shape (m,)), optional
        Nodes of different kinds are never matched. No kind has more nodes in the first network than in the second.
    is_directed : bool
    loops : (ndarray of shape (n,), ndarray of shape (m,)), optional
        Weights of the loops that were moved; by default those of the diagonals.
    """

    def __init__(
        self,
        first: csr_array,
        second: csr_array,
        features: Float32s | None = None,
        kinds: tuple[Int64s, Int64s] | None = None,
        is_directed: bool = False,
        loops: tuple[Float64s, Float64s] | None = None,
    ) -> None:
        self.is_directed, self.features, self.kinds = is_directed, features, kinds
        if loops is None:
            x, y = first.diagonal(), second.diagonal()
            loops = (x, y) if x.any() and y.any() else None
        self.loops = loops
        self.first, self.second = (_without_loops(matrix) for matrix in (first, second))
        self.n, self.m = self.first.shape[0], self.second.shape[0]

    def reordered(self, first: Int64s, second: Int64s) -> "Problem":
        """The same problem with nodes in another order."""
        features = None if self.features is None else self.features[np.ix_(first, second)]
        kinds = None if self.kinds is None else (self.kinds[0][first], self.kinds[1][second])
        loops = None if self.loops is None else (self.loops[0][first], self.loops[1][second])
        sides = self.first[first][:, first], self.second[second][:, second]
        return Problem(*sides, features, kinds, self.is_directed, loops)

    @property
    def has_worth(self) -> bool:
        """Whether pairs of nodes are worth something by themselves."""
        return self.features is not None or self.loops is not None

    @cached_property
    def linear(self) -> Float32s | None:
        """(n, m): what every pair of nodes is worth by itself, in the scale of `value`; None if that is nothing."""
        if self.loops is None:
            return self.features
        worth = self._worth_of_loops(self.loops[0][:, None], self.loops[1])
        return worth if self.features is None else self.features + worth

    def own_worth(self, i: Int64s, j: Int64s) -> Float32s:
        """What some pairs of nodes are worth by themselves."""
        if self.features is not None and self.linear is not None:
            return self.linear[i, j]
        if self.loops is None:
            return np.zeros(len(i), np.float32)
        return self._worth_of_loops(self.loops[0][i], self.loops[1][j])

    def _worth_of_loops(self, x: Float64s, y: Float64s) -> Float32s:
        once = 1 if self.is_directed else 2  # other edges without direction stand in their matrix twice
        return (x * y).astype(np.float32) * np.float32(once)

    @cached_property
    def forbidden(self) -> Bools | None:
        """Pairs of nodes, (n, m), that must not be matched; None if all may be."""
        return None if self.kinds is None else self.kinds[0][:, None] != self.kinds[1]

    @property
    def rows(self) -> int:
        """Rows of a plan."""
        return self.n + (self.m > self.n)

    @property
    def copies(self) -> Float32s:
        """How many nodes each row of a plan stands for."""
        return np.append(np.ones(self.n), [self.m - self.n] * (self.m > self.n)).astype(np.float32)

    @cached_property
    def padded(self) -> csr_array:
        """The first network, with a node without edges for the last row of plans."""
        if self.rows == self.n:
            return self.first
        padded = self.first.copy()
        padded.resize(self.rows, self.rows)
        return padded

    @cached_property
    def transposed(self) -> tuple[csr_array, csr_array]:
        """Both networks with their edges turned round."""
        return (self.first.T.tocsr(), self.second.T.tocsr()) if self.is_directed else (self.first, self.second)

    @cached_property
    def bound(self) -> float:
        """No matching is worth more: the heaviest edges on the heaviest of the same kinds, and the best partners."""
        sides = [self._weights_by_kinds(side) for side in (0, 1)]
        total = 0.0
        for kinds in sides[0].keys() & sides[1].keys():
            x, y = (side[kinds] for side in sides)
            count = min(len(x), len(y))
            total += float(x[:count] @ y[:count])
        return total + float(self._best_worth().sum(dtype=np.float64))

    def _best_worth(self) -> Float32s:
        """(n,): the most that a node and another of its kind are worth by themselves."""
        if self.features is not None and self.linear is not None and self.n > 0:
            return self.without_forbidden(self.linear).max(axis=1)
        if self.loops is None or self.n == 0:
            return np.zeros(self.n, np.float32)
        heaviest = np.full(self.n, self.loops[1].max())
        if self.kinds is not None:
            values, place = np.unique(self.kinds[1], return_inverse=True)
            most = np.zeros(len(values))
            np.maximum.at(most, place, self.loops[1])
            heaviest = most[np.searchsorted(values, self.kinds[0])]
        return self._worth_of_loops(self.loops[0], heaviest)

    def _weights_by_kinds(self, side: int) -> dict[tuple[int, int], Float64s]:
        """Weights of edges, largest first, by the kinds of their tails and heads."""
        entries = (self.first, self.second)[side].tocoo()
        weights = entries.data.astype(np.float64)
        kind = np.zeros(entries.shape[0], np.int64) if self.kinds is None else self.kinds[side]
        tails, heads = (kind[axis] for axis in entries.coords)
        order = np.lexsort((-weights, heads, tails))
        edges = np.stack([tails[order], heads[order]], axis=1)
        starts = np.flatnonzero((np.diff(edges, axis=0, prepend=-1) != 0).any(axis=1))
        found = np.split(weights[order], starts[1:])
        return {(int(edges[start, 0]), int(edges[start, 1])): own for start, own in zip(starts, found, strict=False)}

    def common(self, matches: Int64s) -> csr_array:
        """Sparse (n, n): products of the weights of edges that are matched with edges."""
        return self.first.multiply(self.second[matches][:, matches]).tocsr()

    def value(self, matches: Int64s) -> float:
        """What is maximised, at a matching."""
        here = np.arange(self.n), matches
        own = float(self.own_worth(*here).sum(dtype=np.float64))
        return float(self.common(matches).sum(dtype=np.float64)) + own

    def is_isomorphism(self, matches: Int64s) -> bool:
        """Whether a matching takes all of one network to all of the other, with the same weights, types and loops."""
        if self.n != self.m or self.first.nnz != self.second.nnz or self.has_worth:
            return False
        moved = self.second[matches][:, matches]
        return (moved != self.first).nnz == 0 and (
            self.kinds is None or np.array_equal(self.kinds[0], self.kinds[1][matches])
        )

    def magnitude(self, matches: Int64s) -> float:
        """The same with every pair's own worth counted as positive: a scale for tolerances that does not cancel."""
        edges = float(self.common(matches).sum(dtype=np.float64))
        own = np.abs(self.own_worth(np.arange(self.n), matches)).sum(dtype=np.float64)
        return edges + float(own)

    def slope_of_matches(self, matches: Int64s) -> Float32s:
        """Gradient at a matching, (n, m): what every pair of nodes is worth if all others stay as they are."""
        slope = (self.first @ self.transposed[1][matches]).toarray()
        slope += (self.transposed[0] @ self.second[matches]).toarray() if self.is_directed else slope
        if self.linear is not None:
            slope += self.linear
        return self.without_forbidden(slope)

    def without_forbidden(self, worth: Float32s) -> Float32s:
        """The worth of pairs, (n, m), which is -inf where they are forbidden."""
        return worth if self.forbidden is None else np.where(self.forbidden, np.float32(-np.inf), worth)

    def padded_rows(self, matrix: Any) -> Any:
        """A matrix (n, m) of numbers or truth values with a row of zeros for the nodes that stay alone."""
        return np.concatenate([matrix, np.zeros((self.rows - self.n, self.m), matrix.dtype)])

    def changes_by_swap(self, matches: Int64s) -> Float32s:
        """(rows, m): by how much the value changes if row i goes where the row that is matched with j goes, and back.

        Nodes of the second network that are without a match count as matched with the last row.
        """
        slope = self.slope_of_matches(matches)
        own = slope[np.arange(self.n), matches]
        partner = np.full(self.m, -1)
        partner[matches] = np.arange(self.n)
        change = slope - own[:, None]  # i leaves its match for j
        taken = np.flatnonzero(partner >= 0)
        i, j = np.arange(self.n)[:, None], taken[None]
        change[:, taken] += slope[partner[j], matches[i]] - own[partner[j]]  # and j's partner takes i's match
        both = self.first + self.first.T if self.is_directed else 2 * self.first
        turned = self.second + self.second.T if self.is_directed else 2 * self.second
        between = both.multiply(turned[matches][:, matches]).tocoo()  # an edge between the two stays where it is
        change[between.coords[0], matches[between.coords[1]]] += between.data
        return change


def _without_loops(matrix: csr_array) -> csr_array:
    found = matrix.astype(np.float32).tocoo()
    kept = (found.coords[0] != found.coords[1]) & (found.data != 0)
    pairs = tuple(axis[kept].astype(np.int32) for axis in found.coords)
    clean = csr_array((found.data[kept], pairs), shape=matrix.shape)
    clean.sum_duplicates()
    clean.indptr, clean.indices = clean.indptr.astype(np.int32), clean.indices.astype(np.int32)
    return clean
