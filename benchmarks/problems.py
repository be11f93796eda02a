"""Pairs of spaces whose true correspondence is known."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

import anchorot as ao

sys.path.append(str(Path(__file__).parents[1]))  # for the readers of the experiments
from experiments.beyond.cells import scgem, snare

CACHE = Path(tempfile.gettempdir()) / "anchorot-benchmark"
POINTS = 400
ACROSS = 20  # pairs of scans of two subjects
QUICK = 6


class Problem(NamedTuple):
    """Two spaces whose correspondence is known."""

    x: ao.Space
    y: ao.Space
    truth: np.ndarray
    labels: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def true_loss(self) -> float:
        """The objective of the true correspondence."""
        return float(np.square(self.x.cost - self.y.cost[np.ix_(self.truth, self.truth)]).mean())


def shuffled(first: np.ndarray, second: np.ndarray, seed: int, labels: np.ndarray | None = None) -> Problem:
    """The problem of two matrices of costs between the same points."""
    order = np.random.default_rng(seed).permutation(len(second))
    pair = None if labels is None else (labels, labels[order])
    return Problem(ao.Space(first), ao.Space(second[np.ix_(order, order)]), np.argsort(order), pair)


def surface_costs(name: str, meshes: Callable[[], list[tuple[np.ndarray, np.ndarray]]], n: int) -> np.ndarray:
    """Costs between n farthest vertices of meshes that have the same vertices; computed once, then kept in a file."""
    file = CACHE / f"{name}-{n}.npz"
    if not file.exists():
        found = meshes()
        points = ao.from_mesh(found[0], n, "edge", rng=0, sampling="farthest").labels
        costs = np.stack([ao.from_mesh(mesh, points=points).cost for mesh in found])
        CACHE.mkdir(exist_ok=True)
        np.savez(file, costs=costs)
    return np.load(file)["costs"]


def scans(folder: Path) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    held = np.load(folder / "faust_two_subjects" / "scans.npz")
    return [(vertices.astype(float), held["F"].astype(np.int64)) for vertices in held["V"]], held["subject"]


def scan_pairs(subject: np.ndarray, is_quick: bool) -> list[tuple[int, int]]:
    """All pairs within a subject, and some across."""
    everything = list(combinations(range(len(subject)), 2))
    within = [pair for pair in everything if subject[pair[0]] == subject[pair[1]]]
    across = [pair for pair in everything if subject[pair[0]] != subject[pair[1]]]
    drawn = np.random.default_rng(0).choice(len(across), ACROSS, replace=False)
    pairs = within + [across[k] for k in drawn]
    return pairs[:: -(-len(pairs) // QUICK)] if is_quick else pairs


def scan_problems(folder: Path, is_quick: bool, n: int = POINTS) -> Iterator[Problem]:
    meshes, subject = scans(folder)
    costs = surface_costs("scans", lambda: meshes, n)
    for seed, (i, j) in enumerate(scan_pairs(subject, is_quick)):
        yield shuffled(costs[i], costs[j], seed)


def large_problems(folder: Path, is_quick: bool) -> Iterator[Problem]:
    """Pairs of scans of 2000 points: two, or one."""
    meshes, _ = scans(folder)
    costs = surface_costs("large scans", lambda: meshes[:3], 2000)
    for k in range(1 if is_quick else 2):
        yield shuffled(costs[k], costs[k + 1], k)


def isometry_problems(folder: Path, is_quick: bool) -> Iterator[Problem]:
    """A shape of SHREC'10 against its official isometries, at the same vertices."""
    for shape in ("0002", "0003"):
        files = sorted((folder / "shrec10_subset").glob(f"{shape}.*.npz"), key=lambda file: "null" not in file.name)
        files = files[:2] if is_quick else files
        name = f"isometries-{shape}-{len(files)}"
        costs = surface_costs(name, lambda files=files: [mesh_of(file) for file in files], 500)
        for seed in range(1, len(files)):
            yield shuffled(costs[0], costs[seed], seed)


def mesh_of(file: Path) -> tuple[np.ndarray, np.ndarray]:
    held = np.load(file)
    return held["V"].astype(float), held["F"].astype(np.int64)


def cell_problems(folder: Path, is_quick: bool) -> Iterator[Problem]:
    """Cells seen by two assays, by shortest paths on SCOT's graphs of neighbours."""
    pairs = [scgem(folder / "singlecell" / "scGEM")]
    pairs += [] if is_quick else [snare(folder / "singlecell" / "SNARE")]
    for pair in pairs:
        first, second = (ao.from_neighbors(side, pair.n_neighbors).cost for side in (pair.first, pair.second))
        yield shuffled(first / first.max(), second / second.max(), 0, pair.types)
