"""Which starts are tried, and when steps end."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.anchors.rows import row_costs
from anchorot.distances import solver
from anchorot.distances.descent import Assignments, conditional_gradient, descend, plan_of, round_to_marginals, sharpen
from anchorot.distances.quadratic import Partial, Quadratic
from anchorot.distances.solver import Setting, chosen_starts, solve
from anchorot.distances.starts import anchor_costs
from anchorot.space import unit_spaces


def cloud(n, seed, dim=3, weighted=False):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n, 3.0)) if weighted else None
    return ao.from_points(rng.normal(size=(n, dim)), weights=weights)


def noisy_pair(n, seed, noise=0.05, weighted=False):
    x = cloud(n, seed, weighted=weighted)
    moved = x.geometry.positions + noise * np.random.default_rng([seed, 1]).normal(size=(n, 3))
    order = np.random.default_rng([seed, 2]).permutation(n)
    return x, ao.from_points(moved[order], weights=x.weights[order] if weighted else None)


def names_tried(x, y, is_enough, share=None):
    (unit_x, unit_y), _ = unit_spaces(x, y)
    setting = Setting(unit_x, unit_y, None, 1.0, threads=1, device=None)
    kept = [np.arange(space.n) for space in (x, y)]
    starts = chosen_starts("anchors", setting, kept, (x.n, y.n), 0, share)
    return {one.name for one in solve(setting, starts, share, is_enough=lambda found: is_enough)}


@pytest.mark.parametrize(("weighted", "second"), [(False, "near"), (True, "near_annealed")])
def test_two_starts_that_agree_are_the_last_if_that_is_enough(weighted, second):
    pytest.importorskip("ot")
    pair = noisy_pair(40, 0, weighted=weighted)
    assert names_tried(*pair, is_enough=True) == {"middle", second}
    assert names_tried(*pair, is_enough=False) == {"middle", "near", "near_annealed", "product"}


def test_every_start_is_tried_where_two_do_not_agree():
    x, y = cloud(40, 1), cloud(40, 2)
    assert names_tried(x, y, is_enough=True) == {"middle", "near", "near_annealed", "product"}


def test_every_start_is_tried_where_a_part_is_to_be_matched():
    pytest.importorskip("ot")
    pair = noisy_pair(30, 0)
    assert names_tried(*pair, is_enough=True, share=0.9) == {"middle", "near", "near_annealed", "product"}


@pytest.mark.parametrize("is_enough", [True, False])
def test_of_many_points_near_anchors_are_tried_unless_the_result_is_enough(is_enough, monkeypatch):
    for name, number in (("MANY_POINTS", 30), ("LANDMARKS", 20), ("RESOLVED_POINTS", 20)):
        monkeypatch.setattr(solver, name, number)
    assert ("near" in names_tried(*noisy_pair(40, 0), is_enough=is_enough)) is not is_enough


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_anchors_cut_off_at_a_range_are_those_of_the_costs_cut_off_there(share, weighted):
    x, y = cloud(20, 0, weighted=weighted), cloud(15, 1, weighted=weighted)
    limit = np.quantile(np.concatenate([x.cost.ravel(), y.cost.ravel()]), share)
    cut = [ao.Space(np.minimum(space.cost, limit), space.weights) for space in (x, y)]
    np.testing.assert_allclose(anchor_costs(x, y, share, 1), row_costs(*cut, 1, 1), atol=1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_objective_of_the_product_plan_needs_no_matrix_of_its_size(symmetric):
    rng = np.random.default_rng(0)
    c, d, features = rng.normal(size=(6, 6)), rng.normal(size=(4, 4)), rng.normal(size=(6, 4))
    if symmetric:
        c, d = c + c.T, d + d.T
    problem = Quadratic(c, d, features, 0.3)
    a, b = 2 * rng.dirichlet(np.ones(6)), 2 * rng.dirichlet(np.ones(4))
    assert problem.value_of_product(a, b) == pytest.approx(problem.value(np.outer(a, b) / a.sum()), rel=1e-12)
    inner = np.outer(a, b)[:-1, :-1] * (a[:-1].sum() / a.sum()) / a[:-1].sum()
    whole = Partial(Quadratic(c[:5, :5], d[:3, :3])).value_of_product(a, b)
    assert whole == pytest.approx(Quadratic(c[:5, :5], d[:3, :3]).value(inner), rel=1e-12)


def test_a_matching_that_its_own_assignment_returns_is_the_end():
    x, y = noisy_pair(30, 0)
    problem, a = Quadratic(x.cost, y.cost), x.weights
    start = np.random.default_rng([0, 2]).permutation(30).argsort()
    found = descend(problem, start, Assignments(a, a), np.inf)
    assert found.is_fixed
    assert found.value == pytest.approx(problem.value_of_matches(found.matches), rel=1e-12)
    end = conditional_gradient(problem, plan_of(found.matches), a, a)
    np.testing.assert_array_equal(end.plan, plan_of(found.matches))
    sharp = sharpen(problem, np.outer(a, a), a, a)
    assert sharp.objective == pytest.approx(problem.value(sharp.plan), rel=1e-12)


def test_a_descent_that_cannot_reach_the_best_is_left_early():
    pytest.importorskip("ot")
    x, y = cloud(40, 1, weighted=True), cloud(30, 2, weighted=True)
    problem, a, b = Quadratic(x.cost, y.cost), x.weights, y.weights
    start = round_to_marginals(np.random.default_rng(0).uniform(size=(40, 30)) / 1200, a, b)
    end = conditional_gradient(problem, start, a, b)
    early = conditional_gradient(problem, start, a, b, best=0.1 * end.objective)
    assert end.converged
    assert not early.converged
    assert early.n_steps < end.n_steps
    assert conditional_gradient(problem, start, a, b, best=2 * end.objective).objective == end.objective
