"""A query on its way through an index."""

from bisect import insort

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.search.embedding import Grid, rounded_signature
from anchorot.search.entries import record_of
from anchorot.search.store import FeatureStore
from anchorot.search.vectors import VectorIndex

FIRST_CANDIDATES = 256  # looked at before the whole index is asked for more


class Query:
    """What is looked for, the best k so far, and how many energies that took."""

    def __init__(self, features: AnchorFeatures, grid: Grid, k: int) -> None:
        self.features, self.k = features, k
        self.vector, self.radius = rounded_signature(features, grid)
        self.scale = 2 * (grid.high - grid.low)
        self.found: list[tuple[float, int]] = []  # energy and place, ascending; places ascend with ids
        self.n_exact = 0

    def search(
        self, vectors: VectorIndex, entries: np.ndarray, store: FeatureStore, exact: bool, candidates: int
    ) -> None:
        """Look at the first candidates by bound; if `exact`, at all spaces that may be among the nearest."""
        count = max(FIRST_CANDIDATES, 4 * self.k) if exact else candidates
        first, others = vectors.nearest(self.vector, min(len(entries), count))
        with np.errstate(over="ignore", invalid="ignore"):  # energies that are too large get an error of their own
            self._refine(first, vectors, entries, store)
            reach = np.sqrt(self.limit / self.scale) + self.radius + entries["radius"].max()
            if exact and others <= reach:
                rest = np.setdiff1d(vectors.within(self.vector, reach), first, assume_unique=True)
                self._refine(rest, vectors, entries, store)

    @property
    def limit(self) -> float:
        """What a space must not exceed to be among the nearest."""
        return self.found[-1][0] if len(self.found) == self.k else np.inf

    def _refine(self, places: Int64s, vectors: VectorIndex, entries: np.ndarray, store: FeatureStore) -> None:
        """Compute AE to the spaces at these places by increasing bound, as long as the bounds allow."""
        bounds = self._bounds(vectors.distances(self.vector, places), entries["radius"][places])
        order = np.argsort(bounds, kind="stable")
        for place, bound in zip(places[order].tolist(), bounds[order].tolist(), strict=True):
            if bound > self.limit:
                break
            self._meet(place, store.read(record_of(entries, place)))

    def _bounds(self, distances: Float64s, radii: Float64s) -> Float64s:
        """Lower bounds of the computed AE: `scale` times the square of the vectors' distance, less the two radii."""
        return self.scale * np.maximum(distances - (radii + self.radius), 0) ** 2

    def _meet(self, place: int, features: AnchorFeatures) -> None:
        """Compute the energy to a space, and keep it if it is among the nearest."""
        self.n_exact += 1
        insort(self.found, (self.features.energy_to(features), place))
        del self.found[self.k :]
