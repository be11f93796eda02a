"""Speed-up by threads: the same work on one, two and more threads, alternating.

    python benchmarks/threads.py              1, 2, 4, ... threads, up to one a core
    python benchmarks/threads.py 1 2 16       these
    python benchmarks/threads.py --write      also write the table to benchmarks/record.toml

Needs NumPy and SciPy alone, and runs from a checkout: PYTHONPATH=src python benchmarks/threads.py. Every cell is the
best of some runs, all numbers of threads in turns; beside it, how many times less that is than by the first. Results
are compared, and must be equal to the last bit. The first row is a control: NumPy sorts its own arrays on every
thread, which is what the machine itself gives. A bar holds for the largest number of threads, if that is 16.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

import anchorot as ao
from anchorot.config import config
from measure import cloud, write_results
from record import RECORD

Work = Callable[[int], object]  # of a number of threads
BAR_THREADS = 16  # that the bars are for


class Item(NamedTuple):
    """What is done, how often, and how many times faster it is to be with `BAR_THREADS` threads."""

    work: Work
    repeat: int
    bar: float | None = None


def works() -> dict[str, Item]:
    """Return all that is measured, by name."""
    rng = np.random.default_rng(0)
    arrays = list(rng.uniform(size=(128, 1 << 17)))
    plain, weighted = ([cloud(2048, s, weighted=w) for s in (1, 2)] for w in (False, True))
    many, few_points = [cloud(100, s) for s in range(400)], [cloud(50, s) for s in range(600)]
    sides = [[rng.normal(size=n) for n in rng.integers(20, 61, size=4000)] for _ in range(2)]

    def control(threads: int) -> object:
        with ThreadPoolExecutor(threads) as pool:
            return np.array(list(pool.map(lambda array: np.sort(array)[::1024], arrays)))

    def permuted(threads: int, count: int) -> object:
        found = ao.energy_test(*sides, n_resamples=count, rng=0, threads=threads, progress=False)
        return np.append(found.null, found.statistic)

    test = "energy test of 4000 against 4000 measures of any numbers"
    return {
        "control: np.sort of 128 arrays": Item(control, 5),
        "AE, uniform, n = m = 2048": Item(lambda threads: ao.anchor_energy(*plain, threads=threads), 9, 8),
        "AE, any weights, n = m = 2048": Item(lambda threads: ao.anchor_energy(*weighted, threads=threads), 9, 8),
        "all pairs of 400 spaces of 100 points": Item(
            lambda threads: ao.pairwise(many, n_jobs=threads, progress=False), 3, 10
        ),
        "all pairs of 600 spaces of 50 points": Item(
            lambda threads: ao.pairwise(few_points, n_jobs=threads, progress=False), 3, 10
        ),
        f"{test}, 999 permutations": Item(lambda threads: permuted(threads, 999), 3, 8),
        f"{test}, 199 permutations": Item(lambda threads: permuted(threads, 199), 5),
    }


def measured(work: Work, threads: list[int], repeat: int) -> list[float]:
    """Seconds by each number of threads: the best of `repeat` runs, in turns after one run of each."""
    first = work(threads[0])
    for count in threads[1:]:
        assert np.array_equal(work(count), first), f"{count} threads give other bits"
    best = dict.fromkeys(threads, np.inf)
    for _ in range(repeat):
        for count in threads:
            start = time.perf_counter()
            work(count)
            best[count] = min(best[count], time.perf_counter() - start)
    return [best[count] for count in threads]


def table(threads: list[int]) -> str:
    """All works by all numbers of threads, in Markdown."""
    heads = " | ".join(f"{count} thread{'s' * (count > 1)}" for count in threads)
    lines = [f"| what | {heads} | bar | holds |", "|---" * (3 + len(threads)) + "|"]
    for name, item in works().items():
        times = measured(item.work, threads, item.repeat)
        cells = " | ".join(f"{1e3 * each:.0f} ms ({times[0] / each:.2f})" for each in times)
        bar, holds = "", ""
        if item.bar is not None and (threads[0], threads[-1]) == (1, BAR_THREADS):
            bar, holds = f"at least {item.bar:g}", "yes" if times[0] >= item.bar * times[-1] else "**no**"
        lines.append(f"| {name} | {cells} | {bar} | {holds} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("threads", type=int, nargs="*", help="numbers of threads, the first of which is compared with")
    parser.add_argument("--write", action="store_true", help=f"also write {RECORD.name}")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    threads = options.threads or [1 << k for k in range(cores.bit_length()) if 1 << k <= cores]
    found = config()
    machine = f"{cores} cores, kernels {found['kernels']}, Python {found['python']}, NumPy {found['numpy']}"
    text = f"{machine}\n\n{table(threads)}\n"
    print(text)
    if options.write:
        write_results("threads.py", f"{' '.join(map(str, options.threads))} --write".strip(), text)


if __name__ == "__main__":
    main()
