"""Gromov-Wasserstein and its lower bounds."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import anchorot as ao

import reference
from strategies import clouds, scale_of, shifted, spaces, with_a_light_point

pytest.importorskip("ot", reason="Gromov-Wasserstein needs POT (the extra 'pot')")


@st.composite
def symmetric_spaces(draw):
    x = draw(spaces())
    return ao.Space(np.abs(x.cost + x.cost.T), x.weights)


@pytest.mark.parametrize("epsilon", [None, 0.05])
@pytest.mark.parametrize("robust", [False, True])
def test_value_is_the_loss_of_the_plan(epsilon, robust):
    x, y = clouds((6, 5), dim=3, weighted=False)
    found = ao.gromov_wasserstein(x, y, epsilon, robust)
    a, b = (x.ranked(), y.ranked()) if robust else (x, y)
    ref = reference.gromov_loss(a.cost.tolist(), b.cost.tolist(), found.plan.tolist())
    assert found.value == pytest.approx(ref, rel=1e-6)
    assert found.converged
    assert found.marginal_error < 1e-6


def test_a_moved_cloud_has_distance_zero_from_its_own_order():
    x, _ = clouds((12, 12), dim=3)
    assert ao.gromov_wasserstein(x, x).value == pytest.approx(0, abs=1e-12)


def test_an_early_stop_is_told():
    x, y = clouds((30, 30), dim=3, weighted=False)
    with pytest.warns(ao.ConvergenceWarning, match="limit of iterations"):
        found = ao.gromov_wasserstein(x, y, epsilon=0.3, max_iter=2)
    assert not found.converged


def test_epsilon_zero_is_refused():
    with pytest.raises(ao.InputError, match="epsilon must be positive, or None"):
        ao.gromov_wasserstein(np.eye(2), np.eye(2), epsilon=0)


# -- bounds --------------------------------------------------------------------------------------------------------


@given(symmetric_spaces(), symmetric_spaces())
def test_bounds_lie_below_gromov_wasserstein(x, y):
    bounds = ao.lower_bounds(x, y, p=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)  # any plan's loss lies above the bounds
        loss = ao.gromov_wasserstein(x, y, max_iter=200).value
    slack = 1e-7 * scale_of(x, y) ** 2
    for bound in (bounds.flb, bounds.slb, bounds.tlb):
        assert (2 * bound) ** 2 <= loss + slack
    assert bounds.loss() <= loss + slack


@given(symmetric_spaces(), symmetric_spaces())
def test_bounds_of_p_one_lie_below_every_plan(x, y):
    bounds = ao.lower_bounds(x, y, p=1)
    plans = [np.outer(x.weights, y.weights), ao.anchor_wasserstein(x, y, epsilon=0).plan]
    for plan in plans:
        loss = reference.gromov_loss(x.cost.tolist(), y.cost.tolist(), plan.tolist(), p=1)
        assert 2 * max(bounds.flb, bounds.slb, bounds.tlb) <= loss + 1e-9 * scale_of(x, y)


@given(spaces(), spaces(), st.sampled_from([1, 2]))
def test_the_third_bound_is_the_best(x, y, p):
    bounds = ao.lower_bounds(x, y, p)
    slack = 1e-6 * scale_of(x, y)
    assert bounds.flb <= bounds.tlb + slack
    assert bounds.slb <= bounds.tlb + slack
    assert bounds.tlb == pytest.approx(0.5 * ao.anchor_wasserstein(x, y, p, epsilon=0).value ** (1 / p), abs=slack)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_on_random_clouds(seed):
    x, y = clouds((25, 20), seed, dim=3)
    bounds = ao.lower_bounds(x, y)
    assert 0 < bounds.loss() <= ao.gromov_wasserstein(x, y).value


def test_first_and_second_bound_against_scipy():
    x, y = clouds((9, 7), weighted=False)
    bounds = ao.lower_bounds(x, y, p=1)
    assert bounds.flb == pytest.approx(0.5 * wasserstein_distance(x.cost.mean(axis=1), y.cost.mean(axis=1)))
    assert bounds.slb == pytest.approx(0.5 * wasserstein_distance(x.cost.ravel(), y.cost.ravel()))


def test_robust_bounds_are_of_ranked_spaces():
    x, y = clouds((12, 12))
    assert ao.lower_bounds(x, y, robust=True) == ao.lower_bounds(x.ranked(), y.ranked())


def test_other_powers_are_refused():
    with pytest.raises(ao.InputError, match="p must be one of '1', '2'"):
        ao.lower_bounds(np.eye(2), np.eye(2), p=3)


@pytest.mark.parametrize("weight", [0, 1e-20, 1e-300])
@pytest.mark.parametrize("far", [1e9, 1e200])
@pytest.mark.parametrize("p", [1, 2])
def test_weightless_points_change_no_bound(weight, far, p):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = (ao.Space(s.cost, rng.dirichlet(np.ones(s.n))) for s in clouds(seed, (9, 7)))
        plain, extended = (ao.lower_bounds(space, y, p) for space in (x, with_a_light_point(x, weight, far)))
        assert [extended.flb, extended.slb, extended.tlb] == pytest.approx([plain.flb, plain.slb, plain.tlb], rel=1e-12)


@pytest.mark.parametrize("weight", [0, 1e-20])
@pytest.mark.parametrize("epsilon", [None, 0.5])
def test_weightless_points_take_no_part_in_gromov_wasserstein(weight, epsilon):
    x, y = clouds(3, (9, 7))
    extended = with_a_light_point(x, weight, 1e9)
    plain, found = (ao.gromov_wasserstein(space, y, epsilon) for space in (x, extended))
    assert found.value == pytest.approx(plain.value, rel=1e-9)
    np.testing.assert_allclose(found.plan, np.vstack([plain.plan, np.zeros(7)]), atol=1e-9)


@pytest.mark.parametrize("p", [1, 2])
def test_an_exact_shift_of_all_costs_leaves_the_bounds(p):
    """But for the first at p = 2: sizes of costs are not their differences."""
    rng = np.random.default_rng(2)
    for weights in ((None, None), (rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(6)))):
        x, y = (ao.Space(rng.integers(0, 80, (n, n)) / 8, w) for n, w in zip((8, 6), weights, strict=True))
        near, far = (ao.lower_bounds(*pair, p) for pair in ((x, y), (shifted(x, 2.0**49), shifted(y, 2.0**49))))
        assert far.slb == pytest.approx(near.slb, rel=1e-12)
        assert far.tlb == pytest.approx(near.tlb, rel=1e-12)
        assert far.flb == pytest.approx(near.flb, rel=1e-12) if p == 1 else far.flb <= far.tlb * (1 + 1e-12)


EXTREMES = {
    "constant": (np.ones((4, 4)), np.ones((3, 3))),
    "single points": (np.zeros((1, 1)), np.full((1, 1), 3.0)),
    "duplicates": (np.zeros((4, 4)), np.repeat(np.repeat(np.eye(2), 2, 0), 2, 1)),
    "tiny": (1e-300 * np.eye(4), 1e-300 * np.ones((3, 3))),
    "huge": (1e300 * np.eye(4), 1e300 * np.ones((3, 3))),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("p", [1, 2])
def test_bounds_of_extreme_costs_are_numbers(name, p):
    x, y = EXTREMES[name]
    bounds = ao.lower_bounds(x, y, p)
    assert np.isfinite([bounds.flb, bounds.slb, bounds.tlb]).all()
    assert np.isfinite(ao.anchor_energy_plan(x, y)).all()
    if name in ("tiny", "huge"):
        unit = [cost / cost.max() for cost in (x, y)]
        assert bounds.tlb / x.max() == pytest.approx(ao.lower_bounds(*unit, p).tlb, rel=1e-12)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("epsilon", [None, 0.05])
def test_gromov_wasserstein_of_extreme_costs_is_a_number_or_an_error(name, epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        if name == "huge":
            with pytest.raises(ao.InputError, match=r"exceed the range of float64|no answer at epsilon=0\.05"):
                ao.gromov_wasserstein(*EXTREMES[name], epsilon)
            return
        found = ao.gromov_wasserstein(*EXTREMES[name], epsilon)
    assert np.isfinite(found.value)
    assert np.isfinite(found.plan).all()


@pytest.mark.parametrize("epsilon", [None, 0.5])
def test_an_exact_shift_of_all_costs_leaves_gromov_wasserstein(epsilon):
    rng = np.random.default_rng(2)
    x, y = (ao.Space(rng.integers(0, 80, (n, n)) / 8) for n in (8, 6))
    near, far = (ao.gromov_wasserstein(*pair, epsilon) for pair in ((x, y), (shifted(x, 2.0**49), shifted(y, 2.0**49))))
    assert far.value == near.value
    np.testing.assert_array_equal(far.plan, near.plan)


def test_a_loss_beyond_the_largest_float_is_refused():
    bounds = ao.lower_bounds(1e200 * np.eye(4), np.zeros((3, 3)))
    assert np.isfinite(bounds.tlb)
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64; divide all costs"):
        bounds.loss()
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64; divide all costs"):
        ao.nearest_gw(1e200 * np.eye(4), [np.eye(3)])
    with pytest.raises(ao.InputError, match="differences of costs exceed the range of float64; divide all costs"):
        ao.gromov_wasserstein([[-1.5e308]], [[1.5e308]])


# -- nearest spaces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 12])
@pytest.mark.parametrize("robust", [False, True])
def test_nearest_equals_the_full_scan(k, robust):
    rng = np.random.default_rng(6)
    shapes = [ao.from_points(rng.normal(size=(10, 3)) * rng.uniform(0.2, 4, size=3)) for _ in range(12)]
    query = ao.from_points(rng.normal(size=(10, 3)))
    losses = [ao.gromov_wasserstein(query, shape, robust=robust).value for shape in shapes]
    found = ao.nearest_gw(query, shapes, k, robust=robust)
    np.testing.assert_array_equal(found.index, np.argsort(losses, kind="stable")[:k])
    np.testing.assert_allclose(found.distance, np.sort(losses)[:k])


def test_a_tight_bound_does_not_hide_the_nearest():
    # The far space has the smaller bounds, so it comes first; the near one's bounds lie just below its own loss.
    query, far, near = (
        ao.from_points((rng := np.random.default_rng(seed)).normal(size=(6, 2)) * rng.uniform(0.3, 2, size=2))
        for seed in (0, 399, 208)
    )
    far_loss, near_loss = (ao.gromov_wasserstein(query, space).value for space in (far, near))
    far_bound, near_bound = (ao.lower_bounds(query, space).loss() for space in (far, near))
    assert far_bound < 0.5 * far_loss < near_bound < near_loss < far_loss
    assert ao.nearest_gw(query, [far, near]).index.tolist() == [1]


def test_bounds_spare_most_of_the_work():
    rng = np.random.default_rng(7)
    shapes = [ao.from_points(rng.normal(size=(10, 3)) * size) for size in range(1, 21)]
    found = ao.nearest_gw(shapes[4], shapes)
    assert found.index.tolist() == [4]
    assert found.n_exact < 10


def test_more_neighbours_than_spaces_are_refused():
    with pytest.raises(ao.InputError, match="k=2 nearest spaces are asked for, but there are only 1"):
        ao.nearest_gw(np.eye(2), [np.eye(2)], k=2)


# -- where POT's entropic solver underflows, and returns a plan of zeros of value 0 --------------------------------


def points_of_cosine_distances():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 5)) for n in (20, 15)]


@pytest.mark.parametrize("epsilon", [1e-5, 1e-300])
def test_a_plan_without_its_mass_is_an_error(epsilon):
    x, y = (ao.from_points(points, metric="cosine") for points in points_of_cosine_distances())
    with pytest.raises(ao.InputError, match=r"no answer at epsilon=.*: the plan .*; a larger epsilon") as caught:
        ao.gromov_wasserstein(x, y, epsilon)
    assert "\n" not in str(caught.value)


def test_pairs_without_an_answer_are_nan_and_counted():
    x, y = (ao.from_points(points, metric="cosine") for points in points_of_cosine_distances())
    same = ao.Space(np.ones((3, 3)))
    with pytest.warns(ao.ConvergenceWarning, match=r"not converge for 1 pairs; where it has no answer .* is NaN"):
        found = ao.pairwise([x, same], [y, same], metric="gw", epsilon=1e-3, n_jobs=1)
    assert np.isnan(found).tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize("command", ["compare", "match"])
def test_the_command_line_says_so_in_one_line(command, tmp_path):
    paths = []
    for name, points in zip("ab", points_of_cosine_distances(), strict=True):
        paths.append(str(tmp_path / f"{name}.npy"))
        np.save(paths[-1], ao.from_points(points, metric="cosine").cost)
    code = "from anchorot.cli import main; main()"
    options = ["--metric", "gw", "--epsilon", "1e-5"] + (["--no-robust"] if command == "compare" else [])
    result = subprocess.run(
        [sys.executable, "-c", code, command, *paths, *options], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "no answer at epsilon=1e-05" in result.stderr
    assert len(result.stderr.splitlines()) == 1
