"""Neurons: telling spiny from aspiny ones by the shape of their trees."""

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.clock import one_core, processor_time
from experiments.common.study import Study

KINDS = ("spiny", "aspiny")


@dataclass(frozen=True)
class Distance:
    """A distance by name, as `pairwise` takes it, and whether it is the square of one."""

    name: str
    metric: str
    robust: bool = False
    epsilon: float | None = None
    squared: bool = True


DISTANCES = (
    Distance("AE", "ae"),
    Distance("robust AE", "ae", robust=True),
    Distance("AW", "aw", epsilon=0.0, squared=False),
    Distance("GW", "gw"),
)


@dataclass(frozen=True, eq=False)
class Separation:
    """How well one distance tells the kinds of neurons apart."""

    distance: str
    matrix: NDArray[np.float64]
    right: NDArray[np.float64]
    statistic: float
    pvalue: float
    seconds: float


def read_neurons(folder: Path) -> tuple[list[ao.Space], NDArray[np.str_]]:
    """Read the spiny and aspiny neurons: distances along the tree between 50 of its points, and kinds."""
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as handle:
        kinds = {row["specimen__id"]: row["tag__dendrite_type"] for row in csv.DictReader(handle)}
    with gzip.open(folder / "icdm_geodesic.csv.gz", "rt", encoding="utf-8") as handle:
        rows = list(csv.reader(handle))[1:]
    chosen = [row for row in rows if kinds[row[0]] in KINDS]
    return [_space(row[1:]) for row in chosen], np.array([kinds[row[0]] for row in chosen])


def separate(study: Study, spaces: list[ao.Space], kinds: NDArray[np.str_], distance: Distance) -> Separation:
    """Compare all neurons, classify each by its nearest other, and test whether kinds differ."""
    options: dict[str, Any] = {"metric": distance.metric, "robust": distance.robust, "epsilon": distance.epsilon}
    with one_core():
        values, seconds = processor_time(lambda: ao.pairwise(spaces, n_jobs=1, **options))
    matrix = np.sqrt(np.maximum(values, 0)) if distance.squared else values
    tested = ao.group_test(matrix, kinds, n_resamples=99 if study.quick else 999, rng=0)
    right = leave_one_out(matrix, kinds)
    return Separation(distance.name, matrix, right, float(tested.statistic), float(tested.pvalue), seconds)


def leave_one_out(matrix: NDArray[np.float64], kinds: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return for each neuron whether the nearest other one is of its kind."""
    others = matrix + np.diag(np.full(len(matrix), np.inf))
    return (kinds[others.argmin(axis=1)] == kinds).astype(np.float64)


def _space(distances: list[str]) -> ao.Space:
    """Return the space whose distances d_01, d_02, ... are the upper triangle, row by row."""
    from scipy.spatial.distance import squareform

    return ao.Space(squareform(np.array(distances, dtype=np.float64)))
