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
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import anchorot as ao
from anchorot.config import config
from anchorot.many.job import Job, Preparation, ThreadWorkers, summarise
from anchorot.many.metrics import metric_of
from anchorot.many.nearest import learn_encoder
from anchorot.many.spaces import Inputs
from measure import write_results
from record import processor
from sliced import alternating

Action = Callable[[], object]
NUMBERS = 3_000_000  # of a stack, 24 MB
SIZES = (20, 50, 100)  # points of a space
BAR, BAR_POINTS = 1.3, 50  # times two sorts, for spaces of so many points
MEMORY = 1 << 31  # bytes of prepared spaces to keep


class Case(NamedTuple):
    """Something to measure: what it does, and what it is compared with."""

    what: str
    together: Action
    sorts: Action
    alone: Action
    has_bar: bool = True


def row(case: Case, n: int, count: int) -> str:
    """A line of the table; times are per space."""
    time, _, over_sorts = alternating(case.together, case.sorts)
    _, _, over_alone = alternating(case.together, case.alone, repeat=3)
    holds = "yes" if over_sorts <= BAR else "**no**"
    bar = f"at most {BAR} | {holds}" if case.has_bar and n == BAR_POINTS else " | "
    what = f"{count:,} spaces of {n} points: {case.what}"
    return f"| {what} | {time / count * 1e6:.1f} µs | {over_sorts:.2f} | {over_alone:.2f} | {bar} |"


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
        self._spaces = spaces

    def __len__(self) -> int:
        return len(self._spaces)

    def __getitem__(self, place: int) -> Any:
        """One space."""
        return self._spaces[place]


def cases(points: np.ndarray) -> Iterator[Case]:
    """All that is measured of a stack of clouds."""
    features, many = ao.AnchorFeatures, ao.io.PointClouds(points)
    stack = np.array([x.cost for x in many])
    single, lazy = stack.astype(np.float32), OnDemand(stack)
    sorts, single_sorts = two_sorts(stack), two_sorts(single)
    yield Case("features of a stack", lambda: features.of_many(stack), sorts, lambda: [features.of(x) for x in stack])
    yield Case(
        "features of a stack in float32",
        lambda: features.of_many(single),
        single_sorts,
        lambda: [features.of(x) for x in single],
        has_bar=False,
    )
    yield Case(
        "features of points",
        lambda: features.of_many(many),
        sorts,
        lambda: [features.of(ao.from_points(x)) for x in points],
    )
    yield Case("pairwise, 1 thread", lambda: prepared(stack, 1), sorts, lambda: prepared(lazy, 1))
    yield Case("pairwise, 2 threads", lambda: prepared(stack, 2), sorts, lambda: prepared(lazy, 2))
    if encoder := learn_encoder(Inputs.of(stack, None), metric_of("ae"), 1, None):
        yield Case(
            "pairwise(k=), with vectors",
            lambda: prepared(stack, 1, encoder),
            sorts,
            lambda: prepared(lazy, 1, encoder),
        )


def table() -> str:
    """The table in Markdown."""
    lines = ["| what | a space | over two sorts | over one by one | bar | holds |", "|---|---|---|---|---|---|"]
    for n in SIZES:
        points = clouds(n)
        lines += [row(case, n, len(points)) for case in cases(points)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="also write the table to the record")
    options = parser.parse_args()
    kernels = config()["kernels"]
    text = f"{processor()}, kernels {kernels}, processor time\n\n{table()}\n"
    print(text)
    if options.write:
        write_results("preparing.py", "--write", text)


if __name__ == "__main__":
    main()
