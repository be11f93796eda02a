"""The part of an index that a process keeps in memory, with vectors in FAISS, and the exact search for the nearest."""

import math
from bisect import insort
from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import heappop, heappush
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.many.tiles import runs
from anchorot.search.comparison import comparison_of
from anchorot.search.file import IndexFile, StaleError
from anchorot.search.file_format import ENTRY, Batch, Header
from anchorot.search.preprocessing import Kept
from anchorot.search.sqlite_files import refuse

FIRST_CANDIDATES = 256  # least number per segment in the first scan
CANDIDATES_PER_ROOT = 2.0  # times the root of a segment's size: candidates grow like that, and a second scan is slow
READ_AHEAD, AHEAD_BYTES = 32, 1 << 24  # candidates, and bytes of features, that are read together
DISTANCE_ROWS = 1024  # vectors compared in float64 at a time
SMALL_SEGMENT = 4096  # spaces; added spaces join the last segment if it is smaller


# -- vectors in memory -----------------------------------------------------------------------------------------------


class VectorIndex:
    """Vectors of norm at most 1, searched for one query at a time; removed ones are not found."""

    def __init__(self, count: int, length: int) -> None:
        """Allocate `count` vectors, to be filled in through `array`."""
        self._faiss = import_faiss()
        self._index = self._faiss.IndexFlatL2(length)
        self._index.codes.resize(4 * count * length)
        self._index.ntotal = count
        # The error of FAISS is below this for norms up to 1, whether it adds up squares or expands them:
        self._error = 4 * (length + 16) * 2.0**-24

    def truncate(self, count: int) -> None:
        """Drop all vectors but the first `count`."""
        self._index.codes.resize(4 * count * self._index.d)
        self._index.ntotal = count

    @property
    def array(self) -> NDArray[np.float32]:
        """All vectors, in the memory of FAISS."""
        shape = self._index.ntotal, self._index.d
        if shape[0] == 0:
            return np.empty(shape, np.float32)
        return self._faiss.rev_swig_ptr(self._index.get_xb(), shape[0] * shape[1]).reshape(shape)

    def nearest(self, vector: NDArray[np.float32], count: int, alive: NDArray[np.bool_]) -> tuple[Int64s, float]:
        """Places of the (nearly) nearest vectors, and a lower bound of the distance of all others."""
        n_alive = int(np.count_nonzero(alive))
        count = min(count, n_alive)
        squares, places = self._index.search(vector[None], count, params=self._only(alive))
        others = np.inf if count == n_alive else float(squares[0, -1])
        return places[0], np.sqrt(max(others - self._error, 0.0))

    def within(self, vector: NDArray[np.float32], radius: float, alive: NDArray[np.bool_]) -> Int64s:
        """Places of all vectors within `radius`, and perhaps of some slightly beyond."""
        limit = np.float32(min(radius**2 * (1 + 1e-6) + self._error, 1e9))
        return self._index.range_search(vector[None], limit, params=self._only(alive))[2]

    def distances(self, vector: NDArray[np.float32], places: Int64s) -> Float64s:
        """Distances to the vectors at these places, in float64."""
        array, wanted = self.array, vector.astype(np.float64)
        out = np.empty(len(places))
        for start in range(0, len(places), DISTANCE_ROWS):
            block = slice(start, start + DISTANCE_ROWS)
            difference = array[places[block]].astype(np.float64)
            difference -= wanted
            out[block] = self._lengths(difference)
        return out

    @staticmethod
    def _lengths(difference: Float64s) -> Float64s:
        return np.sqrt(np.vecdot(difference, difference))

    def _only(self, alive: NDArray[np.bool_]) -> Any:
        # With a selector FAISS adds up squares, which is far faster for a single query than its default.
        bits = np.packbits(alive, bitorder="little")
        whole = bool(alive.all())
        selector = self._faiss.IDSelectorAll() if whole else self._faiss.IDSelectorBitmap(bits)
        return self._faiss.SearchParameters(sel=selector)


class AbsoluteVectorIndex(VectorIndex):
    """The same by sums of absolute differences."""

    def nearest(self, vector: NDArray[np.float32], count: int, alive: NDArray[np.bool_]) -> tuple[Int64s, float]:
        """Places of the (nearly) nearest vectors, and a lower bound of the distance of all others."""
        places, found = self._all(vector, alive)
        if count >= len(places):
            return places, np.inf
        order = np.argpartition(found, count)
        return places[order[:count]], max(float(found[order[count]]) - self._error, 0.0)

    def within(self, vector: NDArray[np.float32], radius: float, alive: NDArray[np.bool_]) -> Int64s:
        """Places of all vectors within `radius`, and perhaps of some slightly beyond."""
        places, found = self._all(vector, alive)
        return places[found <= radius * (1 + 1e-6) + self._error]

    def _all(self, vector: NDArray[np.float32], alive: NDArray[np.bool_]) -> tuple[Int64s, Float64s]:
        """Places of the vectors that have not been removed, and their distances; FAISS adds up in float32."""
        found = self._faiss.pairwise_distances(vector[None], self.array, self._faiss.METRIC_L1)[0]
        places = np.flatnonzero(alive)
        return places, found[places].astype(np.float64)

    @staticmethod
    def _lengths(difference: Float64s) -> Float64s:
        return np.abs(difference).sum(axis=1)


class Segment(NamedTuple):
    """Spaces in memory, by ascending id; item k of each field belongs to space k. Immutable."""

    entries: np.ndarray  # of ENTRY
    names: tuple[str, ...] | None
    vectors: VectorIndex
    alive: NDArray[np.bool_]  # which spaces have not been removed
    total: int  # the sum of the checksums of their rows

    @property
    def size(self) -> int:
        """Number of spaces that have not been removed."""
        return int(np.count_nonzero(self.alive))

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces that have not been removed."""
        return self.entries["id"][self.alive]

    def without(self, ids: Int64s, checksums: Int64s) -> "Segment":
        """The same without the spaces of these ids, whose rows have these checksums; other ids are ignored."""
        total = self.total - int(checksums[np.isin(ids, self.ids)].sum())
        return self._replace(alive=self.alive & ~np.isin(self.entries["id"], ids), total=total)


def make_segment(batches: Iterable[Batch], capacity: int, length: int, *, is_absolute: bool = False) -> Segment:
    """A segment of the spaces of batches that arrive one by one, at most `capacity` of them."""
    vectors, total = (AbsoluteVectorIndex if is_absolute else VectorIndex)(capacity, length), 0
    array, entries = vectors.array, [np.empty(0, ENTRY)]
    names: list[str] = []
    done = 0
    for batch in batches:
        end = done + len(batch.entries)
        if end > capacity:
            break  # more than the header says; the caller's count detects it
        array[done:end] = batch.vectors
        entries.append(batch.entries)
        names += batch.names or ()
        total += batch.total
        done = end
    vectors.truncate(done)
    return Segment(np.concatenate(entries), tuple(names) or None, vectors, np.ones(done, np.bool_), total)


class Snapshot(NamedTuple):
    """One state of an index, in memory except for the features. Immutable."""

    header: Header
    segments: tuple[Segment, ...]

    @property
    def sums(self) -> tuple[int, int]:
        """Number of spaces, and the sum of the checksums of their rows."""
        return sum(segment.size for segment in self.segments), sum(segment.total for segment in self.segments)

    @property
    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        return np.concatenate([np.empty(0, np.int64), *(segment.ids for segment in self.segments)])

    def find(self, given: np.ndarray) -> list[int]:
        """Ids, ascending and unique, of spaces given by their ids or names; an `InputError` if one is missing."""
        if given.dtype.kind in "UO" and all(isinstance(name, str) for name in given.tolist()):
            return self._find_names(set(given.tolist()))
        if given.size and given.dtype.kind not in "iu":
            raise InputError(f"ids must be integers, but got {given.dtype}")
        present = np.isin(given, self.ids)
        if not present.all():
            raise InputError(f"the index has no space with id {given[~present][0]}")
        return [int(i) for i in given]

    @property
    def names(self) -> Iterator[str]:
        """Names of all spaces by ascending id; empty if they have none."""
        return (name for segment in self.segments for name in compress(segment.names or (), segment.alive))

    def _find_names(self, names: set[str]) -> list[int]:
        found = [(name, int(i)) for name, i in zip(self.names, self.ids, strict=False) if name in names]
        missing = names - {name for name, _ in found}
        if missing:
            raise InputError(f"the index has no space named {min(missing)!r}")
        return [i for _, i in found]


class Reader:
    """Reads an index, or its spaces with ids from `first` on and below `stop`; snapshots follow the file's changes.

    Thread-safe: snapshots are immutable.
    """

    def __init__(self, file: IndexFile, first: int = 0, stop: int | None = None) -> None:
        self.file = file
        self._first, self._stop = first, stop
        self._last: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """The current state of the index."""
        while True:
            with suppress(StaleError):
                return self.snapshot_of(self.file.header())

    def snapshot_of(self, header: Header) -> Snapshot:
        """The state of the index that belongs to a header; `StaleError` if it has changed since."""
        last = self._last
        if last is None or last.header.state != header.state:
            self._last = last = self._next(last, header)
        return last

    @property
    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        return self.snapshot().ids

    def nearest(self, header: Header, kept: Kept, k: int, candidates: int | None) -> "QueryResult":
        """The k nearest in one state of the index, or all if there are fewer; exact unless `candidates` is given."""
        query = _Query(self.file, self.snapshot_of(header), kept, k)
        if query.segments:
            with np.errstate(over="ignore", invalid="ignore"):  # values that are too large raise their own error
                query.search(candidates)
        return QueryResult(query.found, query.n_exact)

    def _next(self, last: Snapshot | None, header: Header) -> Snapshot:
        if last is None or last.header.key != header.key:
            segments = [self._segment(header)]
        elif last.header.next_id > header.next_id or last.header.n_removed > header.n_removed:
            raise StaleError  # another thread has read a newer state
        else:
            segments = self._changed(last, header)
        found = Snapshot(header, tuple(segment for segment in segments if segment.size))
        is_whole = self._first == 0 and self._stop is None
        if is_whole and found.sums != (header.count, header.total):
            self._last = None  # the next attempt reads everything again
            if last is not None:
                raise StaleError
            self.file.check_sums(header, *found.sums)
        return found

    def _changed(self, last: Snapshot, header: Header) -> list[Segment]:
        """The segments of a snapshot, without spaces removed since and with spaces added since."""
        gone = np.array(self.file.removed(header, last.header.n_removed), np.int64).reshape(-1, 2)
        segments = [segment.without(gone[:, 0], gone[:, 1]) for segment in last.segments]
        first = last.header.next_id
        if segments and header.next_id > first and segments[-1].size < SMALL_SEGMENT:
            first = int(segments.pop().entries["id"][0])
        for k, segment in enumerate(segments):
            if 2 * segment.size < len(segment.entries):
                segments[k] = self._segment(header, int(segment.entries["id"][0]), int(segment.entries["id"][-1]) + 1)
        if first < header.next_id:
            segments.append(self._segment(header, first))
        return segments

    def _segment(self, header: Header, first: int = 0, stop: int | None = None) -> Segment:
        """The spaces of a range of ids, from the file."""
        first, stop = max(first, self._first), self._stop if stop is None else stop
        end, length = header.next_id if stop is None else min(stop, header.next_id), header.encoder.length
        capacity = max(0, min(header.count, end - first))
        if 4 * length * capacity > self.file.path.stat().st_size:
            refuse(self.file.name, f"its header promises {header.count} vectors of {length} numbers")
        is_absolute = header.view.bounded.is_absolute
        return make_segment(self.file.batches(header, first, end), capacity, length, is_absolute=is_absolute)


# -- the nearest -----------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """One of the nearest spaces so far; ids break ties."""

    value: float
    id: int
    name: str | None


class QueryResult(NamedTuple):
    """The nearest spaces, and how many were compared exactly."""

    found: list[Found]
    n_exact: int


def merge_results(k: int, results: Iterable[QueryResult]) -> QueryResult:
    """The k nearest of several results over disjoint sets of spaces; exact if all of them are."""
    all_found, counts = zip(*results, strict=True)
    return QueryResult(sorted(each for found in all_found for each in found)[:k], sum(counts))


class _Waiting(NamedTuple):
    """A space that will be compared exactly, unless its bound exceeds the k-th best value first."""

    bound: float
    id: int
    name: str | None
    item: Any  # prepared


class _Query:
    """State of a search: the query, the best k so far, and how many spaces were compared exactly."""

    def __init__(self, file: IndexFile, snapshot: Snapshot, kept: Kept, k: int) -> None:
        self._file, self._header, self._k = file, snapshot.header, k
        self._encoder, view = snapshot.header.encoder, snapshot.header.view
        self._vector, self._radius = self._encoder.encode(view.features(kept))
        self._comparison = comparison_of(view.bounded)
        self._item = self._comparison.prepare(kept)
        self.segments = snapshot.segments
        self.found: list[Found] = []  # ascending
        self._waiting: list[_Waiting] = []  # a heap
        self._limit = np.inf  # largest value that is still among the nearest
        self.n_exact = 0

    def search(self, candidates: int | None) -> None:
        """Evaluate the first `candidates` by bound; if None, all spaces that may be among the nearest."""
        if candidates is not None:
            found = [segment.vectors.nearest(self._vector, candidates, segment.alive) for segment in self.segments]
            self._refine([places for places, _ in found], candidates)
            return
        least = max(FIRST_CANDIDATES, 4 * self._k)
        counts = [max(least, int(CANDIDATES_PER_ROOT * math.sqrt(segment.size))) for segment in self.segments]
        sized = zip(self.segments, counts, strict=True)
        first = [segment.vectors.nearest(self._vector, count, segment.alive) for segment, count in sized]
        self._refine([places for places, _ in first])
        self._refine([self._others(segment, *seen) for segment, seen in zip(self.segments, first, strict=True)])

    def _others(self, segment: Segment, seen: Int64s, distance: float) -> Int64s:
        """Unseen places, at least `distance` away, that may be among the nearest."""
        radius = self._encoder.gap(self._limit) + self._radius + segment.entries["radius"].max()
        if distance > radius:
            return np.empty(0, np.int64)
        return np.setdiff1d(segment.vectors.within(self._vector, radius, segment.alive), seen, assume_unique=True)

    def _bounds(self, segment: Segment, places: Int64s) -> Float64s:
        """Lower bounds of values, from the vectors' distances minus the two radii."""
        distances = segment.vectors.distances(self._vector, places)
        return self._encoder.bounds(distances - segment.entries["radius"][places] - self._radius)

    def _refine(self, places: list[Int64s], most: int | None = None) -> None:
        """Compare with the spaces at these places of each segment, by increasing bound until it is too large."""
        pairs = list(zip(self.segments, places, strict=True))
        bounds = np.concatenate([self._bounds(segment, some) for segment, some in pairs])
        entries = np.concatenate([segment.entries[some] for segment, some in pairs])
        names = [None if segment.names is None else segment.names[k] for segment, some in pairs for k in some.tolist()]
        order = np.argsort(bounds, kind="stable")[:most]
        for part in runs(entries["length"][order].tolist(), AHEAD_BYTES, READ_AHEAD):
            some = order[part][bounds[order[part]] <= self._limit]
            read = self._file.kept(self._header, entries[some])
            for k, bound, i, kept in zip(
                some.tolist(), bounds[some].tolist(), entries["id"][some].tolist(), read, strict=True
            ):
                self._compare_waiting(bound)
                if bound > self._limit:
                    return
                self._await(_Waiting(bound, i, names[k], self._comparison.prepare(kept)))
            if len(some) < part.stop - part.start:
                break
        self._compare_waiting(np.inf)

    def _await(self, space: _Waiting) -> None:
        """Let a space wait for its turn by a better bound, if there is one."""
        better = self._comparison.bound
        if better is not None:
            space = space._replace(bound=max(space.bound, better(self._item, space.item)))
        if space.bound <= self._limit:
            heappush(self._waiting, space)

    def _compare_waiting(self, limit: float) -> None:
        """Compare with all whose turn has come: no other has a bound below theirs and `limit`."""
        while self._waiting and self._waiting[0].bound <= min(limit, self._limit):
            _, i, name, item = heappop(self._waiting)
            self.n_exact += 1
            value = self._comparison.value(self._item, item)
            if value <= self._limit:
                insort(self.found, Found(value, i, name))
                del self.found[self._k :]
                self._limit = self.found[-1].value if len(self.found) == self._k else np.inf


def import_faiss() -> Any:
    """Return the module faiss, or say how to get it."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("faiss-cpu", "search") from None
    return faiss
