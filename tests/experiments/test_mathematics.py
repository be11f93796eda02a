"""The mathematics that experiments do on their own: queries made from shapes, and scores of alignments."""

import numpy as np
import pytest

from tests.requirements import GOLDEN

SIDE = 60


@pytest.fixture
def mesh():
    from experiments.robustness.shapes import Mesh

    number = np.arange(SIDE**2).reshape(SIDE, SIDE)
    corner, right, below = number[:-1, :-1].ravel(), number[:-1, 1:].ravel(), number[1:, :-1].ravel()
    places = np.argwhere(number >= 0) / SIDE
    return Mesh(np.column_stack([places, np.zeros(SIDE**2)]), np.column_stack([corner, right, below]))


def test_query_of_scale_is_the_shape_in_another_size(mesh):
    from experiments.robustness.shapes import query

    found = query(mesh, 5, "scale", np.random.default_rng(0))
    assert found.diagonal == pytest.approx(0.5 * mesh.diagonal)
    np.testing.assert_allclose(found.vertices, 0.5 * mesh.vertices)


def test_noise_of_a_query_is_along_normals_and_a_share_of_its_size(mesh):
    from experiments.robustness.shapes import SCALES, query

    for level in (1, 5):
        found = query(mesh, level, "scale + noise", np.random.default_rng(0))
        moved = found.vertices[:-1] - SCALES[level] * mesh.vertices[:-1]  # the last is of no face
        sigma = np.sqrt(3) * 3.43e-4 * (3 * level + 1) * SCALES[level] * mesh.diagonal
        assert (moved[:, :2] == 0).all()
        assert moved[:, 2].std() == pytest.approx(sigma, rel=0.05)


def test_scale_and_noise_are_measured_though_vertices_are_shuffled(mesh):
    from experiments.robustness.official import noise_between, scale_between
    from experiments.robustness.shapes import Mesh

    noisy = mesh.noisy(0.01, np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(SIDE**2)
    shuffled = Mesh(noisy.vertices[order], np.argsort(order)[noisy.faces])
    assert noise_between(mesh, shuffled) == pytest.approx(0.01, rel=0.05)
    assert scale_between(mesh, mesh.scaled(0.7)) == pytest.approx(0.7)


def test_perfect_alignment_has_nothing_closer_than_the_true_match():
    from experiments.beyond.cells import foscttm

    points = np.random.default_rng(0).normal(size=(20, 3))
    assert (foscttm(points, points) == 0).all()


def test_closer_cells_are_counted_in_both_directions():
    from experiments.beyond.cells import foscttm

    # nothing is closer to 0 than its match 2, but 1.9 is closer to 2; to 1.9 the 2 is closer than its match 2.1
    found = foscttm(np.array([[0.0], [1.9], [5.0]]), np.array([[2.0], [2.1], [5.0]]))
    np.testing.assert_allclose(found, [1 / 4, 1 / 4, 0])


def test_the_true_plan_scores_perfectly_and_the_product_plan_by_chance():
    from experiments.beyond.cells import Pair, plan_scores

    rng = np.random.default_rng(0)
    types = np.array(["a", "b"] * 30)
    profiles = rng.normal(size=(60, 3)) + 9 * (types == "a")[:, None]
    pair = Pair("P", ("one", "two"), profiles, profiles, types, 5, 1e-3)
    closer, batches, transfer = plan_scores(pair, np.eye(60) / 60)
    assert (batches == 0).all()
    assert (closer.mean, closer.error, transfer.mean, transfer.error) == (0, 0, 1, 0)
    closer, _, transfer = plan_scores(pair, np.full((60, 60), 1 / 3600))
    assert abs(closer.mean - 0.5) < 0.01
    assert (transfer.mean, transfer.error) == (0.5, pytest.approx(np.sqrt(0.25 / 59)))


def test_loss_of_a_plan_is_the_sum_over_pairs_of_pairs():
    import anchorot as ao
    from experiments.beyond.cell_plans import gromov_loss

    rng = np.random.default_rng(0)
    x, y = (ao.from_points(rng.normal(size=(n, 2))) for n in (5, 4))
    plan = rng.dirichlet(np.ones(20)).reshape(5, 4)
    squares = (x.cost[:, :, None, None] - y.cost[None, None]) ** 2
    assert gromov_loss(x, y, plan) == pytest.approx(np.einsum("ijkl,ik,jl", squares, plan, plan))


def test_the_product_coupling_is_at_zero_and_a_matching_far_from_it():
    from experiments.node_assignment.scores import distance_from_product

    assert distance_from_product(np.full((8, 8), 1 / 64)) == pytest.approx(0)
    assert distance_from_product(np.eye(8)) == pytest.approx(1 - 1 / 8)


def test_katz_of_a_small_share_ranks_by_degree_and_then_by_neighbours():
    import networkx as nx

    from experiments.node_assignment.matchings import katz

    graph = nx.path_graph(5)
    found = katz(graph, 0.1)
    assert found[2] > found[1] == pytest.approx(found[3])
    assert found[1] > found[0] == pytest.approx(found[4])


def test_nearest_other_is_never_the_neuron_itself():
    from experiments.beyond.neurons import leave_one_out

    matrix = np.array([[0, 1, 9], [1, 0, 9], [9, 8, 0.0]])
    assert leave_one_out(matrix, np.array(["a", "a", "b"])).tolist() == [1, 1, 0]


@pytest.mark.system  # it compiles
def test_the_papers_sweep_line_gives_the_energy_for_any_weights_and_what_its_authors_program_prints():
    import anchorot as ao
    from experiments.scalability.sl_ae import expected_cost, paper_energy

    rng = np.random.default_rng(0)
    for n, m in [(1, 1), (1, 4), (6, 5), (40, 31)]:
        clouds = (ao.from_points(rng.normal(size=(k, 2)), weights=rng.dirichlet(np.ones(k))) for k in (n, m))
        x, y = (ao.Space(np.round(cloud.cost, 1), cloud.weights) for cloud in clouds)  # with ties
        assert paper_energy(x, y) == pytest.approx(ao.anchor_energy(x, y), abs=1e-12)
    authors = [ao.read(GOLDEN / f"authors_{k}.txt") for k in (1, 2)]
    assert expected_cost(*authors) == pytest.approx(19.842169, abs=5e-7)
