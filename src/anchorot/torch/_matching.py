"""Matchings of large uniform spaces of one size, on the device that holds the costs.

An exact assignment is the CPU's business and takes minutes at 10 000 points. A nearly exact one needs potentials that
make the right entries nearly zero: entropic steps at falling temperature find them on the device. Then points that are
each other's best are matched, round by round; and among every point's best few candidates and that match the CPU
finds the optimum, by sparse assignment, which starts almost there.
"""

import numpy as np
import torch
from torch import Tensor

from anchorot._typing import Int64s
from anchorot.distances.annealing import entropic_step
from anchorot.distances.quadratic import on_host, spread

TEMPERATURES = (0.03, 0.01, 0.003)
FEW = 300  # points: left to the CPU
MANY = 1000  # more are not
LEAST_SHARE = 0.02  # of the points find each other in a round: else rounds do not help
CANDIDATES = 12  # of a point


class Assignment:
    """Finds matchings of small linear costs (n, n), from potentials that the call before has left."""

    def __init__(self, n: int, like: Tensor) -> None:
        self._a = torch.full((n,), 1 / n, dtype=like.dtype, device=like.device)
        self._f, self._g = torch.zeros_like(self._a), torch.zeros_like(self._a)

    def __call__(self, costs: Tensor) -> Int64s:
        """Return a matching i -> matches[i]."""
        unit = spread(costs)
        for temperature in TEMPERATURES:
            _, self._f, self._g = entropic_step(costs, temperature * unit, self._a, self._a, self._f, self._g)
        reduced = (costs - self._f[:, None] - self._g) / unit
        return _best_of_candidates(reduced, _mutual_best(reduced))


def _mutual_best(costs: Tensor) -> Tensor:
    """Match points that are each other's best, then among those left, and so on."""
    rows, columns = (torch.arange(len(costs), device=costs.device) for _ in range(2))
    matches = torch.empty_like(rows)
    while len(rows) > FEW:
        best = costs.argmin(1)
        is_mutual = costs.argmin(0)[best] == torch.arange(len(rows), device=costs.device)
        matches[rows[is_mutual]] = columns[best[is_mutual]]
        is_free = torch.ones_like(is_mutual)
        is_free[best[is_mutual]] = False
        found = len(rows)
        rows, columns, costs = rows[~is_mutual], columns[is_free], costs[~is_mutual][:, is_free]
        if found - len(rows) < LEAST_SHARE * found:
            break
    matches[rows] = columns[_rest(costs)]
    return matches


def _rest(costs: Tensor) -> Tensor:
    """Match what is left: at best if it is little, else in order, for the candidates to mend."""
    from scipy.optimize import linear_sum_assignment

    if len(costs) > MANY:
        return torch.arange(len(costs), device=costs.device)
    return torch.from_numpy(linear_sum_assignment(on_host(costs))[1]).to(costs.device)


def _best_of_candidates(costs: Tensor, matches: Tensor) -> Int64s:
    """Matching of least costs among every point's best candidates; the given one is among them, so there is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n = len(costs)
    k = min(CANDIDATES, n)
    columns = costs.topk(k, largest=False, sorted=True).indices
    is_missing = ~(columns == matches[:, None]).any(1)
    columns[:, -1] = torch.where(is_missing, matches, columns[:, -1])
    values = costs.gather(1, columns).double()
    values = values - values.min() + 1.0  # an entry of zero would count as none
    graph = csr_array((on_host(values).ravel(), on_host(columns).ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    graph.sort_indices()
    return min_weight_full_bipartite_matching(graph)[1].astype(np.int64)
