"""Rows about marked Anchor Energy and about many reaches at once, as ratios to the plain one: run this file."""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import numpy as np

import anchorot as ao
from anchorot.anchors.marked import energy_profile
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
        what = f"AE marked by {kinds} type{'s' * (kinds > 1)} over plain AE, n=m={LARGE}"
        found.append(at_most(what, 1.5, energy_of(x, y, marks="types"), energy_of(x, y), repeat=25))
    return found


def all_pairs(features: list[ao.AnchorFeatures]) -> list[float]:
    return [x.energy_to(y) for i, x in enumerate(features) for y in features[:i]]


def pair_rows() -> list[Row]:
    spaces = [typed(SMALL, seed, TYPES) for seed in range(MANY)]
    reach = max(float(space.cost.max()) for space in spaces)

    def marked() -> list[float]:
        return all_pairs([ao.AnchorFeatures.of(space, marks="types", reach=reach) for space in spaces])

    def plain() -> list[float]:
        return all_pairs([ao.AnchorFeatures.of(space) for space in spaces])

    what = f"all pairs of {MANY} clouds of {SMALL} points: marked by {TYPES} types over plain AE, with features"
    return [at_most(what, 3, marked, plain, repeat=5)]


def reach_rows() -> list[Row]:
    """All reaches of a curve in one pass, over the energy at the last of them."""
    x, y = typed(LARGE, 1, TYPES), typed(LARGE, 2, TYPES)
    reach = max(float(x.cost.max()), float(y.cost.max()))
    reaches = np.linspace(0, reach, 33)[1:]
    return [reach_row(x, y, marks, reaches) for marks in (None, "types")]


def reach_row(x: ao.Space, y: ao.Space, marks: str | None, reaches: np.ndarray) -> Row:
    fx, fy = (ao.AnchorFeatures.of(side, marks=marks, reach=float(reaches[-1])) for side in (x, y))
    what = f"AE at {len(reaches)} reaches over AE at one, marks={marks}, n=m={LARGE}, from features"
    return at_most(what, 6, lambda: energy_profile(fx, fy, reaches), lambda: fx.energy_to(fy), repeat=9)


ALL = (type_rows, pair_rows, reach_rows)


if __name__ == "__main__":
    print(table([row for part in ALL for row in part()]))
