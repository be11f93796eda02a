"""The paper's SL-AE (Algorithms 1 and 2) in plain Python: slow, short, and the reference for everything else."""

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.heights import from_heights, heights_after
from anchorot._kernels.numpy.energy import span_of
from anchorot._kernels.records import Events


class FenwickTree:
    """Sums of pairs (mass, mass x height) over ranks: add at a rank, sum up to a rank, both in O(log size)."""

    def __init__(self, size: int) -> None:
        self.mass = [0.0] * (size + 1)
        self.moment = [0.0] * (size + 1)

    def add(self, rank: int, mass: float, moment: float) -> None:
        """Add at a rank."""
        k = rank + 1
        while k < len(self.mass):
            self.mass[k] += mass
            self.moment[k] += moment
            k += k & -k

    def up_to(self, rank: int) -> tuple[float, float]:
        """Sum over ranks 0, ..., rank."""
        mass = moment = 0.0
        k = rank + 1
        while k > 0:
            mass += self.mass[k]
            moment += self.moment[k]
            k -= k & -k
        return mass, moment


class _Side:
    """One collection: the heights of its CDFs, and the trees S and T over them."""

    def __init__(self, events: Events, heights: NDArray[np.float64], ranks: NDArray[np.intp], size: int) -> None:
        self.rows, self.targets, self.ranks = events.row.tolist(), heights.tolist(), ranks.tolist()
        self.mass = events.mass.tolist()
        self.height = [0.0] * len(self.mass)
        self.rank = [0] * len(self.mass)
        self.tree = FenwickTree(size)
        for mass in self.mass:  # all rows start at height 0 (the printed algorithm starts with an empty tree)
            self.tree.add(0, mass, 0.0)

    def variation(self, c: float, c_rank: int) -> float:
        """Σ_x a_x |c - H_x|, by the four partial sums of Proposition 2."""
        below_mass, below_moment = self.tree.up_to(c_rank)
        all_mass, all_moment = self.tree.up_to(len(self.tree.mass) - 2)
        above_mass, above_moment = all_mass - below_mass, all_moment - below_moment
        return (below_mass * c - below_moment) + (above_moment - above_mass * c)

    def move(self, event: int) -> None:
        row = self.rows[event]
        mass = self.mass[row]
        self.tree.add(self.rank[row], -mass, -mass * self.height[row])
        self.height[row], self.rank[row] = self.targets[event], self.ranks[event]
        self.tree.add(self.rank[row], mass, mass * self.height[row])


def fenwick_expected_cost(x: Events, y: Events) -> float:
    """Mean transport cost (p = 1) over all pairs of rows, by the paper's SL-AE."""
    heights = [from_heights(heights_after(side.row, side.jump)) for side in (x, y)]
    levels = np.union1d(0.0, np.concatenate(heights))
    sides = [_Side(e, h, np.searchsorted(levels, h), len(levels)) for e, h in zip((x, y), heights, strict=True)]
    position = np.concatenate([x.position, y.position])
    order = np.argsort(position, kind="stable")
    if span_of(position) == np.inf:
        return np.inf
    gaps = np.diff(position[order], append=position[order[-1]]).tolist()
    total = f = 0.0
    for event, gap in zip(order.tolist(), gaps, strict=True):
        k = int(event >= len(x.position))
        own, other = sides[k], sides[1 - k]
        index = event - k * len(x.position)
        row = own.rows[index]
        f -= own.mass[row] * other.variation(own.height[row], own.rank[row])
        own.move(index)
        f += own.mass[row] * other.variation(own.height[row], own.rank[row])
        total += gap * f
    return total
