"""Where nodes look alike: match a few at random, one after the other, and let heat from these distinguish the others.

A ring has no node that differs from the others, and no anchor says which node goes where. Once one node has a match,
the heat that reaches the others from it says much about them, and a second match says the rest.
"""

import numpy as np

from anchorot._typing import Float32s
from anchorot.align.graphs.heat import heat_of_node, walks
from anchorot.align.graphs.problem import Problem

MAX_PINS = 6  # nodes that are given a match
BLUR = 0.1  # standard deviations: the temperature at which costs become shares
MIN_CERTAINTY = 0.7  # Σ of squared shares: from here on a node has one match
TIED = 1e-3  # standard deviations of the costs: far above the rounding of float32, far below what an edge changes
LEAST_HEAT = 1e-12  # what is less, at nodes far away or in other components, counts as this


def are_mostly_tied(costs: Float32s) -> bool:
    """Whether most nodes of either network have several equally near ones in the other, as where a symmetry is."""
    sides = (costs, costs.T)
    return any(np.median((own <= own.min(axis=1, keepdims=True) + TIED).sum(axis=1)) > 1 for own in sides)


def pinned_costs(problem: Problem, costs: Float32s, rng: np.random.Generator) -> Float32s:
    """Costs of pairs of nodes, (n, m), and what heat from pinned nodes adds to them."""
    sides = [walks(matrix, problem.is_directed) for matrix in (problem.first, problem.second)]
    total = costs.copy()
    for _ in range(min(MAX_PINS, problem.n)):
        allowed = -problem.without_forbidden(-total)
        share = np.exp((allowed.min(axis=1, keepdims=True) - allowed) / BLUR)
        share /= share.sum(axis=1, keepdims=True)
        certain = (share**2).sum(axis=1) + 1e-6 * rng.uniform(size=problem.n)
        # the most certain of the undecided: of a small class of equals, if there is one
        node = int(np.where(certain < MIN_CERTAINTY, certain, 0).argmax())
        match = int((share[node] * rng.uniform(0.999, 1, size=problem.m)).argmax())
        for x, y in zip(*sides, strict=True):
            seen = [np.log(np.maximum(heat_of_node(*own), LEAST_HEAT)) for own in ((x, node), (y, match))]
            difference = np.abs(seen[0][:, None] - seen[1])
            total += (difference / (difference.std() or 1.0)).astype(np.float32)
    return total
