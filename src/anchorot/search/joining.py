"""Shards as one: their spaces by id or name, and all of them written together."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Int64s
from anchorot.exceptions import InputError
from anchorot.search.entries import new_entries
from anchorot.search.shard import Shard
from anchorot.search.sketch import Sketch
from anchorot.search.store import FeatureStore
from anchorot.search.vectors import VectorIndex
from anchorot.search.view import View


def joined(shards: Sequence[Shard], view: View, folder: str | os.PathLike[str] | None = None) -> Shard:
    """One shard of all spaces, with the ids and names that they have; vectors are made as those of the first shard."""
    store = FeatureStore(view.robust, folder=folder)
    records = [store.append(features) for features in chain.from_iterable(shard.all_features() for shard in shards)]
    sketch = shards[0].sketch
    if sketch.directions is None and not view.has_types:
        sketch = Sketch.learned(sketch.grid, lambda k: store.read(records[k]), len(records))
    vectors, radii, done = VectorIndex(len(records), sketch.length), [], 0
    array = vectors.array
    for shard in shards:
        rows = array[done : done + len(shard)]
        done += len(shard)
        if shard.sketch.key == sketch.key:
            rows[:] = shard.vectors.array
            radii.extend(shard.entries["radius"].tolist())
            continue
        for row, features in zip(rows, shard.all_features(), strict=True):
            row[:], radius = sketch.of(features)
            radii.append(radius)
    entries = new_entries(records, np.array(radii), 0)
    entries["id"] = np.concatenate([shard.ids for shard in shards])
    named = all(shard.names is not None for shard in shards)
    names = tuple(chain.from_iterable(shard.names or () for shard in shards)) if named else None
    return Shard(sketch, store, vectors, entries, names)


def wanted_ids(wanted: ArrayLike | Iterable[str], shards: Sequence[Shard]) -> Int64s:
    """Ids, each once, of spaces given by ids or names; there must be such."""
    given = np.unique(np.asarray(wanted))
    if given.dtype.kind in "UO" and all(isinstance(name, str) for name in given.tolist()):
        return _named(set(given.tolist()), shards)
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"ids must be integers, but got {given.dtype}")
    present = np.isin(given, np.concatenate([shard.ids for shard in shards]))
    if not present.all():
        raise InputError(f"there is no space of id {given[~present][0]} in the index")
    return given.astype(np.int64)


def remove_all(shards: Iterable[Shard], ids: Int64s) -> None:
    """Remove the spaces of these ids, wherever they are."""
    for shard in shards:
        places = shard.places(ids)
        if len(places):
            shard.remove(places)


def _named(names: set[str], shards: Sequence[Shard]) -> Int64s:
    found = [
        (name, int(i))
        for shard in shards
        for name, i in zip(shard.names or (), shard.ids, strict=shard.names is not None)
        if name in names
    ]
    missing = names - {name for name, _ in found}
    if missing:
        raise InputError(f"there is no space called {min(missing)!r} in the index")
    return np.array([i for _, i in found], dtype=np.int64)
