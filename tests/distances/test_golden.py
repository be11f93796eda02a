"""Values from outside: the authors' programs, SciPy. See tests/golden/README.md."""

import numpy as np
import pytest
from scipy.stats import energy_distance, wasserstein_distance

import anchorot as ao
from tests.requirements import GOLDEN


@pytest.fixture
def pair():
    return ao.read(GOLDEN / "authors_1.txt"), ao.read(GOLDEN / "authors_2.txt")


@pytest.mark.parametrize("method", ["auto", "sort", "sweep"])
def test_what_the_authors_program_prints(pair, method):
    assert ao.distances.expected_cost(*pair, method=method) == pytest.approx(19.842169, abs=5e-7)


@pytest.mark.parametrize("method", ["auto", "sort", "sweep"])
def test_full_energy_of_the_authors_inputs(pair, method):
    assert ao.anchor_energy(*pair, method=method) == pytest.approx(9.927045, abs=5e-7)


@pytest.mark.parametrize("method", ["auto", "sort", "sweep"])
def test_robust_energy_of_the_authors_inputs(pair, method):
    assert ao.anchor_energy(*pair, robust=True, method=method) == pytest.approx(0.011600, abs=5e-7)


def test_single_pairs_against_scipy():
    rng = np.random.default_rng(0)
    for n, m in [(1, 1), (5, 5), (8, 3), (40, 60)]:
        x, y = rng.normal(size=n), rng.normal(size=m)
        wx, wy = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
        assert ao.anchors.ot_1d(x, y) == pytest.approx(wasserstein_distance(x, y), rel=1e-12)
        assert ao.anchors.ot_1d(x, y, wx, wy) == pytest.approx(wasserstein_distance(x, y, wx, wy), rel=1e-12)


def test_spaces_of_constant_rows_against_scipy():
    # Anchors that are single atoms make AE the plain energy distance of the atoms, which SciPy has the root of.
    rng = np.random.default_rng(1)
    u, v = rng.normal(size=20), rng.normal(size=30)
    wu, wv = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(30))
    x, y = ao.Space(np.repeat(u[:, None], 20, axis=1), wu), ao.Space(np.repeat(v[:, None], 30, axis=1), wv)
    assert ao.anchor_energy(x, y) == pytest.approx(energy_distance(u, v, wu, wv) ** 2, rel=1e-10)
