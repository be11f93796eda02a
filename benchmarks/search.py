"""Rows about search among 20 000 spaces; and, as a program, an index of any size in a file.

python benchmarks/search.py                     20 000 spaces
python benchmarks/search.py --size 1000000      a million: 22 GB in the temporary folder, about half an hour
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

import anchorot as ao
from measure import Row, seconds

SPACES, QUERIES, NEAREST = 20_000, 100, 10
GRIDS = ((8, 8), (16, 16), (32, 32), (64, 64))
DEFAULT = (16, 16)


def gaussian(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, 3)) * rng.uniform(0.2, 1.5, 3)


def ring(n: int, rng: np.random.Generator) -> np.ndarray:
    angle, radius = rng.uniform(0, 2 * np.pi, n), rng.uniform(0.5, 2)
    ellipse = radius * np.column_stack([np.cos(angle), rng.uniform(0.3, 1) * np.sin(angle)])
    return ellipse + rng.normal(size=(n, 2)) * rng.uniform(0.01, 0.2)


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    centres = rng.normal(size=(rng.integers(2, 6), 3)) * rng.uniform(0.5, 2)
    return centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, 3)) * rng.uniform(0.05, 0.4)


def spiral(n: int, rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(0, rng.uniform(1, 4) * np.pi, n)
    points = rng.uniform(0.1, 0.4) * np.column_stack([t * np.cos(t), t * np.sin(t)])
    return points + rng.normal(size=(n, 2)) * rng.uniform(0, 0.1)


def alike(n: int, rng: np.random.Generator) -> np.ndarray:
    """Nothing but sampling noise tells these apart."""
    return rng.normal(size=(n, 3))


FAMILIES: dict[str, tuple[Callable[[int, np.random.Generator], np.ndarray], ...]] = {
    "shapes": (gaussian, ring, clusters, spiral),
    "all alike": (alike,),
}


def make(family: str, count: int, seed: int) -> list[ao.Space]:
    """Spaces of 30 to 60 points, of each kind in turn."""
    rng, kinds = np.random.default_rng(seed), FAMILIES[family]
    return [ao.from_points(kinds[k % len(kinds)](int(rng.integers(30, 61)), rng)) for k in range(count)]


def search_rows() -> list[Row]:
    return [row for family in FAMILIES for row in family_rows(family)]


class Truth(NamedTuple):
    """All energies between queries and spaces, the nearest spaces by them, and the seconds a query took."""

    energies: np.ndarray
    nearest: np.ndarray
    time: float


def family_rows(family: str) -> list[Row]:
    spaces, queries = make(family, SPACES, seed=0), make(family, QUERIES, seed=1)
    truth = brute_force(spaces, queries)
    what = f"search, {family}: brute force over {SPACES} spaces of 30 to 60 points, a query"
    rows = [Row(what, f"{truth.time * 1e3:.0f} ms with their features ready")]
    return rows + [row for grid in GRIDS for row in index_rows(family, grid, spaces, queries, truth)]


def brute_force(spaces: list[ao.Space], queries: list[ao.Space]) -> Truth:
    features, wanted = ([ao.AnchorFeatures.of(x) for x in some] for some in (spaces, queries))
    start = time.perf_counter()
    energies = np.array([[ao.anchor_energy(x, y) for y in features] for x in wanted])
    nearest = np.argsort(energies, axis=1, kind="stable")[:, :NEAREST]
    return Truth(energies, nearest, (time.perf_counter() - start) / len(queries))


def index_rows(
    family: str, grid: tuple[int, int], spaces: list[ao.Space], queries: list[ao.Space], truth: Truth
) -> list[Row]:
    start = time.perf_counter()
    index = ao.SearchIndex.build(spaces, grid=grid)
    building = time.perf_counter() - start
    saving, loading, index, size = saved_and_loaded(index)
    index.query(queries[0])
    exact, exact_time = ask(index, queries, exact=True)
    rough, rough_time = ask(index, queries, exact=False)
    share = np.mean([r.n_exact for r in exact]) / SPACES
    equal = all(
        (r.index == n).all() and (r.value == e[n]).all()
        for r, n, e in zip(exact, truth.nearest, truth.energies, strict=True)
    )
    recall = np.mean([len(np.intersect1d(r.index, n)) / NEAREST for r, n in zip(rough, truth.nearest, strict=True)])
    left = f"exact AE on {share:.2%} of the spaces, {max(r.n_exact for r in exact) / SPACES:.1%} at most"
    alone = f"{plain_share(grid, spaces, queries, truth):.2%} by averages alone"
    times = f"{exact_time * 1e3:.1f} ms a query, {truth.time / exact_time:.0f} times faster, {scan(index)}"
    built = f"build {building:.1f} s, save {saving:.1f} s, load {loading:.2f} s, file {size / 1e6:.0f} MB"
    bar, holds = ("under 5 %, equal", share < 0.05 and equal) if grid == DEFAULT else ("", None)
    name = f"search, {family}, {grid[0]} x {grid[1]} cells"
    return [
        Row(f"{name}: work", f"{left}, {alone}", bar, holds),
        Row(f"{name}: equal to brute force", "yes" if equal else "**no**"),
        Row(f"{name}: time", f"{times}; exact=False {rough_time * 1e3:.1f} ms, finds {recall:.1%}"),
        Row(f"{name}: size", built),
    ]


def ask(index: ao.SearchIndex, queries: list[ao.Space], exact: bool) -> tuple[list[ao.Neighbors], float]:
    """The results, and the seconds that one takes."""
    start = time.perf_counter()
    results = [index.query(x, NEAREST, exact=exact) for x in queries]
    return results, (time.perf_counter() - start) / len(queries)


def scan(index: ao.SearchIndex) -> str:
    """How long FAISS looks at all vectors."""
    segment, times = index._reader.snapshot().segments[0], 10
    vectors = segment.vectors
    taken = seconds(lambda: [vectors.nearest(vectors.array[0], 256, segment.alive) for _ in range(times)]) / times
    return f"of it a scan {taken * 1e3:.1f} ms, {vectors.array.nbytes / taken / 1e9:.0f} GB/s"


def saved_and_loaded(index: ao.SearchIndex) -> tuple[float, float, ao.SearchIndex, int]:
    """Seconds to save and to load, the index from the file, and the file's size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index"
        saving = seconds(lambda: index.save(file))
        start = time.perf_counter()
        loaded = ao.SearchIndex.load(file)
        return saving, time.perf_counter() - start, loaded, file.stat().st_size


def plain_share(grid: tuple[int, int], spaces: list[ao.Space], queries: list[ao.Space], truth: Truth) -> float:
    """What share of the spaces the bound of `embed` does not rule out."""
    common = ao.anchors.Grid.around(spaces, grid)
    vectors, wanted = ao.embed(spaces, common), ao.embed(queries, common)
    limits = np.sort(truth.energies, axis=1)[:, NEAREST - 1]
    left = [np.mean(2 * ((vectors - x) ** 2).sum(axis=1) <= limit) for x, limit in zip(wanted, limits, strict=True)]
    return float(np.mean(left))


SLOW = (search_rows,)


# -- any size ------------------------------------------------------------------------------------------------------

COPIES = 8  # of every shape, all but the first with points that are moved a little
CHANGED = 1000  # spaces that are added and removed


def near_duplicates(seed: int) -> Iterator[np.ndarray]:
    """Points of shapes of every kind, each followed by near-duplicates, without an end."""
    rng, kinds = np.random.default_rng(seed), FAMILIES["shapes"]
    while True:
        for kind in kinds:
            points = kind(int(rng.integers(30, 61)), rng)
            for copy in range(COPIES):
                yield moved(points, rng) if copy else points


def moved(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return points + rng.normal(size=points.shape) * 10 ** rng.uniform(-4, -1.5)


def spaces(seed: int, count: int, step: int = 1) -> Iterator[ao.Space]:
    return map(ao.from_points, islice(near_duplicates(seed), 0, count * step, step))


def duplicates(count: int) -> list[ao.Space]:
    """Further near-duplicates of the first spaces."""
    rng = np.random.default_rng(1)
    return [ao.from_points(moved(points, rng)) for points in islice(near_duplicates(0), 0, count * COPIES, COPIES)]


def at_size(size: int, folder: Path) -> None:
    """Build, load, ask and change an index in a file, and print what each takes."""
    path = folder / "spaces.index"
    wall, work = times(lambda: ao.SearchIndex.build(spaces(0, size), path=path))
    _, making = times(lambda: list(spaces(0, 2000)))
    say("build", f"{wall:.0f} s, {work:.0f} s of processor time, of it {making * size / 2000:.0f} s to make the spaces")
    n_bytes = path.stat().st_size
    say("disk", f"{n_bytes / 1e9:.2f} GB, {n_bytes / size / 1e3:.1f} kB a space; peak memory {peak():.2f} GB")
    use(path)


def use(path: Path) -> None:
    """Load, ask and change an index of `at_size`."""
    wall, work = times(lambda: ao.SearchIndex.load(path))
    say("load", f"{wall:.1f} s, {work:.1f} s of processor time; peak memory {peak():.2f} GB")
    index = ao.SearchIndex.load(path)
    known, new = duplicates(QUERIES // 2), list(spaces(2, QUERIES // 2, COPIES))
    results = [result for kind, wanted in (("known", known), ("new", new)) for result in queried(index, kind, wanted)]
    check(index, [known[0], new[0]], [results[0], results[len(known)]])
    ids: list[int] = []
    wall, work = times(lambda: ids.extend(index.add(spaces(3, CHANGED)).tolist()))
    say(f"add {CHANGED}", f"{wall:.2f} s, {work:.2f} s of processor time")
    wall, work = times(lambda: index.remove(ids))
    say(f"remove {CHANGED}", f"{wall:.2f} s, {work:.2f} s of processor time")
    wall, work = times(index.compact)
    say("compact", f"{wall:.2f} s, {work:.2f} s of processor time, to {path.stat().st_size / 1e9:.2f} GB")
    wall, work = times(lambda: index.query(known[0]))
    say("query after all changes", f"{wall:.2f} s, {work:.2f} s of processor time")
    say("peak memory", f"{peak():.2f} GB")


def times(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the wall and of processor time."""
    wall, work = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - work


def queried(index: ao.SearchIndex, kind: str, wanted: list[ao.Space]) -> list[ao.Neighbors]:
    """Results, after printing what they took."""
    ask(index, wanted[:3], exact=True)
    start = time.process_time()
    results, taken = ask(index, wanted, exact=True)
    work = (time.process_time() - start) / len(wanted)
    counts = np.array([result.n_exact for result in results])
    took = f"{taken * 1e3:.0f} ms, {work * 1e3:.0f} ms of processor time"
    left = f"exact AE on {counts.mean() / len(index):.4%} of the spaces, {counts.max()} at most"
    say(f"query, {kind} shapes", f"{took}; {left}")
    return results


def check(index: ao.SearchIndex, wanted: list[ao.Space], results: list[ao.Neighbors]) -> None:
    """Compare results with all energies, from the features in the file."""
    features, file = [ao.AnchorFeatures.of(x) for x in wanted], index._file
    header = file.header()
    found = (y for batch in file.batches(header) for y in file.features(header, batch.entries))
    energies = np.array([[x.energy_to(y) for x in features] for y in found]).T
    for row, result in zip(energies, results, strict=True):
        nearest = np.argsort(row, kind="stable")[:NEAREST]
        equal = (nearest == result.index).all() and (row[nearest] == result.value).all()
        say("", f"{'equal' if equal else 'NOT EQUAL'} to brute force over all {len(row)} spaces")


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def say(what: str, value: str) -> None:
    print(f"{what:28} {value}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=SPACES, help="how many spaces")
    parser.add_argument("--folder", type=Path, help="where the index lies meanwhile; the temporary folder by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as where:
        at_size(options.size, Path(where))
