"""Vectors in FAISS, asked for one query at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.exceptions import MissingExtraError

BLOCK = 1024  # vectors compared in float64 at a time


class VectorIndex:
    """Vectors of norms up to 1, by place: removing some moves those behind them up."""

    def __init__(self, count: int, length: int) -> None:
        """Make room for `count` vectors, to be filled in by way of `array`."""
        self._faiss = import_faiss()
        self._index = self._faiss.IndexFlatL2(length)
        self._index.codes.resize(4 * count * length)
        self._index.ntotal = count
        # Whether FAISS adds up squares or expands them, with norms up to 1 it errs by less than this:
        self._error = 4 * (length + 16) * 2.0**-24

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Add vectors at the end."""
        self._index.add(vectors)

    def remove(self, places: Int64s) -> None:
        """Remove the vectors at these places."""
        self._index.remove_ids(places)

    @property
    def array(self) -> NDArray[np.float32]:
        """All vectors, where FAISS has them."""
        shape = self._index.ntotal, self._index.d
        if shape[0] == 0:
            return np.empty(shape, np.float32)
        return self._faiss.rev_swig_ptr(self._index.get_xb(), shape[0] * shape[1]).reshape(shape)

    def nearest(self, vector: NDArray[np.float32], count: int) -> tuple[Int64s, float]:
        """The places of about the nearest vectors, and a distance that all others are certain to have at least."""
        squares, places = self._index.search(vector[None], count, params=self._directly())
        others = np.inf if count == self._index.ntotal else float(squares[0, -1])
        return places[0], np.sqrt(max(others - self._error, 0.0))

    def within(self, vector: NDArray[np.float32], reach: float) -> Int64s:
        """The places of all vectors that are no further away than `reach`, and perhaps of some that are."""
        limit = np.float32(min(reach**2 * (1 + 1e-6) + self._error, 1e9))
        return self._index.range_search(vector[None], limit, params=self._directly())[2]

    def distances(self, vector: NDArray[np.float32], places: Int64s) -> Float64s:
        """Distances to the vectors at these places, in float64."""
        array, wanted = self.array, vector.astype(np.float64)
        out = np.empty(len(places))
        for start in range(0, len(places), BLOCK):
            block = slice(start, start + BLOCK)
            difference = array[places[block]].astype(np.float64)
            difference -= wanted
            out[block] = np.sqrt(np.vecdot(difference, difference))
        return out

    def _directly(self) -> Any:
        # Given any selector FAISS adds up squares, which for one query is far faster than what it does otherwise.
        return self._faiss.SearchParameters(sel=self._faiss.IDSelectorAll())


def import_faiss() -> Any:
    """Return the module faiss, or say how to get it."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("faiss-cpu", "search") from None
    return faiss
