"""What a matching of networks says: scores, twins, candidates, and what it carries over."""

import itertools
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import anchorot as ao
from tests import reference
from tests.align.graphs.networks import aligned, edges_of, lopsided, noisy, pairs_of_matrices
from tests.strategies import examples

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


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


def test_twins_are_nodes_that_can_be_exchanged():
    star = nx.star_graph(4)
    found = ao.align_graphs(star, star, rng=1)
    assert len(set(found.twins[0][1:])) == 1
    assert found.twins[0][0] != found.twins[0][1]
    assert found.hits(np.arange(5)).up_to_twins == 1
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


def test_candidates_have_what_confidence_leaves():
    first, second = lopsided(30, 1), noisy(lopsided(30, 1), 0.3, 2)
    found = ao.align_graphs(first, second, rng=0)
    np.testing.assert_allclose(found.soft().sum(axis=1), 1)
    np.testing.assert_allclose(found.soft()[np.arange(30), found.matches], found.confidence)
    part = ao.align_graphs(second, first.subgraph(range(20)), mass=0.5, rng=0)
    assert part.soft().shape == (30, 20)
    np.testing.assert_allclose(part.soft().sum(axis=0), np.isin(np.arange(20), part.matches))
