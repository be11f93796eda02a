"""What is sent to a Dask worker, so that even one without anchorot can say what it lacks.

Dask pickles functions by their names. A worker that cannot import what a name stands for ends at once without a word,
and a scheduler refuses the task. Therefore a task is a pickle inside the arguments of `call`, and `call` itself is
pickled by value.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from anchorot.many.workers.software import check_software, installed_software


def call(content: bytes, *arguments: Any) -> Any:
    """Call a pickled function on a worker; an `ImportError` says what the worker lacks for that."""
    import pickle

    try:
        function = pickle.loads(content)
    except Exception as error:
        from distributed import get_worker

        try:
            name = f"worker {get_worker().address}: "
        except ValueError:  # outside of tasks, where the caller knows whom it asked
            name = ""
        problem = (str(error) or type(error).__name__).splitlines()[0]
        raise ImportError(f"{name}{problem}; workers need anchorot, and all that the spaces are made by") from None
    return function(*arguments)


call.__module__ = "__main__"  # what is defined there is pickled by value


def pickled(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return what `call` calls."""
    from distributed.protocol.pickle import dumps

    return dumps(partial(function, *arguments))  # type: ignore[no-untyped-call]


def work(software: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on a worker, unless its software is not the caller's: it may have joined just now."""
    from distributed import get_worker

    check_software(installed_software(tuple(software)), software, f"worker {get_worker().address}")
    return function(*arguments)
