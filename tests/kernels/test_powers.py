"""Costs to the power p: exact up to the largest p that is allowed, refused beyond, infinite where floats end."""

from fractions import Fraction

import numpy as np
import pytest

import anchorot as ao
from anchorot._kernels import kernels, powers
from anchorot._kernels.records import Events, GridSpec, PlaceMoves, RowItems, StepRows, to_heights
from anchorot._validate import LARGEST_POWER
from anchorot.anchors.features import merged_moves
from anchorot.anchors.rows import row_costs
from tests import reference

POWERS = [3, 4, 7, 16, 33, LARGEST_POWER]
LINE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
COSTS = {
    "uniform": lambda rng, n: rng.uniform(size=(n, n)),
    "skewed": lambda rng, n: rng.uniform(size=(n, n)) ** 6,
    "clustered": lambda rng, n: rng.integers(0, 2, size=(n, n)) + rng.uniform(size=(n, n)) * 1e-3,
    "far from zero": lambda rng, n: 1000 + rng.uniform(size=(n, n)),
    "either sign": lambda rng, n: rng.uniform(-1, 1, size=(n, n)),
}


def exact(cost):
    return [[Fraction(float(value)) for value in row] for row in cost]


def two_spaces(kind, weighted):
    """Costs and weights of two spaces; the weights are floats without rounding."""
    rng = np.random.default_rng(7)
    sides = []
    for n in (4, 5):
        weights = np.full(n, 1 / n)
        if weighted:
            raw = rng.integers(1, 9, size=n)
            raw[-1] += 64 - raw.sum()
            weights = raw / 64
        sides.append((COSTS[kind](rng, n), weights, [Fraction(w) if weighted else Fraction(1, n) for w in weights]))
    return sides


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("kind", COSTS)
def test_every_allowed_power_agrees_with_exact_arithmetic(kind, p, weighted):
    (cost_x, a, exact_a), (cost_y, b, exact_b) = two_spaces(kind, weighted)
    x, y = ao.Space(cost_x, a if weighted else None), ao.Space(cost_y, b if weighted else None)
    sides = (exact(cost_x), exact_a), (exact(cost_y), exact_b)
    cross, own_x, own_y = (
        reference.expected_cost(one[0], two[0], one[1], two[1], p)
        for one, two in ((sides[0], sides[1]), (sides[0], sides[0]), (sides[1], sides[1]))
    )
    terms = float(2 * cross + own_x + own_y)
    for method in ("auto", "sweep"):
        energy = ao.anchor_energy(x, y, p, method=method)
        assert energy == pytest.approx(float(2 * cross - own_x - own_y), rel=0, abs=1e-9 * terms)
    assert ao.distances.expected_cost(x, y, p) == pytest.approx(float(cross), rel=1e-8)
    expected = np.array(reference.row_costs(sides[0][0], sides[1][0], exact_a, exact_b, p), float)
    np.testing.assert_allclose(row_costs(x, y, p, 1), expected, rtol=1e-11)
    assert ao.anchors.ot_1d(cost_x[0], cost_y[0], a, b, p=p) == pytest.approx(expected[0, 0], rel=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_tensors_have_the_largest_power_and_its_gradient(weighted):
    torch = pytest.importorskip("torch")
    import anchorot.torch as at

    (cost_x, a, _), (cost_y, b, _) = two_spaces("uniform", weighted)
    expected = ao.anchor_energy(ao.Space(cost_x, a), ao.Space(cost_y, b), LARGEST_POWER)
    x, y = torch.tensor(cost_x, requires_grad=True), torch.tensor(cost_y)
    weights = (torch.tensor(a), torch.tensor(b)) if weighted else (None, None)
    energy = at.anchor_energy(x, y, *weights, p=LARGEST_POWER)
    energy.backward()
    assert energy.item() == pytest.approx(expected, rel=1e-6)
    # Euler: the energy is homogeneous of degree p in all costs
    y.requires_grad_()
    at.anchor_energy(x.detach(), y, *weights, p=LARGEST_POWER).backward()
    total = (x.grad * x).sum().item() + (y.grad * y).sum().item()
    assert total == pytest.approx(LARGEST_POWER * expected, rel=1e-6)


@pytest.mark.parametrize("p", [LARGEST_POWER + 1, 1100, 65537, 2**31, 10**30])
def test_larger_powers_are_refused_in_one_line(p):
    weighted = ao.Space(LINE, [0.5, 0.3, 0.2])
    features = ao.AnchorFeatures.of(LINE)
    calls = [
        lambda: ao.anchor_energy(LINE, LINE, p),
        lambda: ao.anchor_energy(weighted, LINE, p),
        lambda: ao.distances.expected_cost(LINE, LINE, p),
        lambda: ao.anchor_wasserstein(LINE, LINE, p),
        lambda: ao.anchors.ot_1d([0, 1], [1, 2], p=p),
        lambda: ao.pairwise([LINE, LINE], p=p),
        lambda: ao.pairwise([LINE, LINE], metric="aw", p=p),
        lambda: features.energy_to(features, p),
        lambda: features.sweep_energy_to(features, p),
        lambda: features.self_cost(p),
    ]
    for call in calls:
        with pytest.raises(ao.InputError, match=f"^p must be an integer from 1 to {LARGEST_POWER}, but got {p}$"):
            call()


@pytest.mark.parametrize("p", [LARGEST_POWER + 1, 65537])
def test_larger_powers_of_tensors_are_refused(p):
    torch = pytest.importorskip("torch")
    import anchorot.torch as at

    line = torch.tensor(LINE)
    for call in (
        lambda: at.anchor_energy(line, line, p=p),
        lambda: at.anchor_wasserstein(line, line, p=p),
        lambda: ao.barycenter([LINE], n_points=3, p=p),
    ):
        with pytest.raises(ao.InputError, match=f"from 1 to {LARGEST_POWER}, but got {p}"):
            call()


@pytest.mark.parametrize("threads", [10**9, 10**12])
def test_any_number_of_threads_gives_the_same_bits(threads):
    rng = np.random.default_rng(1)
    x, y = (ao.Space(rng.uniform(size=(n, n)), rng.dirichlet(np.ones(n))) for n in (9, 11))
    assert ao.anchor_energy(x, y, threads=threads) == ao.anchor_energy(x, y)
    assert ao.anchor_wasserstein(x, y, threads=threads).cost == ao.anchor_wasserstein(x, y).cost
    samples = list(rng.normal(size=(6, 4)))
    assert ao.energy_distance(samples, samples[3:], threads=threads) == ao.energy_distance(samples, samples[3:])


@pytest.mark.parametrize("method", ["auto", "sweep"])
@pytest.mark.parametrize("p", [1, 2, 3, LARGEST_POWER])
def test_spaces_of_one_point_have_no_moves_and_differ_by_their_cost(p, method):
    assert ao.anchor_energy([[0.0]], [[2.0]], p, method=method) == 2 * 2.0**p


@pytest.mark.parametrize("p", [2, 3, 4, 9, 33])
def test_sweeps_of_many_blocks_of_moves_agree_with_levels(p):
    rng = np.random.default_rng(5)
    x, y = (ao.Space(rng.uniform(size=(n, n))) for n in (60, 45))
    levels, sweep = (ao.distances.expected_cost(x, y, p, method=method) for method in ("sort", "sweep"))
    assert sweep == pytest.approx(levels, rel=1e-10)


# -- the end of floats ---------------------------------------------------------------------------------------------


def levels_of(*rows):
    return np.sort(np.sort(np.array(rows, float), axis=1).T, axis=1)


def events_of(rows, weights):
    values = np.concatenate(rows)
    order = np.argsort(values, kind="stable")
    row = np.repeat(np.arange(len(rows), dtype=np.uint32), [len(r) for r in rows])[order]
    return Events(values[order], row, to_heights(np.concatenate(weights))[order], np.full(len(rows), 1 / len(rows)))


@pytest.mark.parametrize("p", [3, 5, LARGEST_POWER])
@pytest.mark.parametrize("exponent", [-600, -17, 0, 15, 1000])
def test_scaling_by_a_power_of_two_scales_level_energies_to_the_last_bit(p, exponent):
    x, y = levels_of([0.1, 0.7, 0.9], [0.2, 0.3, 0.4]), levels_of([0.5, 0.6, 0.8], [0.1, 0.1, 1.0])
    plain = powers.level_energy(x, y, p)
    scaled = powers.level_energy(np.ldexp(x, exponent), np.ldexp(y, exponent), p)
    with np.errstate(over="ignore", under="ignore"):
        assert scaled == np.ldexp(plain, exponent * p)


HUGE = [[0.0, 1e200], [1e150, 1e200]], [[0.0, 2e200], [1e200, 1e200]]


@pytest.mark.parametrize("p", [3, 4, LARGEST_POWER])
def test_powers_beyond_floats_are_infinite(p):
    x, y = (levels_of(*rows) for rows in HUGE)
    assert abs(powers.level_energy(x, y, p)) == np.inf
    assert powers.level_energy(x, x, p) == 0
    ends = np.array([[0.5, 1.0], [0.5, 1.0]])
    costs = kernels.step_costs(StepRows(np.sort(HUGE[0]), ends), StepRows(np.sort(HUGE[1]), ends), p, 1)
    assert (costs == np.inf).all()
    x, y = (ao.AnchorFeatures.of_rows(rows, row_weights=[[0.3, 0.7], [0.5, 0.5]]) for rows in HUGE)
    signed_mass = np.concatenate([x.events.mass, -y.events.mass])
    moves = merged_moves(x.level_moves, y.level_moves)
    assert abs(powers.level_sweep_energy(moves, signed_mass, p)) == np.inf


def test_no_width_is_no_cost_however_far():
    x = StepRows(np.array([[0.0, 1e308]]), np.array([[1.0, 1.0]]))
    for p in (1, 2, 3):
        assert kernels.step_costs(x, StepRows(np.array([[1.0, -1e308]]), x.end), p, 1) == [[1.0]]


FAR = [-1.5e308, 1.0, 2.0], [0.0, 3.0, 1.5e308]


def test_a_range_beyond_floats_is_an_infinite_energy():
    x, y = (levels_of(row) for row in FAR)
    assert kernels.level_energy(x, y, 1) == powers.level_energy(x, y, 3) == np.inf


def test_a_range_beyond_floats_is_an_infinite_energy_of_events():
    x, y = (events_of([np.array(row)], [[0.2, 0.3, 0.5]]) for row in FAR)
    assert kernels.sweep_energy(x, y, 1) == np.inf


def test_a_range_beyond_floats_is_an_infinite_energy_of_labels():
    items = RowItems(np.array([0, 1], np.uint32), np.ones(2))
    place, start, move = np.array([-1.5e308, 0, 1.5e308]), np.array([0, 1], np.uint32), np.array([0], np.uint32)
    over_levels = PlaceMoves(np.array([0.5]), move, np.array([2], np.uint32), start, place, 0.0, 1.0)
    rows = np.array([0, 1, 1], np.uint32)
    over_positions = PlaceMoves(place, rows, start[[1, 0, 1]], start * 0, np.array([0.0, 1.0]), -1.5e308, 1.5e308)
    for moves in (over_levels, over_positions):
        assert kernels.labelled_energies(moves, items, np.array([[1, 0]], np.uint8), 1) == [np.inf]


def test_cells_of_a_range_beyond_floats_are_filled_like_any_others():
    x = levels_of([-1.5e308, -1e308, 1e308], [0.0, 0.5e308, 1.5e308])
    events = events_of([x[:, 0], x[:, 1]], [np.full(3, 1 / 3)] * 2)
    wide, narrow = GridSpec(4, 3, -1.5e308, 1.5e308), GridSpec(4, 3, -1.5, 1.5)
    np.testing.assert_allclose(kernels.level_averages(x, wide), kernels.level_averages(x / 1e308, narrow), atol=1e-14)
    scaled = events._replace(position=events.position / 1e308)
    np.testing.assert_allclose(kernels.event_averages(events, wide), kernels.event_averages(scaled, narrow), atol=1e-14)
