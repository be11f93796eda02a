"""Independent pieces of work, spread over processes."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from experiments.common.clock import one_core
from experiments.common.progress import progress_bar
from experiments.common.study import Study

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_workers(
    study: Study, function: Callable[[Piece], Result], work: Sequence[Piece], description: str, unit: str
) -> list[Result]:
    """Call a function for every piece of work, on one core each; in a quick run here, else in workers.

    What is done is kept, so that a run that was killed goes on. Times measured inside must be the processor's
    (`processor_time`), not the clock's.
    """
    with progress_bar(len(work), description, unit) as advance, ExitStack() as stack:
        if study.quick:  # to start workers takes longer
            stack.enter_context(one_core())
            results: Iterator[Result] = map(function, work)
        else:
            limit = study.n_jobs if study.n_jobs > 0 else None
            pool = stack.enter_context(ProcessPoolExecutor(limit, get_context("spawn")))
            files = [study.scratch / f"{description} {number}.pickle" for number in range(len(work))]
            results = pool.map(_kept, [function] * len(work), work, files)
        found = []
        for result in results:
            found.append(result)
            advance(1)
    return found


def _kept(function: Callable[[Piece], Result], piece: Piece, file: Path) -> Result:
    with one_core():
        return kept(file, partial(function, piece))


def kept(file: Path, function: Callable[[], Result]) -> Result:
    """Return what a file keeps, or else what a function returns, and keep it; a file appears whole or not at all."""
    if file.exists():
        found: Result = pickle.loads(file.read_bytes())
        return found
    result = function()
    part = file.with_suffix(".part")
    part.write_bytes(pickle.dumps(result))
    part.replace(file)
    return result
