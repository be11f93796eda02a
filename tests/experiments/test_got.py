"""GOT: its distance is that of Gaussians, and its alignments find what they should."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from experiments.common.got import got, signal_distance, signal_root, sinkhorn  # noqa: E402

pytestmark = pytest.mark.system


def lollipop(n):
    """A path whose end comes back to its middle, with edges that grow: no node is like another."""
    weights = np.diag(np.arange(1.0, n), 1)
    weights[n // 2, n - 1] = 2
    return weights + weights.T


def covariance(weights):
    return np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)


def distance(weights_x, weights_y, plan):
    roots = (torch.from_numpy(signal_root(weights)) for weights in (weights_x, weights_y))
    return signal_distance(*roots, torch.as_tensor(plan))


def test_root_squares_to_the_pseudo_inverse_of_the_laplacian():
    root = signal_root(lollipop(6))
    assert np.allclose(root @ root, covariance(lollipop(6)))


def test_loops_change_nothing():
    weights = lollipop(6)
    assert np.allclose(signal_root(weights), signal_root(weights + np.eye(6)))


def test_graph_is_at_zero_from_its_relabelled_self_under_the_true_permutation():
    weights, order = lollipop(7), np.random.default_rng(0).permutation(7)
    relabelled = weights[np.ix_(order, order)]
    assert float(distance(weights, relabelled, np.eye(7)[order].T)) == pytest.approx(0, abs=1e-9)
    assert float(distance(weights, relabelled, np.eye(7))) > 0.01


def test_distance_is_that_of_gaussians_for_a_soft_plan():
    rng = np.random.default_rng(0)
    plan = sinkhorn(torch.from_numpy(rng.normal(size=(6, 6)))).numpy()
    first, second = lollipop(6), lollipop(6)[::-1, ::-1] ** 2
    moved, root = plan @ covariance(second) @ plan.T, sqrtm(covariance(first))
    expected = np.trace(covariance(first) + moved) - 2 * np.trace(sqrtm(root @ moved @ root)).real
    assert float(distance(first, second, plan)) == pytest.approx(expected, rel=1e-6)


def test_gradient_is_finite_at_a_permutation():
    plan = torch.eye(6, dtype=torch.float64, requires_grad=True)
    distance(lollipop(6), lollipop(6), plan).backward()
    assert torch.isfinite(plan.grad).all()


def test_gradient_agrees_with_differences():
    plan = sinkhorn(torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    weights = lollipop(5)
    assert torch.autograd.gradcheck(lambda p: distance(weights, weights, p), plan.requires_grad_())


def test_plan_has_the_marginals_of_a_permutation():
    plan = got(lollipop(6), lollipop(6), 30, np.random.default_rng(0)).plan
    assert np.allclose(plan.sum(axis=1), 1)
    assert np.allclose(plan.sum(axis=0), 1, atol=0.1)


def test_relabelled_graph_is_aligned_far_better_than_by_chance():
    weights, rng = lollipop(8), np.random.default_rng(1)
    orders = [rng.permutation(8) for _ in range(20)]
    by_chance = np.mean([float(distance(weights, weights, np.eye(8)[order])) for order in orders])
    found = [got(weights, weights[np.ix_(order, order)], 200, np.random.default_rng(0)) for order in orders[:2]]
    assert max(alignment.cost for alignment in found) < 0.2 * by_chance


def test_seed_fixes_the_alignment():
    first, second = (got(lollipop(6), lollipop(6), 5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first.plan, second.plan)
