"""The spaces of a run, and the same done to each of them: here, or on a Dask cluster (`cluster.py`)."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from anchorot._parallel import Threads, n_workers
from anchorot._progress import progress_bar
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.marking import Outline
from anchorot.exceptions import InputError
from anchorot.io.files import Readers
from anchorot.many.inputs import Inputs
from anchorot.many.tiles import pieces, tile_side
from anchorot.space import Space

if TYPE_CHECKING:
    from anchorot.many.cluster import ClusterSpaces

PIECES_PER_WORKER = 16  # at least: else some workers are done long before others
MAX_PIECE = 8  # spaces, whose results wait for each other
Spaces = Union["LocalSpaces", "ClusterSpaces"]
Function = Callable[[Any, int], Any]  # of what was loaded, and its index


def open_spaces(inputs: Inputs, n_jobs: int, client: Any = None, *, together: int | None = None) -> Spaces:
    """Spaces for `n_jobs` workers of this machine, or for those of a `dask.distributed.Client`.

    Large results should be of few spaces `together`; by default they are of as many as make few tasks.
    """
    n = n_workers(n_jobs)
    if client is None:
        return LocalSpaces(inputs, n, together=together or MAX_PIECE)
    from anchorot.many.cluster import SPACES_PER_TASK, ClusterSpaces

    side = together or tile_side(len(inputs), len(inputs), SPACES_PER_TASK)
    return ClusterSpaces(inputs, client, inputs.strips(side), inputs.packages)


def each_space(
    spaces: Spaces,
    function: Function,
    doing: str,
    unit: str = "spaces",
    *,
    skip: bool = False,
    progress: bool = True,
    keep: bool = False,
) -> Iterator[tuple[int, Any]]:
    """Do the same to each space, and show how far that is: yield indices and results, as they are finished.

    A bad space has its error for a result if `skip`; else the error of the first bad one of all is raised.
    """
    known: dict[int, Exception | None] = {}
    n_good = 0  # before the first bad space, or the first that is not known yet
    with progress_bar(len(spaces), doing, unit, progress) as advance:
        for index, found in spaces.each(function, keep=keep):
            known[index] = found if isinstance(found, Exception) else None
            while not skip and n_good in known:
                if (problem := known[n_good]) is not None:
                    raise problem
                n_good += 1
            advance(1)
            if skip or known[index] is None:
                yield index, found


class Outlines(Iterable[Outline]):
    """Outlines of all good spaces, made when they are first asked for; the spaces will be gone through once more."""

    def __init__(self, spaces: Spaces, *, robust: bool, skip: bool = False, progress: bool = True) -> None:
        self._spaces, self._robust, self._how = spaces, robust, {"skip": skip, "progress": progress}

    def __iter__(self) -> Iterator[Outline]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[Outline]:
        outline = partial(_outline, robust=self._robust)
        found = each_space(self._spaces, outline, "looking at", "spaces", **self._how, keep=True)
        return [each for _, each in sorted(found) if isinstance(each, Outline)]


def _outline(x: Space | AnchorFeatures, index: int, *, robust: bool) -> Outline:
    if isinstance(x, AnchorFeatures):
        return Outline(x.span, x.span[1], getattr(x, "alphabet", None))
    return Outline.of(x, robust=robust)


class LocalSpaces(Threads):
    """Spaces that threads of this process load, files in processes where that pays; `memory` bytes of them stay."""

    def __init__(self, inputs: Inputs, n_jobs: int, memory: int = 0, together: int = MAX_PIECE) -> None:
        super().__init__(n_jobs)
        self._inputs, self._together = inputs, together
        self._readers = Readers(min(n_jobs, max(1, len(inputs))), len(inputs))
        load = partial(inputs.load, read=self._readers.read)
        self._cache = ItemCache(load, memory)
        self._get = self._cache.get if memory else load

    def __exit__(self, *exception: object) -> None:
        """Stop after the spaces that are being looked at."""
        self.stop()
        self._readers.__exit__(*exception)
        super().__exit__(*exception)

    def __len__(self) -> int:
        return len(self._inputs)

    def each(self, function: Function, *, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield the index of each space and what the function makes of it, or the error of a bad one, as finished.

        If they are to be kept for another time, spaces of a cluster stay there; here as many stay as fit, always.
        """
        size = max(1, min(self._together, len(self) // (PIECES_PER_WORKER * self.n)))

        def work(piece: range) -> list[Any]:
            return [call_for(self._get, function, index) for index in piece if not self.is_stopped()]

        for piece, found in self.map(work, pieces([range(len(self))], size)):
            yield from zip(piece, found, strict=True)
        self._readers.end_idle()


def call_for(get: Callable[[int], Any], function: Function, index: int) -> Any:
    """Return what a function makes of a space, or the error of a bad one."""
    try:
        return function(get(index), index)
    except (InputError, OSError) as error:
        error.__cause__ = error.__context__ = None  # with tracebacks, which would keep spaces in memory
        return error.with_traceback(None)


class ItemCache:
    """Things by index, made when first asked for; where they outgrow the limit, the least recently used ones go.

    Threads may share it: what two of them ask for is made once.
    """

    def __init__(self, make: Callable[[int], Any], limit: int) -> None:
        self.limit = limit  # in bytes
        self._make = make
        self._lock = threading.Lock()
        self._slots: OrderedDict[int, Future[Any]] = OrderedDict()
        self._sizes: dict[int, int] = {}  # of those that are made
        self._total = 0

    def get(self, index: int) -> Any:
        """Return a thing, made now if need be; raise what making it raises."""
        with self._lock:
            slot = self._slots.get(index)
            if is_new := slot is None:
                slot = self._slots[index] = Future()
            self._slots.move_to_end(index)
        if is_new:
            try:
                slot.set_result(self._make(index))
            except BaseException as error:
                with self._lock:
                    del self._slots[index]
                slot.set_exception(error)
        found = slot.result()
        self._weigh(index, found)
        return found

    def _weigh(self, index: int, found: Any) -> None:
        """Weigh it, each time anew: features may have grown with use."""
        size = array_bytes(found)
        with self._lock:
            if index in self._slots:
                self._total += size - self._sizes.get(index, 0)
                self._sizes[index] = size
            while self._total > self.limit:
                oldest = next((i for i in self._slots if i in self._sizes and i != index), None)
                if oldest is None:
                    break
                del self._slots[oldest]
                self._total -= self._sizes.pop(oldest)


def array_bytes(thing: Any) -> int:
    """Bytes of all arrays in an object, a tuple or an array."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple):
        return sum(array_bytes(part) for part in thing)
    return sum(array_bytes(part) for part in list(getattr(thing, "__dict__", {}).values()))
