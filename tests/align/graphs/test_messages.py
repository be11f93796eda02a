"""Messages between pairs of edges, against their naive form."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot.align.graphs.messages import KINDS, Edges, cycle_scores, edge_lanes, likelihood_ratios
from tests import reference
from tests.align.graphs.networks import network


def messages_of(x, y, seed):
    rng = np.random.default_rng(seed)
    sides = [Edges.of(matrix, False) for matrix in (x, y)]
    ratios = likelihood_ratios(*sides) * np.float32(3)
    lanes = edge_lanes(sides[1].rows(), ratios.shape[1] - 1)
    plan = rng.random((x.shape[0], y.shape[0])).astype(np.float32)
    said = rng.random((len(sides[0].neighbour), len(lanes.neighbour))).astype(np.float32)
    return sides, ratios, lanes, plan, said


def places_of(edges, lanes):
    """Where the edge (j, l) of the second network stands in its lanes."""
    width, found = 16, {}
    for group, lane in itertools.product(range(len(lanes.start) - 1), range(width)):
        j = lanes.node[group * width + lane]
        if j >= 0:
            for slot in range(lanes.start[group], lanes.start[group] + edges.start[j + 1] - edges.start[j]):
                place = slot * width + lane
                found[int(j), int(lanes.neighbour[place])] = place
    return found


@pytest.mark.parametrize("sizes", [(3, 4), (9, 17), (20, 18)])
def test_messages_are_those_of_the_naive_form(sizes):
    x, y = (network(n, seed, 0.35) for seed, n in enumerate(sizes))
    (own, other), ratios, lanes, plan, said = messages_of(x, y, 1)
    edge = {
        (i, int(k)): e
        for i in range(sizes[0])
        for e in range(own.start[i], own.start[i + 1])
        for k in [own.neighbour[e]]
    }
    place = places_of(other, lanes)
    kinds = other.rows().kind
    kind_of = {
        (j, int(other.neighbour[e])): kinds[e]
        for j in range(sizes[1])
        for e in range(other.start[j], other.start[j + 1])
    }
    naive = reference.pass_messages(
        *(
            [list(map(int, matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]])) for i in range(n)]
            for matrix, n in zip((x, y), sizes, strict=True)
        ),
        lambda i, k, j, l: ratios[own.rows().kind[edge[i, k]], kind_of[j, l]],
        plan,
        lambda k, i, l, j: said[edge[k, i], place[l, j]],
        2,
    )
    for own_kernels, threads in ((kernels, 1), (kernels, 3), (numpy_kernels, 1)):
        evidence, now = own_kernels.pass_messages(own.rows(), lanes, ratios, plan, said.copy(), 2, threads)
        for pair, value in naive[0].items():
            assert evidence[pair] == pytest.approx(value, rel=1e-4, abs=1e-5)
        for (i, k, j, l), value in naive[1].items():
            assert now[edge[i, k], place[j, l]] == pytest.approx(value, rel=1e-4, abs=1e-6)


def test_cycles_through_edges_are_counted():
    for graph in (nx.complete_graph(5), nx.cycle_graph(5), nx.petersen_graph(), nx.gnp_random_graph(12, 0.4, seed=1)):
        matrix = csr_array(nx.to_numpy_array(graph).astype(np.float32))
        matrix.sort_indices()
        a, degree = matrix.toarray(), np.diag(matrix.toarray().sum(axis=1))
        two = a @ a - degree
        three = two @ a - a @ (degree - np.eye(len(a)))
        four = three @ a - two @ (degree - np.eye(len(a)))
        expected = 0
        for weight, walks in zip((0.51, 0.30, 0.18), (two, three, four), strict=True):
            counts = walks[a > 0]
            expected = expected + (weight * (counts - counts.mean()) / counts.std() if counts.std() > 1e-6 else 0)
        np.testing.assert_allclose(cycle_scores(matrix), expected, atol=1e-4)


def test_ratios_average_to_one():
    sides = [Edges.of(network(60, seed, 0.1), False) for seed in (1, 2)]
    table = likelihood_ratios(*sides)[:KINDS, :KINDS]
    shares = [np.bincount(side.kind, minlength=KINDS) / len(side.kind) for side in sides]
    assert shares[0] @ table @ shares[1] == pytest.approx(1, abs=0.05)
