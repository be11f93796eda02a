"""Rows about reading files: by one process, by two, and from the cache."""

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import anchorot as ao
from measure import Row, at_least

MANY, POINTS = 76, 200


def rows(folder: Path) -> list[Row]:
    """All pairs of meshes, of which reading is nearly all of the time."""
    files = sorted(folder.glob("*.mat"))[:MANY]

    def read(n_jobs: int, cache: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.InputNote)  # some have several components
            ao.pairwise(files, n_points=POINTS, rng=0, n_jobs=n_jobs, cache=cache)

    what = f"all pairs of {len(files)} meshes of TOSCA from their files, {POINTS} points each"
    both = at_least(f"{what}, one process over two", 1.6, lambda: read(1, False), lambda: read(2, False), 2)
    with TemporaryDirectory() as place:
        os.environ["ANCHOROT_CACHE"] = place
        kept = at_least(f"{what}, read over kept", 10, lambda: read(2, False), lambda: read(2, True), 2)
    return [both, kept]
