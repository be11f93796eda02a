"""The kernels of network alignment against naive forms, and kernels in NumPy and on tensors against each other."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.candidates import SCHEDULES
from anchorot.align.graphs.heat import TIMES, anchor_costs
from anchorot.align.graphs.messages import KINDS, Edges, cycle_scores, edge_lanes, likelihood_ratios
from anchorot.align.graphs.path import Slope
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.symmetry import canonical_order
from tests import reference


def network(n, seed, share=0.2, directed=False, weighted=False):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < share, 1) * (rng.random((n, n)) if weighted else 1.0)
    matrix = upper + (np.triu(rng.random((n, n)) < share, 1).T if directed else upper.T)
    return csr_array(matrix.astype(np.float32))


def problem(seed=0, sizes=(20, 20), **options):
    return Problem(
        *(network(n, seed + k, **options) for k, n in enumerate(sizes)), is_directed=options.get("directed", False)
    )


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 63, 64, 65, 130])
@pytest.mark.parametrize("threads", [1, 3])
def test_products_with_sparse_matrices_are_those_of_dense_ones(columns, threads):
    rng = np.random.default_rng(columns)
    a = network(37, 1, weighted=True)
    b = network(columns, 2, directed=True, weighted=True)
    x = rng.random((37, columns)).astype(np.float32)
    host = Backend(threads)
    np.testing.assert_allclose(host.left(host.sparse(a), x), a.toarray() @ x, rtol=1e-5, atol=1e-6)
    turned = b.T.tocsr()
    np.testing.assert_allclose(host.right(x, host.sparse(turned)), x @ b.toarray(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (17, 40), (70, 70)])
def test_a_tilted_plan_has_its_marginals_and_is_a_product_of_scales(shape):
    rng = np.random.default_rng(0)
    rows, columns = shape
    copies = np.ones(rows, np.float32)
    copies[-1] += columns - rows
    slope = rng.normal(size=shape).astype(np.float32)
    plan = np.ones(shape, np.float32)
    kernels.tilt_plan(plan, slope, 2.0, copies, 200, 2)
    np.testing.assert_allclose(copies @ plan, 1, rtol=1e-4)
    np.testing.assert_allclose(plan.sum(axis=1), 1, rtol=1e-3)
    left = np.log(plan) - 2.0 * slope  # is u_i + v_j
    np.testing.assert_allclose(left - left[:1] - left[:, :1] + left[0, 0], 0, atol=1e-3)
    other = np.ones(shape, np.float32)
    numpy_kernels.tilt_plan(other, slope, 2.0, copies, 200, 1)
    np.testing.assert_allclose(plan, other, rtol=1e-3, atol=1e-7)


def test_the_spread_is_the_standard_deviation():
    matrix = np.random.default_rng(0).normal(3, 2, size=(50, 77)).astype(np.float32)
    assert kernels.spread(matrix, 3) == pytest.approx(matrix.std(dtype=np.float64), rel=1e-6)


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


@pytest.mark.parametrize("directed", [False, True])
def test_tensors_give_what_arrays_give(directed):
    pytest.importorskip("torch")
    from anchorot.align.graphs.device import Device
    from anchorot.align.graphs.messages import BeliefPropagation
    from anchorot.align.graphs.path import follow_path

    task = problem(3, (18, 22), directed=directed)
    host, device = Backend(), Device("cpu")
    costs = [anchor_costs(task.first, task.second, directed, backend) for backend in (host, device)]
    np.testing.assert_allclose(*(own[1] for own in costs), atol=1e-3)
    start = task.padded_rows(-costs[0][0])
    schedule = SCHEDULES["messages"]._replace(steps=5)
    plans = [BeliefPropagation(task, backend).plan(start, schedule)[0] for backend in (host, device)]
    np.testing.assert_allclose(plans[0][: task.n], plans[1][: task.n], atol=1e-3)
    gradients = [backend.host(Slope(task, backend)(backend.dense(plans[0]), 0.3)) for backend in (host, device)]
    np.testing.assert_allclose(*gradients, rtol=1e-3, atol=1e-4)
    ends = [follow_path(task, start, backend) for backend in (host, device)]
    assert (ends[0][: task.n].argmax(1) == ends[1][: task.n].argmax(1)).mean() > 0.9


@pytest.mark.parametrize("directed", [False, True])
def test_the_gradient_is_that_of_finite_differences(directed):
    task = problem(1, (6, 6), directed=directed, weighted=True)
    a, b = task.first.toarray().astype(float), task.second.toarray().astype(float)
    rng = np.random.default_rng(0)
    plan = rng.random((6, 6))

    def mixture(p, share):
        concave = np.sum(a * (p @ b @ p.T))
        convex = -np.sum((a @ p - p @ b) ** 2) / 2 - np.sum((a.T @ p - p @ b.T) ** 2) / 2
        return share * concave + (1 - share) * convex / 2

    slope = Slope(task, Backend())
    for share in (0.0, 0.4, 1.0):
        found = slope(plan.astype(np.float32), share)
        step = 1e-5
        for i, j in itertools.product(range(6), range(6)):
            moved = [plan + sign * step * (np.arange(36) == 6 * i + j).reshape(6, 6) for sign in (1, -1)]
            rise = (mixture(moved[0], share) - mixture(moved[1], share)) / (2 * step)
            assert found[i, j] == pytest.approx(rise, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("options", [{}, {"directed": True}, {"weighted": True}])
@pytest.mark.parametrize("sizes", [(8, 8), (6, 9)])
def test_changes_by_exchange_are_those_of_the_value(options, sizes):
    rng = np.random.default_rng(0)
    task = problem(2, sizes, share=0.4, **options)
    linear = rng.random(sizes).astype(np.float32)
    kinds = tuple(np.arange(size) % 2 for size in sizes)
    for one in (task, Problem(task.first, task.second, linear, kinds, task.is_directed)):
        matches = np.arange(sizes[0]) if one.kinds else rng.permutation(sizes[1])[: sizes[0]]
        change = one.changes_by_swap(matches)
        for i, j in itertools.product(*map(range, sizes)):
            moved = matches.copy()
            if j in matches:
                moved[list(matches).index(j)] = matches[i]
            moved[i] = j
            is_forbidden = one.forbidden is not None and one.forbidden[np.arange(sizes[0]), moved].any()
            gain = -np.inf if is_forbidden else one.value(moved) - one.value(matches)
            assert change[i, j] == pytest.approx(gain, abs=2e-4)


def heat_kernel(weights, time):
    """Compute exp(-t L) of the normalised Laplacian, by its eigenvectors; a node without edges keeps its heat."""
    degree = weights.sum(axis=1)
    root = np.divide(1, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    values, vectors = np.linalg.eigh(np.diag((degree > 0) * 1.0) - root[:, None] * weights * root)
    return (vectors * np.exp(-time * values)) @ vectors.T


def test_anchors_are_sorted_rows_of_heat_kernels():
    x, y = network(12, 0, 0.3), network(12, 1, 0.3)
    total = 0.0
    for time in TIMES:
        rows = [np.sort(np.sqrt(np.maximum(heat_kernel(m.toarray(), time), 0)), axis=1) for m in (x, y)]
        costs = np.abs(rows[0][:, None] - rows[1]).mean(axis=2)
        total = total + costs / costs.mean()
    found = anchor_costs(x, y, False, Backend())[1]
    np.testing.assert_allclose(found, total / total.std(), rtol=1e-3, atol=1e-3)


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


def test_an_order_of_their_own_is_that_of_copies_too():
    matrix = network(30, 3, 0.15, weighted=True)
    attributes = np.zeros(30, np.uint64)
    order = np.random.default_rng(0).permutation(30)
    one, other = (canonical_order(m, attributes, np.random.default_rng(0)) for m in (matrix, matrix[order][:, order]))
    np.testing.assert_array_equal(order[other], one)


def test_ratios_average_to_one():
    sides = [Edges.of(network(60, seed, 0.1), False) for seed in (1, 2)]
    table = likelihood_ratios(*sides)[:KINDS, :KINDS]
    shares = [np.bincount(side.kind, minlength=KINDS) / len(side.kind) for side in sides]
    assert shares[0] @ table @ shares[1] == pytest.approx(1, abs=0.05)
