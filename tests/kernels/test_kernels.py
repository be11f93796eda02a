"""The kernels against NumPy and against each other, on sizes that meet every edge of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorot._kernels import kernels
from anchorot._kernels.records import LowerRows, to_heights
from tests.strategies import examples

SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 127, 129, 255, 257]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_sorted_whatever_their_length(dtype, threads):
    rng = np.random.default_rng(0)
    for length in SIZES:
        for rows in (1, 5, 16, 19):
            matrix = rng.normal(size=(rows, length)).astype(dtype)
            matrix[rng.uniform(size=matrix.shape) < 0.3] = 0  # ties
            expected = np.sort(matrix, axis=1)
            np.testing.assert_array_equal(kernels.quantiles(matrix, threads), expected.T)
            kernels.sort_rows(matrix, threads)
            np.testing.assert_array_equal(matrix, expected)


DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "few distinct": lambda rng, n: rng.integers(0, 5, size=n).astype(float),
    "constant": lambda rng, n: np.full(n, 3.0),
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=n) ** 5,
    "one outlier": lambda rng, n: np.append(rng.uniform(size=n - 1), 1e300),
    "denormal": lambda rng, n: rng.integers(0, 9, size=n) * 5e-324,
    "whole range": lambda rng, n: rng.uniform(-1, 1, size=n) * 1.7e308,
    "powers": lambda rng, n: 10.0 ** rng.integers(-300, 300, size=n),
    "zeros of both signs": lambda rng, n: rng.choice([0.0, -0.0, 1.0], size=n),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "neighbours among others": lambda rng, n: np.where(
        rng.uniform(size=n) < 0.5, rng.uniform(size=n), 0.5 + rng.integers(0, 99, size=n) * 2.0**-53
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [1, 30, 1000, 20_000, 100_000])
def test_argsort_is_stable_on_all_distributions(name, count):
    values = DISTRIBUTIONS[name](np.random.default_rng(1), count)
    expected = np.argsort(values, kind="stable")
    for threads in (1, 3):
        ordered, order = kernels.argsort(values, threads)
        np.testing.assert_array_equal(order, expected)
        np.testing.assert_array_equal(ordered, values[expected])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1), (90, 77)])
def test_events_of_a_matrix_are_its_entries_in_stable_order(name, shape):
    rng = np.random.default_rng(2)
    cost, mass = DISTRIBUTIONS[name](rng, shape[0] * shape[1]).reshape(shape), rng.dirichlet(np.ones(shape[0]))
    jumps = to_heights(rng.dirichlet(np.ones(shape[1])))
    order = np.argsort(cost, axis=None, kind="stable")
    for threads in (1, 3):
        events = kernels.cost_events(cost, mass, jumps, threads)
        np.testing.assert_array_equal(events.position, cost.ravel()[order])
        np.testing.assert_array_equal(events.row, order // shape[1])
        np.testing.assert_array_equal(events.jump, jumps[order % shape[1]])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [2, 3, 90, 400])
def test_events_of_a_symmetric_matrix_are_its_upper_half_each_with_its_mirror_image(name, n, native_only):
    rng = np.random.default_rng(2)
    i, j = np.triu_indices(n)
    cost = np.empty((n, n))
    cost[i, j] = cost[j, i] = DISTRIBUTIONS[name](rng, len(i))
    mass, jumps = rng.dirichlet(np.ones(n)), to_heights(rng.dirichlet(np.ones(n)))
    order = np.argsort(cost[i, j], kind="stable")
    row, column = (np.stack(each, axis=1)[order].ravel() for each in ((i, j), (j, i)))
    kept = np.stack([np.ones(len(i), bool), i != j], axis=1)[order].ravel()  # the diagonal is its own image
    row, column = row[kept], column[kept]
    for threads in (1, 3):
        events = kernels.cost_events(cost, mass, jumps, threads)
        np.testing.assert_array_equal(events.position, cost[row, column])
        np.testing.assert_array_equal(events.row, row)
        np.testing.assert_array_equal(events.jump, jumps[column])


@examples(40)
@given(st.integers(1, 40), st.integers(0, 120), st.integers(1, 35), st.integers(0, 2**32))
def test_sparse_systems_are_solved_column_by_column(n, count, columns, seed):
    rng = np.random.default_rng(seed)
    matrix = np.zeros((n, n))
    places = rng.integers(0, n, (2, count))
    matrix[places[0], places[1]] = rng.normal(size=count)
    matrix = np.tril(matrix, -1)
    whole = matrix + matrix.T + np.diag(1 + np.abs(matrix + matrix.T).sum(axis=1))
    rows, at = np.nonzero(matrix)
    start = np.searchsorted(rows, np.arange(n + 1)).astype(np.int64)
    solve = kernels.sparse_solver(LowerRows(start, at.astype(np.int32), matrix[rows, at], np.diag(whole).copy()))
    sides = rng.normal(size=(n, columns))
    found = solve(sides)
    np.testing.assert_allclose(found, np.linalg.solve(whole, sides), atol=1e-12)
    np.testing.assert_array_equal(solve(sides[:, -1:])[:, 0], found[:, -1])
