"""The spaces of a run, at hand or loaded on demand, and the same done to each: here, or on a Dask cluster."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from anchorot._parallel import Threads, cores, is_pool_worker
from anchorot._progress import progress_bar
from anchorot._typing import RngLike
from anchorot._validate import check_integer
from anchorot.anchors.attributes import Outline
from anchorot.anchors.batches import TOGETHER
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError, find_shortage, type_of
from anchorot.io.cache import READERS
from anchorot.io.cohort import Cohort
from anchorot.io.files import Readers, Unread, read
from anchorot.io.names import name_of
from anchorot.io.options import NEUTRAL_OPTIONS, SEED, ReadOptions
from anchorot.io.point_clouds import PointClouds
from anchorot.many.tiles import pieces, tile_side
from anchorot.rows import Rows
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from anchorot.many.cluster import ClusterSpaces

PIECES_PER_WORKER = 16  # at least: else some workers are done long before others
MAX_PIECE = 8  # spaces, whose results wait for each other; of those that one call prepares `batches.TOGETHER`


@dataclass(frozen=True)
class Inputs:
    """One or two sequences of spaces, as one: first the n spaces, then the m others.

    Entries may be spaces, features, square arrays, paths, or functions that return one of these; they are asked of the
    sequences only when needed.

    Attributes
    ----------
    options : ReadOptions
        How paths are read.
    given : tuple of str
        The options that the caller gave and that change spaces; they are for paths, and refused with anything else.
    folder : str
        Where relative paths begin, also for workers elsewhere.
    names_errors : bool
        Whether errors are all `InputError` and begin with what the caller knows the space as.
    prepare : callable, optional
        What is done to a space when it was loaded.
    prepare_many : callable, optional
        Does the same to some spaces of a sequence, given by their places, in one call, to the same bits; what it
        leaves out is prepared alone.
    """

    spaces: Any
    others: Any
    n: int
    m: int | None
    options: ReadOptions
    given: tuple[str, ...]
    folder: str
    names_errors: bool = True
    prepare: Callable[[Any], Any] | None = None
    prepare_many: Callable[[Any, range], Mapping[int, Any]] | None = None

    @classmethod
    def of(
        cls,
        spaces: Sequence[Any],
        others: Sequence[Any] | None,
        *,
        least: int = 1,
        seed: RngLike = SEED,
        **reading: Any,
    ) -> "Inputs":
        """Check that these are sequences of at least `least` spaces, without looking into them.

        `reading` are options of `read`; `seed` is where draws from paths come from if none of them says so.
        """
        m = None if others is None else _length(others, "others", least)
        given = tuple(name for name in reading if name not in NEUTRAL_OPTIONS)
        options = ReadOptions(**{"cache": True, "rng": seed, **reading}).settled()
        return cls(spaces, others, _length(spaces, "spaces", least), m, options, given, _working_folder())

    def __len__(self) -> int:
        return self.n + (self.m or 0)

    @property
    def packages(self) -> tuple[str, ...]:
        """What the last bits of the spaces depend on, as far as entries at hand tell that they are read from files."""
        is_read = self.given or any(isinstance(entry, str | os.PathLike | Unread | partial) for entry in self.listed())
        return READERS if is_read else ("numpy",)

    def name(self, index: int) -> str:
        """What the caller knows the space as."""
        return f"spaces[{index}]" if index < self.n else f"others[{index - self.n}]"

    def label(self, index: int) -> str:
        """The name of its file if that is at hand, else what the caller knows the space as."""
        entry = self.spaces[index] if index < self.n and isinstance(self.spaces, list | tuple) else None
        path = _path_of(entry)
        return self.name(index) if path is None else name_of(path)

    def load(self, index: int, read: Callable[[Unread], Any] = Unread.__call__) -> Any:
        """Load a space and prepare it; an `InputError` that names it says why it is bad. Files are read by `read`."""
        space = self._load(index, read)
        try:
            return space if self.prepare is None else self.prepare(space)
        except InputError as error:
            raise InputError(f"{self.name(index)}: {error}") from error

    def load_together(self, indices: range) -> dict[int, Any]:
        """Those of some spaces of one sequence that one call can load and prepare; `load` does all others."""
        side, first = (self.spaces, 0) if indices.start < self.n else (self.others, self.n)
        if self.prepare_many is None or self.given or not is_at_hand(side):
            return {}
        found = self.prepare_many(side, range(indices.start - first, indices.stop - first))
        return {first + place: item for place, item in found.items()}

    def _load(self, index: int, read: Callable[[Unread], Any]) -> Any:
        """Load a space; whatever goes wrong, but for a shortage of memory, is an `InputError` that names it."""
        name, file = self.name(index), None
        try:
            entry = self._entry(index)
            if isinstance(entry, str | os.PathLike):
                file = os.fspath(entry)
                name = f"{name} ({Path(file)})"
                entry = Unread(Path(entry), self.options)
            if isinstance(entry, Unread):
                return read(replace(entry, path=Path(self.folder, entry.path)))
            return entry if isinstance(entry, AnchorFeatures | Rows) else as_space(entry)
        except Exception as error:
            if not self.names_errors:
                raise
            kind_of = InputError if find_shortage(error) is None else MemoryError  # which is not the fault of the space
            raise kind_of(f"{name}: {_reason(error, file)}") from error

    def _entry(self, index: int) -> Any:
        """The entry as it is, but calls of `read` as what they mean, and what other functions return."""
        entry = self.spaces[index] if index < self.n else self.others[index - self.n]
        if isinstance(entry, partial) and entry.func is read and len(entry.args) == 1:
            entry = Unread(Path(entry.args[0]), ReadOptions(**entry.keywords))
        if callable(entry) and not isinstance(entry, Unread):
            entry = entry()
        if self.given and not isinstance(entry, str | os.PathLike):
            kind = "function" if isinstance(entry, Unread) else type(entry).__name__
            raise InputError(f"{self.given[0]} is an option of reading, for paths, but this is of type {kind}")
        return entry

    def strips(self, side: int) -> list[range]:
        """Ranges of at most `side` spaces, each of one sequence."""
        return pieces(range(self.n), side) + pieces(range(self.n, len(self)), side)

    def files(self) -> Iterator[Path]:
        """Paths of entries that are at hand already; their folders may be relative to that of the caller."""
        return (Path(self.folder, path) for path in map(_path_of, self.listed()) if path is not None)

    def listed(self) -> Iterator[Any]:
        """Entries that are at hand already."""
        for side in (self.spaces, self.others):
            if isinstance(side, list | tuple):
                yield from side

    def only(self, indices: Iterable[int]) -> "Inputs":
        """Return the same inputs, with no more in them than the given entries: light enough to be sent away.

        A sequence other than a list, tuple or array makes its entries on demand; it is kept as it is.
        """
        wanted = list(indices)
        spaces = _pick(self.spaces, [i for i in wanted if i < self.n])
        return replace(self, spaces=spaces, others=_pick(self.others, [i - self.n for i in wanted if i >= self.n]))


def check_collection(spaces: Any, name: str, *, in_any_order: bool = True) -> None:
    """Refuse one space, and what is no sequence; an iterator will do unless entries are asked for in any order."""
    is_one = isinstance(spaces, str | os.PathLike | Space) or hasattr(spaces, "not_a_space")
    if isinstance(spaces, Mapping):
        raise InputError(f"{name} must be a sequence, but got {type_of(spaces)}; give list({name}.values())")
    is_sequence = hasattr(spaces, "__getitem__") and hasattr(spaces, "__len__")
    if is_one or not (is_sequence or (hasattr(spaces, "__iter__") and not in_any_order)):
        advice = getattr(spaces, "not_a_space", "make it a list")
        raise InputError(f"{name} must be a sequence of spaces, arrays or paths, but got {type_of(spaces)}; {advice}")


def _path_of(entry: Any) -> Path | None:
    """The file that an entry is read from, if it is one."""
    if isinstance(entry, partial) and entry.func is read and len(entry.args) == 1:
        entry = entry.args[0]
    path = entry.path if isinstance(entry, Unread) else entry
    return Path(path) if isinstance(path, str | os.PathLike) else None


def _length(spaces: Any, name: str, least: int) -> int:
    check_collection(spaces, name)
    if len(spaces) < least:
        raise InputError(f"{name} is empty, but at least one space is needed")
    return len(spaces)


def _working_folder() -> str:
    """Where relative paths begin."""
    try:
        return os.getcwd()
    except FileNotFoundError:  # the folder was deleted, and relative paths mean nothing
        return ""


def is_at_hand(spaces: Any) -> bool:
    """Whether entries of a sequence take no time to get: they are in memory, or in a memory-mapped array."""
    return isinstance(spaces, list | tuple | np.ndarray | Cohort | PointClouds)


def _pick(spaces: Any, indices: list[int]) -> Any:
    if isinstance(spaces, PointClouds):
        return {i: spaces.maker(i) for i in indices}
    if not isinstance(spaces, list | tuple | np.ndarray):
        return spaces
    return {i: spaces[i] for i in indices}


def _reason(error: Exception, read: str | None) -> str:
    """What to say of an error; the file that was read is named before it."""
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else os.fsdecode(error.filename)
        is_named = not file or (read is not None and file.endswith(read))
        return error.strerror if is_named else f"{file}: {error.strerror}"
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def digest(space: Space | Rows | AnchorFeatures) -> str:
    """Return 128 bits that tell apart spaces whose costs, weights, types or features differ in any bit."""
    if isinstance(space, Space):
        kind, arrays = "space", [space.cost, space.weights]
        kind += "" if space.types is None else f" of types {space.types!r}"
        kind += "" if space.area is None else f" in an area of {space.area!r}"
        arrays += [] if space.features is None else [space.features]
    elif isinstance(space, Rows):
        kind, arrays = f"rows of types {space.types!r} and {space.column_types!r}", [space.values, space.weights]
    else:
        about = "" if space.attribute_rule is None else f", {space!r} of {getattr(space, 'alphabet', None)!r}"
        kind, arrays = f"features, robust={space.robust}{about}", space.arrays()
    state = blake2b(kind.encode(), digest_size=16)
    for array in arrays:
        state.update(f"{array.dtype.str} {array.shape} ".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


# -- the same done to each ---------------------------------------------------------------------------------------------


Spaces = Union["LocalSpaces", "ClusterSpaces"]
Function = Callable[[Any, int], Any]  # of what was loaded, and its index


def n_workers(n_jobs: int) -> int:
    """Return the number of workers: -1 means one per core, or a single one inside another pool's worker."""
    if n_jobs == -1:
        return 1 if is_pool_worker() else cores()
    return check_integer(n_jobs, "n_jobs", 1)


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
    """Outlines of all good spaces, made when first asked for, which goes through all spaces once more."""

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

    def item(self, index: int) -> Any:
        """Return what was made of a space, loaded again if it did not stay."""
        return self._get(index)

    def each(self, function: Function, *, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield the index of each space and what the function makes of it, or the error of a bad one, as finished.

        If they are to be kept for another time, spaces of a cluster stay there; here as many stay as fit, always.
        """
        most = self._together if self._inputs.prepare_many is None else max(self._together, TOGETHER)
        size = max(1, min(most, len(self) // (PIECES_PER_WORKER * self.n)))

        def work(piece: range) -> list[Any]:
            ready = {} if self.is_stopped() else self._inputs.load_together(piece)
            if self._cache.limit:
                self._cache.keep(ready)

            def get(index: int) -> Any:
                return ready[index] if index in ready else self._get(index)

            return [call_for(get, function, index) for index in piece if not self.is_stopped()]

        for piece, found in self.map(work, self._inputs.strips(size)):
            yield from zip(piece, found, strict=True)
        self._readers.end_idle()


def call_for(get: Callable[[int], Any], function: Function, index: int) -> Any:
    """Return what a function makes of a space, or the error of a bad one."""
    try:
        return function(get(index), index)
    except (InputError, OSError) as error:
        error.__cause__ = error.__context__ = None  # with tracebacks, which would keep spaces in memory
        return error.with_traceback(None)


class Made(NamedTuple):
    """What a thing that was made elsewhere has in place of a `Future`."""

    thing: Any

    def result(self) -> Any:
        """The thing."""
        return self.thing


class ItemCache:
    """Things by index, made when first asked for; where they outgrow the limit, the least recently used ones go.

    Threads may share it: what two of them ask for is made once.
    """

    def __init__(self, make: Callable[[int], Any], limit: int) -> None:
        self.limit = limit  # in bytes
        self._make = make
        self._lock = threading.Lock()
        self._slots: OrderedDict[int, Future[Any] | Made] = OrderedDict()
        self._sizes: dict[int, int] = {}  # of those that are made
        self._total = 0

    def get(self, index: int) -> Any:
        """Return a thing, made now if need be; raise what making it raises."""
        with self._lock:
            new = None if index in self._slots else Future[Any]()
            slot = self._slots[index] if new is None else self._slots.setdefault(index, new)
            self._slots.move_to_end(index)
        if new is not None:
            try:
                new.set_result(self._make(index))
            except BaseException as error:
                with self._lock:
                    del self._slots[index]
                new.set_exception(error)
        found = slot.result()
        self._weigh(index, found)
        return found

    def keep(self, found: Mapping[int, Any]) -> None:
        """Keep things that were made elsewhere, if they were not asked for before."""
        sizes = {index: array_bytes(thing) for index, thing in found.items()}
        with self._lock:
            for index, thing in found.items():
                if index not in self._slots:
                    self._slots[index] = Made(thing)
                    self._sizes[index] = sizes[index]
                    self._total += sizes[index]
            self._shrink()

    def _weigh(self, index: int, found: Any) -> None:
        """Weigh it, each time anew: features may have grown with use."""
        size = array_bytes(found)
        with self._lock:
            if index in self._slots:
                self._total += size - self._sizes.get(index, 0)
                self._sizes[index] = size
            self._shrink(index)

    def _shrink(self, but: int | None = None) -> None:
        """Let the least recently used go, but one, until the rest is within the limit."""
        while self._total > self.limit:
            oldest = next((i for i in self._slots if i in self._sizes and i != but), None)
            if oldest is None:
                break
            del self._slots[oldest]
            self._total -= self._sizes.pop(oldest)


def array_bytes(thing: Any) -> int:
    """Bytes of all arrays in an object, a tuple or an array."""
    total, parts = 0, [thing]
    while parts:
        part = parts.pop()
        if isinstance(part, np.ndarray):
            total += part.nbytes
        elif isinstance(part, tuple):
            parts += part
        elif hasattr(part, "__dict__"):
            parts += list(part.__dict__.values())  # a copy: other threads may fill cached properties
    return total
