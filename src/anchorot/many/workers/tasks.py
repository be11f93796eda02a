"""Tasks on a Dask cluster: handed out some at a time, made again where they are lost, failing in one line."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, Self
from uuid import uuid4

from anchorot.exceptions import AnchorotError, InputError, first_line
from anchorot.many.workers.remote import call, pickled, work
from anchorot.many.workers.software import check_software, installed_software

RETRIES = 3  # of a task that fails, as when a file system does for a moment
WINDOW = 256  # tasks handed to the cluster at a time


class ClusterTasks:
    """The tasks of one caller on the cluster of a `dask.distributed.Client`, whose workers must have his software.

    What a task needs is part of it, so Dask makes again what a lost worker held. Scattered data it could not.

    Parameters
    ----------
    client : dask.distributed.Client
    packages : tuple of str
        What results depend on besides anchorot.
    consolation : str
        What to say to somebody who has lost the scheduler.
    """

    def __init__(self, client: Any, packages: tuple[str, ...], consolation: str = "begin again with another") -> None:
        if not hasattr(client, "scheduler_info") or client.asynchronous:
            raise InputError(f"client must be a dask.distributed.Client that is not asynchronous, but got {client!r}")
        self._client = client
        self._software = installed_software(packages)
        self._consolation = consolation
        self._address = client.scheduler.address if client.scheduler is not None else "an unknown address"
        self._pending: dict[Any, Any] = {}  # tasks under way, by their futures

    def __enter__(self) -> Self:
        """Refuse workers with other software; those that join later find out by themselves."""
        with self._failing_in_one_line():
            found = self._client.run(call, pickled(installed_software, tuple(self._software)), on_error="return")
        for address, software in found.items():
            if isinstance(software, ImportError):
                raise AnchorotError(f"worker {address}: {software}")
            if isinstance(software, dict):  # else it was lost just now
                check_software(software, self._software, f"worker {address}")
        return self

    def __exit__(self, *exception: object) -> None:
        """Take back what was handed out and is not done."""
        self.cancel(self._pending)
        self._pending.clear()

    def cancel(self, futures: Iterable[Any]) -> None:
        """Take back tasks, or let go of their results."""
        with suppress(Exception):  # where the scheduler is lost there is nobody to tell
            self._client.cancel(list(futures))

    def submit(self, function: Callable[..., Any], *arguments: Any, after: tuple[Any, ...] = ()) -> Any:
        """Return the future of a call; the results of the tasks `after` which it comes are its last arguments."""
        key = f"{function.__name__}-{uuid4()}"  # Dask shows the name, and learns from it how long such tasks take
        content = pickled(work, self._software, function, *arguments)
        return self._client.submit(call, content, *after, key=key, retries=RETRIES)

    def completed(self, hand_out: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield tasks with their results as they are finished; `hand_out` makes a future of a task when its turn is."""
        from distributed import as_completed

        waiting = iter(tasks)
        finished: Any = as_completed([], loop=self._client.loop)  # type: ignore[no-untyped-call]
        while True:
            with self._failing_in_one_line():
                for task in waiting:
                    future = hand_out(task)
                    self._pending[future] = task
                    finished.add(future)
                    if len(self._pending) >= WINDOW:
                        break
                if not self._pending:
                    return
                batch = finished.next_batch()
                # gathered rather than taken one by one: what was lost since it was finished is made again
                results = self._client.gather(batch)
            for future, result in zip(batch, results, strict=True):
                yield self._pending.pop(future), result

    @contextmanager
    def _failing_in_one_line(self) -> Iterator[None]:
        """Say in one line what has become of the cluster."""
        from distributed import KilledWorker
        from distributed.client import ClosedClientError

        try:
            yield
        except AnchorotError:
            raise
        except ImportError as error:
            raise AnchorotError(str(error)) from None
        except KilledWorker as error:
            raise AnchorotError(
                f"{error.allowed_failures + 1} Dask workers ended over one task, the last {error.last_worker.address}: "
                "they were killed or ran out of memory; their logs may say more"
            ) from None
        except (CancelledError, ClosedClientError, OSError) as error:
            if self._client.status == "running" and isinstance(error, CancelledError):
                raise AnchorotError(f"the tasks on the Dask cluster were cancelled ({first_line(error)})") from None
            raise AnchorotError(f"the Dask scheduler at {self._address} was lost; {self._consolation}") from None
