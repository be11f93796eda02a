"""Sweeps against their slow versions."""

import numpy as np
import pytest

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot._kernels.records import Events, to_heights


def random_events(rng, rows, atoms, spread=1.0):
    weights = rng.dirichlet(np.ones(atoms), size=rows)
    values = spread * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, atoms))
    order = np.argsort(values.ravel(), kind="stable")
    row = np.repeat(np.arange(rows, dtype=np.uint32), atoms)[order]
    return Events(values.ravel()[order], row, to_heights(weights.ravel())[order], rng.dirichlet(np.ones(rows)))


def test_sweep_with_thousands_of_crossings_an_event(native_only):
    # Many rows of few, large jumps, all alike: each event passes more than the 400 others at which the sorted sweep
    # gives up and the tree takes over (kManyCrossings in sweep.cpp). The sweep of the NumPy kernels agrees.
    rng = np.random.default_rng(4)
    x, y = random_events(rng, 1400, 10, spread=0.0), random_events(rng, 1400, 10, spread=0.001)
    assert kernels.sweep_energy(x, y, 1) == pytest.approx(numpy_kernels.sweep_energy(x, y, 1), rel=1e-8)
