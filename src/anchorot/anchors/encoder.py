"""Vectors that represent spaces in a search: their distances bound Anchor Energies from below.

In units in which the whole grid has area 1, let d be the averages of F(x, t) over a grid that is finer than the index's
as coordinates: 2 (high - low) ||d_x - d_y||² <= AE(x, y). Averages of G(s, t) bound Sliced Anchor Wasserstein in the
same way (`BoundedMetric`). A vector has two numbers per cell of the index's grid; there are three ways to make it from
d.

Equal cells: per cell the mean of d and the norm of the rest r. The two are orthogonal, and
||r_x - r_y|| >= | ||r_x|| - ||r_y|| |, so a cell can keep just these two numbers. They bound about as well as a grid of
four times as many cells.

Directions: a collection differs far more in some directions than in others. Of those of the form u v', u along x and v
along t, from the singular vectors of all columns and of all rows, a vector keeps the coordinates that vary most, and
the norm of the rest. Directions are orthonormal, so the same argument holds, whatever collection they were learned
from, also for spaces that are added later. For spaces that are nearly alike this rules out twice as many as equal cells
do.

Halves of cells: where absolute differences bound a metric, both ways fail, and a vector holds the averages over both
halves of every cell.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.anchors.bounded import ENERGY, MAX_RADIUS, BoundedMetric
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid, averages_of_each
from anchorot.exceptions import InputError

AVERAGED_TOGETHER = 16  # spaces: 1 MB of averages over 16 x 16 cells, which second caches hold
CELL_DETAIL = 4  # finer cells per cell, each way, of equal cells; more bound hardly better
DIRECTION_DETAIL = 4, 8  # along x and t, of directions
MAX_DETAILS = 1 << 15  # cells of the finer grid; beyond, directions cost more than they save
MIN_LEARNED, MAX_LEARNED = 256, 512  # spaces that directions are learned from
MAX_CELLS = 1 << 20  # of the index's grid: vectors of 8 MB
SMALL_PRODUCT = 1 << 18  # multiplications that OpenBLAS leaves to one thread
REST_ERROR = 2e-7  # of the norm of the rest, a root of a difference of squares
SLACK = 1 + 1e-9  # for the rounding of what gaps are compared with
LARGEST_GAP = float(np.finfo(np.float32).max)  # gaps are float32: no limit
ORTHOGONALITY_ERROR = 1e-9  # of directions from a file; distances are at most 2, and REST_ERROR leaves room

Sketch = tuple[NDArray[np.float32], float]  # the vector of a space, and its radius


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
    def learn(cls, sample: Float64s, count: int) -> Self:
        """The `count` directions that say most about a sample of coordinates of shape (spaces, X, T)."""
        mean = sample.mean(axis=0)
        around = sample - mean
        along_x = _eigenvectors(_sum(product(each, each.T) for each in around))
        along_t = _eigenvectors(_sum(product(each.T, each) for each in around))
        energy = _sum(product(product(along_x.T, each), along_t) ** 2 for each in around)
        rows, columns = np.unravel_index(np.argsort(-energy, axis=None, kind="stable")[:count], energy.shape)
        width = int(columns.max()) + 1
        return cls(mean, along_x[:, : int(rows.max()) + 1].copy(), along_t[:, :width].copy(), rows * width + columns)

    def coordinates(self, details: Float64s) -> Float64s:
        """Coordinates of each of many spaces along the chosen directions, and the norm of the rest."""
        around = details - self.mean
        along = product(product(self.along_x.T, around), self.along_t)
        kept = np.take(along.reshape(len(details), -1), self.chosen, axis=1)
        squares = [float(np.vdot(whole, whole) - np.vdot(part, part)) for whole, part in zip(around, kept, strict=True)]
        return np.column_stack([kept, np.sqrt(np.maximum(squares, 0.0))])

    @property
    def widths(self) -> tuple[int, int]:
        """How many columns go along x and along t."""
        return self.along_x.shape[1], self.along_t.shape[1]

    def to_bytes(self) -> bytes:
        """All numbers, one array after the other."""
        return b"".join(each.tobytes() for each in (self.mean, self.along_x, self.along_t, self.chosen))

    @classmethod
    def from_bytes(cls, data: bytes, grid: Grid, widths: tuple[int, int]) -> Self:
        """The directions of a file; a ValueError if they are none, for such a grid and such widths."""
        sides, count = detail_shape(grid), vector_length(grid) - 1
        shapes = sides, (sides[0], widths[0]), (sides[1], widths[1])
        ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
        if not all(0 < width <= side for width, side in zip(widths, sides, strict=True)):
            raise ValueError(f"{list(widths)} columns along x and t")
        if len(data) != 8 * (ends[-1] + count):
            raise ValueError(f"{len(data)} bytes for {count} directions on a grid of shape {sides}")
        numbers = np.frombuffer(data, "<f8", ends[-1])
        mean, along_x, along_t = (
            part.reshape(shape) for part, shape in zip(np.split(numbers, ends[:-1]), shapes, strict=True)
        )
        found = cls(mean, along_x, along_t, np.frombuffer(data, "<i8", count, 8 * ends[-1]))
        if not found._is_sound():
            raise ValueError("columns that are not orthonormal")
        return found

    def _is_sound(self) -> bool:
        """Whether these can be directions: orthonormal, each chosen once, with a mean that averages can have."""
        possible = np.isin(self.chosen, np.arange(math.prod(self.widths))).all()
        bounded = ((self.mean >= 0) & (self.mean <= 1)).all()
        return bool(
            possible
            and bounded
            and len(np.unique(self.chosen)) == len(self.chosen)
            and all(_are_orthonormal(columns) for columns in (self.along_x, self.along_t))
        )


@dataclass(frozen=True, eq=False)
class Encoder:
    """Turns the features of a space into a vector.

    Attributes
    ----------
    grid : Grid
        Two numbers per cell make the length of a vector.
    directions : Directions or None
        What the numbers are coordinates along; without, they are means and spreads of equal cells, or of halves.
    bounded : BoundedMetric
        What distances of vectors bound.
    """

    grid: Grid
    directions: Directions | None = None
    bounded: BoundedMetric = ENERGY

    @classmethod
    def learn(
        cls,
        grid: Grid,
        features: Callable[[int], AnchorFeatures],
        count: int,
        bounded: BoundedMetric = ENERGY,
    ) -> Self:
        """Adapt to `count` spaces, given by their places; to few spaces, or with a grid of very many cells, do not."""
        if not can_learn(grid, count, bounded):
            return cls(grid, bounded=bounded)
        places = np.unique(np.linspace(0, count - 1, MAX_LEARNED).astype(int)).tolist()
        sample = np.array([details(features(place), grid, bounded) for place in places])
        return cls(grid, Directions.learn(sample, vector_length(grid) - 1), bounded)

    @property
    def length(self) -> int:
        """How many numbers a vector has."""
        return vector_length(self.grid)

    @property
    def scale(self) -> float:
        """What a power of a distance is multiplied with to be a bound."""
        return self.bounded.scale(self.grid)

    def bounds(self, gaps: Float64s) -> Float64s:
        """Lower bounds of values, from distances of vectors less their radii."""
        return self.bounded.bounds(gaps, self.grid)

    def gap(self, value: float) -> float:
        """The distance of vectors, less their radii, beyond which bounds exceed a value."""
        return self.bounded.gap(value, self.grid)

    def to_bytes(self) -> bytes:
        """The directions, for a file."""
        return b"" if self.directions is None else self.directions.to_bytes()

    def encode(self, features: AnchorFeatures) -> Sketch:
        """The vector of a space, and a radius that makes up for all rounding (`BoundedMetric.rounding_radius`)."""
        radius = self.bounded.rounding_radius(features, self.grid)
        if self.bounded.is_absolute:
            return half_vector(features, self.grid, self.bounded).astype(np.float32), radius
        if self.directions is None:
            return cell_vector(features, self.grid, self.bounded).astype(np.float32), radius
        averages = self.bounded.averages(features, detail_grid(self.grid))
        return self._along_directions([features], averages[None])[0]

    def encode_many(self, spaces: Sequence[AnchorFeatures], threads: int = 1) -> list[Sketch]:
        """The same of many spaces, in few calls that take no turns with other threads."""
        if self.directions is None or not self.bounded.is_energy:
            return [self.encode(features) for features in spaces]
        found: list[Sketch] = []
        for start in range(0, len(spaces), AVERAGED_TOGETHER):
            some = spaces[start : start + AVERAGED_TOGETHER]
            found += self._along_directions(some, averages_of_each(some, detail_grid(self.grid).cells, threads))
        return found

    def _along_directions(self, spaces: Sequence[AnchorFeatures], averages: Float64s) -> list[Sketch]:
        """Vectors of coordinates along directions, from averages over the cells of the finer grid."""
        assert self.directions is not None
        vectors = self.directions.coordinates(as_coordinates(averages)).astype(np.float32)
        radii = (self.bounded.rounding_radius(features, self.grid) for features in spaces)
        return [(vector, min(radius + REST_ERROR, MAX_RADIUS)) for vector, radius in zip(vectors, radii, strict=True)]


class Sketches(NamedTuple):
    """Vectors of many spaces, ready to bound the energies of all pairs at once.

    With a and b the vectors of two spaces, r and s their radii, sqrt(AE / scale) >= ||a - b|| - r - s. Products of
    vectors are computed in float32, and what rounding may do to them is taken off the norms: a sum of L products, in
    any order, errs by at most L 2^-24 ||a|| ||b|| <= L 2^-24 (||a||² + ||b||²) / 2. So

        ||b||² (1 - e) - 2 ab  <=  (sqrt(limit / scale) + r + s)² - ||a||² (1 - e),      e = (L + 16) 2^-24

    holds for every pair whose computed energy does not exceed the limit. The left side is the *gap* of the pair.
    """

    vectors: NDArray[np.float32]
    norms: NDArray[np.float32]  # squared, less what rounding may add to a gap; infinite for spaces that cannot be used
    radii: Float64s
    scale: float

    @classmethod
    def of(cls, found: Sequence[Sketch | None], scale: float) -> Self:
        """Of spaces in this order; None for one that cannot be used."""
        length = next((len(sketch[0]) for sketch in found if sketch is not None), 0)
        vectors, radii = np.zeros((len(found), length), np.float32), np.zeros(len(found))
        for k, sketch in enumerate(found):
            if sketch is not None:
                vectors[k], radii[k] = sketch
        squares = np.array([np.vdot(vector, vector) for vector in (each.astype(np.float64) for each in vectors)])
        norms = (squares * (1 - (length + 16) * 2.0**-24)).astype(np.float32)
        norms[[sketch is None for sketch in found]] = np.inf
        return cls(vectors, norms, radii, scale)

    def part(self, which: Any) -> Self:
        """Those of some spaces."""
        return self._replace(vectors=self.vectors[which], norms=self.norms[which], radii=self.radii[which])

    def gaps(self, columns: "Sketches") -> NDArray[np.float32]:
        """Gaps of all pairs of these with others."""
        out = self.vectors @ columns.vectors.T
        out *= -2
        out += columns.norms
        return out

    def largest_gaps(self, limits: Float64s, radius: float) -> NDArray[np.float32]:
        """Gaps that none exceeds whose energy is within the limit of its row, where columns have such radii at most."""
        with np.errstate(over="ignore"):
            max_cost = (np.sqrt(limits / self.scale) + self.radii + radius) * SLACK
            most = np.nextafter((max_cost**2 - self.norms).astype(np.float32), np.float32(np.inf))
        return np.minimum(most, LARGEST_GAP)

    def largest_gap(self, values: Float64s, radius: float) -> float:
        """The same of a single row, whose nearest so far have these values, ascending."""
        return float(self.largest_gaps(values[-1:], radius)[0])


def cell_vector(features: AnchorFeatures, grid: Grid, bounded: BoundedMetric = ENERGY) -> Float64s:
    """Means and spreads of equal cells, in units in which the whole grid has area 1."""
    cells_x, cells_t = grid.shape
    fine = Grid((CELL_DETAIL * cells_x, CELL_DETAIL * cells_t), grid.low, grid.high)
    averages = bounded.averages(features, fine).reshape(cells_x, CELL_DETAIL, cells_t, CELL_DETAIL)
    mean = averages.mean(axis=(1, 3), keepdims=True)
    spread = np.sqrt(((averages - mean) ** 2).mean(axis=(1, 3)))
    return np.concatenate([mean.ravel(), spread.ravel()]) / math.sqrt(cells_x * cells_t)


def half_vector(features: AnchorFeatures, grid: Grid, bounded: BoundedMetric) -> Float64s:
    """Averages over the lower and upper halves of all cells; absolute differences of vectors add up to their mean."""
    averages = bounded.averages(features, Grid((grid.shape[0], 2 * grid.shape[1]), grid.low, grid.high))
    return averages.ravel() / averages.size


def check_cells(grid: Grid) -> None:
    """Refuse a grid that is too fine to search with."""
    if math.prod(grid.shape) > MAX_CELLS:
        raise InputError(f"grid has shape {grid.shape}, but an index takes at most {MAX_CELLS} cells; take fewer")


def can_learn(grid: Grid, count: int, bounded: BoundedMetric = ENERGY) -> bool:
    """Whether `count` spaces are enough to learn directions from, on this grid."""
    return not bounded.is_absolute and count >= MIN_LEARNED and math.prod(detail_shape(grid)) <= MAX_DETAILS


def vector_length(grid: Grid) -> int:
    """How many numbers a vector has."""
    return 2 * math.prod(grid.shape)


def detail_shape(grid: Grid) -> tuple[int, int]:
    """The shape of the finer grid that directions are of."""
    return DIRECTION_DETAIL[0] * grid.shape[0], DIRECTION_DETAIL[1] * grid.shape[1]


def details(features: AnchorFeatures, grid: Grid, bounded: BoundedMetric = ENERGY) -> Float64s:
    """Averages of a space over the cells of the finer grid, as coordinates."""
    return as_coordinates(bounded.averages(features, detail_grid(grid)))


def detail_grid(grid: Grid) -> Grid:
    """The finer grid that directions are of."""
    return Grid(detail_shape(grid), grid.low, grid.high)


def as_coordinates(averages: Float64s) -> Float64s:
    """Averages over equal cells, along the last two axes, in units in which the whole grid has area 1."""
    return averages / math.sqrt(math.prod(averages.shape[-2:]))


def product(one: Float64s, other: Float64s) -> Float64s:
    """The product of two matrices, in blocks for which BLAS starts no threads: they would wait longer than it takes.

    One of them, or both, may be a stack of matrices.
    """
    rows = max(1, SMALL_PRODUCT // math.prod(other.shape[-2:]))
    return np.concatenate([one[..., k : k + rows, :] @ other for k in range(0, one.shape[-2], rows)], axis=-2)


def _sum(arrays: Iterable[Float64s]) -> Float64s:
    return reduce(np.add, arrays)


def _eigenvectors(moments: Float64s) -> Float64s:
    """Eigenvectors of a matrix of second moments, the largest first."""
    return np.linalg.eigh(moments)[1][:, ::-1]


def _are_orthonormal(columns: Float64s) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.abs(columns.T @ columns - np.eye(columns.shape[1])).max(initial=0.0) <= ORTHOGONALITY_ERROR)
