"""Retrieval: which shape of the database is nearest to each query, by each distance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import joblib
import numpy as np
from numpy.typing import NDArray

import anchorot as ao

from experiments.common.study import Study
from experiments.robustness.shapes import KINDS, Mesh, query

DISTANCES = ("AE", "AW", "GW")
EPSILON = {False: 1e-6, True: 1e-8}  # of AW and robust AW in the paper, to be multiplied by the numbers of points


@dataclass(frozen=True)
class Queries:
    """Which queries there are of every shape: both kinds at all levels, and those among them that GW is asked."""

    levels: tuple[int, ...]
    gw_levels: tuple[int, ...]
    gw_draws: int

    def groups(self, distance: str, draw: int) -> list[tuple[str, int]]:
        """Return the kinds and levels at which a distance is tried in one draw."""
        if distance == "GW":
            return list(product(KINDS, self.gw_levels)) if draw < self.gw_draws else []
        return list(product(KINDS, self.levels))


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


def retrieve(study: Study, data: str, meshes: list[Mesh], n_points: int, queries: Queries, draw: int) -> list[Accuracy]:
    """Compare all queries of one draw with the database by all distances."""
    rng = study.rng(2, draw, n_points)
    database = _spaces(study, meshes, n_points, rng)
    groups = list(product(KINDS, queries.levels))
    changed = [query(mesh, level, kind, rng) for kind, level in groups for mesh in meshes]
    made = _spaces(study, changed, n_points, rng)
    asked = {group: made[k * len(meshes) : (k + 1) * len(meshes)] for k, group in enumerate(groups)}
    found = []
    for distance, robust in product(DISTANCES, (False, True)):
        chosen = queries.groups(distance, draw)
        spaces = [space for group in chosen for space in asked[group]]
        if not spaces:
            continue
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
    work = [
        joblib.delayed(_space)(mesh, n_points, own) for mesh, own in zip(meshes, rng.spawn(len(meshes)), strict=True)
    ]
    return joblib.Parallel(n_jobs=_workers(study))(work)


def _workers(study: Study) -> int:
    """Processes take longer to start than a quick run has work for."""
    return 1 if study.quick else study.n_jobs


def _space(mesh: Mesh, n_points: int, rng: np.random.Generator) -> ao.Space:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.InputNote)  # some TOSCA shapes have small loose parts
        return mesh.space(n_points, rng)


def _nearest(
    study: Study, name: str, queries: list[ao.Space], database: list[ao.Space], distance: str, robust: bool
) -> NDArray[np.int64]:
    """Return the nearest shape of the database to each query."""
    if distance == "GW":  # bounds rule out most of the database without changing the answer
        work = [joblib.delayed(ao.nearest_gw)(space, database, robust=robust) for space in queries]
        return np.array([found.indices[0] for found in joblib.Parallel(n_jobs=_workers(study))(work)])
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
