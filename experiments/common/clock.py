"""Seconds on one core."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import anchorot as ao

Result = TypeVar("Result")


@contextmanager
def one_core() -> Iterator[None]:
    """Hold the linear algebra of NumPy, SciPy, POT and PyTorch to one thread."""
    try:
        import torch
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise ao.MissingExtraError(str(error.name), "torch" if error.name == "torch" else "learn") from None

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


def seconds(work: Callable[[], Any], repeats: int = 1) -> float:
    """Return the least wall time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def processor_time(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what a call returns, and the seconds that processors worked for it: other programs' do not count."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start
