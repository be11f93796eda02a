"""Spaces as vectors: exact cell averages, and distances that never exceed the Anchor Energy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot._kernels import kernels, powers
from anchorot._kernels import numpy as numpy_kernels
from anchorot._kernels.records import GridSpec
from anchorot.anchors.encoder import Encoder, cell_vector
from anchorot.anchors.grid import plain_averages
from tests import reference
from tests.strategies import clouds, scale_of, spaces

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))


@st.composite
def grids(draw):
    """Grids anywhere: around the usual costs, beside them, across a part of them."""
    low = draw(st.one_of(st.integers(-4, 4).map(float), st.floats(-1500, 1500, width=32)))
    return ao.anchors.Grid(draw(SHAPES), low, low + draw(st.sampled_from([0.5, 1.0, 3.0, 100.0, 2500.0])))


def averages(features, grid):
    return plain_averages(features, grid.cells)


def bound(e, f):
    return 2 * float(((e.astype(float) - f.astype(float)) ** 2).sum())


# -- agreement -----------------------------------------------------------------------------------------------------


@given(spaces(), grids())
def test_averages_agree_with_clipped_rectangles(x, grid):
    x_edges = np.linspace(grid.low, grid.high, grid.shape[0] + 1).tolist()
    t_edges = np.linspace(0, 1, grid.shape[1] + 1).tolist()
    ref = reference.cell_averages(x.cost.tolist(), x.weights.tolist(), x_edges, t_edges)
    np.testing.assert_allclose(averages(ao.AnchorFeatures.of(x), grid), ref, atol=1e-11)


@given(spaces(uniform=True), grids())
def test_levels_and_events_have_the_same_averages(x, grid):
    features = ao.AnchorFeatures.of(x)
    by_events = averages(ao.AnchorFeatures(events=features.events), grid)
    np.testing.assert_allclose(averages(features, grid), by_events, atol=1e-12)


@pytest.mark.parametrize("n", [1, 5, 32, 70])
def test_both_sets_of_kernels_agree_and_blocks_do_not_matter(n, monkeypatch):
    rng = np.random.default_rng(n)
    grid = GridSpec(9, 7, 0.3, 2.0)
    x = ao.from_points(rng.normal(size=(n, 2)))
    levels, events = ao.AnchorFeatures.of(x).levels, ao.AnchorFeatures.of(x).events
    monkeypatch.setattr(powers, "BLOCK_NUMBERS", 50)
    np.testing.assert_allclose(
        numpy_kernels.level_averages(levels, grid), kernels.level_averages(levels, grid), atol=1e-12
    )
    np.testing.assert_allclose(
        numpy_kernels.event_averages(events, grid), kernels.event_averages(events, grid), atol=1e-12
    )


def test_ragged_collections_can_be_embedded():
    rows = [[1.0, 2.0, 2.5], [0.0]]
    grid = ao.anchors.Grid((1, 1), 0.0, 4.0)
    # the first anchor's mean height over [0, 4] is (3 + 2 + 1.5) / 12, the second's is 1
    assert averages(ao.AnchorFeatures.of_rows(rows), grid)[0, 0] == pytest.approx(0.5 * 6.5 / 12 + 0.5)


# -- properties -------------------------------------------------------------------------------------------------------


@given(spaces(), spaces(), SHAPES)
def test_distances_bound_the_energy_from_below(x, y, shape):
    e, f = ao.embed([x, y], shape)
    assert bound(e, f) <= ao.anchor_energy(x, y) + 1e-6 * scale_of(x, y)


@given(spaces(), spaces(), grids())
def test_costs_outside_the_range_keep_the_bound(x, y, grid):
    e, f = ao.embed([x, y], grid)
    assert bound(e, f) <= ao.anchor_energy(x, y) + 1e-6 * (grid.high - grid.low)


@given(spaces(), spaces(), SHAPES)
def test_ranks_are_embedded_over_the_unit_interval(x, y, shape):
    e, f = ao.embed([x, y], shape, robust=True)
    assert bound(e, f) <= ao.anchor_energy(x, y, robust=True) + 1e-6
    np.testing.assert_array_equal(e, ao.embed([x.ranked()], ao.anchors.Grid(shape, 0, 1))[0])


@given(spaces(), spaces(), grids())
def test_vectors_of_equal_cells_bound_the_energy_and_better_than_averages(x, y, grid):
    fx, fy = ao.AnchorFeatures.of(x), ao.AnchorFeatures.of(y)
    width = grid.high - grid.low
    by_vector = width * bound(cell_vector(fx, grid), cell_vector(fy, grid))
    by_averages = grid.cell_area * bound(averages(fx, grid), averages(fy, grid))
    assert by_averages <= by_vector + 1e-12 * width
    assert by_vector <= ao.anchor_energy(x, y) + 1e-12 * max(width, scale_of(x, y))


@given(spaces(), spaces(), grids())
def test_rounded_vectors_less_their_radii_bound_the_computed_energy(x, y, grid):
    fx, fy = ao.AnchorFeatures.of(x), ao.AnchorFeatures.of(y)
    (e, r), (f, s) = Encoder(grid).encode(fx), Encoder(grid).encode(fy)
    distance = np.linalg.norm(e.astype(float) - f) - r - s
    assert 2 * (grid.high - grid.low) * max(distance, 0) ** 2 <= ao.anchor_energy(fx, fy)
    assert np.linalg.norm(e - cell_vector(fx, grid)) < r
    assert e.dtype == np.float32
    assert np.linalg.norm(e) <= 1 + 1e-6


@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_rise_to_the_energy_as_grids_are_refined(weighted):
    x, y = clouds((24, 37), weighted=weighted)
    energy = ao.anchor_energy(x, y)
    bounds = [bound(*ao.embed([x, y], (k, k))) for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)]
    assert (np.diff(bounds) > -1e-6 * energy).all()
    assert 0.98 * energy < bounds[-1] <= energy * (1 + 1e-6)


@given(spaces(), SHAPES, st.randoms(use_true_random=False))
def test_relabelling_points_changes_nothing(x, shape, random):
    order = random.sample(range(x.n), x.n)
    np.testing.assert_allclose(ao.embed([x.take(order)], shape), ao.embed([x], shape), rtol=1e-6, atol=1e-6)


@given(spaces(), SHAPES)
def test_points_of_weight_zero_change_nothing(x, shape):
    heavy = x.take(np.flatnonzero(x.weights))
    np.testing.assert_array_equal(ao.embed([x], shape), ao.embed([heavy], shape))


def test_features_and_float32_stand_for_their_spaces():
    spaces_ = clouds(3, weighted=False)
    e = ao.embed(spaces_, (8, 8))
    assert e.shape == (3, 64)
    assert e.dtype == np.float32
    np.testing.assert_array_equal(ao.embed([ao.AnchorFeatures.of(x) for x in spaces_], (8, 8)), e)
    narrow = [ao.Space(x.cost.astype(np.float32)) for x in spaces_]
    np.testing.assert_allclose(ao.embed(narrow, (8, 8)), e, atol=1e-5)


def test_vectors_that_memory_does_not_hold_are_refused_before_the_work():
    with pytest.raises(ao.InputError, match=r"3 vectors of 1000000000000 numbers take .* GiB, .* take a coarser grid"):
        ao.embed(clouds(3)[:3], grid=(10**6, 10**6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ao.embed([]), "got no spaces to learn the range of costs from"),
        (lambda: ao.embed([np.eye(2)], (0, 3)), r"grid\[0\] must be an integer >= 1"),
        (lambda: ao.embed([np.eye(2)], 7), "grid must be two numbers of cells, along x and along t, but got 7"),
        (lambda: ao.anchors.Grid((2, 2), 1.0, 1.0), "got a grid from low=1.0 to high=1.0, but low < high"),
        (lambda: ao.anchors.Grid((2, 2), 0.0, np.inf), "to high=inf, but low < high"),
        (lambda: ao.embed([ao.AnchorFeatures.of(np.eye(2))], robust=True), "made with robust=False"),
    ],
)
def test_bad_input_gets_one_clear_line(call, message):
    with pytest.raises(ao.InputError, match=message):
        call()
