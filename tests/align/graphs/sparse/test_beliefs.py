"""Messages between candidate pairs: links, against all pairs of edges; messages, against their naive form."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot._kernels.records import PairRows
from anchorot.align.graphs.messages import Edges, cycle_scores, likelihood_ratios
from anchorot.align.graphs.sparse.beliefs import scaled, sparse_cycle_scores
from anchorot.align.graphs.sparse.pairs import pair_rows, rows_of
from tests import reference
from tests.align.graphs.networks import network

SETS = ((kernels, 1), (kernels, 3), (numpy_kernels, 1))


def candidates(sizes, share, seed):
    """Some pairs of nodes of two networks with their edges."""
    n, m = sizes
    sides = [Edges.of(network(size, seed + k, 0.3), False) for k, size in enumerate(sizes)]
    names = np.flatnonzero(np.random.default_rng(seed).random(n * m) < share)
    return sides, pair_rows(names, n, m)


def edges_of(side):
    tails = np.repeat(np.arange(len(side.start) - 1), np.diff(side.start))
    return list(zip(tails.tolist(), side.neighbour.tolist(), strict=True))


@pytest.mark.parametrize(("sizes", "share"), [((4, 5), 1.0), ((12, 19), 0.4), ((20, 15), 0.1), ((6, 6), 0.0)])
def test_links_are_pairs_of_edges_whose_ends_are_candidates(sizes, share):
    sides, pairs = candidates(sizes, share, 3)
    place = {pair: p for p, pair in enumerate(zip(rows_of(pairs).tolist(), pairs.column.tolist(), strict=True))}
    edges = [edges_of(side) for side in sides]
    wanted = sorted(
        (place[i, j], e, f, place[k, l])
        for e, (i, k) in enumerate(edges[0])
        for f, (j, l) in enumerate(edges[1])
        if (i, j) in place and (k, l) in place
    )
    for own, threads in SETS:
        links = own.link_pairs(*(side.rows() for side in sides), pairs, threads)
        owner = np.repeat(np.arange(len(place)), np.diff(links.start))
        found = list(zip(owner, links.first_edge, links.second_edge, links.target, strict=True))
        assert found == wanted
        np.testing.assert_array_equal(
            own.count_links(*(side.rows() for side in sides), pairs, threads), np.diff(links.start)
        )
        for at, back in enumerate(links.reverse):
            assert links.reverse[back] == at
            assert links.target[back] == owner[at]
            assert edges[0][links.first_edge[back]] == edges[0][links.first_edge[at]][::-1]
            assert edges[1][links.second_edge[back]] == edges[1][links.second_edge[at]][::-1]


@pytest.mark.parametrize(("sizes", "share"), [((4, 5), 1.0), ((9, 14), 1.0), ((12, 15), 0.3)])
def test_messages_are_those_of_the_naive_form_with_a_plan_of_candidates(sizes, share):
    sides, pairs = candidates(sizes, share, 1)
    rng = np.random.default_rng(0)
    ratios = likelihood_ratios(*sides) * np.float32(3)
    records = [side.rows() for side in sides]
    links = kernels.link_pairs(*records, pairs, 1)
    plan = rng.random(len(pairs.column), np.float32)
    said = rng.random(len(links.target), np.float32)
    dense = np.zeros(sizes)
    dense[rows_of(pairs), pairs.column] = plan
    numbers = [{edge: e for e, edge in enumerate(edges_of(side))} for side in sides]
    owner = np.repeat(np.arange(len(plan)), np.diff(links.start))
    free = {(e, f): said[at] for at, (e, f) in enumerate(zip(links.first_edge, links.second_edge, strict=True))}
    kinds = [record.kind for record in records]
    evidence, messages = reference.pass_messages(
        *(
            [side.neighbour[side.start[i] : side.start[i + 1]].tolist() for i in range(size)]
            for side, size in zip(sides, sizes, strict=True)
        ),
        lambda i, k, j, l: ratios[kinds[0][numbers[0][i, k]], kinds[1][numbers[1][j, l]]],
        dense,
        lambda k, i, l, j: free.get((numbers[0][k, i], numbers[1][l, j]), 0.0),
        2,
    )
    edges = [edges_of(side) for side in sides]
    for own, threads in SETS:
        found, now = own.pass_pair_messages(*records, pairs, links, ratios, plan, said, 2, threads)
        for p, pair in enumerate(zip(rows_of(pairs).tolist(), pairs.column.tolist(), strict=True)):
            assert found[p] == pytest.approx(evidence[pair], rel=1e-4, abs=1e-5)
        for at, p in enumerate(owner):
            (i, k), (j, l) = edges[0][links.first_edge[at]], edges[1][links.second_edge[at]]
            assert (i, j) == (rows_of(pairs)[p], pairs.column[p])
            assert now[at] == pytest.approx(messages[i, k, j, l], rel=1e-4, abs=1e-6)


def test_threads_change_no_bit_of_messages():
    sides, pairs = candidates((60, 70), 0.2, 5)
    records = [side.rows() for side in sides]
    ratios = likelihood_ratios(*sides)
    links = kernels.link_pairs(*records, pairs, 1)
    rng = np.random.default_rng(1)
    plan, said = rng.random(len(pairs.column), np.float32), rng.random(len(links.target), np.float32)
    one, three = (kernels.pass_pair_messages(*records, pairs, links, ratios, plan, said, 2, k) for k in (1, 3))
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "graph", [nx.petersen_graph(), nx.gnp_random_graph(40, 0.2, seed=1), nx.star_graph(6), nx.empty_graph(3)]
)
def test_cycles_through_edges_are_counted_without_all_pairs_of_nodes(graph):
    matrix = csr_array(nx.to_numpy_array(graph).astype(np.float32))
    matrix.sort_indices()
    np.testing.assert_allclose(sparse_cycle_scores(matrix), cycle_scores(matrix), atol=1e-9)


def test_plans_have_rows_and_columns_of_one_at_most():
    pairs = PairRows(np.array([0, 2, 2, 5], np.int32), np.array([0, 1, 0, 1, 2], np.int32), 4)
    plan = scaled(np.array([0.0, -200, 3, 1, 2], np.float32), rows_of(pairs), pairs)
    assert np.all(plan > 0)
    assert np.bincount(rows_of(pairs), plan).max() <= 1 + 1e-6
    assert np.bincount(pairs.column, plan).max() <= 1 + 1e-6
    assert plan[1] < 1e-30
