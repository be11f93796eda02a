"""Independent pieces of work, spread over processes."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from typing import TypeVar

from experiments.common.progress import progress_bar
from experiments.common.study import Study

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_workers(
    study: Study, function: Callable[[Piece], Result], work: Sequence[Piece], description: str, unit: str
) -> list[Result]:
    """Call a function for every piece of work; in a quick run here, else in workers, each on one core.

    Times measured inside must be the processor's (`processor_time`), not the clock's.
    """
    with progress_bar(len(work), description, unit) as advance, ExitStack() as stack:
        if study.quick:  # to start workers takes longer
            results: Iterator[Result] = map(function, work)
        else:
            limit = study.n_jobs if study.n_jobs > 0 else None
            pool = stack.enter_context(ProcessPoolExecutor(limit, get_context("spawn")))
            results = pool.map(function, work)
        found = []
        for result in results:
            found.append(result)
            advance(1)
    return found
