"""Retrieval: which shape of the database is nearest to each query, by each distance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import anchorot as ao

from experiments.common.study import Study
from experiments.robustness.shapes import KINDS, Mesh, query

DISTANCES = ("AE", "AW", "GW")
EPSILON = {False: 1e-6, True: 1e-8}  # of AW and robust AW in the paper, to be multiplied by the numbers of points


@dataclass(frozen=True)
class Trial:
    """How often, and at which levels of the queries, a distance is tried."""

    levels: tuple[int, ...]
    draws: int


@dataclass(frozen=True)
class Accuracy:
    """The share of queries of one group for which the right shape was nearest."""

    data: str
    kind: str
    level: int
    distance: str
    robust: bool
    draw: int
    value: float


def retrieve(
    study: Study, data: str, meshes: list[Mesh], n_points: int, trials: dict[str, Trial], draw: int
) -> list[Accuracy]:
    """Compare all queries of one draw with the database by all distances that are tried in it."""
    rng = study.rng(2, draw, n_points)
    trials = {distance: trial for distance, trial in trials.items() if draw < trial.draws}
    groups = list(product(KINDS, sorted({level for trial in trials.values() for level in trial.levels})))
    database = _spaces(study, meshes, n_points, rng)
    changed = [query(mesh, level, kind, rng) for kind, level in groups for mesh in meshes]
    made = _spaces(study, changed, n_points, rng)
    asked = {group: made[k * len(meshes) : (k + 1) * len(meshes)] for k, group in enumerate(groups)}
    found = []
    for distance, robust in product(trials, (False, True)):
        chosen = [group for group in groups if group[1] in trials[distance].levels]
        spaces = [space for group in chosen for space in asked[group]]
        name = f"{data}-{draw}-{distance}-{'robust' if robust else 'plain'}"
        nearest = _nearest(study, name, spaces, database, distance, robust).reshape(len(chosen), len(meshes))
        right = (nearest == np.arange(len(meshes))).mean(axis=1)
        found += [
            Accuracy(data, kind, level, distance, robust, draw, float(share))
            for (kind, level), share in zip(chosen, right, strict=True)
        ]
    return found


def _spaces(study: Study, meshes: Sequence[Mesh], n_points: int, rng: np.random.Generator) -> list[ao.Space]:
    """Draw the vertices of every mesh on its own, and measure along its surface."""
    draws = zip(meshes, rng.spawn(len(meshes)), strict=True)
    return _in_parallel(study, [joblib.delayed(mesh.space)(n_points, own) for mesh, own in draws])


def _in_parallel(study: Study, work: list[Any]) -> list[Any]:
    """Do all the work, in processes unless they would take longer to start than there is work for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # idle processes end, and joblib says so
        return list(joblib.Parallel(n_jobs=1 if study.quick else study.n_jobs)(work))


def _nearest(
    study: Study, name: str, queries: list[ao.Space], database: list[ao.Space], distance: str, robust: bool
) -> NDArray[np.int64]:
    """Return the nearest shape of the database to each query."""
    if distance == "GW":  # bounds rule out most of the database without changing the answer
        work = [joblib.delayed(ao.nearest_gw)(space, database, robust=robust) for space in queries]
        return np.array([found.index[0] for found in _in_parallel(study, work)])
    epsilon = EPSILON[robust] * queries[0].n * database[0].n if distance == "AW" else None
    values = ao.pairwise(
        queries,
        database,
        distance.lower(),
        robust=robust,
        epsilon=epsilon,
        n_jobs=study.n_jobs,
        checkpoint=study.scratch / name if distance == "AW" else None,
    )
    return values.argmin(axis=1)
