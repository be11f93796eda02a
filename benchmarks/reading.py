"""Rows about reading files: by one process, by two, and from the cache; and about distances along a surface."""

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import anchorot as ao
from measure import Row, at_least

MANY, POINTS = 76, 200
ROUND, ACROSS = 100, 50  # vertices of a torus


def rows(folder: Path) -> list[Row]:
    """All pairs of meshes, of which reading is nearly all of the time."""
    files = sorted(folder.glob("*.mat"))[:MANY]

    def read(n_jobs: int, cache: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.InputWarning)  # some have several components
            ao.pairwise(files, n_points=POINTS, rng=0, n_jobs=n_jobs, cache=cache)

    what = f"all pairs of {len(files)} meshes of TOSCA from their files, {POINTS} points each"
    both = at_least(f"{what}, one process over two", 1.6, lambda: read(1, False), lambda: read(2, False), 2)
    with TemporaryDirectory() as place:
        os.environ["ANCHOROT_CACHE"] = place
        kept = at_least(f"{what}, read over kept", 10, lambda: read(2, False), lambda: read(2, True), 2)
    return [both, kept, *heat_rows()]


def torus() -> tuple[np.ndarray, np.ndarray]:
    """A bumpy torus of 5 000 vertices."""
    u, v = (part.ravel() for part in np.meshgrid(np.arange(ROUND), np.arange(ACROSS), indexing="ij"))
    turn, tilt = 2 * np.pi * u / ROUND, 2 * np.pi * v / ACROSS
    tube = 1 + 0.2 * np.sin(5 * turn) * np.cos(3 * tilt)
    ring = 3 + tube * np.cos(tilt)
    vertices = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), tube * np.sin(tilt)])
    right, up = (u + 1) % ROUND, (v + 1) % ACROSS
    a, b, c, d = (i * ACROSS + j for i, j in ((u, v), (right, v), (right, up), (u, up)))
    return vertices, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def heat_rows() -> list[Row]:
    """Our heat method, several sources at a time, beside potpourri3d's, if that is installed."""
    if find_spec("potpourri3d") is None:
        return []
    from potpourri3d import MeshHeatMethodDistanceSolver

    vertices, faces = torus()
    index = np.random.default_rng(0).choice(len(vertices), POINTS, replace=False)

    def theirs() -> None:
        solver = MeshHeatMethodDistanceSolver(vertices, faces)
        for source in index:
            solver.compute_distance(int(source))[index]

    what = f"distances between {POINTS} of {len(vertices)} vertices by the heat method, potpourri3d over ours"
    return [at_least(what, 2, theirs, lambda: ao.from_mesh((vertices, faces), points=index))]
