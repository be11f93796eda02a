r"""Energy distances between collections of measures with OT_2, unsquared, as the ground distance.

W_2(h, g) = |Q_h - Q_g| is the L2 distance of quantile functions. So collections are distributions in a Hilbert space,
whose distance is of strong negative type (Lyons, Distance covariance in metric spaces, 2013): the energy distance

    2 E|Q_h - Q_g| - E|Q_h - Q_h'| - E|Q_g - Q_g'|

is 0 for equal collections only. With W_1, the L1 distance, that does not hold: it sees the distributions of Q_h(t) for
every level t, but not which values of different levels belong to one measure.

For a white noise θ on [0, 1] the number <θ, Q_h - Q_g> is normal with deviation |Q_h - Q_g|, hence its absolute value
is sqrt(2 / π) |Q_h - Q_g| on average. So sqrt(π / 2) times the energy distance of the projections <θ, Q>, numbers on
the line, is right on average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels
from anchorot._kernels.records import StepRows
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_integer, check_memory, check_overflow, check_threads
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.rows import AnchorRows
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, heavy_part

SpaceOrFeatures = Space | AnchorFeatures | ArrayLike

GROUNDS = ("w1", "w2")
MOST_LEVELS = 4  # times the steps of a measure: with more levels in common, merges of two measures take less time
NEAR = 1e-6  # of two squared norms: a smaller squared distance has lost digits as their difference
ROWS = 64  # that are merged with all others at a time
BLOCK = 1 << 20  # numbers that are worked on at a time


@dataclass(frozen=True)
class ProjectedEnergy:
    """An energy distance estimated from random projections.

    Attributes
    ----------
    value : float
        Mean over the projections; never negative, and right on average.
    standard_error : float
        Standard deviation of the value over other draws of as many projections.
    n_projections : int
        How many projections were drawn.
    """

    value: float
    standard_error: float
    n_projections: int


def projected_energy(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    *,
    robust: bool = False,
    n_projections: int = 100,
    rng: RngLike = None,
    threads: int = 1,
) -> ProjectedEnergy:
    """Estimate ``anchor_energy(x, y, ground="w2")`` from random projections of the anchors' quantile functions.

    Every projection takes O(n²) time, where the exact distance takes O(n³). It is the energy distance of numbers on the
    line, one an anchor, and never negative.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
        A bare cost matrix stands for a uniform space.
    robust : bool
        Compare the ranks of the costs instead of the costs.
    n_projections : int >= 2
        The standard error falls as its root.
    rng : None, int or numpy.random.Generator
        Source of randomness for the projections.
    threads : int
        Threads to sort with; the answer does not depend on it.

    Returns
    -------
    ProjectedEnergy

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> found = ao.projected_energy(line, triangle, n_projections=1000, rng=0)
    >>> abs(found.value - 0.5132) < 3 * found.standard_error < 0.05
    True
    """
    count = check_integer(n_projections, "n_projections", 2)
    rows, signed = _anchors(x, y, robust, check_threads(threads))
    rows, signed, unit = _ready(rows, signed)
    generator = np.random.default_rng(rng)
    found = np.concatenate([_energies_on_the_line(values, signed) for values in _projections(rows, count, generator)])
    found *= math.sqrt(math.pi / 2)
    with np.errstate(over="ignore"):
        value, error = float(found.mean() * unit), float(found.std(ddof=1) / math.sqrt(count) * unit)
    check_overflow(value, 1)
    return ProjectedEnergy(value, error, count)


def space_energy(x: SpaceOrFeatures, y: SpaceOrFeatures, robust: bool, threads: int) -> float:
    """Energy distance of two spaces' anchors with W_2 as ground distance, exactly."""
    rows, signed = _anchors(x, y, robust, threads)
    return ground_energy(rows, signed, threads)


def ground_energy(rows: StepRows, signed: Float64s, threads: int) -> float:
    """-Σ_ij s_i s_j W_2(row i, row j), the energy distance of collections with masses s of either sign."""
    rows, signed, unit = _ready(rows, signed)
    costs = _distances(rows, threads)
    with np.errstate(over="ignore"):
        energy = unit * max(float(-signed @ costs @ signed), 0.0)
    check_overflow(float(energy), 1)
    return float(energy)


def ground_distances(rows: StepRows, threads: int) -> Float64s:
    """Return W_2 between all measures; shape (rows, rows)."""
    rows, unit = _in_units(rows)
    distinct, own = _distinct(rows)
    with np.errstate(over="ignore"):
        costs = _distances(distinct, threads) * unit
    check_overflow(costs, 1)
    return costs[np.ix_(own, own)]


def _anchors(x: SpaceOrFeatures, y: SpaceOrFeatures, robust: bool, threads: int) -> tuple[StepRows, Float64s]:
    """The anchors of both spaces and their masses, those of y negative."""
    spaces = [_space(side, robust) for side in (x, y)]
    check_memory(sum(space.n for space in spaces), 48, "W2 distances between the anchors of")
    of_x, of_y = (_heavy_rows(space, threads) for space in spaces)
    return _joined(of_x.steps, of_y.steps), np.append(of_x.weights, -of_y.weights)


def _space(side: SpaceOrFeatures, robust: bool) -> Space:
    if isinstance(side, AnchorFeatures):
        raise InputError("W2 needs spaces: AnchorFeatures keep every level by itself, which is all that W1 sees")
    return as_space(side, robust=robust)


def _heavy_rows(space: Space, threads: int) -> AnchorRows:
    """Anchors of positive weight; unequal weights stay as they are: divided by their sum they would round anew."""
    part = heavy_part(space)
    return AnchorRows.of(part if part.is_uniform else space, threads).heavy()


def _joined(x: StepRows, y: StepRows) -> StepRows:
    """Both in one; the shorter ones stay at their last value, over no level at all."""
    longest = max(x.value.shape[1], y.value.shape[1])
    padded = ([np.pad(a, [(0, 0), (0, longest - a.shape[1])], mode="edge") for a in rows] for rows in (x, y))
    (value_x, end_x), (value_y, end_y) = padded
    return StepRows(np.concatenate([value_x, value_y]), np.concatenate([end_x, end_y]))


def _ready(rows: StepRows, signed: Float64s) -> tuple[StepRows, Float64s, float]:
    """In units in which squares are floats, with equal measures joined: what both collections have drops out."""
    rows, unit = _in_units(rows)
    distinct, own = _distinct(rows)
    # each side by itself: equal masses of both then cancel to the last bit
    joined = np.bincount(own, np.maximum(signed, 0)) - np.bincount(own, np.maximum(-signed, 0))
    kept = joined != 0
    return StepRows(distinct.value[kept], distinct.end[kept]), joined[kept], unit


def _in_units(rows: StepRows) -> tuple[StepRows, float]:
    """Divide values by a power of two, which rounds nothing; the largest is then below 1."""
    unit = math.ldexp(1.0, min(int(np.frexp(np.abs(rows.value).max())[1]), 1023))
    return StepRows(rows.value / unit + 0.0, rows.end), unit  # + 0.0: of the two zeros the positive one


def _distinct(rows: StepRows) -> tuple[StepRows, Int64s]:
    """Measures that differ, and for each measure which of them it is."""
    first, own = _numbered([value.tobytes() + end.tobytes() for value, end in zip(*rows, strict=True)])
    return StepRows(rows.value[first], rows.end[first]), own


def _numbered(keys: list[bytes]) -> tuple[Int64s, Int64s]:
    """Where each different key first stands, and for every key which of these it is."""
    numbers: dict[bytes, int] = {}
    own = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    return np.unique(own, return_index=True)[1], own


def _distances(rows: StepRows, threads: int) -> Float64s:
    if not len(rows.value):
        return np.zeros((0, 0))
    points = _on_common_levels(rows)
    return _merged(rows, threads) if points is None else _euclidean(points)


def _merged(rows: StepRows, threads: int) -> Float64s:
    """Distances between all measures by merges of two at a time, on one side of the diagonal."""
    count = len(rows.value)
    costs = np.empty((count, count))
    for begin in range(0, count, ROWS):
        end = min(begin + ROWS, count)
        some, rest = (StepRows(rows.value[begin:stop], rows.end[begin:stop]) for stop in (end, count))
        costs[begin:end, begin:] = kernels.step_costs(some, rest, 2, threads)
        costs[begin:, begin:end] = costs[begin:end, begin:].T
    return np.sqrt(costs, out=costs)


def _on_common_levels(rows: StepRows) -> Float64s | None:
    """Quantiles on the levels of all measures, times roots of widths, so that W_2 is Euclidean; None if too many."""
    first, own = _numbered([end.tobytes() for end in rows.end])
    levels = np.unique(rows.end[first])
    if len(levels) > MOST_LEVELS * rows.end.shape[1]:
        return None
    at = np.stack([np.searchsorted(end, levels) for end in rows.end[first]])
    points: Float64s = np.take_along_axis(rows.value, at[own], axis=1)
    points -= points.mean(axis=0)  # the products below then cancel as little as they can
    points *= np.sqrt(np.diff(levels, prepend=0.0))
    return points


def _euclidean(points: Float64s) -> Float64s:
    """Distances between all points by one product of matrices; those of near ones from their differences."""
    norms = np.einsum("il,il->i", points, points)
    sums = norms[:, None] + norms
    squares = points @ points.T
    squares *= -2
    squares += sums
    near, other = np.nonzero(np.triu(squares <= NEAR * sums))
    step = max(1, BLOCK // points.shape[1])
    for begin in range(0, len(near), step):
        i, j = near[begin : begin + step], other[begin : begin + step]
        gap = points[i] - points[j]
        squares[i, j] = squares[j, i] = np.einsum("kl,kl->k", gap, gap)
    return np.sqrt(squares, out=squares)


def _projections(rows: StepRows, count: int, generator: np.random.Generator) -> Iterator[Float64s]:
    """Yield <θ, Q> of every measure for white noises θ; shape (measures, projections of this block)."""
    points = _on_common_levels(rows) if len(rows.value) else np.zeros((0, 1))
    if points is not None:
        step = max(1, BLOCK // max(points.shape))
        for begin in range(0, count, step):
            yield points @ generator.normal(size=(points.shape[1], min(step, count - begin)))
        return
    levels, at = np.unique(rows.end, return_inverse=True)
    at = at.reshape(rows.end.shape)
    root, value = np.sqrt(np.diff(levels, prepend=0.0)), rows.value - rows.value.mean()
    for _ in range(count):
        motion = np.cumsum(root * generator.normal(size=len(levels)))  # ∫_0^t θ
        yield np.einsum("il,il->i", value, np.diff(motion[at], axis=1, prepend=0.0))[:, None]


def _energies_on_the_line(values: Float64s, signed: Float64s) -> Float64s:
    """2 ∫ D² of each column, D(x) the signed mass up to x; values and masses stand row by row."""
    order = np.argsort(values, axis=0, kind="stable")
    masses = np.cumsum(signed[order], axis=0)[:-1]
    gaps = np.diff(np.take_along_axis(values, order, axis=0), axis=0)
    energies: Float64s = 2 * np.sum(masses * masses * gaps, axis=0)
    return energies
