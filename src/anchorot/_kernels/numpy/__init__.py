"""The kernels in NumPy: the same algorithms, vectorised, for machines without a compiler; see `protocol`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels import powers
from anchorot._kernels.numpy import clouds, labelled, networks, pair_links, periodic, transport, weighted
from anchorot._kernels.powers import block_sweep, blocks_of
from anchorot._kernels.records import (
    Events,
    GridSpec,
    LevelBlocks,
    LowerRows,
    ShareSteps,
    StepRows,
    VectorLevels,
    WeightedLevels,
    common_segments,
    from_heights,
    heights_after,
    tie_blocks,
)
from anchorot._typing import Float64s, Floats, Int64s

# what has its own file
cloud_costs = clouds.cloud_costs
euclidean = clouds.euclidean
space_levels = clouds.space_levels
count_links = pair_links.count_links
link_pairs = pair_links.link_pairs
multiply_left = networks.multiply_left
multiply_right = networks.multiply_right
pass_messages = networks.pass_messages
pass_pair_messages = pair_links.pass_pair_messages
spread = networks.spread
tilt_plan = networks.tilt_plan
labelled_energies = labelled.labelled_energies
labelled_steps = labelled.labelled_steps
level_transport = transport.level_transport
periodic_distances = periodic.periodic_distances
sweep_transport = transport.sweep_transport
level_sweep_transport = transport.level_sweep_transport
quantile_averages = transport.quantile_averages
weighted_gaps = weighted.weighted_gaps
weighted_transport = weighted.weighted_transport


def description() -> str:
    return "numpy"


def quantiles(matrix: Floats, threads: int, out: Floats | None = None) -> Floats:
    out = np.empty(matrix.shape[::-1], matrix.dtype) if out is None else out
    out[:] = np.sort(matrix, axis=1).T
    return out


def sort_rows(matrix: Floats, threads: int) -> None:
    matrix.sort(axis=1)


def level_energy(x: Floats, y: Floats, threads: int) -> float:
    """Integrate the energy distance of the two samples x[k], y[l] over the common refinement of the levels."""
    return powers.level_energy(x, y, 1)


def level_energies(xs: list[Floats], ys: list[Floats], counts: Int64s) -> Float64s:
    return _all_pairs(xs, ys, counts, lambda x, y: level_energy(x, y, 1))


def sweep_energies(xs: list[Events], ys: list[Events], counts: Int64s) -> Float64s:
    return _all_pairs(xs, ys, counts, lambda x, y: sweep_energy(x, y, 1))


def level_transports(xs: list[Floats], ys: list[Floats], counts: Int64s, p: int) -> Float64s:
    return _all_pairs(xs, ys, counts, lambda x, y: level_transport(x, y, p, 1))


def sweep_transports(xs: list[Events], ys: list[Events], counts: Int64s) -> Float64s:
    return _all_pairs(xs, ys, counts, lambda x, y: sweep_transport(x, y, 1))


def weighted_gaps_of_pairs(
    xs: list[WeightedLevels], ys: list[WeightedLevels], counts: Int64s, power: int, max_cost: float
) -> Float64s:
    return _all_pairs(xs, ys, counts, lambda x, y: weighted_gaps(x, y, power, max_cost, 1))


def _all_pairs(xs: list[Any], ys: list[Any], counts: Int64s, compare: Callable[[Any, Any], float]) -> Float64s:
    out = np.full((len(xs), len(ys)), np.nan)
    for j, y in enumerate(ys):
        out[: counts[j], j] = [compare(x, y) for x in xs[: counts[j]]]
    return out


def l1_costs(x: Float64s, y: Float64s, threads: int) -> Float64s:
    """Transport costs (p = 1) between all columns of two quantile matrices: SciPy's cityblock distance."""
    from scipy.spatial.distance import cdist

    k, l, width = common_segments(len(x), len(y))
    out = np.zeros((x.shape[1], y.shape[1]))
    for block in blocks_of(len(width), x.shape[1] + y.shape[1]):
        scaled = [np.ascontiguousarray((q[at[block]] * width[block, None]).T) for q, at in ((x, k), (y, l))]
        out += cdist(*scaled, "cityblock")
    return out


def step_costs(x: StepRows, y: StepRows, p: int, threads: int) -> Float64s:
    """Transport costs (any p) between all rows, one row of x against all of y at a time."""
    n, m = x.value.shape[1], y.value.shape[1]
    out = np.empty((len(x.value), len(y.value)))
    for i, (value, end) in enumerate(zip(*x, strict=True)):
        ends = np.concatenate([np.broadcast_to(end, (len(y.end), n)), y.end], axis=1)
        order = np.argsort(ends, axis=1, kind="stable")
        width = np.diff(np.take_along_axis(ends, order, axis=1), axis=1, prepend=0.0)
        from_x = order < n
        # How many steps of each ended before: the step that holds at this width.
        at_x = np.minimum(np.cumsum(from_x, axis=1) - from_x, n - 1)
        at_y = np.minimum(np.cumsum(~from_x, axis=1) - ~from_x, m - 1)
        with np.errstate(over="ignore"):  # a value beyond the range of floats is infinite
            gap = np.abs(value[at_x] - np.take_along_axis(y.value, at_y, axis=1))
            powers = np.multiply(width, gap**p, out=np.zeros_like(width), where=width > 0)
        out[i] = np.sum(powers, axis=1)
    return out


def level_shares(cost: Float64s, split_ties: bool) -> Float64s:
    n = len(cost)
    order = np.argsort(cost, axis=1, kind="stable")
    if split_ties:
        first, end = tie_blocks(np.take_along_axis(cost, order, axis=1))
    else:
        first = np.broadcast_to(np.arange(n), cost.shape)
        end = first + 1
    # A block of equal costs spreads 1 / (n size) over its levels: added where it begins, subtracted where it ends.
    share = (1 / (n * (end - first))).ravel()
    begin = np.bincount((first * n + order).ravel(), share, minlength=n * (n + 1))
    finish = np.bincount((end * n + order).ravel(), share, minlength=n * (n + 1))
    return np.maximum(np.cumsum((begin - finish).reshape(n + 1, n)[:-1], axis=0), 0)


def share_product(x: ShareSteps, n: int, y: ShareSteps, m: int, threads: int) -> Float64s:
    """Integrals of the products of all shares in x and all shares in y: -Σ step_x G_y(level_x), G_y the primitive."""
    out = np.zeros((n, m))
    for l in range(m):
        own = y.point == l
        knots, height = y.level[own], np.cumsum(y.step[own])
        if len(knots):
            primitive = np.append(0.0, np.cumsum(height[:-1] * np.diff(knots)))
            out[:, l] = -np.bincount(x.point, x.step * np.interp(x.level, knots, primitive), minlength=n)
    return out


def argsort(values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
    order = np.argsort(values, kind="stable")
    return values[order], order


def cost_events(cost: Float64s, mass: Float64s, jumps: Int64s, threads: int) -> Events:
    position, order = argsort(cost.ravel(), threads)
    row, column = np.divmod(order, cost.shape[1])
    return Events(position, row.astype(np.uint32), jumps[column], mass)


@np.errstate(over="ignore", invalid="ignore")
def sweep_energy(x: Events, y: Events, threads: int) -> float:
    """Sweep over the positions; the CDF heights are the values that move."""
    order = np.argsort(np.concatenate([x.position, y.position]), kind="stable")
    position = np.concatenate([x.position, y.position])[order]
    row = np.concatenate([x.row, y.row + np.uint32(len(x.mass))])[order]
    jump = np.concatenate([x.jump, y.jump])[order]
    after = heights_after(row, jump)
    signed_mass = np.concatenate([x.mass, -y.mass])
    return block_sweep(
        time=position,
        row=row,
        before=from_heights(after - jump),
        after=from_heights(after),
        start=np.zeros(len(signed_mass)),
        signed_mass=signed_mass,
        p=1,
        span=(position[0], position[-1]),
    )


def sweep_profile(x: Events, y: Events, max_costs: Float64s, power: int, threads: int) -> Float64s:
    """Sweep up to each of the max_costs: what lies beyond it is as good as at it."""

    def short(side: Events, max_cost: float) -> Events:
        return side._replace(position=np.minimum(side.position, max_cost))

    sweep = sweep_transport if power == 1 else sweep_energy
    return np.array([sweep(short(x, max_cost), short(y, max_cost), threads) for max_cost in max_costs])


def block_energies(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_cost: float, threads: int) -> Float64s:
    """Energy of every pair of blocks up to max_cost."""
    return np.array([_pair_profile(x, y, pair, np.array([max_cost]), 2)[0] for pair in pairs])


def block_profile(
    x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_costs: Float64s, power: int, threads: int
) -> Float64s:
    return np.sum([_pair_profile(x, y, pair, max_costs, power) for pair in pairs], axis=0)


def vector_profile(x: VectorLevels, y: VectorLevels, max_costs: Float64s, threads: int) -> Float64s:
    vectors = np.concatenate([x.vectors, -y.vectors])
    total = np.zeros(len(max_costs))
    at_x, at_y, width = common_segments(len(x.levels), len(y.levels))
    for block in blocks_of(len(width), (x.levels.shape[1] + y.levels.shape[1]) * x.vectors.shape[1]):
        merged = np.concatenate([x.levels[at_x[block]], y.levels[at_y[block]]], axis=1)
        anchor = np.concatenate([x.anchor[at_x[block]], y.anchor[at_y[block]] + np.uint32(len(x.vectors))], axis=1)
        order = np.argsort(merged, axis=1, kind="stable")
        d = np.cumsum(vectors[np.take_along_axis(anchor, order, axis=1)], axis=1)
        places = np.take_along_axis(merged, order, axis=1)
        total += _up_to(max_costs, places, 2, np.einsum("ijk,ijk->ij", d, d), width[block])
    return total


def _pair_profile(x: LevelBlocks, y: LevelBlocks, pair: Int64s, max_costs: Float64s, power: int) -> Float64s:
    (levels_x, mass_x), (levels_y, mass_y) = _block(x, pair[0]), _block(y, pair[1])
    n, m = levels_x.shape[1], levels_y.shape[1]
    total = np.zeros(len(max_costs))
    at_x, at_y, width = common_segments(len(levels_x), len(levels_y))
    for block in blocks_of(len(width), n + m):
        merged = np.concatenate([levels_x[at_x[block]], levels_y[at_y[block]]], axis=1)
        order = np.argsort(merged, axis=1, kind="stable")
        taken_x = np.cumsum(order < n, axis=1)
        d = taken_x * mass_x - (np.arange(1, n + m + 1) - taken_x) * mass_y
        places = np.take_along_axis(merged, order, axis=1)
        total += _up_to(max_costs, places, power, np.abs(d) ** power, width[block])
    return total


def _block(blocks: LevelBlocks, index: int) -> tuple[Float64s, float]:
    """Levels of a block, and the mass of each of its numbers; -1 is one level without numbers."""
    if index < 0:
        return np.empty((1, 0)), 0.0
    start, levels, count = blocks.shape[index]
    return blocks.numbers[start : start + levels * count].reshape(levels, count), float(blocks.mass[index])


@np.errstate(over="ignore", invalid="ignore")  # as in C++, what overflows is infinite or NaN; callers refuse it
def _up_to(max_costs: Float64s, places: Float64s, factor: int, heights: Float64s, width: Float64s) -> Float64s:
    """Integrals up to each max_cost: from places[s, k] to the next place the integrand is factor · heights[s, k].

    AE is 2 ∬ D², SAW_1 is ∬ |D|.
    """
    if places.shape[1] == 0:
        return np.zeros(len(max_costs))
    found = []
    for max_cost in max_costs:
        ends = np.minimum(np.append(places[:, 1:], np.full((len(places), 1), max_cost), axis=1), max_cost)
        found.append(factor * float(width @ np.sum(np.maximum(ends - places, 0) * heights, axis=1)))
    return np.array(found)


def level_averages(levels: Floats, grid: GridSpec) -> Float64s:
    """First integrate over each cell of x at every level, then over the levels in each cell of t."""
    count, anchors = levels.shape
    along_x = np.empty((count, grid.cells_x))
    for block in blocks_of(count, anchors):
        part = levels[block]
        group = np.repeat(np.arange(len(part)), anchors)
        along_x[block] = _integrals(part.ravel(), group, np.full(part.size, 1 / anchors), len(part), grid)
    height = grid.cells_t / count  # of a level, in units of a cell
    start = np.arange(count) * height
    cell = np.arange(grid.cells_t)[:, None]
    overlap = np.maximum(np.minimum(start + height, cell + 1) - np.maximum(start, cell), 0)
    return along_x.T @ overlap.T


def level_averages_of_spaces(xs: list[Floats], grid: GridSpec, threads: int) -> Float64s:
    """Averages of each space."""
    return np.array([level_averages(x, grid) for x in xs])


def event_averages(events: Events, grid: GridSpec) -> Float64s:
    """An anchor's quantile stays at a jump's position for the levels that the jump covers: cut those at cells of t."""
    cells_t = grid.cells_t
    after = heights_after(events.row, events.jump)
    top = np.minimum(from_heights(after) * cells_t, cells_t)
    bottom = np.minimum(from_heights(after - events.jump) * cells_t, cells_t)
    first = np.minimum(bottom.astype(np.intp), cells_t - 1)
    pieces = np.maximum(np.ceil(top).astype(np.intp) - first, 1)
    total = np.zeros((cells_t, grid.cells_x))
    for block in blocks_of(len(top), 1):
        event = np.repeat(np.arange(len(top))[block], pieces[block])
        begin = np.cumsum(pieces[block]) - pieces[block]
        cell = first[event] + np.arange(len(event)) - np.repeat(begin, pieces[block])
        share = np.maximum(np.minimum(top[event], cell + 1) - np.maximum(bottom[event], cell), 0)
        total += _integrals(events.position[event], cell, events.mass[events.row[event]] * share, cells_t, grid)
    return np.ascontiguousarray(total.T)


def sparse_solver(matrix: LowerRows) -> Callable[[Float64s], Float64s]:
    """Factorise by SuperLU, without pivots; its BLAS may round several columns otherwise than one, so one at a time."""
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    n = len(matrix.diagonal)
    above = csc_array((matrix.value, matrix.column, matrix.start), shape=(n, n))
    whole = (above + above.T + diags_array(matrix.diagonal)).tocsc()
    factor = splu(whole, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return lambda sides: np.stack([factor.solve(np.ascontiguousarray(side)) for side in sides.T], axis=1)


def _integrals(position: Floats, group: NDArray[np.intp], mass: Float64s, groups: int, grid: GridSpec) -> Float64s:
    """Integrals over the cells of x, in units of a cell, of each group's Σ mass [position <= x].

    A mass counts whole in all cells right of its own, and in its own for the part right of it. What lies left of the
    range counts whole everywhere; what lies right of it has an extra cell that is cut off.
    """
    cells = grid.cells_x
    low, high = 0.5 * grid.low, 0.5 * grid.high  # halves, so that no difference overflows
    with np.errstate(over="ignore"):  # what is infinitely far outside is just outside
        x = np.clip((0.5 * position.astype(np.float64) - low) * (cells / (high - low)), 0, cells)
    cell = x.astype(np.intp)
    place = group * (cells + 1) + cell
    size = groups * (cells + 1)
    whole = np.bincount(place, mass, minlength=size).reshape(groups, cells + 1)[:, :-1]
    part = np.bincount(place, mass * (cell + 1 - x), minlength=size).reshape(groups, cells + 1)[:, :-1]
    return np.cumsum(whole, axis=1, dtype=np.float64) - whole + part
