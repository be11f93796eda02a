"""The shards of an index in the memory of this process; threads may ask and change them at the same time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.exceptions import InputError
from anchorot.io.options import PathLike
from anchorot.search.entries import new_entries
from anchorot.search.filling import check_names, fill, store_all
from anchorot.search.folder import Folder, Listing
from anchorot.search.joining import joined, remove_all, wanted_ids
from anchorot.search.query import Answer, answer
from anchorot.search.shard import Common, Shard
from anchorot.search.sharing import SharedLock
from anchorot.search.writing import appended, compacted, like_the_last, without

NONE = np.empty(0, np.int64)
Told = Callable[[dict[str, Any] | None], None]  # is told how spaces that are added were read


class HeldShards:
    """Shards in memory, and the folder that they are kept in, if they are.

    Attributes
    ----------
    shards : tuple of Shard
        Ids ascend within a shard and from one to the next.
    common : Common
        What holds for all of them.
    """

    def __init__(self, shards: tuple[Shard, ...], common: Common, home: Folder | None = None) -> None:
        self._writing = SharedLock()  # held by who changes what is at home, before the next
        self._home = home
        self._lock = SharedLock()  # of the following
        self.shards = shards
        self.common = common

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def ids(self) -> Int64s:
        """Ids of all spaces, ascending."""
        return np.concatenate([shard.ids for shard in self.shards])

    @property
    def grid(self) -> Grid:
        """The cells of the vectors."""
        return self.shards[0].sketch.grid

    @property
    def has_names(self) -> bool:
        """Whether spaces have names."""
        return self.shards[0].names is not None

    def answer(self, features: AnchorFeatures, k: int, candidates: int | None) -> Answer:
        """The k nearest among all shards."""
        with self._lock.shared():
            return answer(self.shards, features, k, candidates)

    def save(self, path: PathLike) -> None:
        """Write one file."""
        with self._lock.shared():
            shard = self.shards[0] if len(self.shards) == 1 else joined(self.shards, self.common.view)
            shard.write(path, self.common)

    def add(self, spaces: Iterable[Any], names: Sequence[str] | None, told: Told) -> Int64s:
        """Add spaces to the last shard, or as a new one at home; return their ids."""
        if self._home is None:
            return self._extend(self.shards[-1], spaces, names, told)
        with self._writing.exclusive():
            shard, reading = like_the_last(self._home, self.shards, self.common).shard(spaces, self.common.next_id)
            told(reading)
            shard.names = check_names(names, len(shard), self.has_names)
            if len(shard):
                self._move(self._home, *appended(self._home, self.shards, self.common, shard))
            return shard.ids.copy()

    def _extend(self, shard: Shard, spaces: Iterable[Any], names: Sequence[str] | None, told: Told) -> Int64s:
        records, _, reading = store_all(shard.store, spaces, self.common.view)
        told(reading)
        added = check_names(names, len(records), shard.names is not None)
        vectors = np.empty((len(records), shard.sketch.length), np.float32)
        radii = fill(vectors, shard.store, records, shard.sketch)
        with self._lock.exclusive():
            entries = new_entries(records, radii, self.common.next_id)
            self.common = self.common._replace(next_id=self.common.next_id + len(records))
            shard.extend(vectors, entries, added)
        return entries["id"].copy()

    def remove(self, which: ArrayLike | Iterable[str]) -> None:
        """Remove spaces, given by ids or names, here and at home."""
        if self._home is None:
            with self._lock.exclusive():
                remove_all(self.shards, wanted_ids(which, self.shards))
            return
        with self._writing.exclusive():
            gone = wanted_ids(which, self.shards)
            self._move(self._home, without(self._home.listing, self.shards, gone), self.shards, gone)

    def compact(self) -> None:
        """Join small shards at home, and leave out what was removed."""
        if self._home is None:
            raise InputError("compact() is for an index in a folder; save() leaves out what was removed")
        with self._writing.exclusive():
            self._move(self._home, *compacted(self._home, self.shards, self.common))

    def _move(self, home: Folder, listing: Listing, shards: tuple[Shard, ...], gone: Int64s = NONE) -> None:
        """Change what is at home and what is here together, even if an interrupt arrives between."""
        with self._lock.exclusive():
            try:
                home.replace(listing)
            finally:
                if home.listing is listing:
                    self.common, self.shards = self.common._replace(next_id=listing.next_id), shards
                    remove_all(shards, gone)
