"""The databases and the queries of every draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.noise import NoiseFloor, noise_floor
from experiments.common.study import Study
from experiments.robustness.retrieval import Curve, Group, Retrieved, in_parallel, retrieve
from experiments.robustness.shapes import (
    KINDS,
    SCALES,
    Mesh,
    query,
    read_shrec11,
    read_tosca,
    shrec11,
    tosca,
    with_outliers,
)

QUICK_SHAPES = {"SHREC'11": 6, "TOSCA": 4}
WORST = 5  # the level at which outliers are added
UNDONE = "noise, lengths undone"


@dataclass(frozen=True)
class Trial:
    """How often, and at which levels of the queries, a distance is tried."""

    levels: tuple[int, ...]
    draws: int


def database(study: Study, data: str, draw: int) -> list[Mesh]:
    """Draw one shape of each class."""
    rng = study.rng(1, draw)
    if data == "TOSCA":
        classes: dict[str, list[Any]] = tosca(study.data["tosca_nonrigid3d"])
    else:
        archive = study.data["shrec11_meshcnn"] / "shrec_16.tar.gz"
        classes = shrec11(archive)
    chosen = [members[rng.integers(len(members))] for _, members in sorted(classes.items())]
    if study.quick:
        chosen = chosen[: QUICK_SHAPES[data]]
    return read_tosca(chosen) if data == "TOSCA" else read_shrec11(archive, chosen)


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of shapes and of two sets of their vertices: one for the database, and one for the queries."""

    study: Study
    data: str
    number: int
    meshes: list[Mesh]
    kept: list[ao.Space]
    asked: list[NDArray[np.int64]]

    @classmethod
    def of(cls, study: Study, data: str, number: int, n_points: int) -> "Draw":
        """Draw shapes and vertices; the two sets of vertices are disjoint."""
        meshes = database(study, data, number)
        rngs = study.rng(2, number, n_points).spawn(len(meshes))
        halves = [np.split(mesh.draw(2 * n_points, rng), 2) for mesh, rng in zip(meshes, rngs, strict=True)]
        kept = _measure(study, meshes, [first for first, _ in halves])
        return cls(study, data, number, meshes, kept, [second for _, second in halves])

    def ask(self, kinds: Sequence[str], trials: dict[Curve, Trial]) -> list[Retrieved]:
        """Ask by all curves that are tried in this draw, at all their levels."""
        trials = {curve: trial for curve, trial in trials.items() if self.number < trial.draws}
        levels = sorted({level for trial in trials.values() for level in trial.levels})
        made = {(kind, level): self._queries(kind, level) for kind, level in product(kinds, levels)}
        found = []
        for curve, trial in trials.items():
            groups = {
                Group(self.data, kind, level, self.number): made[kind, level]
                for kind, level in product(kinds, trial.levels)
            }
            found += retrieve(self.study, self.kept, groups, curve)
        return found

    def ask_with_outliers(self, shares: Sequence[float], curves: Sequence[Curve]) -> list[Retrieved]:
        """Ask with queries of the last level's size, a share of whose points are outliers: the level of the group."""
        plain = self._queries(KINDS[0], WORST)
        groups = {}
        for share in shares:
            rngs = self.study.rng(6, self.number, int(1000 * share)).spawn(len(plain))
            made = [with_outliers(space, share, rng) for space, rng in zip(plain, rngs, strict=True)]
            groups[Group(self.data, "outliers", share, self.number)] = made
        return [result for curve in curves for result in retrieve(self.study, self.kept, groups, curve)]

    def ask_with_lengths_undone(self, level: int, curve: Curve) -> tuple[list[Retrieved], list[float]]:
        """Ask with noisy queries whose costs are divided by how much noise has lengthened them on average.

        Their mean cost is then that of the scaled query without noise; returned with the factors of the lengths.
        """
        pairs = list(zip(self._queries(KINDS[0], level), self._queries(KINDS[1], level), strict=True))
        factors = [float(noisy.cost.mean() / scaled.cost.mean()) for scaled, noisy in pairs]
        undone = [ao.Space(noisy.cost / factor) for (_, noisy), factor in zip(pairs, factors, strict=True)]
        return retrieve(self.study, self.kept, {Group(self.data, UNDONE, level, self.number): undone}, curve), factors

    def noise(self, *, robust: bool) -> NoiseFloor:
        """Compare the two draws of every shape, unchanged: what is not 0 is due to the draw."""
        again = _measure(self.study, self.meshes, self.asked)
        return noise_floor(zip(self.kept, again, strict=True), self.study.rng(7, self.number), robust=robust)

    def _queries(self, kind: str, level: int) -> list[ao.Space]:
        rngs = self.study.rng(3, self.number, level, KINDS.index(kind)).spawn(len(self.meshes))
        changed = [query(mesh, level, kind, rng) for mesh, rng in zip(self.meshes, rngs, strict=True)]
        return _measure(self.study, changed, self.asked)


def _measure(study: Study, meshes: list[Mesh], points: list[NDArray[np.int64]]) -> list[ao.Space]:
    return in_parallel(study, [joblib.delayed(mesh.space)(chosen) for mesh, chosen in zip(meshes, points, strict=True)])


def sizes_in_words() -> str:
    """Return the sizes of the levels, in the order of the levels."""
    return ", ".join(f"{SCALES[level]:g}" for level in sorted(SCALES))
