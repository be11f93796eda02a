"""Signatures in units of their own noise: what a lost edge changes counts little, what differs between nodes much.

A share of the edges of each network is left out, and signatures are computed again: the covariance S_w of the
differences is noise. Directions v with S_b v = lambda S_w v, S_b the covariance over nodes, tell most of a node where
lambda is largest.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from anchorot._typing import Float32s, Float64s, Int64s
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.sparse.signatures import Scale, Side, joined, own_numbers, signatures

LOST = 0.1  # share of the edges that are left out
SIZE = 32  # directions that are kept
RIDGE = 1e-4  # of the mean variance of the noise
LEAST_PRIOR = -60.0  # messages can still outweigh it
LEAST_NOISE = 0.01  # of the mean: what nodes of some degree have at least
BLOCK_PAIRS = 1 << 18  # pairs whose distances are computed at a time


class Looks(NamedTuple):
    """Nodes of both networks in directions whose noise has variance 1, and the noise of each node."""

    points: tuple[Float32s, Float32s]  # (n, SIZE), (m, SIZE)
    noise: tuple[Float32s, Float32s]  # mean squared distance that noise moves nodes of such a degree

    def distances(self, i: Int64s, j: Int64s) -> Float32s:
        """Squared distances of pairs of nodes."""
        found = np.zeros(len(i), np.float32)
        for begin in range(0, len(i), BLOCK_PAIRS):
            part = slice(begin, begin + BLOCK_PAIRS)
            found[part] = np.square(self.points[0][i[part]] - self.points[1][j[part]]).sum(axis=1)
        return found

    def priors(self, i: Int64s, j: Int64s) -> Float32s:
        """Logarithm of the odds that two nodes go together, by their looks, up to a constant."""
        unit = 4 * np.sqrt(self.noise[0][i] * self.noise[1][j])
        return np.maximum(-self.distances(i, j) / unit, np.float32(LEAST_PRIOR))


def looks(problem: Problem, rng: np.random.Generator) -> Looks:
    """Describe all nodes of both networks."""
    kinds = problem.kinds or (None, None)
    sides = [
        Side(own, kind, problem.is_directed) for own, kind in zip((problem.first, problem.second), kinds, strict=True)
    ]
    numbers = [own_numbers(side) for side in sides]
    scale = Scale.of(numbers)
    seen = [signatures(side, own, scale) for side, own in zip(sides, numbers, strict=True)]
    noise = []
    for side, whole in zip(sides, seen, strict=True):
        thinned = side._replace(weights=_thinned(side.weights, problem.is_directed, rng))
        noise.append(signatures(thinned, own_numbers(thinned), scale) - whole)
    directions = _directions(seen, noise)
    points = [(own - own.mean(axis=0)) @ directions for own in seen]
    moved = [np.square((own - own.mean(axis=0)) @ directions).sum(axis=1) for own in noise]
    degrees = [np.diff(joined(side).indptr) for side in sides]
    radii = [_by_degree(own, degree) for own, degree in zip(moved, degrees, strict=True)]
    return Looks(
        (points[0].astype(np.float32), points[1].astype(np.float32)),
        (radii[0].astype(np.float32), radii[1].astype(np.float32)),
    )


def looks_of_loops(problem: Problem) -> Looks:
    """Describe nodes by the weights of their loops alone, where there are no edges."""
    loops = problem.loops or (np.zeros(problem.n), np.zeros(problem.m))
    points = (loops[0][:, None].astype(np.float32), loops[1][:, None].astype(np.float32))
    return Looks(points, (np.ones(problem.n, np.float32), np.ones(problem.m, np.float32)))


def _directions(seen: list[Float64s], noise: list[Float64s]) -> Float64s:
    """(size, SIZE): of most signal for their noise, which has variance 1."""
    between, within = (_covariance(part[0]) + _covariance(part[1]) for part in (seen, noise))
    size = len(within)
    ridge = RIDGE * max(float(np.trace(within)), 1e-9) / size
    _, vectors = eigh(between, within + ridge * np.eye(size), subset_by_index=(max(0, size - SIZE), size - 1))
    return np.asarray(vectors)


def _covariance(values: Float64s) -> Float64s:
    centred = values - values.mean(axis=0)
    return centred.T @ centred / len(values)


def _thinned(matrix: csr_array, is_directed: bool, rng: np.random.Generator) -> csr_array:
    """A network without some of its edges."""
    entries = matrix.tocoo()
    tails, heads = (axis.astype(np.int64) for axis in entries.coords)
    ends = (tails, heads) if is_directed else (np.minimum(tails, heads), np.maximum(tails, heads))
    edges, place = np.unique(ends[0] * matrix.shape[0] + ends[1], return_inverse=True)
    kept = rng.random(len(edges))[place] >= LOST
    return csr_array((entries.data[kept], (tails[kept], heads[kept])), shape=matrix.shape)


def _by_degree(moved: Float64s, degree: Int64s) -> Float64s:
    """(n,): mean over nodes of about the same degree."""
    group = np.log2(np.maximum(degree, 1)).astype(np.int64)
    count = np.bincount(group)
    mean = np.bincount(group, moved) / np.maximum(count, 1)
    return np.maximum(mean, max(1e-6, LEAST_NOISE * float(moved.mean())))[group]
