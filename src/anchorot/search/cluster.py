"""A search index on a Dask cluster: workers build the file in parallel and keep its vectors in memory.

A worker's vectors are the result of a task. Dask sends queries to that worker, and recomputes the task elsewhere if
the worker is lost.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anchorot._typing import Int64s
from anchorot.anchors.encoder import MAX_LEARNED, Encoder
from anchorot.anchors.grid import Grid
from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.atomic import long_file_beside
from anchorot.io.options import PathLike
from anchorot.io.safe_open import collecting_notes, note
from anchorot.many.cluster import Cluster
from anchorot.many.spaces import Inputs
from anchorot.many.tiles import pieces
from anchorot.search.file import IndexFile, StaleError, new_file
from anchorot.search.file_format import Header
from anchorot.search.preprocessing import Kept, View
from anchorot.search.query import QueryResult, Reader, merge_results
from anchorot.search.sqlite_files import naming
from anchorot.search.updates import Staged, check_names, choose_encoder, copy_spaces, write_index

SPACES_PER_TASK = 1 << 16  # whose vectors one task compares, at the most; not tuned

PartialResult = tuple[QueryResult, int, int]  # of a range of ids; its number of spaces and their sum of checksums


# -- queries ---------------------------------------------------------------------------------------------------------


class RangeReader:
    """Reads the spaces of an index whose ids are in a range; pickled, it opens the file again.

    Parameters
    ----------
    path : str
        The file of the index.
    first, stop : int
        The range of ids; `stop=None` means to the end.
    """

    def __init__(self, path: str, first: int, stop: int | None) -> None:
        self._range = path, first, stop
        self._reader = Reader(IndexFile(path), first, stop)

    def __reduce__(self) -> tuple[type["RangeReader"], tuple[str, int, int | None]]:
        return RangeReader, self._range

    def __sizeof__(self) -> int:
        """The size of the vectors, so that Dask moves queries rather than vectors."""
        return sum(segment.vectors.array.nbytes for segment in self._reader.snapshot().segments)

    def nearest(self, header: Header, kept: Kept, k: int, candidates: int | None) -> PartialResult:
        """The k nearest in the range, in one state of the index; `StaleError` if the state has changed."""
        return self._reader.nearest(header, kept, k, candidates), *self._reader.snapshot_of(header).sums


class ClusterReader:
    """An index split into ranges of ids, one per worker; read-only."""

    def __init__(self, file: IndexFile, client: Any) -> None:
        self.file = file
        header = file.header()
        self._cluster = Cluster(client, ()).__enter__()
        size = _spaces_per_task(header.next_id, client)
        ranges = [(strip.start, strip.stop) for strip in pieces(range(header.next_id), size)] or [(0, 0)]
        ends: list[int | None] = [*(stop for _, stop in ranges[:-1]), None]  # the last range includes later additions
        self._ranges = [
            self._cluster.submit(RangeReader, str(file.path), first, stop)
            for (first, _), stop in zip(ranges, ends, strict=True)
        ]

    @property
    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        found = [batch.entries["id"] for batch in self.file.batches(self.file.header())]
        return np.concatenate([np.empty(0, np.int64), *found])

    def nearest(self, header: Header, kept: Kept, k: int, candidates: int | None) -> QueryResult:
        """The k nearest in one state of the index, merged from all ranges."""
        query = partial(query_range, header, kept, k, candidates)
        numbers = range(len(self._ranges))
        found = [each for _, each in self._cluster.map(query, numbers, lambda number: (self._ranges[number],))]
        if None in found:
            raise StaleError
        results, counts, totals = zip(*found, strict=True)
        self.file.check_sums(header, sum(counts), sum(totals))
        return merge_results(k, results)


def query_range(
    header: Header, kept: Kept, k: int, candidates: int | None, number: int, reader: RangeReader
) -> PartialResult | None:
    """The k nearest of a range, on a worker; None if the index has changed meanwhile."""
    with _file_errors():
        try:
            return reader.nearest(header, kept, k, candidates)
        except StaleError:
            return None


# -- building --------------------------------------------------------------------------------------------------------


def build_on_cluster(
    inputs: Inputs,
    names: Sequence[str] | None,
    view: View,
    grid: tuple[int, int] | Grid,
    path: PathLike | None,
    client: Any,
) -> None:
    """Let workers build parts of an index beside `path`, in a folder that all of them share, and join the parts."""
    if path is None:
        raise InputError("building on a cluster needs path=, in a folder that all workers can access")
    check_names(names, len(inputs), names is not None)
    with new_file(path) as new, ExitStack() as parts, Cluster(client, inputs.packages) as cluster:
        sample = np.unique(np.linspace(0, len(inputs) - 1, MAX_LEARNED).astype(int)).tolist()
        learn = partial(learn_encoder, inputs.only(sample), view, grid)
        [(_, encoder)] = cluster.map(learn, [sample])
        make = partial(make_part, str(Path(path).absolute()), view, encoder)
        tasks = (
            (strip, inputs.only(strip), None if names is None else tuple(names[strip.start : strip.stop]))
            for strip in pieces(range(len(inputs)), _spaces_per_task(len(inputs), client))
        )
        all_notes: list[tuple[int, str]] = []
        made: dict[int, IndexFile] = {}
        for (strip, _, _), (file, notes) in cluster.map(make, tasks):
            parts.callback(Path(file).unlink, missing_ok=True)
            made[strip.start] = IndexFile(file, is_kept=False)
            all_notes += notes
        for index, text in sorted(all_notes):
            note(inputs.label(index), text)
        in_order = [made[start] for start in sorted(made)]
        headers = [part.header() for part in in_order]
        reading = headers[0].reading if all(header.reading == headers[0].reading for header in headers) else None
        empty = replace(headers[0], reading=reading, next_id=0, count=0, total=0, key="")
        target = IndexFile.create(new, empty)
        for part, header in zip(in_order, headers, strict=True):
            copy_spaces(part, header, target)


def learn_encoder(inputs: Inputs, view: View, grid: tuple[int, int] | Grid, places: list[int]) -> Encoder:
    """Learn the encoder of an index from a sample of its spaces, on a worker."""
    with _file_errors(), collecting_notes():  # the warnings come again when all spaces are read
        staged = Staged(map(inputs.load, places), view, None)
        return choose_encoder(staged, view, grid)


def make_part(
    beside: str, view: View, encoder: Encoder, task: tuple[range, Inputs, tuple[str, ...] | None]
) -> tuple[str, list[tuple[int, str]]]:
    """Build an index of a strip of spaces, on a worker; return its path, and warnings with the spaces they concern."""
    strip, inputs, names = task
    notes: list[tuple[int, str]] = []

    def loaded() -> Iterator[Any]:
        for index in strip:
            with collecting_notes() as own:
                yield inputs.load(index)
            notes.extend((index, text) for text in own)

    with _file_errors():
        part = long_file_beside(Path(beside))
        try:
            with naming(Path(beside), part):
                write_index(part, loaded(), names, view, encoder, strip.start)
        except BaseException:
            part.unlink()
            raise
        return str(part), notes


def _spaces_per_task(n: int, client: Any) -> int:
    """How many of n spaces one task gets, so that every worker gets some."""
    return max(1, min(SPACES_PER_TASK, -(-n // max(1, len(client.nthreads())))))


@contextmanager
def _file_errors() -> Iterator[None]:
    """Turn an OSError on a worker into an AnchorotError, so that it is not taken for a lost scheduler."""
    try:
        yield
    except OSError as error:
        raise AnchorotError(f"a worker cannot use {error.filename or 'a file'}: {error.strerror or error}") from None
