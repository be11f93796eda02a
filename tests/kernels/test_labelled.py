"""One pool of measures under many labellings: properties of the kernel that permutation tests rest on."""

import numpy as np
import pytest

import anchorot as ao
from anchorot._kernels import kernels
from anchorot.stats.pooled import PooledMeasures

SHIFTS = [3.0, -(2.0**20), 2.0**40, -(2.0**49)]


def pool_of(kind, shift=0.0):
    """Measures whose values are whole eighths, so that every shift is exact; the second half lies higher."""
    rng = np.random.default_rng(3)
    sizes = np.full(120, 30) if kind == "equal sizes" else rng.integers(1, 60, size=120)
    spread = 8 if kind == "few values" else 2**16
    rows = [rng.integers(0, spread, size=n) / 8 + (i >= 60) * spread / 8 + shift for i, n in enumerate(sizes)]
    if kind == "spaces":
        rows = [
            ao.Space(rng.integers(0, spread, size=(n, n)) / 8 + (i >= 5) * spread / 8 + shift)
            for i, n in enumerate(sizes[:10] // 2 + 1)
        ]
    weights = [rng.dirichlet(np.ones(n)) for n in sizes] if kind == "weights" else None
    return PooledMeasures.of(rows, weights, "rows")


def labellings(pool, count=20):
    observed = np.repeat(np.array([[1, 0]], np.uint8), pool.n_items // 2, axis=1)
    return np.concatenate([observed, np.random.default_rng(4).permuted(np.repeat(observed, count, axis=0), axis=1)])


@pytest.mark.parametrize("direction", ["_over_positions", "_over_levels"])
@pytest.mark.parametrize("kind", ["any values", "few values", "equal sizes", "weights", "spaces"])
def test_shifting_all_values_changes_nothing(kind, direction):
    pool = pool_of(kind)
    labels = labellings(pool)
    before, *after = (
        kernels.labelled_energies(getattr(own, direction)(), own.items, labels, 1)
        for own in (pool, *(pool_of(kind, shift) for shift in SHIFTS))
    )
    for found in after:
        np.testing.assert_allclose(found, before, rtol=1e-12)


@pytest.mark.parametrize("shift", [1e12, 1e15])
def test_weighted_energies_far_from_zero_are_those_near_it(shift):
    rng = np.random.default_rng(0)
    rows = [rng.integers(-40, 40, size=n) / 4.0 for n in rng.integers(2, 40, size=60)]
    weights = [rng.dirichlet(np.ones(len(row))) for row in rows]
    near, far = (
        ao.energy_distance([r + s for r in rows[:30]], [r + s for r in rows[30:]], weights[:30], weights[30:])
        for s in (0.0, shift)
    )
    assert far == pytest.approx(near, rel=1e-12)


@pytest.mark.parametrize("kind", ["any values", "few values", "equal sizes", "weights", "spaces"])
def test_the_estimate_of_time_is_positive_and_grows_with_the_moves(kind):
    moves = pool_of(kind)._over_levels()
    half = moves._replace(**{name: getattr(moves, name)[: len(moves.time) // 2] for name in ("time", "row", "target")})
    assert 0 < kernels.labelled_steps(half) < kernels.labelled_steps(moves)


@pytest.mark.parametrize("direction", ["_over_positions", "_over_levels"])
@pytest.mark.parametrize("kind", ["any values", "few values", "equal sizes", "weights", "spaces"])
def test_threads_and_neighbours_change_no_bit(kind, direction):
    pool = pool_of(kind)
    labels, moves = labellings(pool, 40), getattr(pool, direction)()
    together = kernels.labelled_energies(moves, pool.items, labels, 3)
    np.testing.assert_array_equal(together, kernels.labelled_energies(moves, pool.items, labels, 1))
    alone = kernels.labelled_energies(moves, pool.items, labels[:1], 2)
    np.testing.assert_allclose(together[:1], alone, rtol=1e-14 if kernels.description() == "numpy" else 0, atol=0)
