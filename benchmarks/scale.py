"""Time, memory and disk of all pairs, search and tests, from ten thousand pairs of spaces to a thousand million.

    python benchmarks/scale.py                       up to about two minutes per call, ten minutes in all
    python benchmarks/scale.py --seconds 5           up to about five seconds per call
    python benchmarks/scale.py --keep scale.json     go on where a run with this file ended
    python benchmarks/scale.py --write               also write record.toml and docs/images/growth.png

Sizes go up by the root of ten, so that pairs go up by ten; the next one is measured if ten times the last is at most
so many seconds, and 5 GB. What is larger is computed from a model, whose coefficients are fitted to what was measured.
Every measurement has its own process, on one thread: times are processor time, and memory is what the process had
at most, less what it had before (Linux only).
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import anchorot as ao
from anchorot.config import config
from measure import python, write_results
from record import RECORD
from search import FAMILIES

POINTS, QUERIES, NEAREST, PERMUTATIONS = 50, 20, 10, 99
PAIRS = [10**k for k in range(4, 10)]
SIZES = [round((1 + (1 + 8 * pairs) ** 0.5) / 2) for pairs in PAIRS]  # N with N (N - 1) / 2 pairs
MAX_BYTES = 5e9  # that a measurement may take
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "growth.png"


class Cost(NamedTuple):
    """What something takes: processor time, memory and disk in bytes."""

    seconds: float
    memory: float
    disk: float


def spaces(count: int, seed: int = 0, points: int = POINTS) -> Iterator[ao.Space]:
    """Clouds of 50 points, of each of four kinds in turn."""
    rng, kinds = np.random.default_rng(seed), FAMILIES["shapes"]
    return (ao.from_points(kinds[k % len(kinds)](points, rng)) for k in range(count))


class Meter:
    """Counts the processor time of a block, and how much memory it takes at most."""

    def __enter__(self) -> "Meter":
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        self.before = _peak()
        self.begin = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.begin
        self.memory = _peak() - self.before


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def all_pairs(count: int, folder: Path) -> Cost:
    """Features of all, a checkpoint, and the matrix."""
    given = list(spaces(count))
    with Meter() as meter:
        ao.pairwise(given, n_jobs=1, progress=False, checkpoint=folder)
    return Cost(meter.seconds, meter.memory, folder_size(folder))


def nearest(count: int, folder: Path) -> Cost:
    """An index of all, made one after the other, and the nearest of each, proved; by the time of some queries."""
    asked = list(spaces(QUERIES, seed=1))
    with Meter() as meter:
        index = ao.SearchIndex.build(spaces(count), path=folder / "x.index", n_jobs=1)
        index.query(asked[0], k=NEAREST)
        begin = time.process_time()
        for x in asked:
            index.query(x, k=NEAREST)
        each = (time.process_time() - begin) / QUERIES
    return Cost(meter.seconds + (count - QUERIES) * each, meter.memory, folder_size(folder))


def energy_test(count: int, folder: Path) -> Cost:
    """Two collections of samples of 20 to 60 numbers, without a matrix."""
    rng = np.random.default_rng(0)
    sides = [[rng.normal(size=n) for n in rng.integers(20, 61, size)] for size in (count // 2, count - count // 2)]
    with Meter() as meter:
        ao.energy_test(*sides, n_resamples=PERMUTATIONS, rng=0, progress=False)
    return Cost(meter.seconds, meter.memory, 0)


def group_test(count: int, folder: Path) -> Cost:
    """Two groups, on a matrix that is there already."""
    points = np.random.default_rng(0).normal(size=count)
    distances = np.abs(points[:, None] - points)
    with Meter() as meter:
        ao.group_test(distances, np.arange(count) % 2, n_resamples=PERMUTATIONS, rng=0, progress=False)
    return Cost(meter.seconds, meter.memory, 0)


class Work(NamedTuple):
    """Something to measure, and the models by which time, memory and disk grow with the number N of spaces."""

    what: str
    measure: Callable[[int, Path], Cost]
    time: tuple[int, ...]  # powers of N, a coefficient each
    memory: tuple[int, ...]
    disk: tuple[int, ...]


WORKS = [
    Work("all pairs", all_pairs, (2,), (0, 1, 2), (2,)),
    Work(f"the {NEAREST} nearest of each", nearest, (1, 2), (0, 1), (1,)),
    Work("energy test", energy_test, (1,), (0, 1), ()),
    Work("group test, matrix given", group_test, (2,), (0, 2), ()),
]


class Curve(NamedTuple):
    """What was measured of one quantity, and the model that extrapolates it: a sum of powers of N."""

    measured: dict[int, float]
    powers: tuple[float, ...]
    coefficients: list[float]

    @classmethod
    def fitted(cls, measured: dict[int, float], powers: tuple[float, ...]) -> "Curve":
        """No coefficient is negative, and relative errors are least."""
        from scipy.optimize import nnls

        if not powers:
            return cls(measured, powers, [])
        large = dict(list(measured.items())[-4:])  # small ones are about what a call takes at least
        values = np.array(list(large.values()))
        terms = np.array([[float(n) ** power for power in powers] for n in large])
        return cls(measured, powers, nnls(terms / values[:, None], np.ones(len(values)))[0].tolist())

    def model(self, n: float) -> float:
        """What is expected of N = n."""
        return sum(c * float(n) ** power for c, power in zip(self.coefficients, self.powers, strict=True))

    def text(self) -> str:
        """The model in words; what does not grow is left out."""
        terms = [(power, c) for power, c in zip(self.powers, self.coefficients, strict=True) if power and c]
        return " + ".join(f"{c:.2g} {'N²' if power == 2 else 'N'}" for power, c in sorted(terms, reverse=True))


def curves(work: Work, seconds: float, keep: Path | None) -> list[Curve]:
    """Time, memory and disk, measured as far as `seconds` go."""
    kept = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    found: dict[int, Cost] = {}
    took = 0.0
    for size in SIZES:
        if 10 * took > seconds or (found and 10 * list(found.values())[-1].memory > MAX_BYTES):
            break
        name = f"{work.measure.__name__} {size}"
        if name not in kept:
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            cost = json.loads(python(__file__, "--one", *name.split()))
            kept[name] = cost, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            if keep is not None:
                keep.write_text(json.dumps(kept))
        cost, took = kept[name]
        found[size] = Cost(*cost)
        print(f"{work.what}, {size} spaces: {found[size]}", flush=True)
    return [
        Curve.fitted({size: cost[k] for size, cost in found.items()}, powers)
        for k, powers in enumerate((work.time, work.memory, work.disk))
    ]


def table(found: dict[str, list[Curve]]) -> str:
    """All curves at all sizes, what was not measured in italics."""
    lines = ["| pairs | spaces | what | processor time | memory | disk |", "|---|---|---|---|---|---|"]
    for power, size in enumerate(SIZES, 4):
        for what, quantities in found.items():
            cells = [
                _cell(curve, size, show)
                for curve, show in zip(quantities, (shown_time, shown_bytes, shown_bytes), strict=True)
            ]
            lines.append(f"| 10^{power} | {f'{size:,}'.replace(',', ' ')} | {what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(curve: Curve, size: int, show: Callable[[float], str]) -> str:
    if not curve.powers:
        return ""
    return show(curve.measured[size]) if size in curve.measured else f"*{show(curve.model(size))}*"


def shown_time(seconds: float) -> str:
    units = ((86400.0, "days", 172800.0), (3600.0, "h", 7200.0), (60.0, "min", 120.0), (1.0, "s", 1.0))
    for unit, name, least in units:
        if seconds >= least:
            return f"{seconds / unit:.2g} {name}" if seconds / unit < 100 else f"{seconds / unit:.0f} {name}"
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.0995 else f"{1e3 * seconds:.0f} ms"


def shown_bytes(count: float) -> str:
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= 0.995 * unit:
            return f"{count / unit:.2g} {name}" if count < 99.5 * unit else f"{count / unit:.0f} {name}"
    return "below 1 MB"


def picture(found: dict[str, list[Curve]]) -> None:
    """Measured points, joined; then the model, dashed."""
    from anchorot import plot

    figure = plot.new_figure(13, 4.6)
    names = ("processor time, one thread [s]", "memory [bytes]", "disk [bytes]")
    for k, (ax, name) in enumerate(zip(figure.subplots(1, 3), names, strict=True)):
        for (what, quantities), colour in zip(found.items(), plot.PALETTE, strict=False):
            curve = quantities[k]
            if not curve.powers:
                continue
            shown = {n: value for n, value in curve.measured.items() if value > 0}
            ax.plot(*_points(shown), "o-", color=colour, label=f"{what}: {curve.text()}", markersize=5)
            rest = [n for n in SIZES if n >= max(shown)]
            line = {n: curve.model(n) for n in np.geomspace(rest[0], rest[-1], 50)}
            ax.plot(*_points(line), "--", color=colour)
            ax.plot(*_points({n: curve.model(n) for n in rest[1:]}), "o", color=colour, markerfacecolor="white")
        ax.set(xscale="log", yscale="log", xlabel="pairs of spaces, N (N - 1) / 2", xticks=PAIRS)
        ax.set_title(name, fontsize=12, loc="left", weight="bold", color="#374151")
        ax.grid(color="#e5e7eb", linewidth=0.8)
        ax.legend(fontsize=8.5, frameon=False, loc="upper left")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.25)  # room for the legend
    figure.savefig(PICTURE, dpi=120, facecolor="white")


def _points(values: dict[int, float]) -> tuple[list[float], list[float]]:
    return [n * (n - 1) / 2 for n in values], list(values.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=200, help="about the most that one call may take")
    parser.add_argument("--keep", type=Path, help="a file in which measurements are kept")
    parser.add_argument("--write", action="store_true", help=f"also write {RECORD.name} and {PICTURE.name}")
    parser.add_argument("--one", nargs=2, metavar=("WORK", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(globals()[options.one[0]](int(options.one[1]), Path(folder))))
        return
    found = {work.what: curves(work, options.seconds, options.keep) for work in WORKS}
    versions = config()
    how = (
        f"Kernels {versions['kernels']}, Python {versions['python']}, NumPy {versions['numpy']}; processor time of one "
        f"thread. {POINTS} points per space; {PERMUTATIONS} permutations per test; the nearest of each, from {QUERIES} "
        "queries. *In italics*: not measured, but by the model."
    )
    text = f"{how}\n\n{table(found)}\n"
    print(text)
    if options.write:
        write_results("scale.py", f"--seconds {options.seconds:g} --write", text)
        picture(found)


if __name__ == "__main__":
    main()
