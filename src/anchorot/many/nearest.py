"""The nearest neighbours of every space, by strips of rows that meet all columns: no matrix of all pairs is made.

For Anchor Energies of p = 1, vectors (`Sketches`) bound what is compared: a space is compared with those of the least
bounds first, then with all whose bound is within the k-th best energy found. A metric with a `LowerBound` is computed
by increasing bound, until the next exceeds the k-th best value. By anything else a strip is compared with all columns,
tile by tile, and of every tile the nearest are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._parallel import StoppedError
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_integer
from anchorot.anchors.encoder import (
    LARGEST_GAP,
    MAX_LEARNED,
    Directions,
    Encoder,
    Sketches,
    can_learn,
    details,
    vector_length,
)
from anchorot.anchors.grid import Grid
from anchorot.distances.nearest import Neighbors
from anchorot.exceptions import InputError
from anchorot.many.job import Job, PreparedSpace, SpaceSummary, Summaries, never
from anchorot.many.metric import Metric
from anchorot.many.spaces import Inputs, Outlines, each_space, is_at_hand, open_spaces
from anchorot.many.tiles import Tile, TileValues, pieces

CELLS = 16, 16  # of the vectors' grid: two numbers each
STRIP_ROWS = 128  # spaces whose bounds are computed together, and the least side of a strip that has bounds
BOUND_COLUMNS = 1 << 14  # other spaces per block
TILE_COLUMNS = 1 << 12  # columns of a tile whose nearest are kept
MORE_CANDIDATES = 16  # than k, that are compared before the others' bounds are looked at
TOGETHER = 256  # spaces that are compared with one in one call
QUICK_STEP = 8  # spaces that are compared together when bounds have been looked at; one, if a pair takes long
N_COUNTS = 3  # numbers of a row of a strip besides its neighbours: pairs compared, not converged, without a value


class Held:
    """Prepared spaces, of which a limited number is held for one strip."""

    def __init__(self, get: Callable[[int], Any], most: int) -> None:
        self.most = most
        self._get = get
        self._items: dict[int, Any] = {}

    def item(self, index: int) -> Any:
        """Return a prepared space."""
        if index not in self._items:
            if len(self._items) >= self.most:
                self._items.clear()
            self._items[index] = self._get(index)
        return self._items[index]


@dataclass(frozen=True)
class Strip(Tile):
    """Rows whose nearest neighbours are looked for: a tile of their indices, their values, and counts, side by side."""

    n_columns: int = 0  # that they are compared with

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are compared, or ruled out."""
        return len(self.rows) * self.n_columns


def check_k(k: object, inputs: Inputs) -> int:
    """Return `k`, checked against the number of other spaces."""
    count = check_integer(k, "k", 1)
    most = inputs.n - 1 if inputs.m is None else inputs.m
    if count > most:
        whose = f"a space has only {most} others here" if inputs.m is None else f"there are only {most} others"
        raise InputError(f"k={count} nearest spaces are asked for, but {whose}; take fewer, or give more spaces")
    return count


def strip_width(k: int) -> int:
    """How many numbers a row of a strip has."""
    return 2 * k + N_COUNTS


def strips(inputs: Inputs, side: int, k: int) -> list[Tile]:
    """All rows, in strips."""
    n_columns = inputs.n - 1 if inputs.m is None else inputs.m
    return [Strip(rows, range(strip_width(k)), n_columns=n_columns) for rows in pieces(range(inputs.n), side)]


class Best:
    """The k nearest of the spaces of a strip so far, and what that took."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.index = np.full((n_rows, k), -1)
        self.value = np.full((n_rows, k), np.inf)
        self.counts = np.zeros((n_rows, N_COUNTS))

    def add(self, row: int, columns: Int64s, values: Float64s) -> None:
        """Keep the nearest of these and of those so far; equally near ones by their order. NaN is never near."""
        near = values <= self.value[row, -1]
        if not near.any():
            return
        index = np.concatenate([self.index[row], columns[near]])
        value = np.concatenate([self.value[row], values[near]])
        order = np.lexsort((index, value))[: self.index.shape[1]]
        self.index[row], self.value[row] = index[order], value[order]

    def tile_values(self) -> TileValues:
        """As numbers of a tile; where there are no more spaces, index -1 and value NaN."""
        value = np.where(self.index < 0, np.nan, self.value)
        return TileValues(np.concatenate([self.index, value, self.counts], axis=1))


def neighbors_of(numbers: Float64s, k: int, inputs: Inputs) -> tuple[Neighbors, int, int]:
    """What the rows of all strips say: the nearest, how many pairs did not converge, and how many have no value."""
    compared, unconverged, failed = numbers[:, 2 * k :].sum(axis=0).astype(int).tolist()
    index, value = numbers[:, :k].astype(np.int64), numbers[:, k : 2 * k].copy()
    n_spaces = inputs.n if inputs.m is None else inputs.m
    return Neighbors(index, value, None, compared, exact=True, n_spaces=n_spaces), unconverged, failed


# -- bounds ----------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """Spaces of a range, and their vectors."""

    indices: range
    sketches: Sketches


class StripSpaces(NamedTuple):
    """Spaces of a strip that are at hand, those that can be used, and the vectors of all, if they have any."""

    indices: range
    items: dict[int, Any]
    sketches: Sketches | None

    def summaries(self) -> dict[int, SpaceSummary]:
        """What there is to know about them: which can be used."""
        return {i: SpaceSummary(0, None, None if i in self.items else "it is bad") for i in self.indices}


def promising(gaps: NDArray[np.float32], largest: Callable[[], float], first: int) -> Iterator[Int64s]:
    """Yield places by increasing gap, more at a time, as long as there are any below the largest, which may fall."""
    seen = np.empty(0, np.int64)
    if largest() >= LARGEST_GAP and first < len(gaps):
        seen = np.argpartition(gaps, first)[:first]
        yield seen[gaps[seen] <= LARGEST_GAP]
    rest = np.setdiff1d(np.flatnonzero(gaps <= largest()), seen, assume_unique=True)
    rest = rest[np.argsort(gaps[rest])]
    while (some := rest[:first][gaps[rest[:first]] <= largest()]).size:
        yield some
        rest, first = rest[first:], 2 * first


def has_bounds(metric: Metric) -> bool:
    """Whether vectors bound what spaces are compared by."""
    options = metric.options
    is_plain = "ground" not in options and options.get("attributes") is None
    return options["metric"] == "ae" and options["p"] == 1 and is_plain


class _Sample(Sequence[Any]):
    """Some entries of two sequences, asked for when they are needed."""

    def __init__(self, inputs: Inputs, indices: list[int]) -> None:
        self._sides, self._n, self._indices = (inputs.spaces, inputs.others), inputs.n, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, place: Any) -> Any:
        index = self._indices[place]
        return self._sides[0][index] if index < self._n else self._sides[1][index - self._n]


def learn_encoder(inputs: Inputs, metric: Metric, n_jobs: int, client: Any) -> Encoder | None:
    """What makes vectors of spaces, from a sample of them; None if they are too few, or nothing bounds the metric."""
    if not has_bounds(metric) or not can_learn(Grid(CELLS, 0.0, 1.0), inputs.n if inputs.m is None else inputs.m):
        return None
    indices = np.unique(np.linspace(0, len(inputs) - 1, MAX_LEARNED).astype(int)).tolist()
    entries: Any = _Sample(inputs, indices)
    if all(side is None or is_at_hand(side) for side in (inputs.spaces, inputs.others)):
        entries = list(entries)  # so that a task on a cluster takes along no more than its own
    robust, max_cost = metric.options["robust"], metric.options.get("max_cost")
    with open_spaces(replace(inputs, spaces=entries, others=None, n=len(indices), m=None), n_jobs, client) as some:
        outlines = Outlines(some, robust=robust, skip=True, progress=False)
        try:
            grid = Grid.around(outlines, CELLS, robust=robust, max_cost=max_cost)
        except InputError:  # no good spaces, or costs that are too large for vectors
            return None
        found = each_space(some, partial(_details, metric, grid), "learning", skip=True, progress=False)
        sample = [each for _, each in found if not isinstance(each, Exception)]
    return Encoder(grid, Directions.learn(np.array(sample), vector_length(grid) - 1)) if sample else None


def _details(metric: Metric, grid: Grid, x: Any, index: int) -> Float64s:
    return details(metric.prepare(x), grid)


# -- the job ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NearestJob(Job):
    """What to compare, and how many of the nearest to keep."""

    k: int = 1
    encoder: Encoder | None = None  # of the vectors that bound energies, if they do
    sketches: Sketches | None = None  # of all spaces

    def without_inputs(self) -> NearestJob:
        """Return the same job, light enough to be sent away."""
        return replace(
            self, inputs=replace(self.inputs.only(()), prepare=None, prepare_many=None), encoder=None, sketches=None
        )

    def begin(self, workers: Any, summaries: list[SpaceSummary]) -> list[SpaceSummary]:
        """Tell the workers about the vectors of all spaces, and take them out of the summaries."""
        if self.encoder is not None:
            found = [summary.sketch for summary in summaries]
            workers.follow(replace(self, sketches=Sketches.of(found, self.encoder.scale)))
        return [summary._replace(sketch=None) for summary in summaries]

    def compute(
        self,
        tile: Tile,
        summaries: Summaries,
        get: Callable[[int], PreparedSpace],
        max_rows: int,
        stopped: Callable[[], bool] = never,
    ) -> TileValues:
        """Find the nearest neighbours of a strip of rows."""
        best = Best(len(tile.rows), self.k)
        if self.metric.bound is not None:
            held = Held(partial(self.item, summaries=summaries, get=get), max_rows)
            good = [i for i in range(len(summaries)) if summaries[i].problem is None]
            rows, others = [i for i in good if i in tile.rows], [i for i in good if i >= self.offset]
            self.add_ruled_out(best, tile.rows.start, rows, others, held, stopped)
            return best.tile_values()
        if self.sketches is None:
            columns = range(self.inputs.n if self.inputs.m is None else self.inputs.m)
            compute = partial(super().compute, summaries=summaries, get=get, max_rows=max_rows, stopped=stopped)
            self.add_tiles(best, tile.rows, columns, compute)
            return best.tile_values()
        held = Held(partial(self.item, summaries=summaries, get=get), max_rows)
        for some in pieces(tile.rows, STRIP_ROWS):
            for columns in pieces(range(self.offset, len(summaries)), BOUND_COLUMNS):
                sides = (Side(part, self.sketches.part(slice(part.start, part.stop))) for part in (some, columns))
                self.add_bounded(best, tile.rows.start, *sides, held=held, stopped=stopped)
        return best.tile_values()

    def add_strip(self, best: Best, rows: StripSpaces, columns: StripSpaces) -> None:
        """Look for the nearest of the spaces of a strip among those of another, which are all at hand."""
        if not rows.items or not columns.items:
            return
        items, start = rows.items | columns.items, rows.indices.start
        if self.metric.bound is not None:
            held = Held(items.__getitem__, len(items))
            self.add_ruled_out(best, start, sorted(rows.items), sorted(columns.items), held)
            return
        if rows.sketches is not None and columns.sketches is not None:
            sides = Side(rows.indices, rows.sketches), Side(columns.indices, columns.sketches)
            self.add_bounded(best, start, *sides, held=Held(items.__getitem__, len(items)))
            return
        part = range(columns.indices.start - self.offset, columns.indices.stop - self.offset)
        known = rows.summaries() | columns.summaries()

        def compute(tile: Tile) -> TileValues:
            return Job.compute(self, tile, known, lambda i: PreparedSpace(items[i], None), len(tile.rows))

        self.add_tiles(best, rows.indices, part, compute)

    def add_bounded(
        self, best: Best, start: int, rows: Side, columns: Side, *, held: Held, stopped: Callable[[], bool] = never
    ) -> None:
        """Look for the nearest of some rows of the strip from `start` on, among columns that bounds do not rule out."""
        gaps, radius = rows.sketches.gaps(columns.sketches), float(columns.sketches.radii.max())
        for place, i in enumerate(rows.indices):
            own = rows.sketches.part(slice(place, place + 1))
            if own.norms[0] == np.inf:
                continue
            if i in columns.indices:
                gaps[place, i - columns.indices.start] = np.inf
            largest = partial(own.largest_gap, best.value[i - start], radius)
            for places in promising(gaps[place], largest, self.k + MORE_CANDIDATES):
                self._compare_row(best, i - start, i, columns.indices.start + places, held, stopped)

    def add_ruled_out(
        self,
        best: Best,
        start: int,
        rows: list[int],
        columns: list[int],
        held: Held,
        stopped: Callable[[], bool] = never,
    ) -> None:
        """Look for the nearest of some rows of the strip from `start` on, by increasing bounds of the metric."""
        bound = self.metric.bound
        assert bound is not None
        for part in pieces(range(len(rows)), max(1, held.most // 2)):
            some = [rows[place] for place in part]
            xs = [held.item(i).below for i in some]
            bounds = np.empty((len(some), len(columns)))
            for others in pieces(range(len(columns)), max(1, min(TOGETHER, held.most - len(some)))):
                ys = [held.item(columns[place]).below for place in others]
                bounds[:, others.start : others.stop] = bound.compare_many(xs, ys)
                if stopped():
                    raise StoppedError
            for i, own in zip(some, bounds, strict=True):
                self._search_row(best, i - start, i, np.array(columns), own, held, stopped)

    def _search_row(
        self,
        best: Best,
        row: int,
        i: int,
        columns: Int64s,
        bounds: Float64s,
        held: Held,
        stopped: Callable[[], bool],
    ) -> None:
        """Compare a space with others by increasing bound until the next exceeds the k-th best value."""
        order = np.argsort(bounds, kind="stable")
        order = order[columns[order] != i]
        closer = None if self.metric.bound is None else self.metric.bound.closer
        while len(order):
            limit = best.value[row, -1]
            n_missing = int(np.count_nonzero(best.index[row] < 0))
            step = n_missing or (QUICK_STEP if self.metric.is_quick else 1)
            some = order[:step][~(bounds[order[:step]] > limit)]
            if not len(some):
                return
            if closer is not None and np.isfinite(limit):
                x = held.item(i).below
                some = np.array([j for j in some if not closer(x, held.item(columns[j]).below) > limit], int)
            self._compare_row(best, row, i, columns[some], held, stopped)
            order = order[step:]

    def _compare_row(
        self, best: Best, row: int, i: int, columns: Int64s, held: Held, stopped: Callable[[], bool]
    ) -> None:
        """Compare a space with others, and keep the nearest; of two spaces the earlier one always comes first."""
        x, size = held.item(i), min(TOGETHER, held.most)
        for first in range(0, len(columns), size):
            some = columns[first : first + size]
            earlier, later = some[some < i], some[some > i]
            before = [(j, held.item(j)) for j in earlier.tolist()]
            after = [(j - self.offset, held.item(j)) for j in later.tolist()]
            if before:
                found = self.compare_all(before, [(i, x)], [len(before)], stopped)
                best.add(row, earlier, found.values[:, 0])
                best.counts[row, 1:] += found.n_unconverged, found.n_failed
            if after:
                found = self.compare_all([(i, x)], after, [1] * len(after), stopped)
                best.add(row, later - self.offset, found.values[0])
                best.counts[row, 1:] += found.n_unconverged, found.n_failed
            best.counts[row, 0] += len(some)

    def add_tiles(self, best: Best, rows: range, columns: range, compute: Callable[[Tile], TileValues]) -> None:
        """Compare a strip with columns, and keep the nearest; of two spaces the earlier one always comes first."""
        for part in self._parts(rows, columns):
            is_turned, is_own = self.offset == 0 and part.start < rows.start, self.offset == 0 and part == rows
            found = compute(Tile(part, rows) if is_turned else Tile(rows, part, is_diagonal=is_own))
            values = found.values.T if is_turned else found.values
            if is_own:
                values = np.where(np.eye(len(rows), dtype=bool), np.nan, values)
            best.counts[0, 0] += np.count_nonzero(~np.isnan(values))
            if not is_turned:  # else these pairs are counted with the strip of the other space
                best.counts[0, 1:] += found.n_unconverged, found.n_failed
            for row, some in enumerate(values):
                best.add(row, np.arange(part.start, part.stop), some)

    def _parts(self, rows: range, columns: range) -> list[range]:
        """Columns in parts; those of the same spaces as the rows are one, unless columns are of other spaces."""
        if self.offset:
            return pieces(columns, TILE_COLUMNS)
        before = range(columns.start, min(rows.start, columns.stop))
        after = range(max(rows.stop, columns.start), columns.stop)
        own = [rows] if rows.start in columns else []
        return pieces(before, TILE_COLUMNS) + own + pieces(after, TILE_COLUMNS)
