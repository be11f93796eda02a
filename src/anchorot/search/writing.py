"""Shards on their way into a folder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from anchorot._typing import Int64s
from anchorot.exceptions import InputError
from anchorot.io.options import PathLike
from anchorot.search.checks import refuse
from anchorot.search.filling import Recipe, all_of, check_names, common_reading
from anchorot.search.folder import Folder, Listing, Part
from anchorot.search.joining import joined
from anchorot.search.shard import Common, Shard

SHARD = 1 << 16  # spaces in a file


def shard_size(n: int, workers: int) -> int:
    """How many of n spaces to put into a file, so that every worker has some."""
    return min(SHARD, -(-n // max(1, workers)))


def written(home: Folder, recipe: Recipe, spaces: Iterable[Any], names: Sequence[str] | None) -> Listing:
    """Write shards, one in memory at a time, or none; all make vectors as the first of them does."""
    check_names(names, len(names or ()), names is not None)  # before any work is done
    parts: list[Part] = []
    try:
        done, reading = _write_all(home, recipe, iter(spaces), names, parts)
        check_names(names, done, names is not None)
    except BaseException:
        home.discard(parts)
        raise
    return Listing(tuple(parts), done, reading)


def _write_all(
    home: Folder, recipe: Recipe, spaces: Iterator[Any], names: Sequence[str] | None, parts: list[Part]
) -> tuple[int, dict[str, Any] | None]:
    """Write shards, and put them on a list; return how many spaces they have, and how these were read."""
    readings: list[dict[str, Any] | None] = []
    done = 0
    while True:
        shard, reading = recipe.shard(islice(spaces, SHARD), done)
        if parts and not len(shard):
            return done, common_reading(readings)
        recipe = replace(recipe, grid=shard.sketch)
        readings = all_of(readings, reading)
        if names is not None:
            shard.names = tuple(names[done : done + len(shard)])
        done += len(shard)
        parts.append(home.write(shard, Common(recipe.view, done, common_reading(readings))))


def opened(path: PathLike) -> tuple[Folder, tuple[Shard, ...], Common]:
    """An index in a folder; again if it was changed, and files are gone, before all of them were opened."""
    while True:
        home = Folder.open(path)
        try:
            return home, *_all_shards(home)
        except InputError:
            if not home.is_changed():
                raise


def _all_shards(home: Folder) -> tuple[tuple[Shard, ...], Common]:
    """All shards of a folder, in the order of their ids, and what they have in common."""
    listing = home.listing
    opened = [home.read(part) for part in listing.parts]
    shards, views = tuple(shard for shard, _ in opened), [common.view for _, common in opened]
    ids = np.concatenate([shard.ids for shard in shards])
    ascend = bool((np.diff(ids, append=listing.next_id) > 0).all())
    alike = all(view == views[0] for view in views) and len({shard.names is None for shard in shards}) == 1
    if not (ascend and alike):
        refuse(home.path.name, "its files do not belong together")
    return shards, Common(views[0], listing.next_id, listing.reading)


def like_the_last(home: Folder, shards: Sequence[Shard], common: Common) -> Recipe:
    """How spaces that are added become a shard; where the last has adapted to nothing yet, the next may."""
    sketch = shards[-1].sketch
    return Recipe(common.view, sketch.grid if sketch.directions is None else sketch, home.path)


def appended(
    home: Folder, shards: tuple[Shard, ...], common: Common, shard: Shard
) -> tuple[Listing, tuple[Shard, ...]]:
    """Write one more shard."""
    next_id = common.next_id + len(shard)
    part = home.write(shard, common._replace(next_id=next_id))
    listing = replace(home.listing, parts=(*home.listing.parts, part), next_id=next_id)
    return listing, (*shards, home.read(part)[0])


def without(listing: Listing, shards: Sequence[Shard], ids: Int64s) -> Listing:
    """Let the spaces of these ids count no longer."""
    pairs = zip(listing.parts, shards, strict=True)
    parts = (part._replace(removed=(*part.removed, *shard.ids[shard.places(ids)].tolist())) for part, shard in pairs)
    return replace(listing, parts=tuple(parts))


def compacted(home: Folder, shards: Sequence[Shard], common: Common) -> tuple[Listing, tuple[Shard, ...]]:
    """Write neighbours that are small or have lost spaces together."""
    kept: list[Shard] = []
    parts: list[Part] = []
    for group in _groups(shards, home.listing.parts):
        if len(group) == 1 and not group[0][1].removed:
            shard, part = group[0]
        else:
            part = home.write(joined([shard for shard, _ in group], common.view, home.path), common)
            shard, _ = home.read(part)
        kept.append(shard)
        parts.append(part)
    return replace(home.listing, parts=tuple(parts)), tuple(kept)


def _groups(shards: Sequence[Shard], parts: Sequence[Part]) -> Iterator[list[tuple[Shard, Part]]]:
    """Neighbours that fit into one file; none is left empty as long as there are spaces at all."""
    some = [pair for pair in zip(shards, parts, strict=True) if len(pair[0])] or [(shards[0], parts[0])]
    group: list[tuple[Shard, Part]] = []
    for shard, part in some:
        if group and sum(len(each) for each, _ in group) + len(shard) > SHARD:
            yield group
            group = []
        group.append((shard, part))
    yield group
