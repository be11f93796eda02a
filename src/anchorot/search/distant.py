"""Shards in a folder that this process does not hold: opened one after another, or kept by workers of a cluster.

A shard that is open on a worker is the result of a task, so Dask asks the worker that has it, and lets another one open
it if that is lost.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from anchorot._typing import Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.notes import listening, note
from anchorot.io.options import PathLike
from anchorot.many.cluster import Cluster
from anchorot.many.inputs import Inputs
from anchorot.many.tiles import strips
from anchorot.search.checks import checked_header
from anchorot.search.entries import ENTRY
from anchorot.search.file import IndexFile
from anchorot.search.filling import Recipe, all_of, check_names, common_reading
from anchorot.search.folder import Folder, Listing, Part
from anchorot.search.query import Answer, answer, best
from anchorot.search.shard import Common, Shard
from anchorot.search.writing import shard_size


class OpenPart:
    """A shard of a folder, opened when it is first asked; sent elsewhere, it is opened there."""

    def __init__(self, folder: str, part: Part) -> None:
        self._folder, self._part = folder, part
        self._shard: Shard | None = None

    @property
    def shard(self) -> Shard:
        """The shard."""
        if self._shard is None:
            self._shard = Folder(Path(self._folder), Listing()).read(self._part)[0]
        return self._shard

    def __reduce__(self) -> tuple[type["OpenPart"], tuple[str, Part]]:
        return OpenPart, (self._folder, self._part)

    def __sizeof__(self) -> int:
        """Let Dask know that the shard is better asked where it is."""
        return self.shard.vectors.array.nbytes


class DistantShards:
    """The shards of a folder; they can be asked, but not changed.

    Attributes
    ----------
    common : Common
        What holds for all of them.
    """

    def __init__(self, path: PathLike, client: Any = None) -> None:
        if Path(path).is_file():
            raise InputError(
                f"{Path(path).name}: client and one_by_one are for an index in a folder, but this is a file"
            )
        self._home = Folder.open(path)
        self._parts = [part for part in self._home.listing.parts if part.spaces > len(part.removed)]
        self._file = IndexFile(self._home.path / self._home.listing.parts[0].file)
        self._grid, view, _, _ = checked_header(self._file.about, self._file.name)
        self.common = Common(view, self._home.listing.next_id, self._home.listing.reading)
        self._cluster = None if client is None else Cluster(client, ()).__enter__()
        self._open = [] if self._cluster is None else [self._opened(self._cluster, part) for part in self._parts]

    def _opened(self, cluster: Cluster, part: Part) -> Any:
        return cluster.submit(open_part, str(self._home.path), part)

    def __len__(self) -> int:
        return sum(part.spaces - len(part.removed) for part in self._parts)

    @property
    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        files = [(IndexFile(self._home.path / part.file), part) for part in self._parts]
        found = [np.setdiff1d(np.frombuffer(file.read("entries"), ENTRY)["id"], part.removed) for file, part in files]
        return np.concatenate([np.empty(0, np.int64), *found])

    @property
    def grid(self) -> Grid:
        """The cells of the vectors of the first shard."""
        return self._grid

    @property
    def has_names(self) -> bool:
        """Whether spaces have names."""
        return self._file.json("names") is not None

    def answer(self, features: AnchorFeatures, k: int, candidates: int | None) -> Answer:
        """The k nearest among all shards: those of each, put together."""
        if self._cluster is None:
            return self._one_by_one(features, k, candidates)
        return self._asked(self._cluster, features, k, candidates)

    def _one_by_one(self, features: AnchorFeatures, k: int, candidates: int | None) -> Answer:
        found = Answer([], 0)
        for part in self._parts:
            shard, _ = self._home.read(part)
            more = answer([shard], features, k, candidates, found.found)
            found = Answer(more.found, found.n_exact + more.n_exact)
        return found

    def _asked(self, cluster: Cluster, features: AnchorFeatures, k: int, candidates: int | None) -> Answer:
        ask = partial(ask_part, features, k, candidates)
        found = cluster.map(ask, range(len(self._open)), lambda number: (self._open[number],))
        return best(k, *(each for _, each in found))

    def save(self, path: PathLike) -> None:
        """Refused."""
        self._refuse()

    def add(self, *_: Any) -> Int64s:
        """Refused."""
        self._refuse()

    def remove(self, *_: Any) -> None:
        """Refused."""
        self._refuse()

    def compact(self) -> None:
        """Refused."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError("the shards of this index are elsewhere; load it without client and one_by_one to change it")


def build_there(
    recipe: Recipe, inputs: Inputs, names: Sequence[str] | None, path: PathLike | None, client: Any
) -> Path:
    """Let workers write the shards of an index to a folder that all of them see; return where it is."""
    if path is None:
        raise InputError("an index that a cluster makes lies in a folder that all workers see; give its path")
    check_names(names, len(inputs), names is not None)
    home = Folder.new(path)
    with Cluster(client, inputs.packages) as cluster:
        size = shard_size(len(inputs), len(client.nthreads()))
        write = partial(write_part, str(home.path), recipe)
        tasks = (
            (strip, inputs.only(strip), None if names is None else tuple(names[strip.start : strip.stop]))
            for strip in strips(len(inputs), size)
        )
        done = {strip.start: found for (strip, _, _), found in cluster.map(write, tasks)}
    parts, all_readings, all_notes = zip(*(done[start] for start in sorted(done)), strict=True)
    for index, said in chain.from_iterable(all_notes):
        note(inputs.label(index), said)
    home.replace(Listing(parts, len(inputs), common_reading(reduce(all_of, all_readings, []))))
    return home.path


def write_part(
    folder: str, recipe: Recipe, task: tuple[range, Inputs, tuple[str, ...] | None]
) -> tuple[Part, dict[str, Any] | None, list[tuple[int, str]]]:
    """Write the shard of a strip of spaces, with names; return it, how they were read, and what was noted."""
    strip, inputs, names = task
    notes: list[tuple[int, str]] = []

    def loaded() -> Iterator[Any]:
        for index in strip:
            with listening() as heard:
                yield inputs.load(index)
            notes.extend((index, said) for said in heard)

    with _naming_files():
        shard, reading = recipe.shard(loaded(), strip.start)
        shard.names = names
        common = Common(recipe.view, strip.stop, reading)
        return Folder(Path(folder), Listing()).write(shard, common), reading, notes


def open_part(folder: str, part: Part) -> OpenPart:
    """Open a shard on a worker, where it stays."""
    return OpenPart(folder, part)


def ask_part(features: AnchorFeatures, k: int, candidates: int | None, number: int, opened: OpenPart) -> Answer:
    """The k nearest of a shard."""
    with _naming_files():
        return answer([opened.shard], features, k, candidates)


@contextmanager
def _naming_files() -> Iterator[None]:
    """Let the caller tell a file that a worker cannot read or write from a lost scheduler."""
    try:
        yield
    except OSError as error:
        raise AnchorotError(f"a worker cannot use {error.filename or 'a file'}: {error.strerror or error}") from None
