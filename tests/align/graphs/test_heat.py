"""Anchors of heat kernels."""

import numpy as np

from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.heat import TIMES, anchor_costs
from tests.align.graphs.networks import network


def heat_kernel(weights, time):
    """Compute exp(-t L) of the normalised Laplacian, by its eigenvectors; a node without edges keeps its heat."""
    degree = weights.sum(axis=1)
    root = np.divide(1, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    values, vectors = np.linalg.eigh(np.diag((degree > 0) * 1.0) - root[:, None] * weights * root)
    return (vectors * np.exp(-time * values)) @ vectors.T


def test_anchors_are_sorted_rows_of_heat_kernels():
    x, y = network(12, 0, 0.3), network(12, 1, 0.3)
    total = 0.0
    for time in TIMES:
        rows = [np.sort(np.sqrt(np.maximum(heat_kernel(m.toarray(), time), 0)), axis=1) for m in (x, y)]
        costs = np.abs(rows[0][:, None] - rows[1]).mean(axis=2)
        total = total + costs / costs.mean()
    found = anchor_costs(x, y, False, Backend())[1]
    np.testing.assert_allclose(found, total / total.std(), rtol=1e-3, atol=1e-3)
