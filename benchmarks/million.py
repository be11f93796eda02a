"""What ten thousand, a hundred thousand and a million spaces cost: preparing, all pairs, the nearest of each, an index.

    python benchmarks/million.py            some minutes
    python benchmarks/million.py --write    also write record.toml
    python benchmarks/million.py --keep million.json    go on where a run with this file ended

Measured are small and middle sizes, in processor time of one thread, each in its own process. What is in italics is
computed from that: preparing and building grow like N, all pairs like N². Of a query the comparisons grow like the root
of N, and looking at vectors like N; so the nearest of each grow by N^1.5 and N², fitted, the latter for all together.
Several cores divide the time of one by what the record has for all pairs (`threads.py`). The H200 takes what the record
has for its kernels (`gpu.py`), times (points / 100)² for all pairs, and N² for the nearest of each.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import anchorot as ao
from anchorot.config import config
from measure import python, write_results
from record import read
from scale import folder_size, shown_bytes, shown_time, spaces

POINTS, SIZES = (20, 50, 100), (10**4, 10**5, 10**6)
PREPARED, PAIRED, QUERIES, NEAREST = 2000, 1000, 50, 10
NEAREST_SIZES = (3162, 10_000)
LARGEST_NEAREST = {20: 100_000, 50: 100_000, 100: 31_623}  # by the time of some rows, up to 3 GB of features
ROWS = 128, 1152
INDEX_SIZE = 10_000
SCANNED = 20_000  # spaces, in what the record has of a scan
GAINS = {20: "all pairs of 600 spaces of 50 points", 50: "all pairs of 600 spaces of 50 points"}
GAINS[100] = "all pairs of 400 spaces of 100 points"


def timed(action: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    action()
    return time.process_time() - start


# -- what is measured, each in its own process ---------------------------------------------------------------------


def units(points: int) -> dict[str, float]:
    """Processor time per space and per pair, and bytes per space."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(points, 3)) for _ in range(PREPARED)]
    few = [ao.AnchorFeatures.of(ao.from_points(cloud)) for cloud in clouds[:PAIRED]]
    features: list[ao.AnchorFeatures] = []
    making = timed(lambda: features.extend(ao.AnchorFeatures.of(ao.from_points(cloud)) for cloud in clouds))
    given = {"n_jobs": 1, "progress": False}
    pairs = PAIRED * (PAIRED - 1) / 2
    return {
        "prepare": making / PREPARED,
        "vector": timed(lambda: ao.embed(features, (16, 16), **given)) / PREPARED,
        "ae": timed(lambda: ao.pairwise(few, **given)) / pairs,
        "saw": timed(lambda: ao.pairwise(few, metric="saw", **given)) / pairs,
        "memory": sum(array.nbytes for array in few[0].arrays()),
    }


def nearest(points: int, count: int) -> dict[str, float]:
    """The nearest of each, from features."""
    features = [ao.AnchorFeatures.of(space) for space in spaces(count, points=points)]
    return {"time": timed(lambda: ao.pairwise(features, k=NEAREST, n_jobs=1, progress=False))}


def nearest_of_some(points: int, count: int) -> dict[str, float]:
    """The nearest of each, by the time of some more rows."""
    features = [ao.AnchorFeatures.of(space) for space in spaces(count, points=points)]
    asked = [ao.AnchorFeatures.of(space) for space in spaces(ROWS[1], seed=1, points=points)]
    given = {"k": NEAREST, "n_jobs": 1, "progress": False, "memory": "16GiB"}  # so that all are kept
    few, all_rows = (timed(lambda rows=rows: ao.pairwise(asked[:rows], features, **given)) for rows in ROWS)
    return {"time": (all_rows - few) / (ROWS[1] - ROWS[0]) * count}


def index(points: int, count: int) -> dict[str, float]:
    """An index in a file: building, from features; a query; its size."""
    features = [ao.AnchorFeatures.of(space) for space in spaces(count, points=points)]
    asked = list(spaces(QUERIES + 1, seed=1, points=points))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.index"
        building = timed(lambda: ao.SearchIndex.build(features, path=path, n_jobs=1))
        found = ao.SearchIndex.load(path)
        found.query(asked.pop(), k=NEAREST)
        query = timed(lambda: [found.query(x, k=NEAREST) for x in asked]) / QUERIES
        return {"build": building, "query": query, "disk": folder_size(Path(folder))}


def dask(points: int, count: int, side: int) -> dict[str, float]:
    """All pairs on two local worker processes of Dask: processor time of all processes, with their start."""
    from distributed import Client, LocalCluster

    given = list(spaces(count, points=points))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        ao.pairwise(given, client=client, progress=False, tile=side)
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"time": sum(part.ru_utime + part.ru_stime for part in (own, children))}


def threads(points: int, count: int) -> dict[str, float]:
    """The same in one thread of one process."""
    ao.pairwise(list(spaces(count, points=points)), n_jobs=1, progress=False)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {"time": own.ru_utime + own.ru_stime}


class Measurements:
    """What was measured, kept in a file if there is one, so that an interrupted run goes on."""

    def __init__(self, keep: Path | None) -> None:
        self._keep = keep
        self._kept: dict[str, dict[str, float]] = json.loads(keep.read_text()) if keep and keep.exists() else {}

    def __call__(self, work: Callable[..., dict[str, float]], *sizes: int) -> dict[str, float]:
        """Return what a function measures in a new process."""
        name = " ".join([work.__name__, *map(str, sizes)])
        if name not in self._kept:
            self._kept[name] = json.loads(python(__file__, "--one", *name.split()))
            print(name, self._kept[name], flush=True)
            if self._keep is not None:
                self._keep.write_text(json.dumps(self._kept))
        return self._kept[name]


# -- tables --------------------------------------------------------------------------------------------------------


def from_record(what: str, column: str, **where: str) -> Any:
    """A cell of the record, by the first cell of its row, and others by the names of their columns."""
    for section in read():
        for part in section["part"]:
            for row in part.get("rows", []):
                named = dict(zip(part["columns"], row, strict=True))
                if row[0] == what and column in named and all(named.get(name) == its for name, its in where.items()):
                    return named[column]
    raise KeyError(what)


def gain(points: int, cores: int) -> float:
    return float(from_record(GAINS[points], f"{cores} threads")["ratio"])


def guessed(seconds: float) -> str:
    return f"*{shown_time(seconds)}*"


def on_cores(points: int, seconds: float) -> str:
    return f"{guessed(seconds / gain(points, 2))} | {guessed(seconds / gain(points, 16))}"


def count_of(size: int) -> str:
    return f"{size:,}".replace(",", " ")


def unit_table(found: dict[int, dict[str, float]]) -> str:
    lines = ["| points of a space | preparing | a vector | a pair by AE | a pair by SAW | prepared |"]
    lines.append("|---|---|---|---|---|---|")
    for points, unit in found.items():
        cells = [f"{unit[name] * 1e6:.3g} µs" for name in ("prepare", "vector", "ae", "saw")]
        lines.append(f"| {points} | {' | '.join(cells)} | {unit['memory'] / 1e3:.3g} kB |")
    return "\n".join(lines)


def pairs_table(units_of: dict[int, dict[str, float]]) -> str:
    lines = ["| spaces | points | preparing | all pairs, one core | two cores | 16 cores | H200, kernel | matrix |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    alone = float(from_record("all pairs on the device: the kernel alone", "measured")["per pair"]["value"]) * 1e-9
    for size in SIZES:
        for points in POINTS:
            pairs, unit = size * (size - 1) / 2, units_of[points]
            seconds, kernel = pairs * unit["ae"], pairs * alone * (points / 100) ** 2
            device = shown_time(kernel) if (size, points) == (10**4, 100) else guessed(kernel)
            times = f"{guessed(size * unit['prepare'])} | {guessed(seconds)} | {on_cores(points, seconds)} | {device}"
            lines.append(f"| {count_of(size)} | {points} | {times} | {shown_bytes(8.0 * size**2)} |")
    return "\n".join(lines)


def nearest_model(found: dict[int, dict[int, float]]) -> tuple[dict[int, float], float]:
    """Coefficients of N^1.5, for spaces of so many points, and of N²: all vectors are of one length.

    Fitted by least relative errors to what was measured from 10 000 spaces on.
    """
    from scipy.optimize import nnls

    terms = []
    for place, points in enumerate(POINTS):
        for size, seconds in found[points].items():
            if size >= SIZES[0]:
                own = [size**1.5 if k == place else 0.0 for k in range(len(POINTS))]
                terms.append(np.array([*own, float(size) ** 2]) / seconds)
    *compared, looking = nnls(np.array(terms), np.ones(len(terms)))[0].tolist()
    return dict(zip(POINTS, compared, strict=True)), looking


def nearest_table(units_of: dict[int, dict[str, float]], found: dict[int, dict[int, float]]) -> str:
    lines = ["| spaces | points | preparing | 10 nearest, one core | two cores | 16 cores | one H200 | memory |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    device = float(from_record("139 000 shapes", "of which on the device")["value"]) / 139_000**2
    compared, looking = nearest_model(found)
    for size in SIZES:
        for points in POINTS:
            unit = units_of[points]
            seconds = found[points].get(size, compared[points] * size**1.5 + looking * size**2)
            one = shown_time(seconds) if size in found[points] else guessed(seconds)
            gpu = guessed(device * size**2) if points == 50 else ""
            times = f"{guessed(size * unit['prepare'])} | {one} | {on_cores(points, seconds)} | {gpu}"
            lines.append(f"| {count_of(size)} | {points} | {times} | *{shown_bytes(size * (unit['memory'] + 2048))}* |")
    return "\n".join(lines)


def index_table(units_of: dict[int, dict[str, float]], found: dict[int, dict[str, float]]) -> str:
    """Building and disk grow like N; of a query the scan of all vectors does, and the rest like the root of N."""
    lines = [
        "| spaces | points | preparing | building an index | a query | vectors in memory | disk |",
        "|" + 7 * "---|",
    ]
    scan = float(from_record("shapes", "of which the scan", cells="16 x 16")["value"]) * 1e-3 / SCANNED
    for size in SIZES:
        for points in POINTS:
            own = found[points]
            query = (own["query"] - scan * INDEX_SIZE) * (size / INDEX_SIZE) ** 0.5 + scan * size
            cells = [shown_time(own["build"] * size / INDEX_SIZE), shown_time(query)]
            cells += [shown_bytes(2048.0 * size), shown_bytes(own["disk"] * size / INDEX_SIZE)]
            shown = " | ".join(cells if size == INDEX_SIZE else (f"*{cell}*" for cell in cells))
            preparing = guessed(size * units_of[points]["prepare"])
            lines.append(f"| {count_of(size)} | {points} | {preparing} | {shown} |")
    return "\n".join(lines)


PLANNED, PLANNED_POINTS = 10**8, 50
LISTS, PROBED = 10_000, 100  # of vectors, by k-means, and how many of them a query visits
CANDIDATES = 1000  # that are compared exactly


def plan_table(units_of: dict[int, dict[str, float]]) -> str:
    """A hundred million spaces of 50 points, on paper."""
    unit, pairs = units_of[PLANNED_POINTS], PLANNED * (PLANNED - 1) / 2
    alone = float(from_record("all pairs on the device: the kernel alone", "measured")["per pair"]["value"]) * 1e-9
    each = alone * (PLANNED_POINTS / 100) ** 2
    exact = float(from_record("139 000 shapes", "of which on the device")["value"]) / 139_000**2 * PLANNED**2
    rows = [
        ("preparing, one core", PLANNED * unit["prepare"], 0.5 * PLANNED * unit["memory"]),
        ("vectors of 512 numbers, one core", PLANNED * unit["vector"], 2048.0 * PLANNED),
        ("all pairs, kernels of one H200", pairs * each, 8.0 * PLANNED**2),
        ("the nearest of each, exact, one H200", exact, 12.0 * NEAREST * PLANNED),
        (f"the same among {PROBED} of {count_of(LISTS)} lists", exact * PROBED / LISTS, 12.0 * NEAREST * PLANNED),
        (f"{CANDIDATES} candidates of each compared", CANDIDATES * PLANNED * each, 12.0 * NEAREST * PLANNED),
    ]
    lines = ["| step | time | disk |", "|---|---|---|"]
    lines += [f"| {what} | {guessed(seconds)} | *{shown_bytes(disk)}* |" for what, seconds, disk in rows]
    return "\n".join(lines)


DASK_POINTS = 50
DASK_SIZES = ((500, 16), (1500, 16), (1500, 128))  # spaces, and the side of tiles, which is 16 unless `tile` says so


def dask_table(measured: Measurements) -> str:
    """Processor time of all processes; what Dask costs besides, over the tiles, each of which is a task."""
    lines = [
        "| spaces | side of tiles | tiles | one process | two processes of Dask | more per tile |",
        "|" + 6 * "---|",
    ]
    for size, side in DASK_SIZES:
        alone = measured(threads, DASK_POINTS, size)["time"]
        both = measured(dask, DASK_POINTS, size, side)["time"]
        strips = -(-size // side)
        tiles = strips * (strips + 1) // 2
        times = f"{shown_time(alone)} | {shown_time(both)} | {shown_time((both - alone) / tiles)}"
        lines.append(f"| {count_of(size)} | {side} | {count_of(tiles)} | {times} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    parser.add_argument("--keep", type=Path, help="a file in which measurements are kept")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(globals()[options.one[0]](*map(int, options.one[1:]))))
        return
    measured = Measurements(options.keep)
    units_of = {points: measured(units, points) for points in POINTS}
    near = {points: {size: measured(nearest, points, size)["time"] for size in NEAREST_SIZES} for points in POINTS}
    for points, size in LARGEST_NEAREST.items():
        near[points][size] = measured(nearest_of_some, points, size)["time"]
    indexed = {points: measured(index, points, INDEX_SIZE) for points in POINTS}
    versions = config()
    how = (
        f"Kernels {versions['kernels']}, Python {versions['python']}, NumPy {versions['numpy']}; processor time of one "
        "thread, on a machine shared with other work. *In italics*: not measured, but computed as the script says."
    )
    tables = [unit_table(units_of), pairs_table(units_of), nearest_table(units_of, near)]
    tables += [index_table(units_of, indexed), dask_table(measured), plan_table(units_of)]
    text = "\n\n".join([how, *tables])
    print(text)
    if options.write:
        write_results("million.py", "--write", text)


if __name__ == "__main__":
    main()
