"""Alignments of what has lost a limb: the missing part is unmatched, the rest is matched as before."""

import numpy as np
import pytest

import anchorot as ao

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

LIMBS = ((0.0, 2.0, 15), (1.3, 1.2, 20), (2.4, 1.6, 20), (4.0, 1.0, 15))  # direction, length, points
TORSO = 60  # points


def figure(bend):
    """A torso with limbs that bend from where they begin: their distances, and which are the longest."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(TORSO, 3)) * (0.35, 0.3, 0.15)]
    for direction, length, n in LIMBS:
        along = rng.uniform(0, length, n)
        angle = direction + bend * along / length
        centre = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) * (0.4 + along)[:, None]
        parts.append(centre + rng.normal(size=(n, 3)) * 0.08)
    places = np.arange(sum(len(part) for part in parts))
    return ao.from_points(np.concatenate(parts)).cost, (places >= TORSO) & (places < TORSO + LIMBS[0][2])


def cut(cost, gone, seed):
    """The space without some points, shuffled, and the true match of every point of the whole."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~gone))
    truth = np.full(len(cost), -1)
    truth[order] = np.arange(len(order))
    return ao.Space(cost[np.ix_(order, order)]), truth


def unmatched_scores(found, truth):
    """Precision and recall of what is left unmatched."""
    out, gone = found.matches < 0, truth < 0
    both = (out & gone).sum()
    return both / max(1, out.sum()), both / gone.sum()


@pytest.mark.parametrize("mass", [1.0, "free"])
@pytest.mark.parametrize("bend", [0.0, 0.2])
def test_a_limb_that_was_cut_off_is_unmatched_and_the_rest_keeps_its_matches(bend, mass):
    pytest.importorskip("ot")
    whole, limb = figure(0.0)
    other, truth = cut(figure(bend)[0], limb, seed=2)
    assert ao.align(ao.Space(whole), other, mass=mass).matches.tolist() == truth.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("mass", "least"), [(1.0, 0.9), ("free", 0.5)])
def test_a_scan_without_a_hand_is_matched_with_the_whole_in_another_pose(data, mass, least):
    pytest.importorskip("ot")
    held = np.load(data / "faust_two_subjects" / "scans.npz")
    first, second = ((vertices.astype(float), held["F"].astype(np.int64)) for vertices in held["V"][:2])
    points = np.array(ao.from_mesh(first, 350, "edge", rng=0, sampling="farthest").labels)
    whole, bent = (ao.from_mesh(mesh, points=points).cost for mesh in (first, second))
    hand = int(first[0][points, 0].argmax())
    other, truth = cut(bent, whole[hand] < 0.6, seed=0)
    found = ao.align(ao.Space(whole), other, mass=mass)
    precision, recall = unmatched_scores(found, truth)
    assert recall > 0.9
    assert precision > least
    matched = (truth >= 0) & (found.matches >= 0)
    assert other.cost[found.matches[matched], truth[matched]].mean() < 0.01 * whole.max()
    assert (found.matches[matched] == truth[matched]).mean() > 0.85
