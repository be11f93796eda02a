"""What a process keeps of an index in memory, vectors in FAISS, and how the nearest are found and proved by it."""

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

FIRST_CANDIDATES = 256  # of each segment, looked at before all of it is asked for more; at least
CANDIDATES_PER_ROOT = 2.0  # of a segment's size: what a query must look at grows like that, and a second scan is dear
READ_AHEAD, AHEAD_BYTES = 32, 1 << 24  # candidates, and bytes of features, that are read together
DISTANCE_ROWS = 1024  # vectors compared in float64 at a time
SMALL_SEGMENT = 4096  # spaces; those that are added join a segment that is smaller


# -- vectors in memory -----------------------------------------------------------------------------------------------


class VectorIndex:
    """Vectors of norms up to 1, asked for one query at a time; only those that are alive are found."""

    def __init__(self, count: int, length: int) -> None:
        """Make room for `count` vectors, to be filled in by way of `array`."""
        self._faiss = import_faiss()
        self._index = self._faiss.IndexFlatL2(length)
        self._index.codes.resize(4 * count * length)
        self._index.ntotal = count
        # Whether FAISS adds up squares or expands them, with norms up to 1 it errs by less than this:
        self._error = 4 * (length + 16) * 2.0**-24

    def truncate(self, count: int) -> None:
        """Forget the room for all vectors but the first `count`."""
        self._index.codes.resize(4 * count * self._index.d)
        self._index.ntotal = count

    @property
    def array(self) -> NDArray[np.float32]:
        """All vectors, where FAISS has them."""
        shape = self._index.ntotal, self._index.d
        if shape[0] == 0:
            return np.empty(shape, np.float32)
        return self._faiss.rev_swig_ptr(self._index.get_xb(), shape[0] * shape[1]).reshape(shape)

    def nearest(self, vector: NDArray[np.float32], count: int, alive: NDArray[np.bool_]) -> tuple[Int64s, float]:
        """The places of about the nearest vectors, and a distance that all others are certain to have at least."""
        n_alive = int(np.count_nonzero(alive))
        count = min(count, n_alive)
        squares, places = self._index.search(vector[None], count, params=self._only(alive))
        others = np.inf if count == n_alive else float(squares[0, -1])
        return places[0], np.sqrt(max(others - self._error, 0.0))

    def within(self, vector: NDArray[np.float32], max_cost: float, alive: NDArray[np.bool_]) -> Int64s:
        """The places of all vectors that are no further away than `max_cost`, and perhaps of some that are."""
        limit = np.float32(min(max_cost**2 * (1 + 1e-6) + self._error, 1e9))
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
        # Given any selector FAISS adds up squares, which for one query is far faster than what it does otherwise.
        bits = np.packbits(alive, bitorder="little")
        whole = bool(alive.all())
        selector = self._faiss.IDSelectorAll() if whole else self._faiss.IDSelectorBitmap(bits)
        return self._faiss.SearchParameters(sel=selector)


class Segment(NamedTuple):
    """Spaces in memory, by ascending id; item k of each belongs to space k. It never changes."""

    entries: np.ndarray  # of ENTRY
    names: tuple[str, ...] | None
    vectors: VectorIndex
    alive: NDArray[np.bool_]  # which spaces have not been removed
    total: int  # the sum of the checksums of their rows

    @property
    def size(self) -> int:
        """How many spaces have not been removed."""
        return int(np.count_nonzero(self.alive))

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces that have not been removed."""
        return self.entries["id"][self.alive]

    def without(self, ids: Int64s, checksums: Int64s) -> "Segment":
        """The same less some spaces, wherever they are, whose rows have these checksums."""
        total = self.total - int(checksums[np.isin(ids, self.ids)].sum())
        return self._replace(alive=self.alive & ~np.isin(self.entries["id"], ids), total=total)


def make_segment(batches: Iterable[Batch], room: int, length: int) -> Segment:
    """A segment of the spaces of batches that come one by one, at most as many as there is room for."""
    vectors, total = VectorIndex(room, length), 0
    array, entries = vectors.array, [np.empty(0, ENTRY)]
    names: list[str] = []
    done = 0
    for batch in batches:
        end = done + len(batch.entries)
        if end > room:
            break  # more than the header says, which whoever counts them will notice
        array[done:end] = batch.vectors
        entries.append(batch.entries)
        names += batch.names or ()
        total += batch.total
        done = end
    vectors.truncate(done)
    return Segment(np.concatenate(entries), tuple(names) or None, vectors, np.ones(done, np.bool_), total)


class Snapshot(NamedTuple):
    """One state of an index, in memory but for the features. It never changes."""

    header: Header
    segments: tuple[Segment, ...]

    @property
    def sums(self) -> tuple[int, int]:
        """How many spaces there are, and the sum of the checksums of their rows."""
        return sum(segment.size for segment in self.segments), sum(segment.total for segment in self.segments)

    @property
    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        return np.concatenate([np.empty(0, np.int64), *(segment.ids for segment in self.segments)])

    def find(self, given: np.ndarray) -> list[int]:
        """Ids, ascending, of spaces that are given by their ids or names, each once; there must be such."""
        if given.dtype.kind in "UO" and all(isinstance(name, str) for name in given.tolist()):
            return self._find_names(set(given.tolist()))
        if given.size and given.dtype.kind not in "iu":
            raise InputError(f"ids must be integers, but got {given.dtype}")
        present = np.isin(given, self.ids)
        if not present.all():
            raise InputError(f"there is no space of id {given[~present][0]} in the index")
        return [int(i) for i in given]

    @property
    def names(self) -> Iterator[str]:
        """Names of all spaces by ascending id; nothing if they have none."""
        return (name for segment in self.segments for name in compress(segment.names or (), segment.alive))

    def _find_names(self, names: set[str]) -> list[int]:
        found = [(name, int(i)) for name, i in zip(self.names, self.ids, strict=False) if name in names]
        missing = names - {name for name, _ in found}
        if missing:
            raise InputError(f"there is no space called {min(missing)!r} in the index")
        return [i for _, i in found]


class Reader:
    """Follows an index, or the spaces with ids from `first` on and below `stop`: a snapshot is of the file as it is.

    Threads may ask at the same time: nobody changes what another has.
    """

    def __init__(self, file: IndexFile, first: int = 0, stop: int | None = None) -> None:
        self.file = file
        self._first, self._stop = first, stop
        self._last: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """What the index holds now."""
        while True:
            with suppress(StaleError):
                return self.snapshot_of(self.file.header())

    def snapshot_of(self, header: Header) -> Snapshot:
        """What the index holds in the state that a header is of; `StaleError` if it is in another by now."""
        last = self._last
        if last is None or last.header.state != header.state:
            self._last = last = self._next(last, header)
        return last

    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        return self.snapshot().ids

    def answer(self, header: Header, features: AnchorFeatures, k: int, candidates: int | None) -> "Answer":
        """The k nearest in one state of the index, or all if there are fewer; proved unless `candidates` are given."""
        query = _Query(self.file, self.snapshot_of(header), features, k)
        if query.segments:
            with np.errstate(over="ignore", invalid="ignore"):  # energies that are too large get an error of their own
                query.search(candidates)
        return Answer(query.found, query.n_exact)

    def _next(self, last: Snapshot | None, header: Header) -> Snapshot:
        if last is None or last.header.key != header.key:
            segments = [self._segment(header)]
        elif last.header.next_id > header.next_id or last.header.n_removed > header.n_removed:
            raise StaleError  # another thread has seen more
        else:
            segments = self._changed(last, header)
        found = Snapshot(header, tuple(segment for segment in segments if segment.size))
        is_whole = self._first == 0 and self._stop is None
        if is_whole and found.sums != (header.count, header.total):
            self._last = None  # read all of it again, if there is another time
            if last is not None:
                raise StaleError
            what = f"it has {found.sums[0]} spaces where its header says {header.count}, or others"
            self.file.refuse_or_retry(header, self.file.header(), what)
        return found

    def _changed(self, last: Snapshot, header: Header) -> list[Segment]:
        """The segments of a snapshot without what was removed since, and with what was added."""
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
        room = max(0, min(header.count, end - first))
        if 4 * length * room > self.file.path.stat().st_size:
            refuse(self.file.name, f"its header promises {header.count} vectors of {length} numbers")
        return make_segment(self.file.batches(header, first, end), room, length)


# -- the nearest -----------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A space that is among the nearest so far; ids break ties."""

    energy: float
    id: int
    name: str | None


class Answer(NamedTuple):
    """The nearest, and how many energies that took."""

    found: list[Found]
    n_exact: int


def best(k: int, answers: Iterable[Answer]) -> Answer:
    """The k nearest of several answers, each of other spaces: what proves each proves this."""
    all_found, counts = zip(*answers, strict=True)
    return Answer(sorted(each for found in all_found for each in found)[:k], sum(counts))


class _Query:
    """What is looked for, the best k so far, and how many energies that took."""

    def __init__(self, file: IndexFile, snapshot: Snapshot, features: AnchorFeatures, k: int) -> None:
        self._file, self._header, self._features, self._k = file, snapshot.header, features, k
        self._scale = snapshot.header.encoder.scale
        self._vector, self._radius = snapshot.header.encoder.encode(features)
        self.segments = snapshot.segments
        self.found: list[Found] = []  # ascending
        self._limit = np.inf  # what a space must not exceed to be among the nearest
        self.n_exact = 0

    def search(self, candidates: int | None) -> None:
        """Look at the first candidates by bound; without a number of them, at all spaces that may be the nearest."""
        if candidates is not None:
            self._refine([self._nearest(segment, candidates)[0] for segment in self.segments], candidates)
            return
        least = max(FIRST_CANDIDATES, 4 * self._k)
        counts = [max(least, int(CANDIDATES_PER_ROOT * math.sqrt(segment.size))) for segment in self.segments]
        first = [self._nearest(segment, count) for segment, count in zip(self.segments, counts, strict=True)]
        self._refine([places for places, _ in first])
        self._refine([self._others(segment, *seen) for segment, seen in zip(self.segments, first, strict=True)])

    def _nearest(self, segment: Segment, count: int) -> tuple[Int64s, float]:
        """Places of about the nearest vectors, and a distance that all others have at least."""
        return segment.vectors.nearest(self._vector, count, segment.alive)

    def _others(self, segment: Segment, seen: Int64s, distance: float) -> Int64s:
        """Places that were not seen yet, all of them at least at a distance, and may be among the nearest."""
        max_cost = np.sqrt(self._limit / self._scale) + self._radius + segment.entries["radius"].max()
        if distance > max_cost:
            return np.empty(0, np.int64)
        return np.setdiff1d(segment.vectors.within(self._vector, max_cost, segment.alive), seen, assume_unique=True)

    def _bounds(self, segment: Segment, places: Int64s) -> Float64s:
        """Lower bounds of the computed AE: `scale` times the square of the vectors' distance, less the two radii."""
        distances = segment.vectors.distances(self._vector, places)
        return self._scale * np.maximum(distances - segment.entries["radius"][places] - self._radius, 0) ** 2

    def _refine(self, places: list[Int64s], most: int | None = None) -> None:
        """Compute AE to the spaces at these places of each segment by increasing bound, as long as the bounds allow."""
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
        """Compute the energy to a space, and keep it if it is among the nearest."""
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
