"""Sweeps against their slow versions."""

import numpy as np
import pytest

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot._kernels.records import Events, to_heights
from anchorot.anchors.features import AnchorFeatures


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


def random_moves(rng, rows, atoms):
    events = random_events(rng, rows, atoms)
    moves = AnchorFeatures(events=events).level_moves
    side = rng.uniform(size=rows) < 0.5
    return moves, np.where(side, events.mass / events.mass[side].sum(), -events.mass / events.mass[~side].sum())


@pytest.mark.parametrize("p", [2, 3, 4, 5, 9, 33])
def test_power_sweeps_of_many_stretches_agree_with_those_in_blocks(p, native_only):
    moves, signed_mass = random_moves(np.random.default_rng(5), 60, 200)  # 12 000 moves: two stretches
    expected = numpy_kernels.level_sweep_energy(moves, signed_mass, p, 1)
    energy = kernels.level_sweep_energy(moves, signed_mass, p, 1)
    assert energy == pytest.approx(expected, rel=1e-10)
    assert kernels.level_sweep_energy(moves, signed_mass, p, 3) == energy
