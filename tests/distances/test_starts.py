"""Starting plans of Gromov-Wasserstein: the product plan and plans between anchors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests import reference
from tests.strategies import examples, scale_of

pytest.importorskip("ot", reason="Gromov-Wasserstein needs POT (the extra 'pot')")


# -- starts --------------------------------------------------------------------------------------------------------

STARTS = ["anchors", "quick", "near", "aw", "aep", "product"]


def cloud_pair(n, m, seed, weighted=False):
    rng = np.random.default_rng(seed)
    return [
        ao.from_points(rng.normal(size=(k, 3)), weights=rng.dirichlet(np.full(k, 3.0)) if weighted else None)
        for k in (n, m)
    ]


@examples(12)
@given(st.integers(3, 16), st.integers(3, 16), st.booleans(), st.integers(0, 1000))
def test_anchors_are_never_above_the_product_start_of_pot(n, m, weighted, seed):
    """Of two equal points the product plan is a saddle, from which every way down is chance."""
    x, y = cloud_pair(n, m, seed, weighted)
    best, quick, baseline = (
        ao.gromov_wasserstein(x, y, start=start).value for start in ("anchors", "quick", "product")
    )
    slack = 1e-9 * scale_of(x, y) ** 2
    assert best <= baseline + slack
    assert quick <= baseline + slack


def test_anchors_are_far_below_the_product_start_of_pot():
    pairs = [cloud_pair(30, 30, seed) for seed in range(5)]
    best, baseline = (
        [ao.gromov_wasserstein(*pair, start=start).value for pair in pairs] for start in ("anchors", "product")
    )
    assert np.mean(np.divide(best, baseline)) < 0.9


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(7, 7), (8, 5)])
def test_every_start_has_the_loss_and_the_marginals_of_its_plan(start, weighted, sizes):
    x, y = cloud_pair(*sizes, 1, weighted)
    for epsilon in (None, 0.3):
        found = ao.gromov_wasserstein(x, y, epsilon, start=start)
        ref = reference.gromov_loss(x.cost.tolist(), y.cost.tolist(), found.plan.tolist())
        assert found.cost == pytest.approx(ref, rel=1e-9)
        np.testing.assert_allclose(found.plan.sum(axis=1), x.weights, atol=1e-9)
        np.testing.assert_allclose(found.plan.sum(axis=0), y.weights, atol=1e-9)
        assert found.cost >= ao.lower_bounds(x, y).loss() * (1 - 1e-9)


@examples(12)
@given(st.integers(2, 10), st.integers(2, 10), st.integers(0, 1000))
def test_no_start_is_left_for_something_worse(n, m, seed):
    x, y = cloud_pair(n, m, seed)
    soft = ao.anchor_wasserstein(x, y, epsilon=0.5).plan
    loss = reference.gromov_loss(x.cost.tolist(), y.cost.tolist(), soft.tolist())
    assert ao.gromov_wasserstein(x, y, start=soft).value <= loss * (1 + 1e-6)
    best = ao.gromov_wasserstein(x, y)
    assert ao.gromov_wasserstein(x, y, start=best.plan).value <= best.value * (1 + 1e-9) + 1e-15


def test_unknown_starts_are_refused():
    with pytest.raises(ao.InputError, match="start must be one of 'anchors', 'quick', "):
        ao.gromov_wasserstein(np.eye(2), np.eye(2), start="nowhere")
    with pytest.raises(ao.InputError, match=r"start has shape \(3, 2\), but a plan \(2, 2\) of positive mass"):
        ao.gromov_wasserstein(np.eye(2), np.eye(2), start=np.ones((3, 2)))
    with pytest.raises(ao.InputError, match=r"tolerance is for an epsilon or start='product', but got tolerance=0\.1"):
        ao.gromov_wasserstein(np.eye(2), np.eye(2), tolerance=0.1)


def test_all_pairs_are_the_quick_starts_to_the_last_bit():
    spaces_ = [space for seed in range(2) for space in cloud_pair(9, 7, seed)]
    for epsilon in (None, 0.3):
        found = ao.pairwise(spaces_, metric="gw", epsilon=epsilon, n_jobs=1)
        expected = ao.gromov_wasserstein(spaces_[0], spaces_[3], epsilon, start="quick").cost
        assert found[0, 3] == expected
