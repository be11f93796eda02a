"""Two networks to be aligned, and what is maximised.

For a matching π of the n nodes of the first network with some of the m >= n nodes of the second,

    value(π) = sum over i, k of A_ik B_π(i)π(k)  +  sum over i of linear_iπ(i)

counts common edges (by weight, each in both directions) and adds what pairs of nodes are worth by themselves. A loop of
a node is such a worth. Some pairs may be forbidden: those of different types, say. Plans are matrices whose rows sum to
one; if m > n, one row more stands for the m - n nodes of the second network that stay alone, as `copies` says.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from anchorot._typing import Float32s, Int64s

Bools = NDArray[np.bool_]


class Problem:
    """Networks as sparse matrices, the smaller one first.

    Parameters
    ----------
    first, second : csr_array
        Weights of edges, not negative; symmetric unless directed. Loops are moved into `linear`.
    linear : ndarray of shape (n, m), optional
        What matching i with j is worth, in the scale of `value`.
    forbidden : bool ndarray of shape (n, m), optional
        Pairs that must not be matched. Where they cannot be avoided, each costs more than any exchange can gain.
    is_directed : bool
    """

    def __init__(
        self,
        first: csr_array,
        second: csr_array,
        linear: Float32s | None = None,
        forbidden: Bools | None = None,
        is_directed: bool = False,
    ) -> None:
        self.is_directed = is_directed
        loops = [matrix.diagonal() for matrix in (first, second)]
        if all(own.any() for own in loops):
            worth = np.multiply.outer(*loops).astype(np.float32)
            worth *= 1 if is_directed else 2  # other edges without direction stand in their matrix twice
            linear = worth if linear is None else linear + worth
        self.linear, self.forbidden = linear, forbidden
        self.first, self.second = (_without_loops(matrix) for matrix in (first, second))
        self.n, self.m = self.first.shape[0], self.second.shape[0]

    def reordered(self, first: Int64s, second: Int64s) -> "Problem":
        """The same problem with nodes in another order."""
        pairs = np.ix_(first, second)
        linear = None if self.linear is None else self.linear[pairs]
        forbidden = None if self.forbidden is None else self.forbidden[pairs]
        sides = self.first[first][:, first], self.second[second][:, second]
        return Problem(*sides, linear, forbidden, self.is_directed)

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
    def penalty(self) -> float:
        """What a forbidden pair costs: more than both of its nodes can be worth elsewhere."""
        most = [float(matrix.sum(axis=axis).max(initial=0)) for matrix in (self.first, self.second) for axis in (0, 1)]
        own = 0.0 if self.linear is None else float(np.ptp(self.linear))
        return 1 + 4 * max(most) + 2 * own

    @cached_property
    def bound(self) -> float:
        """No matching is worth more: the heaviest edges on the heaviest, and everybody's best partner."""
        heavy = [np.sort(matrix.data)[::-1].astype(np.float64) for matrix in (self.first, self.second)]
        count = min(map(len, heavy))
        own = 0.0 if self.linear is None or self.n == 0 else float(self.linear.max(axis=1).sum(dtype=np.float64))
        return float(heavy[0][:count] @ heavy[1][:count]) + own

    def common(self, matches: Int64s) -> csr_array:
        """Sparse (n, n): products of the weights of edges that are matched with edges."""
        return self.first.multiply(self.second[matches][:, matches]).tocsr()

    def value(self, matches: Int64s) -> float:
        """What is maximised, at a matching."""
        here = np.arange(self.n), matches
        own = 0.0 if self.linear is None else float(self.linear[here].sum(dtype=np.float64))
        wrong = 0 if self.forbidden is None else int(self.forbidden[here].sum())
        return float(self.common(matches).sum(dtype=np.float64)) + own - wrong * self.penalty

    def slope_of_matches(self, matches: Int64s) -> Float32s:
        """Gradient at a matching, (n, m): what every pair of nodes is worth if all others stay as they are."""
        slope = (self.first @ self.transposed[1][matches]).toarray()
        slope += (self.transposed[0] @ self.second[matches]).toarray() if self.is_directed else slope
        if self.linear is not None:
            slope += self.linear
        return self.without_forbidden(slope)

    def without_forbidden(self, worth: Float32s) -> Float32s:
        """The worth of pairs, (n, m), less the penalty where they are forbidden."""
        if self.forbidden is None:
            return worth
        return np.where(self.forbidden, worth - np.float32(self.penalty), worth)

    def padded_rows(self, matrix: Any) -> Any:
        """A matrix (n, m) of numbers or truth values with a row of zeros for the nodes that stay alone."""
        return np.concatenate([matrix, np.zeros((self.rows - self.n, self.m), matrix.dtype)])

    def changes_by_swap(self, matches: Int64s) -> Float32s:
        """(rows, m): by how much the value changes if row i goes where the row that is matched with j goes, and back.

        Nodes of the second network that are matched with nobody count as matched with the last row.
        """
        slope = self.slope_of_matches(matches)
        own = slope[np.arange(self.n), matches]
        partner = np.full(self.m, -1)
        partner[matches] = np.arange(self.n)
        change = slope - own[:, None]  # i leaves its match for j
        taken = np.flatnonzero(partner >= 0)
        i, j = np.arange(self.n)[:, None], taken[None]
        change[:, taken] += slope[partner[j], matches[i]] - own[partner[j]]  # and whoever had j takes i's match
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
