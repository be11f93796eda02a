"""Alignments of networks: which node is which, by properties that hold on every path of the search."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

import anchorot as ao
from tests import reference
from tests.align.graphs.networks import aligned, edges_of, lopsided, noisy, pairs_of_matrices
from tests.strategies import examples

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


@examples(25)
@given(pairs_of_matrices(most=5))
def test_small_networks_are_aligned_as_well_as_by_trying_all_matchings(pair):
    x, y, directed = pair
    small, large = (x, y) if len(x) <= len(y) else (y, x)
    scale = 1 if directed else 2

    def worth(matches):
        loops = 0 if directed else float((small.diagonal() * large.diagonal()[list(matches)]).sum())
        return (reference.common_weight(small, large, matches) + loops) / scale

    best = max(map(worth, itertools.permutations(range(len(large)), len(small))))
    least = edges_of(x, directed) + edges_of(y, directed) - 2 * best
    assert aligned(x, y, directed).objective <= least + 0.8 * best + 1e-6  # a heuristic; nearly always it is the best


def test_most_small_networks_are_aligned_best():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(20):
        x, y = (np.triu(rng.random((k, k)) < 0.5, 1) * 1.0 for k in (5, 6))
        x, y = x + x.T, y + y.T
        best = max(reference.common_weight(x, y, m) for m in itertools.permutations(range(6), 5)) / 2
        hits += aligned(x, y).objective <= edges_of(x, False) + edges_of(y, False) - 2 * best + 1e-6
    assert hits >= 18


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("directed", [False, True])
def test_a_shuffled_copy_of_a_network_without_symmetries_is_found_exactly(seed, directed):
    graph = lopsided(40, seed)
    matrix = nx.to_numpy_array(graph)
    rng = np.random.default_rng(seed)
    if directed:
        matrix = np.where(rng.random(matrix.shape) < 0.8, matrix, 0)
    order = rng.permutation(40)
    found = aligned(matrix, matrix[np.ix_(order, order)], directed)
    np.testing.assert_array_equal(order[found.matches], np.arange(40))
    assert found.is_settled
    assert found.s3 == 1


def test_relabelling_either_network_permutes_the_answer():
    first, second = lopsided(40, 1), noisy(lopsided(40, 1), 0.1, 2)
    x, y = nx.to_numpy_array(first), nx.to_numpy_array(second)
    found = aligned(x, y)
    rng = np.random.default_rng(0)
    for _ in range(3):
        p, q = rng.permutation(40), rng.permutation(40)
        moved = aligned(x[np.ix_(p, p)], y[np.ix_(q, q)])
        np.testing.assert_array_equal(q[moved.matches], found.matches[p])
        np.testing.assert_allclose(moved.confidence, found.confidence[p], atol=1e-6)
        assert moved.common_edges == found.common_edges


def test_networks_in_the_other_order_have_the_inverse_matching():
    small = lopsided(30, 4)
    large = noisy(small, 0.05, 0)
    large.add_edges_from([(30 + k, k) for k in range(6)])
    one, other = (ao.align_graphs(*pair, rng=0) for pair in ((small, large), (large, small)))
    assert one.common_edges == other.common_edges
    back = other.matches[one.matches]
    assert np.mean(back == np.arange(30)) > 0.9
    assert (other.matches == -1).sum() == 6
    assert (other.confidence[other.matches == -1] == 0).all()


def test_a_network_is_found_in_a_larger_one_that_holds_it():
    large = nx.gnp_random_graph(120, 0.06, seed=3)
    kept = np.random.default_rng(0).permutation(120)[:72].tolist()
    found = ao.align_graphs(large.subgraph(kept), large, rng=0)
    assert found.edge_correctness == found.induced_conserved_structure == 1
    assert np.mean([own == other for own, other in found.pairs()]) > 0.95


def test_nodes_without_edges_and_networks_without_any_are_aligned():
    nothing = csr_array((4, 4))
    found = ao.align_graphs(nothing, nothing, rng=0)
    assert sorted(found.matches.tolist()) == [0, 1, 2, 3]
    assert found.common_edges == 0
    assert np.isnan(found.s3)
    assert len(set(found.twins[0])) == 1
    assert found.is_settled
    parts = nx.disjoint_union(lopsided(20, 2), nx.path_graph(3))
    parts.add_nodes_from(["alone", "too"])
    order = np.random.default_rng(1).permutation(25)
    matrix = nx.to_numpy_array(parts)
    found = aligned(matrix, matrix[np.ix_(order, order)])
    assert found.s3 == 1
    assert found.hits(np.argsort(order)).up_to_twins > 0.9


def test_hubs_of_many_nodes_take_no_more_memory_than_others():
    from anchorot.align.graphs.messages import count_messages
    from anchorot.align.graphs.problem import Problem

    star, ring = (
        csr_array(nx.to_scipy_sparse_array(g, format="csr")) for g in (nx.star_graph(400), nx.cycle_graph(400))
    )
    assert count_messages(Problem(ring, ring)) == 800 * 800 + 16 * 2 * 2
    assert count_messages(Problem(star, star)) > 10 * count_messages(Problem(ring, ring))
    found = ao.align_graphs(nx.star_graph(300), nx.star_graph(300), rng=0)
    assert found.common_edges == 300


def test_directions_tell_nodes_apart():
    ring = nx.cycle_graph(5, create_using=nx.DiGraph)
    ring.add_edge(0, "tail")
    turned = ring.reverse()
    assert ao.align_graphs(ring, ring, rng=0).common_edges == 6
    assert ao.align_graphs(ring, turned, rng=0).common_edges == 5
    assert ao.align_graphs(ring, turned, directed=False, rng=0).common_edges == 6


def test_nodes_of_different_types_are_never_matched():
    graph = lopsided(30, 5)
    rng = np.random.default_rng(0)
    kinds = rng.choice(list("abc"), 30).tolist()
    others = rng.permutation(kinds).tolist()
    found = ao.align_graphs(graph, graph, types=(kinds, others), rng=0)
    assert all(kinds[i] == others[j] for i, j in found.pairs())
    assert (found.matches >= 0).all()
    nx.set_node_attributes(graph, dict(enumerate(kinds)), "kind")
    same = ao.align_graphs(graph, graph, types="kind", rng=0)
    np.testing.assert_array_equal(same.matches, np.arange(30))
    lacking = ao.align_graphs(graph, graph, types=(kinds, ["a"] * 30), rng=0)
    assert (lacking.matches >= 0).sum() == kinds.count("a")
    assert all(kinds[i] == "a" for i, _ in lacking.pairs())


def test_seeds_are_kept_and_break_symmetries():
    ring = nx.cycle_graph(12)
    found = ao.align_graphs(ring, ring, seeds=[(0, 3), (1, 4)], rng=0)
    np.testing.assert_array_equal(found.matches, (np.arange(12) + 3) % 12)
    wrong = ao.align_graphs(lopsided(30, 5), lopsided(30, 5), seeds=[(0, 7)], rng=0)
    assert dict(wrong.pairs())[0] == 7


def test_features_tell_what_edges_do_not():
    ring = nx.cycle_graph(10)
    height = np.cos(np.arange(10) + 0.3)[:, None]
    order = np.random.default_rng(0).permutation(10)
    shuffled = csr_array(nx.to_numpy_array(ring)[np.ix_(order, order)])
    found = ao.align_graphs(ring, shuffled, features=(height, height[order]), rng=0)
    np.testing.assert_array_equal(order[found.matches], np.arange(10))


def test_a_part_of_the_mass_leaves_the_least_sure_nodes_out():
    first, second = lopsided(40, 1), noisy(lopsided(40, 1), 0.2, 2)
    whole, part = (ao.align_graphs(first, second, mass=mass, rng=0) for mass in (None, 0.5))
    kept = part.matches >= 0
    assert kept.sum() == 20
    np.testing.assert_array_equal(part.matches[kept], whole.matches[kept])
    assert whole.confidence[kept].min() >= whole.confidence[~kept].max() - 1e-12
    assert ao.align_graphs(first, second, mass=0, rng=0).common_edges == 0


def test_threads_change_no_bit():
    x, y = (
        nx.to_numpy_array(nx.gnp_random_graph(40, 0.12, seed=1)),
        nx.to_numpy_array(nx.gnp_random_graph(40, 0.12, seed=2)),
    )
    one, three = (aligned(x, y, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.matches, three.matches)
    assert [s.objective for s in one.candidates] == [s.objective for s in three.candidates]


def test_noise_that_hides_paths_does_not_hide_nodes():
    rng = np.random.default_rng(11)
    n, p, noise = 200, 4 / 200, 0.2
    upper = np.triu(rng.random((n, n)) < p, 1)
    kept = upper & (rng.random((n, n)) >= noise)
    new = np.triu(rng.random((n, n)) < p * noise / (1 - p), 1) & ~upper
    x, y = (matrix | matrix.T for matrix in (upper, kept | new))
    order = rng.permutation(n)
    found = aligned(x * 1.0, y[np.ix_(order, order)] * 1.0)
    assert found.common_edges >= kept.sum()
    assert np.mean(order[found.matches] == np.arange(n)) > 0.8


def test_nobody_is_sure_of_nodes_that_are_alike():
    star = nx.star_graph(6)
    found = ao.align_graphs(star, star, rng=0)
    assert found.confidence[1:].max() <= 1 / 6
    grid = nx.grid_2d_graph(9, 9)  # eight symmetries
    assert ao.align_graphs(grid, grid, rng=0).confidence.mean() < 0.35


@pytest.mark.system
def test_confidence_is_the_share_of_right_matches():
    """On networks of a kind, a size and a noise that it was not fitted to."""
    sure, right = [], []
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        graph = nx.connected_watts_strogatz_graph(350, 4, 0.8, seed=seed)
        matrix = nx.to_numpy_array(noisy(graph, 0.05 + 0.03 * seed, seed))
        order = rng.permutation(350)
        found = aligned(nx.to_numpy_array(graph), matrix[np.ix_(order, order)])
        sure.append(found.confidence)
        right.append(order[found.matches] == np.arange(350))
    sure, right = np.concatenate(sure), np.concatenate(right)
    bins = np.digitize(sure, [0.1, 0.5, 0.9])
    gaps = [abs(sure[bins == k].mean() - right[bins == k].mean()) * np.mean(bins == k) for k in range(4)]
    assert sum(gaps) < 0.12
    assert right[sure > 0.9].mean() > 0.95
    assert right[sure < 0.1].mean() < 0.1


def test_a_device_finds_what_the_kernels_find():
    pytest.importorskip("torch")
    first, second = lopsided(40, 1), noisy(lopsided(40, 1), 0.1, 2)
    here, there = (ao.align_graphs(first, second, rng=0, device=device) for device in (None, "cpu"))
    assert there.common_edges == here.common_edges
    assert np.mean(here.matches == there.matches) > 0.9
