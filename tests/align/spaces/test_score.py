"""Properties of `confidence`: what a chance that a match is right must be, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anchorot as ao
from anchorot.align.spaces.score import common_neighbours, dimension, mean_squares, orbit_sizes

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

RNG = np.random.default_rng(5)
CLOUD = RNG.normal(size=(40, 3)) * (1.0, 0.8, 0.6)
NOISY = CLOUD + 0.15 * RNG.normal(size=CLOUD.shape)
HALF = np.abs(RNG.normal(size=(20, 2))) + 0.1


def spaces(*clouds: np.ndarray) -> list[ao.Space]:
    return [ao.from_points(cloud) for cloud in clouds]


@settings(max_examples=8)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6), st.sampled_from([None, 1.0, "free"]))
def test_confidence_is_a_chance_and_zero_without_a_match(n, m, seed, mass):
    rng = np.random.default_rng(seed)
    clouds = [rng.integers(0, 4, size=(k, 2)).astype(float) for k in (n, m)]
    found = ao.align(*spaces(*clouds), mass=mass, rng=0)
    assert found.confidence.shape == (n,)
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    assert (found.confidence[found.matches < 0] == 0).all()
    assert (found.confidence[found.matches >= 0] > 0).all()


def test_a_copy_is_sure_and_noise_is_not():
    order = RNG.permutation(40)
    assert ao.align(*spaces(CLOUD, CLOUD[order])).confidence.min() > 0.95
    assert ao.align(*spaces(CLOUD, RNG.normal(size=(40, 3)))).confidence.mean() < 0.2


def test_relabelling_either_space_carries_confidence_along():
    x, y = spaces(CLOUD, NOISY)
    p, q = RNG.permutation(40), RNG.permutation(40)
    plain, moved = ao.align(x, y), ao.align(x.take(p), y.take(q))
    assert (q[moved.matches] == plain.matches[p]).all()
    np.testing.assert_allclose(moved.confidence, plain.confidence[p], atol=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 3.0, 1e150])
def test_scaling_costs_changes_nothing(factor):
    x, y = spaces(CLOUD, NOISY)
    scaled = ao.align(*(ao.Space(space.cost * factor) for space in (x, y)))
    np.testing.assert_allclose(scaled.confidence, ao.align(x, y).confidence, atol=1e-6)


def test_float32_costs_are_judged_alike():
    x, y = spaces(CLOUD, NOISY)
    single = ao.align(*(ao.Space(space.cost.astype(np.float32)) for space in (x, y)))
    np.testing.assert_allclose(single.confidence, ao.align(x, y).confidence, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_mirror_image_has_one_half(dtype):
    cloud = np.concatenate([HALF, HALF * (-1, 1)])
    order = RNG.permutation(40)
    x, y = (ao.Space(space.cost.astype(dtype)) for space in spaces(cloud, cloud[order]))
    found = ao.align(x, y, rng=0)
    assert found.value < 1e-12
    np.testing.assert_allclose(found.confidence, 0.5, atol=0.1)
    one_sided = ao.align(x, y, features=(cloud, cloud[order]))  # features tell the sides apart
    assert (order[one_sided.matches] == np.arange(40)).all()
    assert one_sided.confidence.min() > 0.8


def test_a_ring_divides_among_all_its_points():
    angles = np.arange(24) * np.pi / 12
    x, y = spaces(*[np.stack([np.cos(angles), np.sin(angles)], axis=1)] * 2)
    assert ao.align(x, y, rng=0).confidence.max() <= 1 / 24 + 1e-9


@pytest.mark.parametrize("where", ["first", "second", "both"])
def test_duplicates_divide_the_chance(where):
    twice = np.append(np.arange(40), 7)
    x, y = spaces(CLOUD[twice], CLOUD[twice])
    if where != "both":  # a point of the other side lies close by, but not on the same spot
        moved = CLOUD[twice] + np.append(np.zeros((40, 3)), [[0.3, 0, 0]], axis=0)
        x, y = spaces(*((CLOUD[twice], moved) if where == "first" else (moved, CLOUD[twice])))
    confidence = ao.align(x, y).confidence
    np.testing.assert_allclose(confidence[[7, 40]], 0.5, atol=0.05)
    assert np.median(np.delete(confidence, [7, 40])) > 0.9


def test_points_of_weight_zero_change_nothing():
    weights = np.append(np.full(40, 1 / 40), 0)
    x, y = (ao.from_points(np.append(cloud, 1e3 * cloud[:1], axis=0), weights=weights) for cloud in (CLOUD, NOISY))
    found = ao.align(x, y)
    assert found.matches[40] == -1
    np.testing.assert_allclose(found.confidence[:40], ao.align(*spaces(CLOUD, NOISY)).confidence, atol=1e-6)


def test_a_part_of_the_mass_is_judged_by_what_is_matched():
    extra = np.concatenate([CLOUD, 6 + 0.5 * RNG.normal(size=(5, 3))])
    found = ao.align(*spaces(extra, NOISY), mass="free")
    assert (found.confidence[found.matches < 0] == 0).all()
    right = found.matches[:40] == np.arange(40)
    assert abs(found.confidence[:40].mean() - right.mean()) < 0.15


def test_costs_one_way_are_judged_both_ways():
    skew = RNG.uniform(size=(30, 30))
    order = RNG.permutation(30)
    found = ao.align(ao.Space(skew), ao.Space(skew[np.ix_(order, order)]))
    assert (order[found.matches] == np.arange(30)).all()
    assert found.confidence.min() > 0.8


def test_confidence_holds_on_noisy_clouds():
    """What is said to be right with some chance is right that often; pairs of another kind than those of the fit."""
    rng = np.random.default_rng(0)
    sure, right = [], []
    for _ in range(12):
        cloud = rng.laplace(size=(60, 4))
        other = cloud + rng.uniform(0.05, 0.9) * rng.laplace(size=cloud.shape)
        found = ao.align(*spaces(cloud, other))
        sure.append(found.confidence)
        right.append(found.matches == np.arange(60))
    sure, right = np.concatenate(sure), np.concatenate(right)
    assert 0.3 < right.mean() < 0.95
    assert abs(sure.mean() - right.mean()) < 0.1
    assert right[sure > 0.9].mean() > 0.9
    assert right[sure < 0.1].mean() < 0.1


# -- what it is made of ---------------------------------------------------------------------------------------------


def test_mean_squares_are_those_of_the_definition():
    first, second, weights = RNG.normal(size=(5, 7)), RNG.normal(size=(4, 7)), RNG.dirichlet(np.ones(7))
    expected = [[weights @ (a - b) ** 2 for b in second] for a in first]
    np.testing.assert_allclose(mean_squares(first, second, weights), expected)


def test_common_neighbours_of_a_copy_are_all():
    (x,) = spaces(CLOUD)
    shares, nearby = common_neighbours(x.cost, x.cost)
    assert (shares == 1).all()
    assert (nearby == 1).all()
    assert common_neighbours(x.cost, x.take(RNG.permutation(40)).cost)[0].mean() < 0.5


@pytest.mark.parametrize("d", [1, 2, 5])
def test_dimension_of_a_round_cloud_is_that_of_its_space(d):
    (x,) = spaces(np.random.default_rng(d).normal(size=(500, d)))
    assert dimension(x.cost) == pytest.approx(d, rel=0.1)


def test_orbits_are_those_of_the_symmetry():
    (square,) = spaces(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 0]], float))
    assert orbit_sizes(square.cost, [np.ones(5)]).tolist() == [4, 4, 4, 4, 1]
    assert orbit_sizes(square.cost, [np.array([1, 1, 1, 0.5, 1])]).tolist() == [1, 2, 2, 1, 1]


# -- more points than a plan can hold ----------------------------------------------------------------------------------


def test_dense_maps_are_judged_by_their_landmarks():
    rng = np.random.default_rng(2)
    cloud = rng.normal(size=(300, 3)) * (1, 0.7, 0.5)
    order = rng.permutation(300)
    copy = ao.align(cloud, cloud[order], n_landmarks=60)
    assert (order[copy.matches] == np.arange(300)).all()
    assert copy.confidence.shape == (300,)
    assert copy.confidence.min() > 0.8
    noise = ao.align(cloud, rng.normal(size=(300, 3)), n_landmarks=60)
    assert noise.confidence.mean() < 0.3
    assert ((noise.confidence >= 0) & (noise.confidence <= 1)).all()


def test_dense_confidence_is_zero_without_a_match_and_follows_labels():
    rng = np.random.default_rng(3)
    weights = np.append(np.full(200, 1 / 200), 0)
    x, y = (ao.from_points(rng.normal(size=(201, 2)), weights=weights) for _ in range(2))
    p = rng.permutation(201)
    found, moved = ao.align(x, y, n_landmarks=40), ao.align(x.take(p), y, n_landmarks=40)
    assert found.confidence[200] == 0 == found.matches[200] + 1
    np.testing.assert_allclose(moved.confidence, found.confidence[p], atol=1e-6)
