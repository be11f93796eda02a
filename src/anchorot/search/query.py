"""The part of an index that a process keeps in memory, with vectors in FAISS, and the exact search for the nearest."""

import math
from bisect import insort
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.many.tiles import runs
from anchorot.search.file import IndexFile, StaleError
from anchorot.search.file_format import ENTRY, Batch, Header, refuse

FIRST_CANDIDATES = 256  # least number per segment in the first scan
CANDIDATES_PER_ROOT = 2.0  # times the root of a segment's size: candidates grow like that, and a second scan is slow
READ_AHEAD, AHEAD_BYTES = 32, 1 << 24  # candidates, and bytes of features, that are read together
DISTANCE_ROWS = 1024  # vectors compared in float64 at a time
SMALL_SEGMENT = 4096  # spaces; added spaces join the last segment if it is smaller


# -- vectors in memory -----------------------------------------------------------------------------------------------


class VectorIndex:
    """Vectors of norm at most 1, searched for one query at a time; only vectors that are alive are found."""

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
            out[block] = np.sqrt(np.vecdot(difference, difference))
        return out

    def _only(self, alive: NDArray[np.bool_]) -> Any:
        # With a selector FAISS adds up squares, which is far faster for a single query than its default.
        bits = np.packbits(alive, bitorder="little")
        whole = bool(alive.all())
        selector = self._faiss.IDSelectorAll() if whole else self._faiss.IDSelectorBitmap(bits)
        return self._faiss.SearchParameters(sel=selector)


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


def make_segment(batches: Iterable[Batch], capacity: int, length: int) -> Segment:
    """A segment of the spaces of batches that arrive one by one, at most `capacity` of them."""
    vectors, total = VectorIndex(capacity, length), 0
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

    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        return self.snapshot().ids

    def nearest(self, header: Header, features: AnchorFeatures, k: int, candidates: int | None) -> "QueryResult":
        """The k nearest in one state of the index, or all if there are fewer; exact unless `candidates` is given."""
        query = _Query(self.file, self.snapshot_of(header), features, k)
        if query.segments:
            with np.errstate(over="ignore", invalid="ignore"):  # energies that are too large raise their own error
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
            what = f"its {found.sums[0]} spaces do not match its header, which lists {header.count}"
            self.file.refuse_or_retry(header, self.file.header(), what)
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
        return make_segment(self.file.batches(header, first, end), capacity, length)


# -- the nearest -----------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """One of the nearest spaces so far; ids break ties."""

    energy: float
    id: int
    name: str | None


class QueryResult(NamedTuple):
    """The nearest spaces, and how many energies were computed."""

    found: list[Found]
    n_exact: int


def merge_results(k: int, results: Iterable[QueryResult]) -> QueryResult:
    """The k nearest of several results over disjoint sets of spaces; exact if all of them are."""
    all_found, counts = zip(*results, strict=True)
    return QueryResult(sorted(each for found in all_found for each in found)[:k], sum(counts))


class _Query:
    """State of a search: the query's features, the best k so far, and how many energies were computed."""

    def __init__(self, file: IndexFile, snapshot: Snapshot, features: AnchorFeatures, k: int) -> None:
        self._file, self._header, self._features, self._k = file, snapshot.header, features, k
        self._scale = snapshot.header.encoder.scale
        self._vector, self._radius = snapshot.header.encoder.encode(features)
        self.segments = snapshot.segments
        self.found: list[Found] = []  # ascending
        self._limit = np.inf  # largest energy that is still among the nearest
        self.n_exact = 0

    def search(self, candidates: int | None) -> None:
        """Evaluate the first `candidates` by bound; if None, all spaces that may be among the nearest."""
        if candidates is not None:
            self._refine([self._nearest(segment, candidates)[0] for segment in self.segments], candidates)
            return
        least = max(FIRST_CANDIDATES, 4 * self._k)
        counts = [max(least, int(CANDIDATES_PER_ROOT * math.sqrt(segment.size))) for segment in self.segments]
        first = [self._nearest(segment, count) for segment, count in zip(self.segments, counts, strict=True)]
        self._refine([places for places, _ in first])
        self._refine([self._others(segment, *seen) for segment, seen in zip(self.segments, first, strict=True)])

    def _nearest(self, segment: Segment, count: int) -> tuple[Int64s, float]:
        """As `VectorIndex.nearest`."""
        return segment.vectors.nearest(self._vector, count, segment.alive)

    def _others(self, segment: Segment, seen: Int64s, distance: float) -> Int64s:
        """Unseen places, at least `distance` away, that may be among the nearest."""
        radius = np.sqrt(self._limit / self._scale) + self._radius + segment.entries["radius"].max()
        if distance > radius:
            return np.empty(0, np.int64)
        return np.setdiff1d(segment.vectors.within(self._vector, radius, segment.alive), seen, assume_unique=True)

    def _bounds(self, segment: Segment, places: Int64s) -> Float64s:
        """Lower bounds of AE: `scale` times the square of (the vectors' distance minus the two radii)."""
        distances = segment.vectors.distances(self._vector, places)
        return self._scale * np.maximum(distances - segment.entries["radius"][places] - self._radius, 0) ** 2

    def _refine(self, places: list[Int64s], most: int | None = None) -> None:
        """Compute AE to the spaces at these places of each segment, by increasing bound until it is too large."""
        pairs = list(zip(self.segments, places, strict=True))
        bounds = np.concatenate([self._bounds(segment, some) for segment, some in pairs])
        entries = np.concatenate([segment.entries[some] for segment, some in pairs])
        names = [None if segment.names is None else segment.names[k] for segment, some in pairs for k in some.tolist()]
        order = np.argsort(bounds, kind="stable")[:most]
        for part in runs(entries["length"][order].tolist(), AHEAD_BYTES, READ_AHEAD):
            some = order[part][bounds[order[part]] <= self._limit]
            read = self._file.features(self._header, entries[some])
            for k, bound, i, features in zip(
                some.tolist(), bounds[some].tolist(), entries["id"][some].tolist(), read, strict=True
            ):
                if bound > self._limit:
                    return
                self._compare(features, i, names[k])
            if len(some) < part.stop - part.start:
                return

    def _compare(self, features: AnchorFeatures, i: int, name: str | None) -> None:
        """Compute the energy to a space; keep the space if it is among the nearest."""
        self.n_exact += 1
        energy = self._features.energy_to(features)
        if energy <= self._limit:
            insort(self.found, Found(energy, i, name))
            del self.found[self._k :]
            self._limit = self.found[-1].energy if len(self.found) == self._k else np.inf


def import_faiss() -> Any:
    """Return the module faiss, or say how to get it."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("faiss-cpu", "search") from None
    return faiss
