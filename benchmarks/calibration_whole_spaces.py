"""Pairs of spaces that `reliable` of `align` is fitted to, and others that it is reported on.

An alignment is right if at least 80 % of the points that have a true match are matched with it or with one of the eight
points nearest to it, or, where the spaces have exact symmetries, if its loss is at most that of the true matches.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import anchorot as ao
from anchorot.align.spaces.reliability import whole_features
from calibration import Floats, Job, Seen, Task, fit_whole, judge_whole
from confidence import HELD, Pair
from drawn_pairs import DRAWN
from whole_pairs import REAL, WHOLE

PAIRS = 30  # of each kind
FIRST_HELD = 1000  # number of the first pair that is held out: the form of the model was chosen with others
NEIGHBOURS = 8
RIGHT = 0.8
EQUAL = 1e-9
SYMMETRIC = "exact symmetries"
FEATURES = ("near", "regions")


def observe_drawn(name: str, number: int) -> Seen:
    make = (DRAWN | WHOLE)[name][0]
    return observe(make(np.random.default_rng([number, *name.encode()])), name == SYMMETRIC)


def observe_real(folder: Path, name: str, number: int) -> Seen:
    return observe(REAL[name][0](folder, np.random.default_rng([number, *name.encode()])))


def observe(pair: Pair, is_symmetric: bool = False) -> Seen:
    """Align, and look at the whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of neighbours' graphs in several parts, say
        found = ao.align(pair.first, pair.second, rng=0, mass=pair.mass)
    is_right = share_near(pair, found.matches) >= RIGHT
    if is_symmetric:
        truth = pair.is_right.argmax(axis=1)
        loss = float(np.square(pair.first - pair.second[np.ix_(truth, truth)]).mean())
        is_right |= found.value <= loss + EQUAL * float(pair.first.var() + pair.second.var())
    return whole_features(found._evidence) | {"is_right": np.array([is_right])}


def share_near(pair: Pair, matches: Floats) -> float:
    """Share of the points with a true match whose match is it, or near it; 0 if there are none."""
    costs = (pair.second + pair.second.T) / 2
    is_near = costs <= np.partition(costs, min(NEIGHBOURS, len(costs) - 1), axis=1)[:, NEIGHBOURS, None]
    allowed = pair.is_right.astype(float) @ is_near > 0
    rows = np.flatnonzero((matches >= 0) & pair.is_right.any(axis=1))
    return float(allowed[rows, matches[rows]].mean()) if len(rows) else 0.0


def jobs(folder: Path, is_fit: bool) -> Iterator[Job]:
    begin = 0 if is_fit else FIRST_HELD
    for name, (_, serves) in (DRAWN | WHOLE).items():
        if serves == is_fit:
            yield from (Job(name, k, observe_drawn, (name, begin + k)) for k in range(PAIRS))
    for name, (pairs, needed, serves) in HELD.items():
        if serves == is_fit and (folder / needed).exists() and needed:
            drawn = enumerate(pairs(folder))
            yield from (Job(name, k, observe, (pair,)) for k, pair in drawn if isinstance(pair, Pair))
    for name, (_, needed) in REAL.items():
        if not is_fit and (folder / needed).exists():
            yield from (Job(name, k, observe_real, (folder, name, begin + k)) for k in range(PAIRS))


TASK = Task(
    jobs,
    partial(fit_whole, features=FEATURES),
    partial(judge_whole, features=FEATURES),
    {
        "whole": "pairs of spaces of ten kinds: Gaussian clouds, two views of clusters, bent surfaces, neighbours' "
        "graphs, nearly symmetric clouds, stick figures, scans of one person, and without a true correspondence: "
        "Gaussian clouds, spaces of different kinds, two samples of one shape",
    },
)
