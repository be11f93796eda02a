"""A matrix of all pairs, cut into tiles: the unit of work, of progress and of a checkpoint."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from anchorot._typing import Float64s

MOST_STRIPS = 128  # of tiles, each way: a limit to the number of files of a checkpoint and of tasks of a cluster


@dataclass(frozen=True)
class Tile:
    """A block of the matrix.

    Attributes
    ----------
    rows, columns : range
    is_diagonal : bool
        Whether it lies on the diagonal of a symmetric matrix, so that half of its pairs are the other half's mirror.
    """

    rows: range
    columns: range
    is_diagonal: bool = False

    @property
    def n_pairs(self) -> int:
        """Number of pairs of different spaces."""
        n, m = len(self.rows), len(self.columns)
        return n * (n - 1) // 2 if self.is_diagonal else n * m

    @property
    def name(self) -> str:
        """Where the tile begins; unique among the tiles of one side."""
        return f"{self.rows.start:06d}-{self.columns.start:06d}"


class TileValues(NamedTuple):
    """A finished tile."""

    values: Float64s  # NaN for pairs without one: of spaces that cannot be used, and of those that a solver failed on
    n_unconverged: int = 0  # pairs whose value a solver did not finish
    n_failed: int = 0  # pairs of good spaces that have no value


def tile_side(n: int, m: int, least: int) -> int:
    """Side of the tiles of an n x m matrix: `least`, or more where that would make too many tiles."""
    return max(least, -(-max(n, m) // MOST_STRIPS))


def strips(n: int, side: int) -> list[range]:
    """Cut 0, ..., n - 1 into ranges of length `side`, the last of which may be shorter."""
    return [range(start, min(start + side, n)) for start in range(0, n, side)]


def pieces(parts: Iterable[range], size: int) -> Iterator[range]:
    """Cut each of some ranges into ranges of length `size`, the last of which may be shorter."""
    for part in parts:
        for start in range(part.start, part.stop, size):
            yield range(start, min(start + size, part.stop))


def walk_tiles(n: int, m: int | None, side: int, sizes: Sequence[int], room: int) -> Iterator[Tile]:
    """Yield the tiles of an n x m matrix, or of the upper triangle of an n x n one if m is None.

    They come in an order that needs few spaces at a time: a band of rows, as high as fits into `room` where row i takes
    `sizes[i]`, stays while all columns pass by. So spaces that do not fit are loaded once a band, not once a tile.
    """
    columns = strips(n if m is None else m, side)
    for band in _bands(strips(n, side), sizes, room):
        for column in columns:
            for row in band:
                if m is not None or row.start <= column.start:
                    yield Tile(row, column, is_diagonal=m is None and row == column)


def _bands(rows: list[range], sizes: Sequence[int], room: int) -> Iterator[list[range]]:
    """Group consecutive strips so that each group fits; one strip that does not is a group of its own."""
    ends = [0, *accumulate(sizes)]
    band: list[range] = []
    for row in rows:
        if band and ends[row.stop] - ends[band[0].start] > room:
            yield band
            band = []
        band.append(row)
    yield band
