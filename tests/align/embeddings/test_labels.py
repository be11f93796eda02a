"""The chance that a label is right: how many have voted, and how alike neighbours are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import anchorot as ao
from anchorot.align.embeddings.labels import concentration, effective_votes, shrunk
from tests.align.embeddings.test_pipeline import ORDER, POINTS, noisy, turn
from tests.reference import naive_label_chances

KINDS = np.where(POINTS[:, 0] + np.sin(9 * POINTS[:, 1]) > 0, "T", "B")


@given(st.integers(1, 40), st.floats(1e-6, 1e6))
def test_equal_masses_count_as_that_many_votes_in_any_unit(count, unit):
    masses = np.zeros((2, 40))
    masses[0, :count] = unit
    np.testing.assert_allclose(effective_votes(masses), [count, 0])
    np.testing.assert_allclose(effective_votes(csr_array(masses)), [count, 0])


def patches(strength, n_patches=1500, size=4, seed=0):
    """Points far apart in patches, equally far within, whose labels have the patch's own frequencies (Dirichlet).

    Goals are one further point of each patch.
    """
    rng = np.random.default_rng(seed)
    common = np.array([0.5, 0.3, 0.2])
    shares = rng.dirichlet(strength * common, n_patches)
    codes = np.array([rng.choice(3, size + 1, p=share) for share in shares])
    centres = np.repeat(10 * rng.normal(size=(n_patches, 8)), size + 1, axis=0)
    points = np.concatenate([centres, np.tile(np.eye(size + 1), (n_patches, 1))], axis=1)
    is_goal = np.arange(len(points)) % (size + 1) == size
    return points[is_goal], points[~is_goal], codes, common


@pytest.mark.parametrize("strength", [0.2, 1.0, 5.0])
def test_the_concentration_of_labels_is_found(strength):
    goals, points, codes, _ = patches(strength)
    assert concentration(goals, points, codes[:, :-1].ravel(), None) == pytest.approx(strength, rel=0.2)


@pytest.mark.parametrize("strength", [0.2, 1.0])
@pytest.mark.parametrize("votes", [1, 3])
def test_chances_are_those_of_labels_drawn_from_such_patches(strength, votes):
    goals, points, codes, common = patches(strength)
    found = concentration(goals, points, codes[:, :-1].ravel(), None)
    own, others = codes[:, -1], codes[:, :votes]
    counts = np.stack([(others == k).sum(axis=1) for k in range(3)], axis=1)
    best = counts.argmax(axis=1)
    chance = shrunk(counts.max(axis=1) / votes, np.full(len(best), float(votes)), common[best], found)
    sure = counts.max(axis=1) == votes
    assert chance[sure].mean() == pytest.approx(np.mean(best[sure] == own[sure]), abs=0.04)


def test_labels_that_neighbours_do_not_share_are_as_likely_as_they_are_common():
    goals, points, codes, common = patches(1e9)
    strength = concentration(goals, points, codes[:, :-1].ravel(), None)
    np.testing.assert_allclose(shrunk(np.ones(3), np.array([1.0, 3, 0]), common, strength), common, atol=0.05)
    assert concentration(goals, points, np.zeros(len(points), int), None) == 0


@pytest.mark.parametrize("strength", [1.0, 1e9])
def test_labels_of_the_same_objects_are_sure_whatever_their_neighbours_have(strength):
    _, points, codes, _ = patches(strength)
    assert concentration(points, points, codes[:, :-1].ravel(), None) < 0.02


def test_the_further_away_voters_are_the_less_they_count():
    goals, points, codes, _ = patches(1.0)
    found = [concentration(goals * (1, *[1] * 11, far), points, codes[:, :-1].ravel(), None) for far in (0.1, 1, 3)]
    assert found == sorted(found)


@pytest.mark.parametrize("onto", ["first", "second"])
@pytest.mark.parametrize("soft", [True, False])
def test_shares_of_labels_are_those_of_the_reference(onto, soft):
    found = ao.align_embeddings(POINTS, noisy(), rng=0)
    source = KINDS[ORDER] if onto == "first" else KINDS
    masses = found.masses(soft)
    masses = masses if soft else masses.toarray()
    sides = found._voting[0][0]
    goals, points = (sides.points, sides.others) if onto == "first" else (sides.others, sides.points)
    codes = np.unique(source, return_inverse=True)[1]
    naive = naive_label_chances(masses if onto == "first" else masses.T, goals, points, codes, found.reliable)
    np.testing.assert_allclose(found.transfer(source, onto=onto, soft=soft)[1], naive, rtol=1e-6)


def test_a_rotation_and_an_order_of_points_change_no_chance_of_a_label():
    plain = ao.align_embeddings(POINTS, noisy(), rng=0).transfer(KINDS[ORDER])[1]
    order = np.random.default_rng(4).permutation(120)
    moved = ao.align_embeddings(POINTS @ turn(5, seed=8), noisy()[order], rng=0).transfer(KINDS[ORDER][order])[1]
    np.testing.assert_allclose(moved, plain, atol=1e-4)
