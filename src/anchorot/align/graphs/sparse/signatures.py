"""What a node looks like: numbers from its degree, its short cycles, and those of nodes up to three steps away.

Every number is local, so that an edge more or less changes few nodes, and none of them needs a matrix of all pairs.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from anchorot._typing import Float64s, Int64s

WALKS = 4  # lengths of walks that are counted
STEPS = 3  # to nodes whose looks count
CENTRES = np.linspace(-2.5, 2.5, 6)  # of soft histograms, in standard deviations
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of neighbours' numbers
KIND_SIZE = 16  # numbers for what kinds the nodes nearby are of


class Side(NamedTuple):
    """A network to be described."""

    weights: csr_array  # (n, n) without loops
    kinds: Int64s | None  # (n,)
    is_directed: bool


class Scale(NamedTuple):
    """Mean and deviation of the numbers of nodes, of both networks together."""

    mean: Float64s
    deviation: Float64s

    @classmethod
    def of(cls, tables: list[Float64s]) -> "Scale":
        """Take them from the numbers of all nodes."""
        both = np.concatenate(tables)
        deviation = both.std(axis=0)
        return cls(both.mean(axis=0), np.where(deviation > 1e-9, deviation, 1.0))


def own_numbers(side: Side) -> Float64s:
    """(n, numbers): degree, walks, cycles of three and four edges, and the mean degree of neighbours; as logarithms."""
    views = (side.weights, side.weights.T.tocsr()) if side.is_directed else (side.weights,)
    pattern = joined(side)
    degree = np.diff(pattern.indptr).astype(np.float64)
    columns = [np.log1p(degree)]
    for view in views:
        walks = view.sum(axis=1).astype(np.float64)
        columns.append(np.log1p(walks))
        for _ in range(WALKS):
            walks = view @ walks
            columns.append(np.log1p(walks))
    twice = (pattern @ pattern).tocsr()
    triangles = np.asarray(pattern.multiply(twice).sum(axis=1), np.float64) / 2
    twice.setdiag(0)
    squares = np.add.reduceat(np.append(twice.data * (twice.data - 1), 0), twice.indptr[:-1])
    squares = np.where(np.diff(twice.indptr) > 0, squares, 0) / 2
    pairs = np.maximum(degree * (degree - 1) / 2, 1)
    around = (pattern @ np.log1p(degree)) / np.maximum(degree, 1)
    columns += [triangles / pairs, np.log1p(triangles), np.log1p(squares), around]
    return np.stack(columns, axis=1)


def joined(side: Side) -> csr_array:
    """Ones where two nodes are joined, in whatever direction."""
    both = (side.weights + side.weights.T).tocsr() if side.is_directed else side.weights
    found = csr_array((np.ones(both.nnz, np.float32), both.indices, both.indptr), shape=both.shape)
    found.sort_indices()
    return found


def signatures(side: Side, own: Float64s, scale: Scale) -> Float64s:
    """(n, size): the numbers of a node, and of those nearby as soft histograms and as quantiles over neighbours."""
    pattern = joined(side)
    degree = np.maximum(np.diff(pattern.indptr), 1).astype(np.float64)
    mean = (diags_array(1 / degree) @ pattern).tocsr()
    standard = (own - scale.mean) / scale.deviation
    soft = np.exp(-((standard[:, :, None] - CENTRES) ** 2)).reshape(len(own), -1)
    parts = [standard, *_quantiles(standard, pattern)]
    parts.append(np.sqrt(np.maximum(mean @ standard**2 - (mean @ standard) ** 2, 0)))
    spread = soft if side.kinds is None else np.concatenate([soft, _kind_numbers(side.kinds)], axis=1)
    for _ in range(STEPS):
        spread = mean @ spread
        parts.append(spread)
    return np.concatenate(parts, axis=1)


def _quantiles(numbers: Float64s, pattern: csr_array) -> list[Float64s]:
    """Quantiles of every column over the neighbours of every node; 0 for nodes without neighbours."""
    tails = np.repeat(np.arange(len(numbers)), np.diff(pattern.indptr))
    counts = np.diff(pattern.indptr)
    begin = np.minimum(pattern.indptr[:-1], max(0, len(tails) - 1))
    found = np.zeros((len(QUANTILES), *numbers.shape))
    if not len(tails):
        return list(found)
    for column, values in enumerate(numbers.T):
        seen = values[pattern.indices]
        ordered = seen[np.lexsort((seen, tails))]
        for row, level in enumerate(QUANTILES):
            place = begin + np.rint(level * np.maximum(counts - 1, 0)).astype(np.int64)
            found[row, :, column] = np.where(counts > 0, ordered[place], 0.0)
    return list(found)


def _kind_numbers(kinds: Int64s) -> Float64s:
    """Random numbers of every kind, the same for equal kinds in whatever network."""
    values, place = np.unique(kinds, return_inverse=True)
    drawn = np.stack([np.random.default_rng([abs(int(k)), int(k < 0)]).standard_normal(KIND_SIZE) for k in values])
    return drawn[place]
