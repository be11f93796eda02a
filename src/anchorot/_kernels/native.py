"""The C++ kernels (`native/`), with their results allocated here."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
    WeightedLevels,
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


def description() -> str:
    """Say which kernels these are."""
    return f"native ({_SIMD_LEVEL})"


def quantiles(matrix: Floats, threads: int, out: Floats | None = None) -> Floats:
    """Sort each row, transpose."""
    out = np.empty(matrix.shape[::-1], matrix.dtype) if out is None else out
    _native.quantiles(matrix, out, threads)
    return out


def level_energies(xs: list[Floats], ys: list[Floats], counts: Int64s) -> Float64s:
    """Anchor Energies of the first counts[j] spaces xs to every ys[j]."""
    out = np.full((len(xs), len(ys)), np.nan)
    _native.level_energies(xs, ys, counts, out)
    return out


def sweep_energies(xs: list[Events], ys: list[Events], counts: Int64s) -> Float64s:
    """Anchor Energies of the first counts[j] collections xs to every ys[j]."""
    out = np.full((len(xs), len(ys)), np.nan)
    _native.sweep_energies(xs, ys, counts, out)
    return out


def level_transports(xs: list[Floats], ys: list[Floats], counts: Int64s, p: int) -> Float64s:
    """SAW_p of the first counts[j] spaces xs to every ys[j]."""
    out = np.full((len(xs), len(ys)), np.nan)
    _native.level_transports(xs, ys, counts, p, out)
    return out


def sweep_transports(xs: list[Events], ys: list[Events], counts: Int64s) -> Float64s:
    """SAW_1 of the first counts[j] collections xs to every ys[j]."""
    out = np.full((len(xs), len(ys)), np.nan)
    _native.sweep_transports(xs, ys, counts, out)
    return out


def block_energies(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_cost: float, threads: int) -> Float64s:
    """Energy of every pair of blocks up to max_cost."""
    out = np.empty(len(pairs))
    _native.block_energies(x, y, pairs, max_cost, out, threads)
    return out


def block_profile(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_costs: Float64s, threads: int) -> Float64s:
    """Energy of all pairs of blocks together up to each of the max_costs."""
    out = np.empty(len(max_costs))
    _native.block_profile(x, y, pairs, max_costs, out, threads)
    return out


def vector_profile(x: VectorLevels, y: VectorLevels, max_costs: Float64s, threads: int) -> Float64s:
    """Energy of two collections of vectors up to each of the max_costs."""
    out = np.empty(len(max_costs))
    _native.vector_profile(x, y, max_costs, out, threads)
    return out


def sweep_profile(x: Events, y: Events, max_costs: Float64s, threads: int) -> Float64s:
    """Energy of two collections of weighted measures up to each of the max_costs."""
    out = np.empty(len(max_costs))
    _native.sweep_profile(x, y, max_costs, out, threads)
    return out


def weighted_gaps_of_pairs(
    xs: list[WeightedLevels], ys: list[WeightedLevels], counts: Int64s, power: int, max_cost: float
) -> Float64s:
    """Integrals of gaps of the first counts[j] collections xs to every ys[j]."""
    out = np.full((len(xs), len(ys)), np.nan)
    _native.weighted_gaps_of_pairs(xs, ys, counts, power, max_cost, out)
    return out


def periodic_distances(cell: Float64s, fraction: Float64s, kind: NDArray[np.uint32], species: int, k: int) -> Float64s:
    """Distances to the k nearest atoms of each species, over all periodic images."""
    out = np.empty((len(fraction), species * k))
    _native.periodic_distances(cell, fraction, kind, species, k, out)
    return out.reshape(len(fraction), species, k)


def l1_costs(x: Float64s, y: Float64s, threads: int) -> Float64s:
    """Transport costs (p = 1) between all columns of two quantile matrices."""
    out = np.empty((x.shape[1], y.shape[1]))
    _native.l1_costs(x, y, common_segments(len(x), len(y)), out, threads)
    return out


def step_costs(x: StepRows, y: StepRows, p: int, threads: int) -> Float64s:
    """Transport costs (any p) between all rows of two collections of weighted samples."""
    out = np.empty((len(x.value), len(y.value)))
    _native.step_costs(x, y, p, out, threads)
    return out


def level_shares(cost: Float64s, split_ties: bool) -> Float64s:
    """Share of the rows in which each column has each rank."""
    out = np.empty(cost.shape)
    _native.level_shares(cost, split_ties, out)
    return out


def share_product(x: ShareSteps, n: int, y: ShareSteps, m: int, threads: int) -> Float64s:
    """Integrals of the products of all shares in x and all shares in y."""
    out = np.empty((n, m))
    _native.share_product(x, y, out, threads)
    return out


def argsort(values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
    """Sorted values and the stable order that sorts them."""
    ordered, order = np.empty_like(values), np.empty(len(values), np.int64)
    _native.argsort(values, ordered, order, threads)
    return ordered, order


def cost_events(cost: Float64s, mass: Float64s, jumps: Int64s, threads: int) -> Events:
    """All entries of a matrix, sorted, as the events of its rows."""
    events = Events(np.empty(cost.size), np.empty(cost.size, np.uint32), np.empty(cost.size, np.int64), mass)
    _native.cost_events(cost, jumps, events.position, events.row, events.jump, threads)
    return events


def labelled_energies(moves: PlaceMoves, items: RowItems, in_x: NDArray[np.uint8], threads: int) -> Float64s:
    """Energy distance of the two collections that each labelling makes of a pool."""
    out = np.empty(len(in_x))
    _native.labelled_energies(moves, items, in_x, out, threads)
    return out


def level_averages(levels: Floats, grid: GridSpec) -> Float64s:
    """Averages of F(x, t) over cells, from levels."""
    out = np.empty((grid.cells_x, grid.cells_t))
    _native.level_averages(levels, grid, out)
    return out


def quantile_averages(x: LevelMoves, mass: Float64s, shape: tuple[int, int]) -> Float64s:
    """Averages of G(s, t) over cells of levels and shares, from moves."""
    out = np.empty(shape)
    _native.quantile_averages(x, mass, out)
    return out


def event_averages(events: Events, grid: GridSpec) -> Float64s:
    """Averages of F(x, t) over cells, from events."""
    out = np.empty((grid.cells_x, grid.cells_t))
    _native.event_averages(events, grid, out)
    return out


def multiply_left(a: SparseRows, x: Float32s, threads: int) -> Float32s:
    """Multiply a dense matrix by a sparse one on its left."""
    out = np.empty((len(a.start) - 1, x.shape[1]), np.float32)
    _native.multiply_left(a, x, out, threads)
    return out


def multiply_right(x: Float32s, transposed: SparseRows, threads: int) -> Float32s:
    """Multiply a dense matrix by a sparse one on its right."""
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
    """One round of belief propagation on pairs of edges."""
    evidence = np.zeros_like(plan)
    out = np.empty_like(free_ends) if out is None else out
    _native.pass_messages(first, second, ratios, plan, free_ends, out, evidence, rounds, threads)
    return evidence, out


def count_links(first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> Int64s:
    """(pairs,): how many links each pair has."""
    counts = np.zeros(len(pairs.column), np.int64)
    _native.count_links(first, second, pairs, counts, threads)
    return counts


def link_pairs(first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> PairLinks:
    """Links between candidate pairs of nodes."""
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
    """One round of belief propagation on links between candidate pairs."""
    evidence, out = np.empty_like(plan), np.empty_like(free_ends)
    _native.pass_pair_messages(first, second, pairs, links, ratios, plan, free_ends, out, evidence, rounds, threads)
    return evidence, out


def sparse_solver(matrix: LowerRows) -> Callable[[Float64s], Float64s]:
    """Factorise a positive definite matrix A: a function from B (n, k) to A^-1 B."""
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
