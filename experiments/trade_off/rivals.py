"""Other distances between spaces of uniform weights, from POT or of a few lines: functions of two spaces."""

import warnings
from collections.abc import Callable

import numpy as np

import anchorot as ao

PROJECTIONS = 50
PARTS = 30  # of a quantized space

Rival = Callable[[ao.Space, ao.Space], float]


def second_bound(x: ao.Space, y: ao.Space) -> float:
    """SLB (Mémoli 2011): transport between the distributions of all costs, for spaces of one size."""
    costs = (np.sort(space.cost, axis=None) for space in (x, y))
    return float(np.square(np.subtract(*costs)).mean())


def sliced_third_bound(x: ao.Space, y: ao.Space) -> float:
    """Slice TLB (Piening and Beinert 2025, arXiv 2508.02364): anchors as quantile functions, projected on lines."""
    import ot

    rows = (np.sort(space.cost, axis=1) / np.sqrt(space.n) for space in (x, y))
    return float(ot.sliced_wasserstein_distance(*rows, n_projections=PROJECTIONS, seed=0))


def quantized_gromov(x: ao.Space, y: ao.Space) -> float:
    """GW of parts' middles, then points within matched parts (Chowdhury, Miller, Needham 2021), POT's.

    The middles are farthest points, and a part is all that is nearest to its middle.
    """
    import ot

    (x, *parts_x), (y, *parts_y) = _in_parts(x), _in_parts(y)
    (costs_x, costs_y), (to_x, to_y), (mass_x, mass_y) = zip(parts_x, parts_y, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *_, plan = ot.gromov.quantized_fused_gromov_wasserstein_partitioned(
            costs_x, costs_y, to_x, to_y, mass_x, mass_y, build_OT=True
        )
    return _loss(x, y, plan)


def _in_parts(space: ao.Space) -> tuple[ao.Space, np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Return the points in the order of their parts, costs between middles, and of each part costs to it and masses."""
    chosen = [0]
    while len(chosen) < PARTS:
        chosen.append(int(space.cost[chosen].min(axis=0).argmax()))
    part = space.cost[chosen].argmin(axis=0)
    members = [np.flatnonzero(part == k) for k in range(PARTS)]
    to_middle = [space.cost[chosen[k], own] for k, own in enumerate(members)]
    masses = [np.full(len(own), 1 / space.n) for own in members]
    return space.take(np.concatenate(members)), space.cost[np.ix_(chosen, chosen)], to_middle, masses


def _loss(x: ao.Space, y: ao.Space, plan: np.ndarray) -> float:
    """GW's loss of a plan, with the sums that it really has."""
    rows, columns = plan.sum(axis=1), plan.sum(axis=0)
    squares = rows @ np.square(x.cost) @ rows + columns @ np.square(y.cost) @ columns
    return float(squares - 2 * np.sum((x.cost @ plan @ y.cost) * plan))
