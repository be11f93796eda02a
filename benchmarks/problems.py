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

Mesh = tuple[np.ndarray, np.ndarray]


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


def surface_costs(name: str, meshes: Callable[[], list[Mesh]], n: int) -> np.ndarray:
    """Costs between n points, far from each other, that all of the meshes have; computed once, then kept in a file."""
    file = CACHE / f"{name}-{n}.npz"
    if not file.exists():
        found = meshes()
        same = shared_vertices(found)
        spread = np.array(ao.from_mesh(found[0], 2 * n, "edge", rng=0, sampling="farthest").labels)
        places = {vertex: place for place, vertex in enumerate(same[0].tolist())}
        points = [places[vertex] for vertex in spread.tolist() if vertex in places][:n]
        costs = [ao.from_mesh(mesh, points=own[points]).cost for mesh, own in zip(found, same, strict=True)]
        CACHE.mkdir(exist_ok=True)
        np.savez(file, costs=np.stack(costs))
    return np.load(file)["costs"]


def shared_vertices(meshes: list[Mesh]) -> list[np.ndarray]:
    """Of every mesh its vertices that the others have too, in one order, whatever the files' numbers.

    They are identified by how they are joined to others, near and far; those that this cannot tell apart are left out.
    """
    if all(np.array_equal(faces, meshes[0][1]) for _, faces in meshes):
        return [np.arange(len(vertices)) for vertices, _ in meshes]
    own = []
    for vertices, faces in meshes:
        colours, places, counts = np.unique(joints(faces, len(vertices)), return_index=True, return_counts=True)
        own.append((colours[counts == 1], places[counts == 1]))
    common = set.intersection(*(set(colours.tolist()) for colours, _ in own))
    return [places[np.isin(colours, np.array(sorted(common), np.uint64))] for colours, places in own]


def joints(faces: np.ndarray, n: int) -> np.ndarray:
    """Colour refinement (Weisfeiler and Leman): a number for how a vertex is joined to all others."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    heads, tails = np.concatenate([sides, sides[:, ::-1]]).T
    colours = np.ones(n, np.uint64)
    for _ in range(40):
        mixed = colours * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        colours = colours * np.uint64(0x94D049BB133111EB)
        np.add.at(colours, heads, mixed[tails] ^ (mixed[tails] >> np.uint64(32)))
    return colours


def scans(folder: Path) -> tuple[list[Mesh], np.ndarray]:
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
    """A shape of SHREC'10 against its official isometries, whose files number the same vertices otherwise."""
    for shape in ("0002", "0003"):
        files = sorted((folder / "shrec10_subset").glob(f"{shape}.*.npz"), key=lambda file: "null" not in file.name)
        files = files[:2] if is_quick else files
        name = f"isometries-{shape}-{len(files)}"
        costs = surface_costs(name, lambda files=files: [mesh_of(file) for file in files], 500)
        for seed in range(1, len(files)):
            yield shuffled(costs[0], costs[seed], seed)


def mesh_of(file: Path) -> Mesh:
    held = np.load(file)
    return held["V"].astype(float), held["F"].astype(np.int64)


def cell_problems(folder: Path, is_quick: bool) -> Iterator[Problem]:
    """Cells seen by two assays, by shortest paths on SCOT's graphs of neighbours."""
    pairs = [scgem(folder / "singlecell" / "scGEM")]
    pairs += [] if is_quick else [snare(folder / "singlecell" / "SNARE")]
    for pair in pairs:
        first, second = (ao.from_neighbors(side, pair.n_neighbors).cost for side in (pair.first, pair.second))
        yield shuffled(first / first.max(), second / second.max(), 0, pair.types)
