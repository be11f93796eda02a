"""A query on its way through the shards of an index."""

from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.search.shard import Shard

FIRST_CANDIDATES = 256  # of each shard, looked at before all of it is asked for more


class Found(NamedTuple):
    """A space that is among the nearest so far; ids break ties."""

    energy: float
    id: int
    name: str | None


class Query:
    """What is looked for, the best k so far, and how many energies that took."""

    def __init__(self, features: AnchorFeatures, shards: Sequence[Shard], k: int, found: Sequence[Found] = ()) -> None:
        self.features, self.k = features, k
        self.found = list(found)  # ascending
        self.n_exact = 0
        sketches = {shard.sketch.key: shard.sketch for shard in shards}
        vectors = {key: sketch.of(features) for key, sketch in sketches.items()}
        self._sides = [_Side(shard, *vectors[shard.sketch.key]) for shard in shards if len(shard)]

    def search(self, candidates: int | None) -> None:
        """Look at the first candidates by bound; without a number of them, at all spaces that may be the nearest."""
        if not self._sides:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # energies that are too large get an error of their own
            if candidates is not None:
                self._refine([side.nearest(candidates)[0] for side in self._sides], candidates)
                return
            count = max(FIRST_CANDIDATES, 4 * self.k)
            first = [side.nearest(count) for side in self._sides]
            self._refine([places for places, _ in first])
            sides = zip(self._sides, first, strict=True)
            self._refine([side.others(self.limit, places, others) for side, (places, others) in sides])

    @property
    def limit(self) -> float:
        """What a space must not exceed to be among the nearest."""
        return self.found[-1].energy if len(self.found) == self.k else np.inf

    def _refine(self, places: list[Int64s], most: int | None = None) -> None:
        """Compute AE to the spaces at these places of each shard by increasing bound, as long as the bounds allow."""
        bounds = np.concatenate([side.bounds(some) for side, some in zip(self._sides, places, strict=True)])
        which = np.repeat(np.arange(len(places)), [len(some) for some in places])
        order = np.argsort(bounds, kind="stable")[:most]
        all_places = np.concatenate(places)[order]
        for number, place, bound in zip(
            which[order].tolist(), all_places.tolist(), bounds[order].tolist(), strict=True
        ):
            if bound > self.limit:
                break
            self._meet(self._sides[number].shard, place)

    def _meet(self, shard: Shard, place: int) -> None:
        """Compute the energy to a space, and keep it if it is among the nearest."""
        self.n_exact += 1
        energy = self.features.energy_to(shard.features(place))
        insort(self.found, Found(energy, int(shard.ids[place]), shard.name(place)), key=_rank)
        del self.found[self.k :]


class Answer(NamedTuple):
    """The nearest, and how many energies that took."""

    found: list[Found]
    n_exact: int


def answer(
    shards: Sequence[Shard], features: AnchorFeatures, k: int, candidates: int | None, found: Sequence[Found] = ()
) -> Answer:
    """The k nearest, or all if there are fewer; proved unless only the first `candidates` are to be looked at.

    Those that were `found` elsewhere are among those that it is chosen from.
    """
    for shard in shards:
        shard.store.notice_changes()
    query = Query(features, shards, k, found)
    query.search(candidates)
    return Answer(query.found, query.n_exact)


def best(k: int, *answers: Answer) -> Answer:
    """The k nearest of several answers, each of other spaces: what proves each proves this."""
    found = sorted((each for answer in answers for each in answer.found), key=_rank)
    return Answer(found[:k], sum(answer.n_exact for answer in answers))


class _Side(NamedTuple):
    """A shard, and what is looked for as its vectors see it."""

    shard: Shard
    vector: NDArray[np.float32]
    radius: float

    def nearest(self, count: int) -> tuple[Int64s, float]:
        """Places of about the nearest vectors, and a distance that all others have at least."""
        return self.shard.vectors.nearest(self.vector, min(len(self.shard), count))

    def others(self, limit: float, seen: Int64s, distance: float) -> Int64s:
        """Places that were not seen yet, all of them at least at a distance, and may be within the limit."""
        reach = np.sqrt(limit / self.shard.sketch.scale) + self.radius + self.shard.entries["radius"].max()
        if distance > reach:
            return np.empty(0, np.int64)
        return np.setdiff1d(self.shard.vectors.within(self.vector, reach), seen, assume_unique=True)

    def bounds(self, places: Int64s) -> Float64s:
        """Lower bounds of the computed AE: `scale` times the square of the vectors' distance, less the two radii."""
        distances = self.shard.vectors.distances(self.vector, places)
        radii = self.shard.entries["radius"][places] + self.radius
        return self.shard.sketch.scale * np.maximum(distances - radii, 0) ** 2


def _rank(found: Found) -> tuple[float, int]:
    return found.energy, found.id
