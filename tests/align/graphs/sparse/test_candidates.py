"""Rounds of candidates: when they end, and which ways are tried at which size."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import anchorot as ao
from anchorot.align.graphs import candidates
from anchorot.align.graphs.candidates import Ways, choose_ways
from anchorot.align.graphs.sparse.candidates import has_stalled


def test_rounds_end_once_they_gain_little_and_sooner_where_beliefs_are_sure():
    assert not has_stalled([0, 0], 0.3)
    assert not has_stalled([0, 100, 150], 0.9)
    assert has_stalled([0, 100, 100.01], 0.9)
    assert not has_stalled([0, 100, 100.01], 0.3)
    assert has_stalled([0, 100, 100.01, 90, 100.015], 0.3)
    assert not has_stalled([0, 100, 90, 95, 110], 0.3)
    assert has_stalled([0, 0, 0, 0], 0.3)


@pytest.mark.parametrize(
    ("size", "is_sparse", "needs_all_pairs", "ways"),
    [
        (3000, None, False, Ways.DENSE),
        (3001, None, False, Ways.SPARSE_FIRST),
        (5001, None, False, Ways.SPARSE),
        (5001, None, True, Ways.DENSE),
        (10, True, False, Ways.SPARSE),
        (10**6, False, False, Ways.DENSE),
    ],
)
def test_the_size_chooses_what_is_tried(size, is_sparse, needs_all_pairs, ways):
    assert choose_ways(size, is_sparse, needs_all_pairs) is ways


@pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")
@pytest.mark.parametrize(("lost", "is_enough"), [(0.05, True), (0.5, False)])
def test_all_pairs_are_compared_where_few_candidates_do_not_end_well(lost, is_enough, monkeypatch):
    monkeypatch.setattr(candidates, "ALL_PAIRS", 50)
    monkeypatch.setattr(candidates, "FEW_CANDIDATES", 500)
    graph = nx.watts_strogatz_graph(120, 6, 0.05, seed=1)
    edges, rng = np.array(graph.edges), np.random.default_rng(1)
    new = rng.integers(0, 120, (len(edges), 2))
    moved = np.where(rng.random(len(edges))[:, None] < lost, new, edges)
    other = nx.empty_graph(120)
    other.add_edges_from(moved[moved[:, 0] != moved[:, 1]].tolist())
    pair = [csr_array(nx.to_numpy_array(own)) for own in (graph, other)]
    found = ao.align_graphs(*pair, rng=0)
    names = [one.name for one in found.candidates]
    assert "candidates" in names
    assert (len(names) == 1) is is_enough
