"""Matches of two sets of points that lie in one space: nearest points, assignments, and shares of the mass.

Up to `DENSE_POINTS` per side all distances are kept, and assignments are exact. Beyond, every point keeps its nearest
points of the other side alone: a sparse matrix, whose assignment is the best among those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anchorot._typing import Float32s, Float64s, Floats, Int64s

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE_POINTS = 5000  # per side
CANDIDATES = 20  # nearest points of the other side that a point may be matched with, where there are more
BLOCK_NUMBERS = 1 << 24  # distances computed at a time; on a device
DEVICE_BLOCK_NUMBERS = 1 << 30  # 4 GB of float32
SCALINGS = 200  # of rows and columns, at the most
MARGINAL_GOAL = 1e-4  # of a row's mass, on average
CHECK_INTERVAL = 5  # scalings
TIE_TOLERANCE = 1e-9  # of the variance: squared distances that differ by less are equal
MIN_MASS = 1e-30  # of an entry where the largest of its row is 1: above the denormal numbers of float32


def squared_distances(points: Floats, others: Floats) -> Floats:
    """All squared distances (n, m), by one product of matrices."""
    found = points @ others.T
    found *= -2
    found += np.square(points).sum(axis=1)[:, None]
    found += np.square(others).sum(axis=1)
    return np.maximum(found, 0, out=found)


def nearest(points: Floats, others: Floats, k: int, device: str | None) -> tuple[Int64s, Float64s]:
    """The k nearest others to every point (n, k), the nearest first, and the squared distances to them."""
    k = min(k, len(others))
    single = points.astype(np.float32), others.astype(np.float32)
    return _nearest_on_host(*single, k) if device is None else _nearest_on_device(*single, k, device)


def _nearest_on_host(points: Float32s, others: Float32s, k: int) -> tuple[Int64s, Float64s]:
    size = np.square(others).sum(axis=1)
    index = np.empty((len(points), k), np.int64)
    found = np.empty((len(points), k))
    step = max(1, BLOCK_NUMBERS // len(others))
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        own = points[block]
        costs = own @ others.T
        costs *= -2
        costs += size
        near = np.argpartition(costs, k - 1, axis=1)[:, :k] if k > 1 else costs.argmin(axis=1)[:, None]
        values = np.take_along_axis(costs, near, axis=1)
        order = np.argsort(values, axis=1, kind="stable")
        index[block] = np.take_along_axis(near, order, axis=1)
        found[block] = np.take_along_axis(values, order, axis=1) + np.square(own).sum(axis=1)[:, None]
    return index, np.maximum(found, 0)


def _nearest_on_device(points: Float32s, others: Float32s, k: int, device: str) -> tuple[Int64s, Float64s]:
    import torch

    rows, among = (torch.from_numpy(side).to(device) for side in (points, others))
    size = among.square().sum(1)
    index, found = [], []
    step = max(1, DEVICE_BLOCK_NUMBERS // len(others))
    for own in rows.split(step):
        values, near = torch.addmm(size, own, among.T, alpha=-2).topk(k, largest=False)
        index.append(near.cpu())
        found.append((values + own.square().sum(1, keepdim=True)).clamp(min=0).cpu())
    return torch.cat(index).numpy(), torch.cat(found).double().numpy()


class Others(NamedTuple):
    """Of every matched point: what else it, or its match, lies near to."""

    nearest: Float64s  # squared distance to the nearest other point, of either side
    ties: Int64s  # points as near as the match, which is one of them: no distance can tell them apart


def _next_best(costs: Float64s, kept: Float64s) -> tuple[Float64s, Int64s]:
    """The least of every row that is not as good as what is kept, and how many are."""
    is_tie = np.abs(costs - kept[:, None]) <= TIE_TOLERANCE
    return np.where(is_tie, np.inf, costs).min(axis=1, initial=np.inf), is_tie.sum(axis=1)


class DensePairs:
    """All squared distances between two sets of points."""

    def __init__(self, points: Floats, others: Floats) -> None:
        self.costs: Float64s = squared_distances(points, others).astype(np.float64, copy=False)

    def assign(self, cut: float = np.inf) -> Int64s:
        """Match of every point, one to one, of the least sum; -1 for points left over, or at `cut` and beyond."""
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(self.costs if cut == np.inf else np.minimum(self.costs, cut))
        found = np.full(len(self.costs), -1)
        found[rows] = columns
        return np.where(self.at(found) < cut, found, -1)

    def at(self, matches: Int64s) -> Float64s:
        """Squared distance of every point to its match; infinite without one."""
        return np.where(matches >= 0, self.costs[np.arange(len(matches)), matches], np.inf)

    def others(self, matches: Int64s) -> Others:
        """What else the matched points, of which there is a list in `matches`, lie near to."""
        own = np.flatnonzero(matches >= 0)
        goal = matches[own]
        kept = self.costs[own, goal]
        self.costs[own, goal] = np.inf
        sides = [_next_best(costs, kept) for costs in (self.costs[own], self.costs.T[goal])]
        self.costs[own, goal] = kept
        return Others(np.minimum(sides[0][0], sides[1][0]), np.maximum(sides[0][1], sides[1][1]) + 1)


class SparsePairs:
    """Squared distances between every point and its nearest of the other side, both ways: a sparse matrix."""

    def __init__(self, points: Floats, others: Floats, device: str | None) -> None:
        from scipy.sparse import coo_array

        n, m = len(points), len(others)
        ahead, far_ahead = nearest(points, others, CANDIDATES, device)
        back, far_back = nearest(others, points, CANDIDATES, device)
        rows = np.concatenate([np.repeat(np.arange(n), ahead.shape[1]), back.ravel()])
        columns = np.concatenate([ahead.ravel(), np.repeat(np.arange(m), back.shape[1])])
        values = np.concatenate([far_ahead.ravel(), far_back.ravel()])
        _, first = np.unique(rows * m + columns, return_index=True)
        self.costs: csr_array = coo_array((values[first], (rows[first], columns[first])), shape=(n, m)).tocsr()

    def assign(self, cut: float = np.inf) -> Int64s:
        """As `DensePairs.assign`; also -1 for points all of whose nearest ones are taken."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        n, m = self.costs.shape
        limit = min(cut, 4 * float(self.costs.data.max()) + 1.0)
        costs = self.costs.tocoo()
        # one column more for every row, of the cost of leaving it out; and zeros would count as no entry
        values = np.concatenate([np.minimum(costs.data, limit), np.full(n, limit)]) + 1.0
        columns = np.concatenate([costs.col, m + np.arange(n)])
        graph = coo_array((values, (np.concatenate([costs.row, np.arange(n)]), columns)), shape=(n, m + n)).tocsr()
        found = min_weight_full_bipartite_matching(graph)[1].astype(np.int64)
        found = np.where(found < m, found, -1)
        return np.where(self.at(found) < cut, found, -1)

    def at(self, matches: Int64s) -> Float64s:
        """As `DensePairs.at`."""
        found = np.full(len(matches), np.inf)
        own = np.flatnonzero(matches >= 0)
        found[own] = np.asarray(self.costs[own, matches[own]]).ravel()
        return found

    def others(self, matches: Int64s) -> Others:
        """As `DensePairs.others`, among the nearest points."""
        own = np.flatnonzero(matches >= 0)
        kept = self.at(matches)[own]
        rows = np.repeat(np.arange(len(matches)), np.diff(self.costs.indptr))
        columns, values = self.costs.indices, self.costs.data
        is_other = columns != matches[rows]
        of_row = np.full(len(matches), np.inf)
        of_row[own] = kept
        of_column = np.full(self.costs.shape[1], np.inf)
        of_column[matches[own]] = kept
        nearest_other, ties = [], []
        for index, limit, size in ((rows, of_row, len(matches)), (columns, of_column, self.costs.shape[1])):
            is_tie = np.abs(values - limit[index]) <= TIE_TOLERANCE
            least = np.full(size, np.inf)
            np.minimum.at(least, index[is_other & ~is_tie], values[is_other & ~is_tie])
            nearest_other.append(least)
            ties.append(np.bincount(index[is_other & is_tie], minlength=size))
        goal = matches[own]
        return Others(
            np.minimum(nearest_other[0][own], nearest_other[1][goal]), np.maximum(ties[0][own], ties[1][goal]) + 1
        )


def shares_of(costs: Any, temperature: float) -> Any:
    """Where every point's mass goes: exp(-costs / temperature), scaled to sums of at most 1 both ways.

    `costs` is an array (n, m), or a sparse one; the result is of its kind.
    """
    from scipy.sparse import issparse

    if issparse(costs):
        kernel = costs.copy()
        per_row = np.diff(kernel.indptr)
        least = np.minimum.reduceat(kernel.data, kernel.indptr[:-1])
        kernel.data = np.exp((np.repeat(least, per_row) - kernel.data) / temperature)
        rows, columns = scalings(kernel)
        kernel.data *= np.repeat(rows, per_row) * columns[kernel.indices]
        return kernel
    kernel = ((costs.min(axis=1, keepdims=True) - costs) / temperature).astype(np.float32)
    np.exp(kernel, out=kernel)  # whose products with vectors are bound by memory: half the bytes, half the time
    kernel *= kernel > MIN_MASS  # denormal numbers, which some processors take long for, are 0
    rows, columns = scalings(kernel)
    return rows[:, None].astype(np.float64) * kernel * columns


def scalings(kernel: Any, most: int = SCALINGS) -> tuple[Float64s, Float64s]:
    """Factors of rows and columns (Sinkhorn): the smaller side's sums become 1, the other side's at most 1."""
    n, m = kernel.shape
    if n > m:
        columns, rows = scalings(kernel.T, most)
        return rows, columns
    flipped = kernel.T
    columns = np.ones(m, kernel.dtype)
    total = kernel @ columns
    for turn in range(most):
        rows = 1 / np.maximum(total, MIN_MASS)
        columns = np.minimum(1 / np.maximum(flipped @ rows, MIN_MASS), 1.0 if n < m else np.inf)
        total = kernel @ columns
        if turn % CHECK_INTERVAL == 0 and np.abs(rows * total - 1).mean() < MARGINAL_GOAL:
            break
    return rows, columns


def pairs_of(points: Floats, others: Floats, device: str | None) -> DensePairs | SparsePairs:
    """Distances between two sets of points: all of them, or of many points the nearest."""
    if max(len(points), len(others)) <= DENSE_POINTS:
        return DensePairs(points, others)
    return SparsePairs(points, others, device)


class BlurredPairs(NamedTuple):
    """Points of both sides after a map, and how far apart points may be that might belong together."""

    points: Floats
    others: Floats
    temperature: float  # of squared distances
    device: str | None

    def shares(self) -> Any:
        """Where points might belong, by their distances after the map."""
        return shares_of(pairs_of(self.points, self.others, self.device).costs, self.temperature)
