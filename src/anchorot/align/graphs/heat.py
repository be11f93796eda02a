"""Anchors of diffusion: how the heat of a node spreads, as a sorted row, and what rows of two networks cost each other.

A random walk makes a Poisson number of steps of mean t: K_t = exp(-t L) = sum over k of e^-t t^k / k! S^k, with
S = D^-1/2 W D^-1/2 and L = 1 - S the normalised Laplacian; directed networks have two walks, along the edges and
against them. Node i's anchor at time t is its row of K_t, sorted: one false edge, which shortens thousands of paths,
changes it a little. M_ij is the W1 distance between the roots of the sorted rows of i and j, each time divided by its
mean, summed over times; of networks of different sizes the rows of the smaller are filled up with zeros, as nodes
without edges would.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.stats import poisson

from anchorot._typing import Float32s, Float64s, Int64s
from anchorot.align.graphs.backend import Backend

TIMES = (1.0, 2.0, 4.0, 8.0)  # of diffusion, in mean steps of a walk: doubled, from a node's neighbours to 8 edges away
SHORT = 2.0  # times up to this: messages carry what is farther
NEGLIGIBLE = 1e-7  # share of the walks that may be longer than what is summed up
SINGLE = 48  # largest entries of a row that are compared one by one; smaller ones in growing groups
GROWTH = 1.12  # of the next group's end: groups of 12 % keep ratios of entries, and a row of 10^5 has 115 numbers
BLOCK_NUMBERS = 1 << 22  # of rows that are diffused at a time


def anchor_costs(first: csr_array, second: csr_array, is_directed: bool, backend: Backend) -> tuple[Float32s, Float32s]:
    """(n, m): M as above, of the short times and of all, in units of their standard deviations.

    Zeros if all nodes look alike.
    """
    length = max(first.shape[0], second.shape[0])
    costs, short = (np.zeros((first.shape[0], second.shape[0]), np.float32) for _ in range(2))
    sides = [walks(matrix, is_directed) for matrix in (first, second)]
    for walk_x, walk_y in zip(*sides, strict=True):
        profiles = zip(*(_profiles(walk, length, backend) for walk in (walk_x, walk_y)), strict=True)
        for time, (x, y) in zip(TIMES, profiles, strict=True):
            found = backend.host(backend.row_costs(x, y))
            mean = float(found.mean(dtype=np.float64))
            for total in (costs, short) if time <= SHORT else (costs,):
                total += found / np.float32(mean or 1.0)
    return _in_deviations(short), _in_deviations(costs)


def _in_deviations(costs: Float32s) -> Float32s:
    scale = float(costs.std(dtype=np.float64))
    return costs / np.float32(scale) if scale > 1e-6 else np.zeros_like(costs)


def walks(matrix: csr_array, is_directed: bool) -> list[csr_array]:
    """One step of each walk."""
    if not is_directed:
        root = _inverse(np.sqrt(matrix.sum(axis=1, dtype=np.float64)))
        return [(diags_array(root) @ matrix @ diags_array(root)).tocsr().astype(np.float32)]
    sides = matrix, matrix.T.tocsr()
    degrees = [diags_array(_inverse(side.sum(axis=1, dtype=np.float64))) for side in sides]
    return [(degree @ side).tocsr().astype(np.float32) for degree, side in zip(degrees, sides, strict=True)]


def heat_of_node(walk: csr_array, node: int) -> Float64s:
    """(n,): where the heat of one node is, on average over the times."""
    step = walk.T.tocsr().astype(np.float64)
    share = poisson.pmf(np.arange(_most_steps() + 1)[:, None], TIMES).mean(axis=1)
    after = np.zeros(walk.shape[0])
    after[node] = 1
    heat = share[0] * after
    for own in share[1:]:
        after = step @ after
        heat += own * after
    return heat


def _most_steps() -> int:
    return int(max(poisson.isf(NEGLIGIBLE, max(TIMES)), 1))


def _inverse(numbers: Float64s) -> Float64s:
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0)


def _profiles(walk: csr_array, length: int, backend: Backend) -> list[Any]:
    """For every time (bins, n): sums of the roots of K_t's rows, `length` entries each, from the largest down."""
    n = walk.shape[0]
    ends = _bin_ends(length)
    inner = [*ends[ends < n].tolist(), n]
    step = backend.sparse(_int32(walk.T.tocsr()))
    most = _most_steps()
    share = poisson.pmf(np.arange(most + 1)[:, None], TIMES)  # [steps, time]
    stays = np.diff(walk.indptr) == 0  # heat that cannot leave
    found: list[list[Any]] = [[] for _ in TIMES]
    rows = max(1, BLOCK_NUMBERS // max(1, n))
    for begin in range(0, n, rows):
        block = np.arange(begin, min(n, begin + rows))
        here = np.zeros((len(block), n), np.float32)
        here[np.arange(len(block)), block] = 1
        after = backend.dense(here)
        heat = [float(own) * after for own in share[0]]
        for steps in range(1, most + 1):
            after = backend.right(after, step)
            for time, own in enumerate(share[steps]):
                if own > NEGLIGIBLE / most:
                    heat[time] += float(own) * after
        for time, spread in enumerate(heat):
            if stays[block].any():
                fixed = backend.host(spread).copy()
                at = np.flatnonzero(stays[block])
                fixed[at, block[at]] = 1
                spread = backend.dense(fixed)
            found[time].append(backend.host(backend.sorted_bins(spread, np.array(inner))))
    padding = np.zeros((len(ends) - len(inner), n))
    return [np.concatenate([np.concatenate(own, axis=1), padding]) for own in found]


def _int32(matrix: csr_array) -> csr_array:
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    return matrix


def _bin_ends(length: int) -> Int64s:
    """Ends of groups of ranks: single ones, then ever larger groups."""
    ends = list(range(1, min(length, SINGLE) + 1))
    while ends[-1] < length:
        ends.append(min(length, max(ends[-1] + 1, int(ends[-1] * GROWTH))))
    return np.array(ends)
