"""The mathematics of the studies of consistency and power: theory agrees with sums by hand, and with draws."""

from itertools import product

import numpy as np
import pytest

import anchorot as ao
from experiments.common.noise import noise_floor
from experiments.consistency import theory
from experiments.consistency.populations import HOMOGENEOUS, POPULATIONS, REACH, midpoints
from experiments.power.alternatives import alternatives
from experiments.power.methods import methods, pvalue

pytestmark = pytest.mark.system


@pytest.mark.parametrize(("up", "down"), [(0.3, 0.3), (0.5, 0.1), (0.0, 0.7), (0.0, 0.0)])
def test_mean_size_is_the_sum_over_all_ways(up, down):
    chances = {1: up, -1: down, 0: 1 - up - down}
    expected = sum(
        abs(sum(steps)) * np.prod([chances[step] for step in steps]) for steps in product((-1, 0, 1), repeat=5)
    )
    assert theory.mean_size(np.array(up), np.array(down), 5) == pytest.approx(expected, abs=1e-12)


def test_folded_normals_are_what_many_steps_come_to():
    up, down, steps = np.array([0.2, 0.3]), np.array([0.2, 0.25]), 400
    folded = theory.folded(steps * (up - down), steps * (up + down - (up - down) ** 2))
    np.testing.assert_allclose(folded, theory.mean_size(up, down, steps), rtol=2e-3)


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_anchors_of_homogeneous_spaces_agree_with_theory(name):
    x = REACH * midpoints(50)
    population = HOMOGENEOUS[name]
    points = population.regular()
    seen = population.costs(points[:1], points)[0]
    np.testing.assert_allclose([np.mean(seen <= each) for each in x], population.cdf(x), atol=0.01)
    assert population.cdf(np.array([REACH])) == pytest.approx(1)
    assert seen.max() <= REACH + 1e-12


@pytest.mark.parametrize(
    ("first", "second"), [("circle", "circle"), ("torus", "torus"), ("circle", "sphere"), ("interval", "ramp")]
)
def test_samples_have_the_energy_that_theory_predicts(first, second):
    n, repeats = 12, 400
    streams = np.random.default_rng(0).spawn(repeats)
    found = [ao.anchor_energy(*(POPULATIONS[name].sample(rng, n) for name in (first, second))) for rng in streams]
    error = np.std(found) / np.sqrt(repeats)
    # on an interval sums of so few steps are not yet normal
    tolerance = 4 * error + (0.05 * np.mean(found) if first == "interval" else 0)
    assert np.mean(found) == pytest.approx(theory.expected_energy(first, second, n), abs=tolerance)


def test_energies_of_samples_end_at_those_of_the_populations():
    truth = theory.true_energy("circle", "sphere")
    limit = theory.leading_constant("circle", "sphere")
    found = theory.expected_energy("circle", "sphere", 4096)
    assert np.sqrt(4096) * (found - truth) == pytest.approx(limit, rel=0.05)
    grids = [np.abs(q[:, None] - q) for q in (midpoints(300), np.sqrt(midpoints(300)))]
    assert theory.true_energy("interval", "ramp") == pytest.approx(ao.anchor_energy(*grids), rel=0.02)


def test_the_noise_floor_of_equal_spaces_is_nothing():
    rng = np.random.default_rng(0)
    space = ao.from_points(rng.random((20, 2)))
    floor = noise_floor([(space, space)] * 3, rng)
    assert (floor.plain, floor.pairs, floor.covered) == (0, 3, 1)


def test_crossed_graphs_of_one_size_are_at_no_energy_but_for_w2():
    kind = next(kind for kind in alternatives() if kind.name == "crossed")
    x, y = (kind.draw(np.random.default_rng(0), side) for side in (0, 1))
    assert ao.anchor_energy(x, y) == 0
    assert ao.anchor_energy(x, y, ground="w2") > 0.01


@pytest.mark.parametrize("kind", alternatives(), ids=lambda kind: kind.name)
def test_every_test_rejects_what_is_far_apart_and_nothing_of_one_kind(kind):
    """All of one side twice over is as far from itself as nothing is, and the same in other units is far."""
    rng = np.random.default_rng(1)
    spaces = [kind.draw(rng, 0) for _ in range(6)]
    larger = [ao.Space(1e5 * np.sqrt(s.cost), types=[1 - kind for kind in s.types]) for s in spaces]
    for method in methods():
        same, apart = (method.distances(spaces + others) for others in (spaces, larger))
        assert pvalue(same, 6, 0) > 0.5
        assert pvalue(apart, 6, 0) <= (1.0 if method.name == "robust AE" else 0.05)
