"""Retrieval: which shape of the database is nearest to each query, by each distance."""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.study import Study

FORMS = ("plain", "ranks", "mean", "median")  # costs as they are, their ranks, and costs divided by their scale


@dataclass(frozen=True)
class Curve:
    """A distance on one form of the costs."""

    distance: str
    form: str

    @property
    def name(self) -> str:
        """What it is called in tables and pictures."""
        if self.form == "ranks":
            return f"robust {self.distance}"
        return self.distance if self.form == "plain" else f"{self.distance}, cost / {self.form}"


@dataclass(frozen=True)
class Group:
    """Queries of one kind and level, one of each shape, drawn and made together."""

    data: str
    kind: str
    level: float
    draw: int


@dataclass(frozen=True, eq=False)
class Retrieved:
    """Whether the right shape was nearest to each query of a group, by one curve."""

    group: Group
    curve: Curve
    right: NDArray[np.bool_]


def retrieve(
    study: Study, database: list[ao.Space], groups: dict[Group, list[ao.Space]], curve: Curve
) -> list[Retrieved]:
    """Look for the nearest shape of the database to all queries of the groups."""
    queries = [in_form(space, curve.form) for spaces in groups.values() for space in spaces]
    nearest = _nearest(study, queries, [in_form(space, curve.form) for space in database], curve)
    right = nearest.reshape(len(groups), len(database)) == np.arange(len(database))
    return [Retrieved(group, curve, row) for group, row in zip(groups, right, strict=True)]


def in_form(space: ao.Space, form: str) -> ao.Space:
    """Return the space with costs as a curve compares them."""
    return space if form == "plain" else space.ranked() if form == "ranks" else space.scaled(form)


def _nearest(study: Study, queries: list[ao.Space], database: list[ao.Space], curve: Curve) -> NDArray[np.int64]:
    """Return the nearest shape of the database to each query; GW's results are kept for the next run."""
    if curve.distance != "GW":
        epsilon = 0.0 if curve.distance == "AW" else None  # exact
        n_jobs = 1 if study.quick else study.n_jobs
        return ao.pairwise(queries, database, curve.distance.lower(), epsilon=epsilon, n_jobs=n_jobs).argmin(1)
    file = study.scratch / f"{curve.name} {_digest([*queries, *database])}.npy"
    if not file.exists():
        costs = np.stack([space.cost for space in database])  # one array, which workers map instead of copying it
        found = in_parallel(study, [joblib.delayed(_nearest_by_gw)(space.cost, costs) for space in queries])
        np.save(file, found)
    return np.asarray(np.load(file), dtype=np.int64)


def _nearest_by_gw(query: NDArray[np.float64], database: NDArray[np.float64]) -> int:
    """Return the shape of the lowest GW; bounds rule out most of the database without changing the result."""
    return int(ao.distances.nearest_gw(query, list(database), start="quick").index[0])


def _digest(spaces: Sequence[ao.Space]) -> str:
    """Return a name made of all that the result depends on."""
    seen = hashlib.sha256(ao.__version__.encode())
    for space in spaces:
        seen.update(np.ascontiguousarray(space.cost).tobytes())
    return seen.hexdigest()[:32]


def in_parallel(study: Study, work: list[Any]) -> list[Any]:
    """Do all the work, in processes unless they would take longer to start than there is work for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # idle processes end, and joblib says so
        return list(joblib.Parallel(n_jobs=1 if study.quick else study.n_jobs)(work))
