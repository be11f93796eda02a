"""Preparing many small spaces in one call: ratios to two sorts by NumPy, and to preparing one by one.

    python benchmarks/preparing.py            print the table, in about a minute
    python benchmarks/preparing.py --write    also write it to benchmarks/record.toml

All times are processor times, and ratios are medians of alternating measurements. Two sorts are those of the rows of a
stack (N, n, n), and of its columns, by `np.sort`, in the quicker of two ways.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import anchorot as ao
from anchorot.config import config
from anchorot.many.job import Job, Preparation, ThreadWorkers, summarise
from anchorot.many.metrics import metric_of
from anchorot.many.nearest import learn_encoder
from anchorot.many.spaces import Inputs
from measure import table, write_results
from record import processor
from sliced import alternating

Action = Callable[[], object]
NUMBERS = 5_000_000  # of a stack, 40 MB
SIZES = (20, 50, 100, 200)  # points of a space
BAR, BAR_POINTS = 1.3, 50  # times two sorts, for spaces of so many points
MEMORY = 1 << 31  # bytes of prepared spaces to keep


class Rows:
    """Lines of the table: what one action takes, and as a ratio to others, in microseconds per space."""

    def __init__(self) -> None:
        self.lines = ["| what | a space | over two sorts | over one by one | bar | holds |", "|---|---|---|---|---|---|"]

    def add(self, what: str, count: int, action: Action, sorts: Action, alone: Action, bar: float | None = None) -> None:
        time, _, over_sorts = alternating(action, sorts)
        _, _, over_alone = alternating(action, alone, repeat=3)
        holds = "" if bar is None else f"at most {bar} | {'yes' if over_sorts <= bar else '**no**'}"
        self.lines.append(
            f"| {what} | {time / count * 1e6:.1f} µs | {over_sorts:.2f} | {over_alone:.2f} | {holds or ' | '} |"
        )


def clouds(n: int) -> np.ndarray:
    """A stack of clouds of n points, each of its own size."""
    rng = np.random.default_rng(n)
    count = NUMBERS // n**2
    return rng.normal(size=(count, n, 3)) * rng.uniform(0.5, 2, (count, 1, 3))


def two_sorts(stack: np.ndarray) -> Action:
    """The quicker of two ways to sort rows, then columns."""

    def copied() -> np.ndarray:
        return np.sort(np.ascontiguousarray(np.sort(stack).transpose(0, 2, 1)))

    def as_it_is() -> np.ndarray:
        return np.sort(np.sort(stack).transpose(0, 2, 1))

    return copied if alternating(copied, as_it_is, repeat=5)[2] < 1 else as_it_is


def prepared(spaces: Any, n_jobs: int, encoder: Any = None) -> object:
    """What `pairwise` does before it compares: each space is validated, sorted and kept, and encoded for a search."""
    job = Job(metric_of("ae"), Preparation(metric_of("ae"), False, encoder).apply_to(Inputs.of(spaces, None)))
    with ThreadWorkers(job, n_jobs, MEMORY) as workers:
        return list(workers.each(summarise))


class OnDemand:
    """A sequence whose spaces are prepared one by one, as any sequence of which nothing is known."""

    def __init__(self, spaces: Any) -> None:
        self.spaces = spaces

    def __len__(self) -> int:
        return len(self.spaces)

    def __getitem__(self, place: int) -> Any:
        return self.spaces[place]


def rows() -> str:
    found = Rows()
    for n in SIZES:
        points = clouds(n)
        many, count = ao.io.PointClouds(points), len(points)
        stack = np.array([x.cost for x in many])
        single = stack.astype(np.float32)
        sorts, bar = two_sorts(stack), BAR if n == BAR_POINTS else None
        what = f"{count:,} spaces of {n} points"
        add = ao.AnchorFeatures.of
        found.add(
            f"{what}: features of a stack",
            count,
            lambda: ao.AnchorFeatures.of_many(stack),
            sorts,
            lambda: [add(x) for x in stack],
            bar,
        )
        found.add(
            f"{what}: features of a stack in float32",
            count,
            lambda: ao.AnchorFeatures.of_many(single),
            two_sorts(single),
            lambda: [add(x) for x in single],
        )
        found.add(
            f"{what}: features of points",
            count,
            lambda: ao.AnchorFeatures.of_many(many),
            sorts,
            lambda: [add(ao.from_points(x)) for x in points],
            bar,
        )
        for n_jobs in (1, 2):
            found.add(
                f"{what}: pairwise, {n_jobs} thread{'s' * (n_jobs > 1)}",
                count,
                lambda n_jobs=n_jobs: prepared(stack, n_jobs),
                sorts,
                lambda n_jobs=n_jobs: prepared(OnDemand(stack), n_jobs),
                bar,
            )
        encoder = learn_encoder(Inputs.of(stack, None), metric_of("ae"), 1, None)
        if encoder is not None:
            found.add(
                f"{what}: pairwise(k=), with vectors",
                count,
                lambda: prepared(stack, 1, encoder),
                sorts,
                lambda: prepared(OnDemand(stack), 1, encoder),
            )
    return "\n".join(found.lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="also write the table to the record")
    options = parser.parse_args()
    kernels = config()["kernels"]
    text = f"{processor()}, kernels {kernels}, processor time\n\n{rows()}\n"
    print(text)
    if options.write:
        write_results("preparing.py", "--write", text)


if __name__ == "__main__":
    main()
