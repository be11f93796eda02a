"""How fast Anchor Energy is, as ratios measured in one run on one thread.

    python benchmarks/run.py                  print the table
    python benchmarks/run.py --write          also write it to benchmarks/RESULTS.md

Every ratio is the median of alternating measurements of its two sides, so that a machine that slows down slows both.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

import anchorot as ao
from anchorot import anchors
from anchorot._kernels import numpy_kernels
from anchorot.config import config

RESULTS = Path(__file__).with_name("RESULTS.md")


class Row(NamedTuple):
    """One line of the table."""

    what: str
    measured: str
    bar: str
    holds: bool | None = None


def cloud(n: int, seed: int, *, weighted: bool = False) -> ao.Space:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3)) * (1, 1, 0.5 + 0.5 * (seed % 2))
    return ao.from_points(points, weights=rng.dirichlet(np.ones(n)) if weighted else None)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternating(one: Callable[[], object], two: Callable[[], object], repeat: int) -> tuple[float, float, float]:
    """Median times of both, and the median of their ratios."""
    one(), two()
    pairs = [(seconds(one), seconds(two)) for _ in range(repeat)]
    ratio = statistics.median(a / b for a, b in pairs)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio


def ms(value: float) -> str:
    return f"{value * 1e3:.0f} ms"


def at_most(what: str, limit: float, one: Callable[[], object], two: Callable[[], object], repeat: int = 9) -> Row:
    a, b, ratio = alternating(one, two, repeat)
    return Row(what, f"{ratio:.2f} ({ms(a)} / {ms(b)})", f"at most {limit:g}", ratio <= limit)


def row_sorts(x: ao.Space, y: ao.Space) -> Callable[[], object]:
    return lambda: (np.sort(x.cost, axis=1), np.sort(y.cost, axis=1))


@contextmanager
def numpy_path() -> Iterator[None]:
    native, anchors.kernels = anchors.kernels, numpy_kernels
    try:
        yield
    finally:
        anchors.kernels = native


def in_numpy(action: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        with numpy_path():
            action()

    return run


def energy_of(x: ao.Space, y: ao.Space, **options: object) -> Callable[[], object]:
    return lambda: ao.anchor_energy(x, y, **options)


def sort_rows() -> list[Row]:
    x, y = cloud(2048, 1), cloud(2048, 2)
    a, b = cloud(2048, 1, weighted=True), cloud(2048, 2, weighted=True)
    return [
        at_most("(a) uniform n=m=2048, over row-sorting both with np.sort", 2.7, energy_of(x, y), row_sorts(x, y)),
        at_most(
            "(c) any weights n=m=2048, over row-sorting both with np.sort", 12, energy_of(a, b), row_sorts(a, b), 5
        ),
    ]


def fenwick_rows() -> list[Row]:
    x, y = cloud(2048, 1), cloud(2048, 2)
    slow, fast, ratio = alternating(energy_of(x, y, method="fenwick"), energy_of(x, y), 3)
    times = f"{ratio:.1f} ({ms(slow)} / {ms(fast)})"
    return [Row('(b) method="fenwick" over (a)', times, "at least 25", ratio >= 25)]


def growth_rows() -> list[Row]:
    large, small = [cloud(4096, s) for s in (1, 2)], [cloud(1024, s) for s in (1, 2)]
    what = "(d) growth, time at n=4096 over time at n=1024 (16 is n²)"
    return [at_most(what, 22, energy_of(*large), energy_of(*small), 5)]


def memory_rows() -> list[Row]:
    ratio = float(python(__file__, "--peak-memory"))
    what = "(e) peak extra memory at n=m=4096, over the two input matrices"
    return [Row(what, f"{ratio:.2f}", "at most 2.5", ratio <= 2.5)]


def peak_memory() -> float:
    """Peak extra memory of one call over the size of its inputs; run in a process of its own."""
    n = 4096
    x, y = (np.random.default_rng(s).uniform(size=(n, n)) for s in (1, 2))
    before = memory("VmRSS")
    ao.anchor_energy(x, y)
    return (memory("VmHWM") - before) / (x.nbytes + y.nbytes)


def memory(which: str) -> int:
    """Resident memory of this process in bytes: now (VmRSS) or at its highest (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))


def path_rows() -> list[Row]:
    rows = []
    for what, weighted, n in (("uniform", False, 2048), ("any weights", True, 512)):
        x, y = cloud(n, 1, weighted=weighted), cloud(n, 2, weighted=weighted)
        slow, fast, ratio = alternating(in_numpy(energy_of(x, y)), energy_of(x, y), 3)
        rows.append(Row(f"(f) NumPy path over native, {what} n=m={n}", f"{ratio:.1f} ({ms(slow)} / {ms(fast)})", ""))
    return rows


def other_rows() -> list[Row]:
    spaces = [cloud(100, seed) for seed in range(148)]
    features: list[ao.AnchorFeatures] = []
    making = seconds(lambda: features.extend(ao.AnchorFeatures.of(space) for space in spaces))
    pairs = seconds(lambda: [ao.anchor_energy(a, b) for i, a in enumerate(features) for b in features[:i]])
    x, y = cloud(2048, 1), cloud(2048, 2)
    one, two, ratio = alternating(energy_of(x, y), energy_of(x, y, threads=2), 5)
    rows = [
        Row("all pairs of 148 spaces of 100 points", f"{ms(making)} features + {ms(pairs)} for 10 878 pairs", ""),
        Row("one thread over two, uniform n=m=2048", f"{ratio:.2f} ({ms(one)} / {ms(two)})", ""),
    ]
    program = "import time, numpy; t = time.perf_counter(); import anchorot; print(time.perf_counter() - t)"
    importing = statistics.median(float(python("-c", program)) for _ in range(5))
    rows.append(Row("import anchorot on top of NumPy", ms(importing), "at most 250 ms", importing <= 0.25))
    return rows


def narrow_sort_rows() -> list[Row]:
    """(a) and (c) once more, where NumPy's sort is held to AVX2: on some processors that is its faster path."""
    held = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_SKX AVX512F", "PYTHONWARNINGS": "ignore"}
    output = python(__file__, "--sort-rows", **held)
    cells = [line.split(" | ")[1] for line in output.splitlines() if line.startswith("| (")]
    names = ("(a) where NumPy's sort is held to AVX2", "(c) where NumPy's sort is held to AVX2")
    return [Row(name, cell, "") for name, cell in zip(names, cells, strict=True)]


def python(*arguments: str, **environment: str) -> str:
    """Run Python in a process of its own; return what it prints."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def table(rows: list[Row]) -> str:
    lines = ["| what | measured | bar | holds |", "|---|---|---|---|"]
    for row in rows:
        holds = {True: "yes", False: "**no**", None: ""}[row.holds]
        lines.append(f"| {row.what} | {row.measured} | {row.bar} | {holds} |")
    return "\n".join(lines)


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"also write {RESULTS.name}")
    parser.add_argument("--peak-memory", action="store_true", help="print the figure of row (e) alone")
    parser.add_argument("--sort-rows", action="store_true", help="print rows (a) and (c) alone")
    options = parser.parse_args()
    if options.peak_memory:
        print(peak_memory())
        return
    if options.sort_rows:
        print(table(sort_rows()))
        return
    parts = (sort_rows, fenwick_rows, growth_rows, memory_rows, path_rows, narrow_sort_rows, other_rows)
    rows = [row for part in parts for row in part()]
    found = config()
    machine = f"{processor()}, kernels {found['kernels']}, Python {found['python']}, NumPy {found['numpy']}, one thread"
    text = f"{machine}\n\n{table(rows)}\n"
    print(text)
    if options.write:
        RESULTS.write_text(f"# Measured by `python benchmarks/run.py --write`\n\n{text}")


if __name__ == "__main__":
    main()
