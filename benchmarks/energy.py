"""Rows about Anchor Energy."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import anchorot as ao
from anchorot._kernels import numpy as numpy_kernels
from anchorot.anchors import features as anchors
from measure import Action, Row, alternating, at_most, cloud, ms, python, seconds

RUN = str(Path(__file__).with_name("run.py"))


def energy_of(x: ao.Space, y: ao.Space, **options: object) -> Action:
    return lambda: ao.anchor_energy(x, y, **options)


def row_sorts(x: ao.Space, y: ao.Space) -> Action:
    return lambda: (np.sort(x.cost, axis=1), np.sort(y.cost, axis=1))


def sort_rows() -> list[Row]:
    x, y = cloud(2048, 1), cloud(2048, 2)
    a, b = cloud(2048, 1, weighted=True), cloud(2048, 2, weighted=True)
    return [
        at_most("(a) AE, uniform n=m=2048, over np.sort of the rows", 2.7, energy_of(x, y), row_sorts(x, y)),
        at_most("(c) AE, any weights n=m=2048, over np.sort of the rows", 12, energy_of(a, b), row_sorts(a, b), 5),
    ]


def power_rows() -> list[Row]:
    x, y = cloud(512, 1, weighted=True), cloud(512, 2, weighted=True)
    what = "(g) AE, any weights n=m=512, p=3 over p=1, by NumPy alone"
    return [at_most(what, 150, energy_of(x, y, p=3), energy_of(x, y), 3)]


def growth_rows() -> list[Row]:
    large, small = [cloud(4096, s) for s in (1, 2)], [cloud(1024, s) for s in (1, 2)]
    what = "(d) growth, AE at n=4096 over n=1024 (16 is n²)"
    return [at_most(what, 22, energy_of(*large), energy_of(*small), 5)]


def memory_rows() -> list[Row]:
    ratio = float(python(RUN, "--peak-memory"))
    what = "(e) peak extra memory of AE at n=m=4096, over the two matrices"
    return [Row(what, f"{ratio:.2f}", "at most 2.5", ratio <= 2.5)]


def peak_memory() -> float:
    """Peak extra memory of one call over the size of its inputs; to be run in its own process."""
    n = 4096
    x, y = (np.random.default_rng(s).uniform(size=(n, n)) for s in (1, 2))
    before = memory("VmRSS")
    ao.anchor_energy(x, y)
    return (memory("VmHWM") - before) / (x.nbytes + y.nbytes)


def memory(which: str) -> int:
    """Resident memory of this process in bytes: now (VmRSS) or at its highest (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))


@contextmanager
def numpy_path() -> Iterator[None]:
    native, anchors.kernels = anchors.kernels, numpy_kernels
    try:
        yield
    finally:
        anchors.kernels = native


def in_numpy(action: Action) -> Action:
    def run() -> None:
        with numpy_path():
            action()

    return run


def path_rows() -> list[Row]:
    rows = []
    for what, weighted, n in (("uniform", False, 2048), ("any weights", True, 512)):
        x, y = cloud(n, 1, weighted=weighted), cloud(n, 2, weighted=weighted)
        slow, fast, ratio = alternating(in_numpy(energy_of(x, y)), energy_of(x, y), 3)
        rows.append(Row(f"(f) NumPy path over native, {what} n=m={n}", f"{ratio:.1f} ({ms(slow)} / {ms(fast)})"))
    return rows


def narrow_sort_rows() -> list[Row]:
    """(a) and (c) once more, where NumPy's sort and ours are held to AVX2: for NumPy it may be the faster path."""
    features = "X86_V4 AVX512_SKX AVX512F"
    held = {"NPY_DISABLE_CPU_FEATURES": features, "ANCHOROT_SIMD": "avx2", "PYTHONWARNINGS": "ignore"}
    output = python(RUN, "--sort-rows", **held)
    cells = [line.split(" | ")[1] for line in output.splitlines() if line.startswith("| (")]
    names = ("(a) where NumPy's sort is held to AVX2", "(c) where NumPy's sort is held to AVX2")
    ratio = float(cells[1].split()[0])
    return [Row(names[0], cells[0]), Row(names[1], cells[1], "at most 8", ratio <= 8)]


def other_rows() -> list[Row]:
    spaces = [cloud(100, seed) for seed in range(148)]
    features: list[ao.AnchorFeatures] = []
    making = seconds(lambda: features.extend(ao.AnchorFeatures.of(space) for space in spaces))
    pairs = seconds(lambda: [ao.anchor_energy(a, b) for i, a in enumerate(features) for b in features[:i]])
    x, y = cloud(2048, 1), cloud(2048, 2)
    one, two, ratio = alternating(energy_of(x, y), energy_of(x, y, threads=2), 5)
    program = "import time, numpy; t = time.perf_counter(); import anchorot; print(time.perf_counter() - t)"
    importing = statistics.median(float(python("-c", program)) for _ in range(5))
    return [
        Row("AE, all pairs of 148 spaces of 100 points", f"{ms(making)} features + {ms(pairs)} for 10 878 pairs"),
        Row("AE, one thread over two, uniform n=m=2048", f"{ratio:.2f} ({ms(one)} / {ms(two)})"),
        Row("import anchorot on top of NumPy", ms(importing), "at most 250 ms", importing <= 0.25),
    ]


ALL = (sort_rows, power_rows, growth_rows, memory_rows, path_rows, narrow_sort_rows, other_rows)
