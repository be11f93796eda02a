"""Kernels of network alignment against naive forms, in C++, in NumPy and on tensors."""

import numpy as np
import pytest

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.candidates import SCHEDULES
from anchorot.align.graphs.heat import anchor_costs
from anchorot.align.graphs.path import Slope
from tests.align.graphs.networks import network, problem


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
