"""The kernels in NumPy: the same algorithms, vectorised, for machines without a compiler."""

import numpy as np

from anchorot._kernels.numpy import blocks, networks, sweep
from anchorot._kernels.numpy.blocks import blocks_of
from anchorot._kernels.numpy.sweep import block_sweep, gap_energy, scale_back, scale_of, span_of
from anchorot._kernels.records import (
    Events,
    LevelMoves,
    ShareSteps,
    StepRows,
    common_segments,
    from_heights,
    heights_after,
    tie_blocks,
)
from anchorot._typing import Float64s, Floats, Int64s

# what has a file of its own
block_energies = blocks.block_energies
block_profile = blocks.block_profile
event_averages = blocks.event_averages
level_averages = blocks.level_averages
vector_profile = blocks.vector_profile
multiply_left = networks.multiply_left
multiply_right = networks.multiply_right
pass_messages = networks.pass_messages
spread = networks.spread
tilt_plan = networks.tilt_plan
labelled_energies = sweep.labelled_energies
labelled_steps = sweep.labelled_steps


def description() -> str:
    """Say which kernels these are."""
    return "numpy"


def quantiles(matrix: Floats, threads: int, out: Floats | None = None) -> Floats:
    """Sort each row, transpose."""
    out = np.empty(matrix.shape[::-1], matrix.dtype) if out is None else out
    out[:] = np.sort(matrix, axis=1).T
    return out


def sort_rows(matrix: Floats, threads: int) -> None:
    """Sort each row in place."""
    matrix.sort(axis=1)


@np.errstate(over="ignore", invalid="ignore")  # as in C++, what overflows is infinite or NaN; callers refuse it
def level_energy(x: Floats, y: Floats, p: int, threads: int) -> float:
    """Integrate the energy distance of the two samples x[k], y[l] over the common refinement of the levels."""
    span = span_of(x[[0, -1]], y[[0, -1]])
    if span == np.inf:
        return np.inf
    scale = scale_of(span) if p >= 3 else 0
    (levels_x, n), (levels_y, m) = x.shape, y.shape
    at_x, at_y, width = common_segments(levels_x, levels_y)
    energy = np.empty(len(width))
    for block in blocks_of(len(width), n + m):
        merged = np.concatenate([x[at_x[block]], y[at_y[block]]], axis=1).astype(np.float64, copy=False)
        order = np.argsort(merged, axis=1, kind="stable")
        # D after each number, in units of 1 / (n m): exact
        d = np.cumsum(np.where(order < n, m, -n), axis=1)[:, :-1] / (n * m)
        gaps = np.ldexp(np.diff(np.take_along_axis(merged, order, axis=1), axis=1), -scale)
        energy[block] = gap_energy(gaps, d, p)
    return scale_back(float(width @ energy), scale, p)


def level_energies(xs: list[Floats], y: Floats, p: int) -> Float64s:
    """Anchor Energies of several spaces to one."""
    return np.array([level_energy(x, y, p, 1) for x in xs])


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
    """Share of the rows in which each column has each rank."""
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
    """Sorted values and the stable order that sorts them."""
    order = np.argsort(values, kind="stable")
    return values[order], order


def cost_events(cost: Float64s, mass: Float64s, jumps: Int64s, threads: int) -> Events:
    """All entries of a matrix, sorted, as the events of its rows."""
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


def sweep_profile(x: Events, y: Events, reaches: Float64s, threads: int) -> Float64s:
    """Sweep up to each reach: what lies beyond it is as good as at it."""

    def short(side: Events, reach: float) -> Events:
        return side._replace(position=np.minimum(side.position, reach))

    return np.array([sweep_energy(short(x, reach), short(y, reach), threads) for reach in reaches])


@np.errstate(over="ignore", invalid="ignore")
def level_sweep_energy(moves: LevelMoves, signed_mass: Float64s, p: int, threads: int) -> float:
    """Sweep over the levels; the quantiles are the values that move."""
    time, row, before, after, start = moves
    return block_sweep(time, row, before, after, start, signed_mass, p, span=(0.0, 1.0))
