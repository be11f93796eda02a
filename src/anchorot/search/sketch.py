"""What an index keeps in memory of a space: a vector, whose distances to others bound Anchor Energies from below.

In units in which the whole grid has area 1, let d be the coordinates of F on a grid that is DETAIL times finer than the
index's, less their mean over a collection. The collection differs far more in some directions than in others. Those of
the form u v', u along x and v along t, are the singular vectors of all columns and of all rows; of the products of the
two a sketch keeps as many coordinates as it has room for, those that vary most, and the norm of the rest. Directions
are orthonormal, and rests are at least as far apart as their norms, so the law of `signature` holds here as well:

    2 (high - low) ||s_x - s_y||² <= AE(x, y)

whatever the collection was, also for spaces that are added later. It is what adapts to the collection that makes the
bound good: for spaces that are nearly alike it rules out twice as many as spreads of equal cells do.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from hashlib import blake2b
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.search.signatures import MOST_RADIUS, cell_averages, rounded_signature, rounding, signature_length

DETAIL = 4, 8  # along x and t
MOST_DETAILS = 1 << 15  # cells of the finer grid; beyond, directions cost more than they save
FEWEST, MOST = 256, 512  # spaces that directions are learned from
SMALL_PRODUCT = 1 << 18  # multiplications that OpenBLAS leaves to one thread
REST_ERROR = 2e-7  # of the norm of what is left, a root of a difference of squares
ORTHOGONALITY = 1e-9  # of directions from a file; distances are at most 2, and REST_ERROR leaves room


@dataclass(frozen=True, eq=False)
class Directions:
    """Directions in which the spaces of a collection differ most.

    Attributes
    ----------
    mean : ndarray of shape (X, T)
        Mean coordinates of the collection.
    along_x, along_t : ndarrays of shapes (X, a), (T, b)
        Orthonormal columns.
    chosen : ndarray of integers
        Which of the a · b products are kept, counted row by row.
    """

    mean: Float64s
    along_x: Float64s
    along_t: Float64s
    chosen: Int64s

    @classmethod
    def of(cls, sample: Float64s, count: int) -> Self:
        """The `count` directions that say most about a sample of coordinates of shape (spaces, X, T)."""
        mean = sample.mean(axis=0)
        around = sample - mean
        along_x = _leading(_sum(product(each, each.T) for each in around))
        along_t = _leading(_sum(product(each.T, each) for each in around))
        energy = _sum(product(product(along_x.T, each), along_t) ** 2 for each in around)
        rows, columns = np.unravel_index(np.argsort(-energy, axis=None, kind="stable")[:count], energy.shape)
        width = int(columns.max()) + 1
        return cls(mean, along_x[:, : int(rows.max()) + 1].copy(), along_t[:, :width].copy(), rows * width + columns)

    def coordinates(self, averages: Float64s) -> Float64s:
        """Coordinates along the chosen directions, and the norm of the rest."""
        around = averages - self.mean
        kept = product(product(self.along_x.T, around), self.along_t).ravel()[self.chosen]
        rest = float(np.vdot(around, around) - np.vdot(kept, kept))
        return np.append(kept, math.sqrt(max(rest, 0.0)))

    def packed(self) -> bytes:
        """All numbers, one array behind the other."""
        return b"".join(each.tobytes() for each in (self.mean, self.along_x, self.along_t, self.chosen))

    @classmethod
    def unpacked(cls, data: bytearray, shape: tuple[int, int], widths: tuple[int, int], count: int) -> Self:
        """What was packed, of a mean of this shape, so many columns along x and t, and so many directions."""
        shapes = shape, (shape[0], widths[0]), (shape[1], widths[1])
        ends = np.cumsum([math.prod(each) for each in shapes]).tolist()
        numbers = np.frombuffer(data, "<f8", ends[-1])
        mean, along_x, along_t = (
            part.reshape(to) for part, to in zip(np.split(numbers, ends[:-1]), shapes, strict=True)
        )
        return cls(mean, along_x, along_t, np.frombuffer(data, "<i8", count, 8 * ends[-1]))

    def are_sound(self) -> bool:
        """Whether these can be directions: orthonormal, each chosen once, with a mean that averages can have."""
        possible = np.isin(self.chosen, np.arange(self.along_x.shape[1] * self.along_t.shape[1])).all()
        bounded = ((self.mean >= 0) & (self.mean <= 1)).all()
        return bool(
            possible
            and bounded
            and len(np.unique(self.chosen)) == len(self.chosen)
            and all(_are_orthonormal(columns) for columns in (self.along_x, self.along_t))
        )


@dataclass(frozen=True, eq=False)
class Sketch:
    """How the spaces of an index become vectors.

    Attributes
    ----------
    grid : Grid
        Two numbers a cell make the length of a vector.
    directions : Directions or None
        What the numbers are coordinates of; without, they are averages and spreads of the cells (`signature`).
    """

    grid: Grid
    directions: Directions | None = None

    @classmethod
    def learned(cls, grid: Grid, features: Callable[[int], AnchorFeatures], count: int) -> Self:
        """Adapt to `count` spaces, given by their places; to few spaces, or with a grid of very many cells, do not."""
        if count < FEWEST or math.prod(details(grid)) > MOST_DETAILS:
            return cls(grid)
        places = np.unique(np.linspace(0, count - 1, MOST).astype(int)).tolist()
        sample = np.array([_details(features(place), grid) for place in places])
        return cls(grid, Directions.of(sample, signature_length(grid) - 1))

    @cached_property
    def key(self) -> tuple[Grid, str]:
        """What tells it apart from sketches that make other vectors."""
        return self.grid, "" if self.directions is None else blake2b(
            self.directions.packed(), digest_size=16
        ).hexdigest()

    @property
    def length(self) -> int:
        """How many numbers a vector has."""
        return signature_length(self.grid)

    @property
    def scale(self) -> float:
        """What a squared distance is multiplied with to bound AE."""
        return 2 * (self.grid.high - self.grid.low)

    def of(self, features: AnchorFeatures) -> tuple[NDArray[np.float32], float]:
        """The vector of a space, and a radius that makes up for all rounding (`rounded_signature`)."""
        if self.directions is None:
            return rounded_signature(features, self.grid)
        vector = self.directions.coordinates(_details(features, self.grid)).astype(np.float32)
        return vector, min(rounding(features, self.grid) + REST_ERROR, MOST_RADIUS)


def details(grid: Grid) -> tuple[int, int]:
    """The shape of the finer grid that directions are of."""
    return DETAIL[0] * grid.shape[0], DETAIL[1] * grid.shape[1]


def _details(features: AnchorFeatures, grid: Grid) -> Float64s:
    fine = Grid(details(grid), grid.low, grid.high)
    return cell_averages(features, fine) / math.sqrt(math.prod(fine.shape))


def product(one: Float64s, other: Float64s) -> Float64s:
    """The product of two matrices, in blocks for which BLAS starts no threads: they would wait longer than it takes."""
    rows = max(1, SMALL_PRODUCT // other.size)
    return np.concatenate([one[k : k + rows] @ other for k in range(0, len(one), rows)])


def _sum(arrays: Iterable[Float64s]) -> Float64s:
    return reduce(np.add, arrays)


def _leading(moments: Float64s) -> Float64s:
    """Eigenvectors of a matrix of second moments, the largest first."""
    return np.linalg.eigh(moments)[1][:, ::-1]


def _are_orthonormal(columns: Float64s) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.abs(columns.T @ columns - np.eye(columns.shape[1])).max(initial=0.0) <= ORTHOGONALITY)
