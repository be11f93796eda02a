"""The alignment of networks: products with sparse matrices, plans scaled to their marginals, messages between edges."""

from typing import Any

import numpy as np

from anchorot._kernels.records import EdgeLanes, EdgeRows, SparseRows
from anchorot._typing import Float32s

LEAST_SHARE = np.float32(1e-18)  # of a plan's row: what is less cannot come back, and would be denormal soon
LARGEST_SCALE = np.float32(1e18)  # of a row or column
BLOCK_NUMBERS = 1 << 22  # messages worked on at a time


def multiply_left(a: SparseRows, x: Float32s, threads: int) -> Float32s:
    return _matrix(a, len(x)) @ x


def multiply_right(x: Float32s, transposed: SparseRows, threads: int) -> Float32s:
    return np.ascontiguousarray((_matrix(transposed, x.shape[1]) @ x.T).T)


def _matrix(rows: SparseRows, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((rows.weight, rows.neighbour, rows.start), shape=(len(rows.start) - 1, columns))


def tilt_plan(plan: Float32s, slope: Float32s, rate: float, copies: Float32s, rounds: int, threads: int) -> None:
    exponent = np.maximum(np.float32(rate) * (slope - slope.max(axis=1, keepdims=True)), -87)
    plan *= np.exp(exponent, out=exponent)
    np.maximum(plan, LEAST_SHARE, out=plan)
    plan /= plan.sum(axis=1, keepdims=True)
    rows, columns = np.ones(len(plan), np.float32), np.ones(plan.shape[1], np.float32)
    for turn in range(rounds):
        if turn > 0:
            rows = np.minimum(LARGEST_SCALE, 1 / (plan @ columns))
        columns = np.minimum(LARGEST_SCALE, 1 / ((copies * rows) @ plan))
    plan *= rows[:, None]
    plan *= columns


def spread(matrix: Float32s, threads: int) -> float:
    return float(matrix.std(dtype=np.float64))


def pass_messages(
    first: EdgeRows,
    second: EdgeLanes,
    ratios: Float32s,
    plan: Float32s,
    free_ends: Float32s,
    rounds: int,
    threads: int,
    out: Float32s | None = None,
) -> tuple[Float32s, Float32s]:
    """One round of belief propagation on pairs of edges, some nodes of the first graph at a time."""
    evidence = np.zeros_like(plan)
    out = np.empty_like(free_ends) if out is None else out
    owner, places = owners_of(second)
    owners = _incidence(owner[places], places, (plan.shape[1], len(owner)))
    for nodes, edges in node_blocks(first.start, max(1, BLOCK_NUMBERS // max(1, free_ends.shape[1]))):
        tails = np.repeat(np.arange(nodes.stop - nodes.start), np.diff(first.start[nodes.start : nodes.stop + 1]))
        ends = _incidence(tails, np.arange(len(tails)), (nodes.stop - nodes.start, len(tails)))
        weight = ratios[first.kind[edges]][:, second.kind]
        weight *= plan[first.neighbour[edges]][:, second.neighbour]
        weight *= free_ends[first.reverse[edges]][:, second.reverse]
        evidence[nodes], out[edges] = sum_matchings(np, weight, ends, tails, owners, owner, rounds)
    return evidence, out


def node_blocks(start: Any, most_edges: int) -> list[tuple[slice, slice]]:
    """Nodes, and their edges, that are worked on at a time; nodes without edges are left out at the end of a block."""
    blocks, begin, n = [], 0, len(start) - 1
    while begin < n:
        end = max(begin + 1, int(np.searchsorted(start, start[begin] + most_edges, side="right")) - 1)
        if start[end] > start[begin]:
            blocks.append((slice(begin, end), slice(int(start[begin]), int(start[end]))))
        begin = end
    return blocks


def owners_of(second: EdgeLanes) -> tuple[Any, Any]:
    """Of every place the node it belongs to, 0 for none, and the places that belong to one."""
    lanes = len(second.node) // max(1, len(second.start) - 1)
    node = np.repeat(second.node.reshape(-1, lanes), np.diff(second.start), axis=0).ravel()
    return np.maximum(node, 0), np.flatnonzero(node >= 0)


def _incidence(rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def sum_matchings(xp: Any, weight: Any, ends: Any, tails: Any, owners: Any, owner: Any, rounds: int) -> tuple[Any, Any]:
    """Log Z of every pair, (nodes, m), and the chance that both edges are free, as `weight`, (edges, places).

    Of NumPy arrays or of tensors; `ends`, (nodes, edges), and `owners`, (m, places), are sparse and sum up.
    """
    b = xp.ones_like(weight)
    for _ in range(rounds):
        weighted = weight * b
        total = 1 + (owners @ weighted.T).T  # (edges, m)
        a = 1 / (total[:, owner] - weighted).clip(min=1)
        sums = 1 + ends @ (weight * a)  # (nodes, places)
        b = 1 / (sums[tails] - weight * a).clip(min=1)
    both = a * b
    odds = 1 + weight * both
    total = 1 + (owners @ (weight * b).T).T
    by_place = xp.log(sums) - ends @ xp.log(odds)
    return ends @ xp.log(total) + (owners @ by_place.T).T, both / odds
