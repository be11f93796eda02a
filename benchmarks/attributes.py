"""Anchor Energy with attributes, and up to many values of max_cost at once, as ratios to the plain one."""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import numpy as np

import anchorot as ao
from anchorot.anchors.attribute_features import cost_profile
from energy import energy_of
from measure import Row, at_most, cloud, table

LARGE, SMALL, MANY = 1024, 100, 148
TYPES = 3  # of all pairs


def typed(n: int, seed: int, kinds: int) -> ao.Space:
    """A cloud whose points have types, by chance."""
    types = np.random.default_rng(seed).integers(0, kinds, n).tolist()
    return ao.Space(cloud(n, seed).cost, types=types)


def type_rows() -> list[Row]:
    found = []
    for kinds in (1, 2, 4, 8):
        x, y = typed(LARGE, 1, kinds), typed(LARGE, 2, kinds)
        what = f"AE with {kinds} type{'s' * (kinds > 1)} over plain AE, n=m={LARGE}"
        found.append(at_most(what, 1.5, energy_of(x, y, attributes="types"), energy_of(x, y), repeat=25))
    return found


def all_pairs(features: list[ao.AnchorFeatures]) -> list[float]:
    return [x.energy_to(y) for i, x in enumerate(features) for y in features[:i]]


def pair_rows() -> list[Row]:
    spaces = [typed(SMALL, seed, TYPES) for seed in range(MANY)]
    max_cost = max(float(space.cost.max()) for space in spaces)

    def with_types() -> list[float]:
        return all_pairs([ao.AnchorFeatures.of(space, attributes="types", max_cost=max_cost) for space in spaces])

    def plain() -> list[float]:
        return all_pairs([ao.AnchorFeatures.of(space) for space in spaces])

    what = f"all pairs of {MANY} clouds of {SMALL} points: with {TYPES} types over plain AE, with features"
    return [at_most(what, 3, with_types, plain, repeat=5)]


def max_cost_rows() -> list[Row]:
    """All values of max_cost of a curve in one pass, over the energy at the last of them."""
    x, y = typed(LARGE, 1, TYPES), typed(LARGE, 2, TYPES)
    max_cost = max(float(x.cost.max()), float(y.cost.max()))
    max_costs = np.linspace(0, max_cost, 33)[1:]
    return [max_cost_row(x, y, attributes, max_costs) for attributes in (None, "types")]


def max_cost_row(x: ao.Space, y: ao.Space, attributes: str | None, max_costs: np.ndarray) -> Row:
    fx, fy = (ao.AnchorFeatures.of(side, attributes=attributes, max_cost=float(max_costs[-1])) for side in (x, y))
    what = f"AE at {len(max_costs)} max_costs over AE at one, attributes={attributes}, n=m={LARGE}, from features"
    return at_most(what, 6, lambda: cost_profile(fx, fy, max_costs), lambda: fx.energy_to(fy), repeat=9)


ALL = (type_rows, pair_rows, max_cost_rows)


if __name__ == "__main__":
    print(table([row for part in ALL for row in part()]))
