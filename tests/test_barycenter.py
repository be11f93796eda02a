"""Barycenters: the loss falls, and a shape that can be reached is reached."""

import sys

import numpy as np
import pytest

import anchorot as ao
from anchorot.barycenter import mean_types, typical_cloud

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def one_thread():
    """Spaces this small gain nothing from threads, and lose much where cores are shared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def spiral(n, noise=0.0, seed=0):
    t = np.linspace(0.2, 1, n)
    points = np.column_stack([t * np.cos(6 * t), t * np.sin(6 * t)])
    return points + np.random.default_rng(seed).normal(scale=noise or 1e-12, size=points.shape)


def in_space(points, seed):
    """A plane shape, turned somehow in space."""
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return np.column_stack([points, np.zeros(len(points))]) @ rotation.T


@pytest.mark.parametrize("metric", ["ae", "aw"])
@pytest.mark.parametrize("optimizer", ["adam", "lbfgs"])
def test_the_loss_falls_and_is_that_of_the_points(metric, optimizer):
    spaces = [ao.from_points(in_space(spiral(14, 0.05, seed), seed)) for seed in range(3)]
    weights = [0.5, 0.3, 0.2]
    found = ao.barycenter(spaces, 14, 2, metric, optimizer=optimizer, weights=weights, max_iter=40, rng=0)
    assert found.loss < 0.5 * found.losses[0]
    assert found.loss == found.losses.min() == found.restarts.min()
    if metric == "ae":
        distances = [ao.anchor_energy(found.space, space) for space in spaces]
    else:
        distances = [ao.anchor_wasserstein(found.space, space, epsilon=0).value for space in spaces]
    assert float(np.dot(weights, distances)) == pytest.approx(found.loss, rel=1e-9)


@pytest.mark.parametrize("metric", ["ae", "saw", "aw"])
def test_a_triangle_in_space_is_recovered_in_the_plane(metric):
    corners = np.array([[0, 0], [3, 0], [0, 4.0]])
    found = ao.barycenter([ao.from_points(in_space(corners, 1))], 3, 2, metric, restarts=2, max_iter=200, rng=0)
    sides = np.sort(found.space.cost[np.triu_indices(3, 1)])
    np.testing.assert_allclose(sides, [3, 4, 5], atol=0.05)
    assert found.points.shape == (3, 2)
    np.testing.assert_allclose(found.points.mean(axis=0), 0, atol=1e-12)


def test_a_spiral_in_space_is_recovered_in_the_plane():
    points = spiral(24)
    start = points + np.random.default_rng(0).normal(scale=0.1, size=points.shape)
    found = ao.barycenter([ao.from_points(in_space(points, 2))], 24, 2, "aw", start=start, max_iter=300)
    np.testing.assert_allclose(
        np.sort(found.space.cost, axis=None), np.sort(ao.from_points(points).cost, axis=None), atol=0.05
    )


def test_the_barycenter_of_two_scales_lies_between():
    small, big = (ao.from_points(scale * spiral(15)) for scale in (1, 2))
    sizes = [
        float(ao.barycenter([small, big], 15, weights=weights, max_iter=150, rng=0).space.cost.mean())
        for weights in ([1, 0], [0.5, 0.5], [0, 1])
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_spaces_of_all_sizes_and_weights_go_together():
    spaces = [
        ao.from_points(spiral(10)),
        ao.from_points(spiral(14)),
        ao.from_points(spiral(6), weights=np.arange(1, 7) / 21),
    ]
    for metric in ("ae", "saw", "aw"):
        found = ao.barycenter(spaces, 8, 2, metric, max_iter=30, rng=0)
        assert found.loss < found.losses[0]


def test_a_restart_more_does_no_harm_and_the_seed_decides_all():
    spaces = [ao.from_points(spiral(12, 0.1, seed)) for seed in range(2)]
    one, two = (ao.barycenter(spaces, 12, restarts=restarts, max_iter=40, rng=3) for restarts in (1, 3))
    assert two.loss <= one.loss
    assert len(two.restarts) == 3
    assert two.restarts[0] == one.loss
    again = ao.barycenter(spaces, 12, restarts=3, max_iter=40, rng=3)
    np.testing.assert_array_equal(again.points, two.points)


def test_it_stops_where_the_loss_no_longer_falls():
    found = ao.barycenter([[[0.0]]], 1, max_iter=50, patience=5, rng=0)
    assert found.converged
    assert len(found.losses) == 6


@pytest.mark.parametrize(("terminal", "progress"), [(True, True), (True, False), (False, True)])
def test_progress_is_shown_on_a_terminal_if_asked_for(monkeypatch, capsys, terminal, progress):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    ao.barycenter([np.ones((3, 3))], 3, max_iter=5, progress=progress, rng=0)
    output = capsys.readouterr()
    assert ("of 5 steps" in output.err) == (terminal and progress)
    assert output.out == ""


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], 3), {}, "spaces is empty"),
        (([np.eye(3)], 0), {}, "n_points must be an integer >= 1"),
        (([np.eye(3)], 3), {"metric": "gw"}, "metric must be one of 'ae', 'saw', 'aw'"),
        (([np.eye(3)], 3), {"optimizer": "sgd"}, "optimizer must be one of"),
        (([np.eye(3)], 3), {"weights": [0.5, 0.5]}, r"weights has shape \(2,\), but spaces has 1 points"),
        (([np.eye(3)], 3), {"start": np.ones((3, 3))}, r"start has shape \(3, 3\), but \(3, 2\)"),
        (([np.ones((2, 3))], 3), {}, "a square matrix"),
    ],
)
def test_bad_input_gets_one_clear_line(arguments, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.barycenter(*arguments, **options)


def test_types_come_in_the_proportions_of_the_mean():
    water = ao.Space([[0, 1, 1], [1, 0, 1.5], [1, 1.5, 0]], types=list("OHH"))
    ammonia = ao.Space(1.0 - np.eye(4), types=list("NHHH"))
    # on average 17/24 H, 1/8 N, 1/6 O
    assert mean_types([water, ammonia], np.array([0.5, 0.5]), 24) == tuple("H" * 17 + "N" * 3 + "O" * 4)
    assert mean_types([water, ammonia], np.array([0.5, 0.5]), 8) == tuple("HHHHHHNO")


def test_a_barycenter_of_one_typed_space_is_that_space():
    water = ao.Space([[0, 1, 1], [1, 0, 1.5], [1, 1.5, 0]], types=list("OHH"))
    found = ao.barycenter([water], n_points=3, attributes="types", rng=0, max_iter=150)
    assert sorted(found.space.types) == ["H", "H", "O"]
    assert ao.anchor_energy(found.space, water, attributes="types", max_cost=1.5) == pytest.approx(found.loss, abs=1e-9)
    assert found.loss < 1e-3
    near = ao.barycenter([water], n_points=3, max_cost=1.2, rng=0, max_iter=50)
    assert near.loss == pytest.approx(ao.anchor_energy(near.space, water, max_cost=1.2), abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": "features"}, "attributes of a barycenter must be 'types' or None"),
        ({"attributes": "types"}, r"spaces\[0\] has no types"),
        ({"max_cost": 1.0, "metric": "aw"}, "attributes and max_cost need metric='ae' and p=1"),
        ({"max_cost": 1.0, "p": 2}, "attributes and max_cost need metric='ae' and p=1"),
    ],
)
def test_a_barycenter_refuses_features(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.barycenter([np.eye(3)], 3, **options)


def test_metrics_without_epsilon_refuse_it():
    with pytest.raises(ao.InputError, match=r"metric 'ae' has no epsilon, but got epsilon=0\.1; 'aw' has one"):
        ao.barycenter([1 - np.eye(3)], 3, epsilon=0.1)


# -- a start without chance ----------------------------------------------------------------------------------------


def test_a_typical_start_is_laid_out_like_the_space_in_the_middle():
    points = spiral(12)
    spaces = [ao.from_points(size * in_space(points, seed)) for seed, size in enumerate((0.5, 1.0, 1.6))]
    cloud = typical_cloud(spaces, np.full(3, 1 / 3), 12, 2)
    assert ao.anchor_wasserstein(ao.from_points(cloud), spaces[1], epsilon=0).value < 0.02
    cloud = typical_cloud(spaces, np.array([0.0, 0.1, 0.9]), 12, 3)
    assert ao.anchor_wasserstein(ao.from_points(cloud), spaces[2], epsilon=0).value < 0.02


@pytest.mark.parametrize(("n_points", "dim"), [(5, 2), (12, 3), (30, 2), (2, 4), (1, 2)])
def test_a_typical_start_has_any_size_and_no_two_points_at_one_place(n_points, dim):
    x = ao.from_points(spiral(12), weights=np.arange(12) / 66)
    cloud = typical_cloud([x], np.ones(1), n_points, dim)
    assert cloud.shape == (n_points, dim)
    assert len(np.unique(cloud, axis=0)) == n_points


def test_a_typical_start_needs_no_random_numbers():
    spaces = [ao.from_points(spiral(12, 0.1, seed)) for seed in range(4)]
    one, two = (ao.barycenter(spaces, 12, start="typical", max_iter=30, rng=rng) for rng in (0, 1))
    np.testing.assert_array_equal(one.points, two.points)
    assert one.losses[0] < 0.5 * ao.barycenter(spaces, 12, max_iter=1, rng=0).losses[0]
    with pytest.raises(ao.InputError, match="start must be one of 'typical', but got 'near'"):
        ao.barycenter(spaces, 12, start="near")
