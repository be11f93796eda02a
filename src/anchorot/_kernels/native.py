"""The C++ kernels (`native/`), with their results allocated here; `protocol` says what each of them does."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from anchorot._kernels import _native
from anchorot._kernels.records import (
    EdgeLanes,
    EdgeRows,
    Events,
    Factor,
    GridSpec,
    LevelBlocks,
    LevelMoves,
    LowerRows,
    PairLinks,
    PairRows,
    PlaceMoves,
    RowItems,
    ShareSteps,
    SparseRows,
    StepRows,
    VectorLevels,
    common_segments,
)
from anchorot._typing import Float32s, Float64s, Floats, Int64s
from anchorot.exceptions import InputError

try:
    _SIMD_LEVEL = _native.simd_level()
except ValueError as error:  # what ANCHOROT_SIMD asks for is unknown
    raise InputError(str(error)) from None

# what needs no memory for its results
labelled_steps = _native.labelled_steps
level_energy = _native.level_energy
sort_rows = _native.sort_rows
spread = _native.spread
sweep_energy = _native.sweep_energy
sweep_transport = _native.sweep_transport
level_transport = _native.level_transport
level_sweep_transport = _native.level_sweep_transport
tilt_plan = _native.tilt_plan
weighted_gaps = _native.weighted_gaps
weighted_transport = _native.weighted_transport


def _filled(compare: Callable[..., None]) -> Callable[..., Float64s]:
    """Allocate the matrix of all pairs of two lists for a kernel; what is not asked for stays NaN."""

    def filled(xs: list[Any], ys: list[Any], counts: Int64s, *options: float, **named: float) -> Float64s:
        out = np.full((len(xs), len(ys)), np.nan)
        compare(xs, ys, counts, *options, **named, out=out)
        return out

    return filled


level_energies = _filled(_native.level_energies)
sweep_energies = _filled(_native.sweep_energies)
level_transports = _filled(_native.level_transports)
sweep_transports = _filled(_native.sweep_transports)
weighted_gaps_of_pairs = _filled(_native.weighted_gaps_of_pairs)


def description() -> str:
    return f"native ({_SIMD_LEVEL})"


def quantiles(matrix: Floats, threads: int, out: Floats | None = None) -> Floats:
    out = np.empty(matrix.shape[::-1], matrix.dtype) if out is None else out
    _native.quantiles(matrix, out, threads)
    return out


def space_levels(costs: list[Floats], threads: int) -> tuple[list[Floats], NDArray[np.bool_]]:
    out, ordinary = [np.empty(cost.shape, cost.dtype) for cost in costs], np.empty(len(costs), bool)
    _native.space_levels(costs, out, ordinary, threads)
    return out, ordinary


def euclidean(x: Float64s, y: Float64s) -> Float64s:
    out = np.empty((len(x), len(y)))
    _native.euclidean(x, y, out)
    return out


def cloud_costs(points: list[Float64s], dtype: DTypeLike, threads: int) -> tuple[list[Floats], NDArray[np.bool_]]:
    out, ordinary = [np.empty((len(x), len(x)), dtype) for x in points], np.empty(len(points), bool)
    _native.cloud_costs(points, out, ordinary, threads)
    return out, ordinary


def block_energies(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_cost: float, threads: int) -> Float64s:
    out = np.empty(len(pairs))
    _native.block_energies(x, y, pairs, max_cost, out, threads)
    return out


def block_profile(
    x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_costs: Float64s, power: int, threads: int
) -> Float64s:
    out = np.empty(len(max_costs))
    _native.block_profile(x, y, pairs, max_costs, power, out, threads)
    return out


def vector_profile(x: VectorLevels, y: VectorLevels, max_costs: Float64s, threads: int) -> Float64s:
    out = np.empty(len(max_costs))
    _native.vector_profile(x, y, max_costs, out, threads)
    return out


def sweep_profile(x: Events, y: Events, max_costs: Float64s, power: int, threads: int) -> Float64s:
    out = np.empty(len(max_costs))
    _native.sweep_profile(x, y, max_costs, power, out, threads)
    return out


def periodic_distances(cell: Float64s, fraction: Float64s, kind: NDArray[np.uint32], species: int, k: int) -> Float64s:
    out = np.empty((len(fraction), species * k))
    _native.periodic_distances(cell, fraction, kind, species, k, out)
    return out.reshape(len(fraction), species, k)


def l1_costs(x: Float64s, y: Float64s, threads: int) -> Float64s:
    out = np.empty((x.shape[1], y.shape[1]))
    _native.l1_costs(x, y, common_segments(len(x), len(y)), out, threads)
    return out


def step_costs(x: StepRows, y: StepRows, p: int, threads: int) -> Float64s:
    out = np.empty((len(x.value), len(y.value)))
    _native.step_costs(x, y, p, out, threads)
    return out


def level_shares(cost: Float64s, split_ties: bool) -> Float64s:
    out = np.empty(cost.shape)
    _native.level_shares(cost, split_ties, out)
    return out


def share_product(x: ShareSteps, n: int, y: ShareSteps, m: int, threads: int) -> Float64s:
    out = np.empty((n, m))
    _native.share_product(x, y, out, threads)
    return out


def argsort(values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
    ordered, order = np.empty_like(values), np.empty(len(values), np.int64)
    _native.argsort(values, ordered, order, threads)
    return ordered, order


def cost_events(cost: Float64s, mass: Float64s, jumps: Int64s, threads: int) -> Events:
    events = Events(np.empty(cost.size), np.empty(cost.size, np.uint32), np.empty(cost.size, np.int64), mass)
    _native.cost_events(cost, jumps, events.position, events.row, events.jump, threads)
    return events


def labelled_energies(moves: PlaceMoves, items: RowItems, in_x: NDArray[np.uint8], threads: int) -> Float64s:
    out = np.empty(len(in_x))
    _native.labelled_energies(moves, items, in_x, out, threads)
    return out


def level_averages(levels: Floats, grid: GridSpec) -> Float64s:
    found: Float64s = level_averages_of_spaces([np.ascontiguousarray(levels)], grid, 1)[0]
    return found


def level_averages_of_spaces(xs: list[Floats], grid: GridSpec, threads: int) -> Float64s:
    out = np.empty((len(xs), grid.cells_x, grid.cells_t))
    _native.level_averages(xs, grid, out, threads)
    return out


def quantile_averages(x: LevelMoves, mass: Float64s, shape: tuple[int, int]) -> Float64s:
    out = np.empty(shape)
    _native.quantile_averages(x, mass, out)
    return out


def event_averages(events: Events, grid: GridSpec) -> Float64s:
    out = np.empty((grid.cells_x, grid.cells_t))
    _native.event_averages(events, grid, out)
    return out


def multiply_left(a: SparseRows, x: Float32s, threads: int) -> Float32s:
    out = np.empty((len(a.start) - 1, x.shape[1]), np.float32)
    _native.multiply_left(a, x, out, threads)
    return out


def multiply_right(x: Float32s, transposed: SparseRows, threads: int) -> Float32s:
    out = np.empty((len(x), len(transposed.start) - 1), np.float32)
    _native.multiply_right(x, transposed, out, threads)
    return out


def pass_messages(
    first: EdgeRows,
    second: EdgeLanes,
    ratios: Float32s,
    plan: Float32s,
    free_ends: Float32s,
    rounds: int,
    threads: int,
    out: Float32s | None = None,
) -> tuple[Float32s, Float32s]:
    evidence = np.zeros_like(plan)
    out = np.empty_like(free_ends) if out is None else out
    _native.pass_messages(first, second, ratios, plan, free_ends, out, evidence, rounds, threads)
    return evidence, out


def count_links(first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> Int64s:
    counts = np.zeros(len(pairs.column), np.int64)
    _native.count_links(first, second, pairs, counts, threads)
    return counts


def link_pairs(first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> PairLinks:
    start = np.append(0, np.cumsum(count_links(first, second, pairs, threads)))
    links = PairLinks(start, *(np.empty(start[-1], np.int32) for _ in range(4)))
    _native.link_pairs(first, second, pairs, links, threads)
    return links


def pass_pair_messages(
    first: EdgeRows,
    second: EdgeRows,
    pairs: PairRows,
    links: PairLinks,
    ratios: Float32s,
    plan: Float32s,
    free_ends: Float32s,
    rounds: int,
    threads: int,
) -> tuple[Float32s, Float32s]:
    evidence, out = np.empty_like(plan), np.empty_like(free_ends)
    _native.pass_pair_messages(first, second, pairs, links, ratios, plan, free_ends, out, evidence, rounds, threads)
    return evidence, out


def sparse_solver(matrix: LowerRows) -> Callable[[Float64s], Float64s]:
    n = len(matrix.diagonal)
    parent, counts = np.empty(n, np.int32), np.zeros(n, np.int64)
    _native.factor_tree(matrix, parent, counts)
    start = np.append(0, np.cumsum(counts))
    factor = Factor(start, np.empty(start[-1], np.int32), np.empty(start[-1]), np.empty(n))
    _native.factorise(matrix, parent, factor)

    def solve(sides: Float64s) -> Float64s:
        out = np.array(sides, order="C")
        _native.substitute(factor, out)
        return out

    return solve
