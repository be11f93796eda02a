"""Alignments of networks: which node is which, by properties that hold on every path of the search."""

import itertools
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import anchorot as ao
from tests import reference
from tests.strategies import examples

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:the matching is no better than chance")


@st.composite
def matrices(draw, most=7, directed=False, weighted=False):
    """Any small network as a matrix: loops, several parts, nodes without edges."""
    n = draw(st.integers(1, most))
    weights = st.sampled_from([0, 0, 0.5, 1.0, 3.0]) if weighted else st.sampled_from([0, 0, 1.0])
    matrix = np.array(draw(st.lists(weights, min_size=n * n, max_size=n * n))).reshape(n, n)
    return matrix if directed else np.triu(matrix) + np.triu(matrix, 1).T


@st.composite
def pairs_of_matrices(draw, most=7):
    directed, weighted = draw(st.booleans()), draw(st.booleans())
    return *(draw(matrices(most, directed, weighted)) for _ in range(2)), directed


def aligned(x, y, directed=False, **options):
    return ao.align_graphs(csr_array(x), csr_array(y), directed=directed, weight=True, **{"rng": 0} | options)


def lopsided(n, seed, share=0.15):
    """A connected random graph without symmetries."""
    for more in itertools.count():
        graph = nx.gnp_random_graph(n, share, seed=seed + 1000 * more)
        colour = dict(graph.degree)
        for _ in range(6):  # nodes that refinement tells apart are not exchanged by any symmetry
            colour = {i: hash((colour[i], *sorted(colour[k] for k in graph[i]))) for i in graph}
        if nx.is_connected(graph) and len(set(colour.values())) == n:
            return graph
    return None


def noisy(graph, share, seed):
    """The graph without some edges, and with as many others."""
    rng = np.random.default_rng(seed)
    edges = list(graph.edges)
    lost = rng.permutation(len(edges))[: int(share * len(edges))]
    changed = graph.copy()
    changed.remove_edges_from([edges[e] for e in lost])
    others = list(nx.non_edges(graph))
    changed.add_edges_from([others[e] for e in rng.permutation(len(others))[: len(lost)]])
    return changed


@examples(60)
@given(pairs_of_matrices())
def test_common_edges_and_scores_are_those_of_the_matches_counted_one_by_one(pair):
    x, y, directed = pair
    found = aligned(x, y, directed)
    n, m = len(x), len(y)
    kept = found.matches[found.matches >= 0]
    assert len(kept) == len(set(kept.tolist())) == min(n, m)
    common = reference.common_edges(x, y, found.matches, directed)
    assert found.common_edges == common
    assert found.pairs() == [(i, j) for i, j in enumerate(found.matches.tolist()) if j >= 0]
    small, large, used = (x, y, kept) if n <= m else (y, x, np.flatnonzero(found.matches >= 0))

    def count(matrix):
        return int((matrix != 0).sum()) if directed else int((np.triu(matrix) != 0).sum())

    induced = large[np.ix_(used, used)]
    expected = [common / whole if whole else np.nan for whole in (count(small), count(induced))]
    np.testing.assert_allclose([found.edge_correctness, found.induced_conserved_structure], expected)
    either = count(small) + count(induced) - common
    np.testing.assert_allclose(found.s3, common / either if either else np.nan)


def edges_of(matrix, directed):
    """Sum of squared weights of the edges, each counted once."""
    squares = np.square(matrix)
    return float(squares.sum() if directed else (squares.sum() + squares.diagonal().sum()) / 2)


@examples(60)
@given(pairs_of_matrices())
def test_the_objective_is_that_of_the_matches_and_never_below_any_start(pair):
    x, y, directed = pair
    found = aligned(x, y, directed)
    matched = np.flatnonzero(found.matches >= 0)
    part = x[np.ix_(matched, matched)]
    weight = reference.common_weight(part, y, found.matches[matched])
    loops = float((part.diagonal() * y.diagonal()[found.matches[matched]]).sum())
    common = weight if directed else (weight + loops) / 2
    assert found.objective == pytest.approx(edges_of(x, directed) + edges_of(y, directed) - 2 * common, rel=1e-5)
    assert [one.objective for one in found.candidates] == sorted(one.objective for one in found.candidates)
    assert found.objective == found.candidates[0].objective


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


def test_all_kinds_of_graphs_of_one_network_give_one_answer(tmp_path):
    torch = pytest.importorskip("torch")
    graph, other = lopsided(25, 7), noisy(lopsided(25, 7), 0.1, 1)
    edges = np.array(graph.edges)
    path = tmp_path / "a.edgelist"
    path.write_text("\n".join(f"{i} {k}" for i, k in edges))
    nx.write_graphml(graph, tmp_path / "a.graphml")
    given_as = [
        nx.Graph(sorted(graph.edges)),
        edges,
        edges.tolist(),
        torch.as_tensor(edges),
        np.concatenate([edges, edges[:5], edges[:, ::-1]]),  # edges may be said twice
        csr_array(nx.to_numpy_array(graph, nodelist=range(25))),
        path,
        str(tmp_path / "a.graphml"),
    ]
    results = [sorted((int(i), int(j)) for i, j in ao.align_graphs(g, other, rng=0).pairs()) for g in given_as]
    assert all(result == results[0] for result in results)


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
    assert found.hits(np.argsort(order)) > 0.9


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


def test_loops_count_as_edges():
    path = [("a", "b"), ("b", "c")]
    found = ao.align_graphs([*path, ("a", "a")], [*path, ("c", "c")], rng=0)
    assert found.common_edges == 3
    assert dict(found.pairs()) == {"a": "c", "b": "b", "c": "a"}


def test_of_parallel_edges_the_heaviest_counts_and_weights_of_zero_are_no_edges():
    first = [("a", "b", 1.0), ("b", "a", 5.0), ("b", "c", 2.0), ("a", "c", 0.0)]
    found = ao.align_graphs(first, [("a", "b", 2.0), ("b", "c", 5.0)], weight=True, rng=0)
    assert found.graphs[0].toarray().tolist() == [[0, 5, 0], [5, 0, 2], [0, 2, 0]]
    assert dict(found.pairs()) == {"a": "c", "b": "b", "c": "a"}
    assert found.objective == pytest.approx(5**2 + 2**2 + 2**2 + 5**2 - 2 * (5 * 5 + 2 * 2))


def test_weights_of_any_size_change_nothing():
    x, y = nx.to_numpy_array(lopsided(20, 3)), nx.to_numpy_array(noisy(lopsided(20, 3), 0.1, 1))
    plain = aligned(x, y).matches
    for scale in (1e-200, 1e150):
        np.testing.assert_array_equal(aligned(x * scale, y).matches, plain)


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


def test_twins_are_nodes_that_can_be_exchanged():
    star = nx.star_graph(4)
    found = ao.align_graphs(star, star, rng=1)
    assert len(set(found.twins[0][1:])) == 1
    assert found.twins[0][0] != found.twins[0][1]
    assert found.hits(np.arange(5)) == 1
    clique = nx.complete_graph(4)
    clique.add_edge(0, 9)
    classes = ao.align_graphs(clique, clique, rng=0).twins[0]
    assert len(set(classes[1:4])) == 1
    assert len(set(classes)) == 3
    typed = ao.align_graphs(star, star, types=(list("xaabb"), list("xaabb")), rng=0)
    assert len(set(typed.twins[0][1:])) == 2
    for graph in (star, clique, nx.karate_club_graph()):
        matrix = nx.to_numpy_array(graph, weight=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.InputWarning)
            classes = ao.align_graphs(graph, graph, rng=0).twins[0]
        for i, k in itertools.combinations(range(len(matrix)), 2):
            order = np.arange(len(matrix))
            order[[i, k]] = k, i
            is_symmetry = (matrix[np.ix_(order, order)] == matrix).all()
            assert is_symmetry == (classes[i] == classes[k])


def test_what_one_network_has_is_carried_over_to_the_other(tmp_path):
    graph = lopsided(20, 9)
    found = ao.align_graphs(graph, graph, rng=0)
    labels, share = found.transfer([f"node {i}" for i in range(20)])
    assert labels.tolist() == [f"node {i}" for i in range(20)]
    assert (share == 1).all()
    np.testing.assert_allclose(found.project(np.arange(20.0)), np.arange(20))
    found.write(tmp_path / "map.txt")
    np.testing.assert_array_equal(ao.read_matches(tmp_path / "map.txt"), found.matches)
    np.testing.assert_allclose(found.plan, np.eye(20) / 20)
    assert ao.alignment_scores(found, truth=np.arange(20)).hits == 1


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


BAD = {
    "no nodes": (([], [(0, 1)]), {}, "has no nodes"),
    "a file that is none": (("nothing.edgelist", [(0, 1)]), {}, "nothing.edgelist"),
    "mass above 1": (([(0, 1)], [(0, 1)]), {"mass": 2}, "mass must be a share"),
    "an unknown seed": (([(0, 1)], [(0, 1)]), {"seeds": [(0, 7)]}, "seeds has the node 7"),
    "a seed twice": (([(0, 1)], [(0, 1)]), {"seeds": [(0, 1), (0, 0)]}, "in several pairs"),
    "a seed that is no pair": (([(0, 1)], [(0, 1)]), {"seeds": [5]}, "seeds must be pairs"),
    "types of one side": (([(0, 1)], [(0, 1)]), {"types": [1, 2]}, "or a pair"),
    "types of other sizes": (([(0, 1)], [(0, 1)]), {"types": (["a", "b"], ["a", "b", "c"])}, "types has 3 entries"),
    "features that differ": (([(0, 1)], [(0, 1)]), {"features": ([[0], [1]], [[0, 1], [1, 2]])}, "columns"),
    "negative weights": (([(0, 1, -1.0)], [(0, 1, 1.0)]), {"weight": True}, "must not be negative"),
    "NaN weights": (([(0, 1, float("nan"))], [(0, 1, 1.0)]), {"weight": True}, "edge lengths"),
    "no graph": ((5, [(0, 1)]), {}, "got an int"),
    "a device that is none": (([(0, 1)], [(0, 1)]), {"device": "tpu"}, "device must be"),
    "no threads": (([(0, 1)], [(0, 1)]), {"threads": 0}, "threads"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_line(name):
    graphs, options, said = BAD[name]
    with pytest.raises((ao.InputError, OSError)) as error:
        ao.align_graphs(*graphs, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_weights_that_are_not_used_are_noted():
    with pytest.warns(ao.InputWarning, match="the first graph has edges with weights"):
        ao.align_graphs([(0, 1, 2.0)], [(0, 1)])


def test_candidates_have_what_confidence_leaves():
    first, second = lopsided(30, 1), noisy(lopsided(30, 1), 0.3, 2)
    found = ao.align_graphs(first, second, rng=0)
    np.testing.assert_allclose(found.soft().sum(axis=1), 1)
    np.testing.assert_allclose(found.soft()[np.arange(30), found.matches], found.confidence)
    part = ao.align_graphs(second, first.subgraph(range(20)), mass=0.5, rng=0)
    assert part.soft().shape == (30, 20)
    np.testing.assert_allclose(part.soft().sum(axis=0), np.isin(np.arange(20), part.matches))


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


@pytest.mark.parametrize("seeds", [3, "ab", [3], [(0, 99)], {0: 1}])
def test_seeds_that_are_no_pairs_of_nodes_are_one_line(seeds):
    graph = nx.karate_club_graph()
    with pytest.raises(ao.InputError, match=r"^seeds[^\n]*$"):
        ao.align_graphs(graph, graph, seeds=seeds, weight=False)
