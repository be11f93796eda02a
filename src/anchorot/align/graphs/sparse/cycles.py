"""Cycles through edges, without a matrix of all pairs of nodes."""

import numpy as np
from scipy.sparse import csr_array

from anchorot._typing import Float64s, Int64s
from anchorot.align.graphs.blocks import row_blocks
from anchorot.align.graphs.messages import weighted_cycles

BLOCK_NUMBERS = 1 << 22  # entries of rows that are multiplied at a time
MAX_NUMBERS = 1 << 28  # of all edges together: beyond, where hubs have many neighbours, cycles of 5 edges do not count


def sparse_cycle_scores(matrix: csr_array) -> Float64s:
    """What `messages.cycle_scores` computes: of every entry the cycles of 3, 4 and 5 edges through it.

    With N = A² - D, the walks of two steps that do not turn round, an edge (u, v) has A²_uv cycles of three edges,
    (N A)_uv - (d_v - 1) of four, and (N N)_uv - sum over w of A_uw (d_w - 2) A_wv of five.
    """
    pattern = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    degree = np.diff(matrix.indptr).astype(np.float64)
    tails, heads = np.repeat(np.arange(len(degree)), np.diff(matrix.indptr)), matrix.indices
    twice = (pattern @ pattern).tocsr()
    twice.setdiag(0)
    twice.eliminate_zeros()
    twice.sort_indices()
    found = np.zeros((3, matrix.nnz))
    found[0] = _row_products(pattern, pattern, tails, heads)
    found[1] = _row_products(twice, pattern, tails, heads) - (degree[heads] - 1)
    if _row_sizes(twice, twice, tails, heads).sum() <= MAX_NUMBERS:
        weighted = csr_array((degree[pattern.indices] - 2, pattern.indices, pattern.indptr), shape=pattern.shape)
        found[2] = _row_products(twice, twice, tails, heads) - _row_products(weighted, pattern, tails, heads)
    return weighted_cycles(found)


def _row_sizes(a: csr_array, b: csr_array, i: Int64s, j: Int64s) -> Int64s:
    return np.diff(a.indptr)[i].astype(np.int64) + np.diff(b.indptr)[j]


def _row_products(a: csr_array, b: csr_array, i: Int64s, j: Int64s) -> Float64s:
    """Products of the rows i of a and the rows j of b."""
    found = np.zeros(len(i))
    for part in row_blocks(_row_sizes(a, b, i, j), BLOCK_NUMBERS):
        found[part] = a[i[part]].multiply(b[j[part]]).sum(axis=1)
    return found
