"""Properties of `reliable`: the chance that an alignment of spaces is right as a whole."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.align.spaces.reliability import _Judge, _Sample
from tests.reference import log_odds_of_alternative

RNG = np.random.default_rng(3)
CLOUD = RNG.normal(size=(60, 3)) * (1.0, 0.8, 0.6)
NOISY = CLOUD + 0.1 * RNG.normal(size=CLOUD.shape)
HALF = np.abs(RNG.normal(size=(30, 3))) + np.array([0.2, 0, 0])
UNTRUSTED = "no alignment was found that can be trusted"


def spaces(*clouds: np.ndarray) -> list[ao.Space]:
    return [ao.from_points(cloud) for cloud in clouds]


def test_a_copy_is_reliable_and_so_is_a_noisy_one():
    order = RNG.permutation(60)
    assert ao.align(*spaces(CLOUD, CLOUD[order])).reliable > 0.95
    assert ao.align(*spaces(CLOUD, NOISY[order])).reliable > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_spaces_with_nothing_in_common_get_a_warning_that_says_what_helps(seed):
    rng = np.random.default_rng(seed)
    with pytest.warns(ao.ConvergenceWarning, match=f"{UNTRUSTED}.*features, other costs"):
        found = ao.align(*spaces(CLOUD, rng.normal(size=(60, 3))))
    assert found.reliable < 0.5
    assert "reliable" in repr(found)
    assert found.verdict()[1]


def test_landmarks_of_unrelated_clouds_get_a_warning_too():
    rng = np.random.default_rng(0)
    with pytest.warns(ao.ConvergenceWarning, match=UNTRUSTED):
        found = ao.align(rng.normal(size=(300, 3)), rng.normal(size=(300, 3)), n_landmarks=60)
    assert found.reliable < 0.5


def test_related_clouds_by_landmarks_are_reliable():
    rng = np.random.default_rng(0)
    points, order = rng.laplace(size=(300, 3)), rng.permutation(300)
    found = ao.align(points, (points + 0.02 * rng.normal(size=points.shape))[order], n_landmarks=60)
    assert found.reliable > 0.8


@pytest.mark.filterwarnings(f"ignore:{UNTRUSTED}")
def test_a_mirror_image_that_fits_as_well_is_found():
    whole = np.concatenate([HALF, HALF * (-1, 1, 1)])
    seen = [whole + 0.02 * RNG.normal(size=whole.shape) for _ in range(2)]
    found = ao.align(*spaces(*seen), start="near")  # one start alone sees no other result
    others = _Judge(_Sample.of(found._evidence)).others()
    assert max(other.log_odds for other in others if other.counts and other.share < 0.6) > -6
    assert found.has_mirror_image
    assert found.reliable < ao.align(*spaces(CLOUD, CLOUD), start="near").reliable


def test_a_shape_without_symmetry_has_no_mirror_image():
    assert not ao.align(*spaces(CLOUD, NOISY)).has_mirror_image


def test_a_symmetric_shape_has_its_mirror_image_as_runner_up():
    whole = np.concatenate([HALF, HALF * (-1, 1, 1)])
    found = ao.align(*spaces(whole, whole), rng=0)
    assert found.has_mirror_image
    assert found.runner_up is not None


def test_an_exact_symmetry_costs_nothing():
    whole = np.concatenate([HALF, HALF * (-1, 1, 1)])
    assert ao.align(*spaces(whole, whole[RNG.permutation(60)]), rng=0).reliable > 0.9


@pytest.mark.parametrize("factor", [1e-150, 3.0, 1e150])
def test_scaling_both_sides_or_one_changes_nothing(factor):
    x, y = spaces(CLOUD, NOISY)
    plain = ao.align(x, y).reliable
    both = [ao.Space(space.cost * factor) for space in (x, y)]
    assert ao.align(*both).reliable == pytest.approx(plain, abs=1e-3)
    assert ao.align(x, ao.Space(y.cost * 3)).reliable == pytest.approx(plain, abs=0.02)


def test_relabelling_either_space_changes_little():
    x, y = spaces(CLOUD, NOISY)
    moved = ao.align(x.take(RNG.permutation(60)), y.take(RNG.permutation(60)))
    assert moved.reliable == pytest.approx(ao.align(x, y).reliable, abs=0.02)


def test_a_few_points_parts_weights_and_features_have_a_chance_too():
    x, y = spaces(CLOUD, NOISY)
    cases = [ao.align(x.take(np.arange(n)), x.take(np.arange(n)), rng=0) for n in (1, 2, 3, 9)]
    cases.append(ao.align(x.take(np.arange(40)), y, mass=1.0))
    cases.append(ao.align(ao.Space(x.cost, np.r_[np.zeros(10), np.ones(50)] / 50), y.take(np.arange(10, 60))))
    cases.append(ao.align(x, y, features=(CLOUD, NOISY)))
    assert all(0.5 < found.reliable < 1 for found in cases)


def test_directed_costs_are_judged():
    cost = RNG.uniform(size=(40, 40))
    np.fill_diagonal(cost, 0)
    order = RNG.permutation(40)
    assert ao.align(cost, cost[np.ix_(order, order)]).reliable > 0.9


def test_log_odds_are_those_of_the_equation():
    found = ao.align(*spaces(CLOUD, NOISY))
    judge = _Judge(_Sample.of(found._evidence))
    matches = found.matches.copy()
    matches[:10] = np.roll(matches[:10], 1)
    sample = judge._sample
    expected = log_odds_of_alternative(sample.first, sample.second, judge._matches, matches)
    assert judge.log_odds(matches, sample.objective(matches)) == pytest.approx(expected)
