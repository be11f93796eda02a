"""Gromov-Wasserstein and its lower bounds."""

import json
import warnings

import numpy as np
import pytest

import anchorot as ao
from tests import reference
from tests.command_line import anchorot
from tests.distances.extremes import EXTREMES
from tests.strategies import clouds, shifted, with_a_light_point

pytest.importorskip("ot", reason="Gromov-Wasserstein needs POT (the extra 'pot')")


@pytest.mark.parametrize("epsilon", [None, 0.05])
@pytest.mark.parametrize("robust", [False, True])
def test_the_cost_is_the_loss_of_the_plan_and_the_value_has_the_entropy_as_anchor_wasserstein(epsilon, robust):
    x, y = clouds((6, 5), dim=3, weighted=False)
    found = ao.gromov_wasserstein(x, y, epsilon, robust)
    a, b = (x.ranked(), y.ranked()) if robust else (x, y)
    ref = reference.gromov_loss(a.cost.tolist(), b.cost.tolist(), found.plan.tolist())
    assert found.cost == pytest.approx(ref, rel=1e-6)
    entropic = found.plan * (np.log(found.plan, out=np.zeros_like(found.plan), where=found.plan > 0) - 1)
    assert found.value == pytest.approx(found.cost + (epsilon or 0) * entropic.sum(), rel=1e-9)
    assert (found.value == found.cost) == (epsilon is None)
    assert found.converged
    assert found.marginal_error < 1e-6


def test_a_moved_cloud_has_distance_zero_from_its_own_order():
    x, _ = clouds((12, 12), dim=3)
    assert ao.gromov_wasserstein(x, x).value == pytest.approx(0, abs=1e-12)


def test_an_early_stop_is_reported():
    x, y = clouds((30, 30), dim=3, weighted=False)
    with pytest.warns(ao.ConvergenceWarning, match="limit of iterations"):
        found = ao.gromov_wasserstein(x, y, epsilon=0.3, max_iter=2)
    assert not found.converged


@pytest.mark.parametrize("start", ["anchors", "product"])
def test_epsilon_zero_is_no_regularisation_which_is_the_default(start):
    x, y = (ao.from_points(np.random.default_rng(seed).normal(size=(7, 2))) for seed in (0, 1))
    zero, default = (ao.gromov_wasserstein(x, y, epsilon, start=start) for epsilon in (0, None))
    assert (zero.value, zero.cost, zero.epsilon, zero.n_iter) == (default.value, default.cost, 0.0, default.n_iter)
    assert default.epsilon == 0.0
    np.testing.assert_array_equal(zero.plan, default.plan)


def test_epsilon_zero_is_the_default_among_many_spaces_too(tmp_path):
    shapes = [ao.from_points(np.random.default_rng(seed).normal(size=(6, 2))) for seed in range(3)]
    default = ao.pairwise(shapes, metric="gw", n_jobs=1, checkpoint=tmp_path / "tiles")
    zero = ao.pairwise(shapes, metric="gw", epsilon=0, n_jobs=1, checkpoint=tmp_path / "tiles")  # the same run
    np.testing.assert_array_equal(zero, default)
    found = [ao.distances.nearest_gw(shapes[0], shapes, 2, epsilon=epsilon) for epsilon in (0, None)]
    np.testing.assert_array_equal(*(each.value for each in found))


@pytest.mark.parametrize("weight", [0, 1e-20])
@pytest.mark.parametrize("epsilon", [None, 0.5])
def test_weightless_points_take_no_part_in_gromov_wasserstein(weight, epsilon):
    x, y = clouds((9, 7), 3)
    extended = with_a_light_point(x, weight, 1e9)
    plain, found = (ao.gromov_wasserstein(space, y, epsilon) for space in (x, extended))
    assert found.value == pytest.approx(plain.value, rel=1e-9)
    np.testing.assert_allclose(found.plan, np.vstack([plain.plan, np.zeros(7)]), atol=1e-9)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("epsilon", [None, 0.05])
def test_gromov_wasserstein_of_extreme_costs_is_a_number_or_an_error(name, epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        if name.startswith("huge"):
            with pytest.raises(ao.InputError, match="exceed the range of float64"):
                ao.gromov_wasserstein(*EXTREMES[name], epsilon)
            return
        found = ao.gromov_wasserstein(*EXTREMES[name], epsilon)
    assert np.isfinite(found.value)
    assert np.isfinite(found.plan).all()


@pytest.mark.parametrize("epsilon", [None, 0.5])
def test_an_exact_shift_of_all_costs_leaves_gromov_wasserstein(epsilon):
    rng = np.random.default_rng(2)
    x, y = (ao.Space(rng.integers(0, 80, (n, n)) / 8) for n in (6, 5))
    near, far = (ao.gromov_wasserstein(*pair, epsilon) for pair in ((x, y), (shifted(x, 2.0**49), shifted(y, 2.0**49))))
    assert (far.value, far.cost) == (near.value, near.cost)
    np.testing.assert_array_equal(far.plan, near.plan)


def test_a_loss_beyond_the_largest_float_is_refused():
    bounds = ao.lower_bounds(1e200 * np.eye(4), np.zeros((3, 3)))
    assert np.isfinite(bounds.tlb)
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64; divide all costs"):
        bounds.loss()
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64; divide all costs"):
        ao.distances.nearest_gw(1e200 * np.eye(4), [np.eye(3)])
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64; divide all costs"):
        ao.gromov_wasserstein([[-1.5e308]], [[1.5e308]])


# -- nearest spaces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [False, True])
def test_nearest_equals_the_full_scan(robust):
    rng = np.random.default_rng(6)
    shapes = [ao.from_points(rng.normal(size=(8, 3)) * rng.uniform(0.2, 4, size=3)) for _ in range(9)]
    query = ao.from_points(rng.normal(size=(8, 3)))
    losses = [ao.gromov_wasserstein(query, shape, robust=robust).value for shape in shapes]
    for k in (1, 3, 9):
        found = ao.distances.nearest_gw(query, shapes, k, robust=robust)
        np.testing.assert_array_equal(found.index, np.argsort(losses, kind="stable")[:k])
        np.testing.assert_allclose(found.value, np.sort(losses)[:k])


@pytest.mark.system
def test_nearest_by_entropic_plans_equals_the_full_scan():
    rng = np.random.default_rng(7)
    shapes = [ao.from_points(rng.normal(size=(6, 3)) * rng.uniform(0.2, 4, size=3)) for _ in range(8)]
    query = ao.from_points(rng.normal(size=(6, 3)))
    losses = [ao.gromov_wasserstein(query, shape, 0.5).cost for shape in shapes]
    found = ao.distances.nearest_gw(query, shapes, 3, epsilon=0.5)
    np.testing.assert_array_equal(found.index, np.argsort(losses, kind="stable")[:3])
    np.testing.assert_allclose(found.value, np.sort(losses)[:3])


def test_a_tight_bound_does_not_hide_the_nearest():
    # The far space has the smaller bounds, so it comes first; the near one's bounds lie just below its own loss.
    query, far, near = (
        ao.from_points((rng := np.random.default_rng(seed)).normal(size=(6, 2)) * rng.uniform(0.3, 2, size=2))
        for seed in (0, 59, 4)
    )
    far_loss, near_loss = (ao.gromov_wasserstein(query, space).value for space in (far, near))
    far_bound, near_bound = (ao.lower_bounds(query, space).loss() for space in (far, near))
    assert far_bound < 0.5 * far_loss < near_bound < near_loss < far_loss
    assert ao.distances.nearest_gw(query, [far, near]).index.tolist() == [1]


def test_bounds_spare_most_of_the_work():
    rng = np.random.default_rng(7)
    shapes = [ao.from_points(rng.normal(size=(10, 3)) * size) for size in range(1, 21)]
    found = ao.distances.nearest_gw(shapes[4], shapes)
    assert found.index.tolist() == [4]
    assert found.n_exact < 10


def test_more_neighbours_than_spaces_are_refused():
    with pytest.raises(ao.InputError, match="k=2 nearest spaces are asked for, but there are only 1"):
        ao.distances.nearest_gw(np.eye(2), [np.eye(2)], k=2)


def cloud_pair(n, m, seed, weighted=False):
    rng = np.random.default_rng(seed)
    return [
        ao.from_points(rng.normal(size=(k, 3)), weights=rng.dirichlet(np.full(k, 3.0)) if weighted else None)
        for k in (n, m)
    ]


@pytest.mark.parametrize("start", ["anchors", "quick"])
def test_a_shuffled_copy_is_at_zero(start):
    x, _ = cloud_pair(25, 2, 3)
    order = np.random.default_rng(0).permutation(25)
    found = ao.gromov_wasserstein(x, x.take(order), start=start)
    assert found.value == 0
    np.testing.assert_array_equal(order[ao.match(found)], np.arange(25))


@pytest.mark.parametrize("epsilon", [None, 0.3])
def test_relabelling_points_relabels_the_plan(epsilon):
    x, y = cloud_pair(12, 9, 4)
    order = np.random.default_rng(1).permutation(12)
    found, moved = (ao.gromov_wasserstein(space, y, epsilon) for space in (x, x.take(order)))
    assert moved.value == pytest.approx(found.value, rel=1e-5)
    np.testing.assert_allclose(moved.plan, found.plan[order], atol=1e-4)


def test_robust_is_of_the_ranks():
    x, y = cloud_pair(9, 9, 5)
    expected = ao.gromov_wasserstein(x.ranked(), y.ranked())
    assert ao.gromov_wasserstein(x, y, robust=True).value == expected.value


@pytest.mark.parametrize("scale", [1e-300, 1e-140, 1e140])
@pytest.mark.parametrize("start", ["anchors", "product"])
@pytest.mark.parametrize("epsilon", [None, 0.3])
def test_the_scale_of_the_costs_leaves_the_plan(scale, start, epsilon):
    x, y = cloud_pair(8, 6, 6)
    strength = None if epsilon is None else epsilon * scale * scale or None
    found = ao.gromov_wasserstein(scale * x.cost, scale * y.cost, strength, start=start)
    plain = ao.gromov_wasserstein(x, y, None if strength is None else epsilon, start=start)
    assert found.value == pytest.approx(plain.value * scale * scale, rel=1e-6, abs=0)
    np.testing.assert_allclose(found.plan, plain.plan, atol=1e-6)


# -- with an epsilon -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize(("sizes", "weighted"), [((12, 12), False), ((12, 9), True)])
def test_the_entropic_fixed_point_is_that_of_pot(epsilon, sizes, weighted):
    import ot

    x, y = cloud_pair(*sizes, 0, weighted)
    found = ao.gromov_wasserstein(x, y, epsilon, start="product", tolerance=1e-10)
    ref = ot.gromov.entropic_gromov_wasserstein(
        x.cost, y.cost, x.weights, y.weights, epsilon=epsilon, solver="PGD", max_iter=2000, tol=1e-11
    )
    np.testing.assert_allclose(found.plan, ref, atol=1e-6)


def test_a_large_epsilon_gives_the_product_of_the_weights():
    x, y = cloud_pair(8, 6, 2, weighted=True)
    np.testing.assert_allclose(ao.gromov_wasserstein(x, y, 1e9).plan, np.outer(x.weights, y.weights), atol=1e-6)


# where POT's entropic solver underflows, and returns a plan of zeros of value 0


def points_of_cosine_distances():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 5)) for n in (20, 15)]


def cosine_spaces():
    return [ao.from_points(points, metric="cosine") for points in points_of_cosine_distances()]


@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-5, 1e-12, 1e-300])
@pytest.mark.parametrize("start", ["anchors", "product"])
def test_no_epsilon_is_too_small(epsilon, start):
    x, y = cosine_spaces()
    found = ao.gromov_wasserstein(x, y, epsilon, start=start)
    assert found.converged
    np.testing.assert_allclose(found.plan.sum(axis=1), x.weights, atol=1e-12)
    np.testing.assert_allclose(found.plan.sum(axis=0), y.weights, atol=1e-12)
    assert found.cost == pytest.approx(reference.gromov_loss(x.cost.tolist(), y.cost.tolist(), found.plan.tolist()))
    assert ao.lower_bounds(x, y).loss() <= found.cost < 1.2 * ao.gromov_wasserstein(x, y, start="product").value


def test_all_pairs_at_a_small_epsilon_are_numbers_above_the_bound():
    x, y = cosine_spaces()
    found = ao.pairwise([x], [y], metric="gw", epsilon=1e-5, n_jobs=1)
    assert found[0, 0] >= ao.lower_bounds(x, y).loss()


@pytest.mark.parametrize("command", ["compare", "match"])
def test_the_command_line_gives_a_result_at_a_small_epsilon(command, tmp_path):
    paths = []
    for name, space in zip("ab", cosine_spaces(), strict=True):
        paths.append(str(tmp_path / f"{name}.npy"))
        np.save(paths[-1], space.cost)
    options = {"compare": ["--metric", "gw", "--no-robust"], "match": ["--plan", "gw"]}[command]
    result = anchorot(command, *paths, *options, "--epsilon", "1e-5", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["gromov_wasserstein" if command == "compare" else "value"] > 0.02
