r"""Energy distances between collections of measures with OT_2, unsquared, as the ground distance.

W_2(h, g) = |Q_h - Q_g| is the L2 distance of quantile functions. So collections are distributions in a Hilbert space,
whose distance is of strong negative type (Lyons, Distance covariance in metric spaces, 2013): the energy distance

    2 E|Q_h - Q_g| - E|Q_h - Q_h'| - E|Q_g - Q_g'|

is 0 for equal collections only. With W_1, the L1 distance, that does not hold: it sees the distributions of Q_h(t) for
every level t, but not which values of different levels belong to one measure.

On levels that all measures have in common it is the Euclidean distance of vectors, and all distances are one product of
matrices; elsewhere measures are merged two at a time. The product is made block by block, on one side of the diagonal.

It can be estimated from random projections. For a white noise θ on [0, 1] the number <θ, Q_h - Q_g> is normal with
deviation |Q_h - Q_g| = W_2(h, g), hence its absolute value is sqrt(2 / π) W_2 on average. So sqrt(π / 2) times the
energy distance of the projections <θ, Q>, numbers on the line, is right on average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels
from anchorot._kernels.records import StepRows, common_segments
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_choice, check_integer, check_memory, check_overflow, check_rng, check_threads
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.rows import BLOCK_NUMBERS, MIN_SQUARE_SHARE, AnchorRows, mend_near
from anchorot.exceptions import InputError
from anchorot.rows import Rows as SpaceRows
from anchorot.space import Space, as_space

GROUNDS = ("w1", "w2")
NOT_WITH_W2 = "ground='w2' goes with p=1 and method='auto' only, and with neither attributes nor max_cost"
MOST_LEVELS = 4  # times the steps of a measure: with more levels in common, merges of two measures take less time
ROWS = 64  # that are merged with all others at a time
FOLDED = math.sqrt(math.pi / 2)  # 1 / E|N(0, 1)|

SpaceOrFeatures = Space | AnchorFeatures | ArrayLike


class Curves(NamedTuple):
    """Quantile functions on levels in common: value[i, l] over a range of levels of width[l]."""

    value: Float64s
    width: Float64s


Rows = StepRows | Curves


def is_w2(ground: str, *, alone: bool) -> bool:
    """Whether the ground is W_2; it is refused beside options that it does not take."""
    if check_choice(ground, "ground", GROUNDS) == "w1":
        return False
    if not alone:
        raise InputError(NOT_WITH_W2)
    return True


def ground_rows(side: SpaceOrFeatures, robust: bool, threads: int) -> AnchorRows:
    """The anchors of positive weight; unequal weights stay as they are: divided by their sum they would round anew."""
    if isinstance(side, AnchorFeatures):
        raise InputError("W2 needs spaces: AnchorFeatures sort every level separately, which is enough for W1 only")
    if isinstance(side, SpaceRows):
        return AnchorRows.of(side.ranked() if robust else side, threads)
    space = as_space(side, robust=robust)
    part = space.support()
    return AnchorRows.of(part if part.is_uniform else space, threads).heavy()


def rows_energy(x: AnchorRows, y: AnchorRows, threads: int) -> float:
    """Energy distance of two spaces from their anchors."""
    return ground_energy(*both_anchors(x, y), threads)


def both_anchors(x: AnchorRows, y: AnchorRows) -> tuple[Rows, Float64s]:
    """The anchors of both spaces and their masses, those of y negative."""
    check_memory(x.n + y.n, 32, "W2 distances between the anchors of")
    return _join_anchors(x, y), np.append(x.weights, -y.weights)


def ground_energy(rows: Rows, signed: Float64s, threads: int) -> float:
    """-Σ_ij s_i s_j W_2(row i, row j), the energy distance of collections with masses s of either sign."""
    rows, signed, unit = ready(rows, signed)
    total = 0.0
    for begin, costs in _blocks(rows, threads):
        size = len(costs)
        own, rest = signed[begin : begin + size], signed[begin + size :]
        total += float(own @ costs[:, :size] @ own) + 2 * float(own @ costs[:, size:] @ rest)
    with np.errstate(over="ignore"):
        energy = unit * max(0.0, -total)  # in this order: never -0.0
    check_overflow(energy, 1)
    return energy


def ground_distances(rows: StepRows, threads: int) -> Float64s:
    """Return W_2 between all measures; shape (rows, rows)."""
    scaled, unit = _in_units(rows)
    distinct, own = _distinct(scaled)
    costs = np.empty((len(distinct.value),) * 2)
    for begin, block in _blocks(distinct, threads):
        end = begin + len(block)
        costs[begin:end, begin:] = block
        costs[begin:, begin:end] = block.T
    with np.errstate(over="ignore"):
        costs *= unit
    check_overflow(costs, 1)
    return costs[np.ix_(own, own)]


def ready(rows: Rows, signed: Float64s) -> tuple[Rows, Float64s, float]:
    """In units in which squares are floats, with equal measures joined: what both collections have drops out."""
    scaled, unit = _in_units(rows)
    distinct, own = _distinct(scaled)
    # each side by itself: equal masses of both then cancel to the last bit
    sides = [np.bincount(own, np.maximum(masses, 0)).astype(np.float64) for masses in (signed, -signed)]
    joined = sides[0] - sides[1]
    kept = np.flatnonzero(joined)
    return _pick_rows(distinct, kept), joined[kept], unit


def on_common_levels(rows: Rows) -> Curves | None:
    """Quantile functions on the levels of all measures; None if these are too many."""
    if isinstance(rows, Curves):
        return rows
    first, own = _number_keys([end.tobytes() for end in rows.end])
    levels = np.unique(rows.end[first])
    if len(levels) > MOST_LEVELS * rows.end.shape[1]:
        return None
    at = np.stack([np.searchsorted(end, levels) for end in rows.end[first]])
    return Curves(np.take_along_axis(rows.value, at[own], axis=1), np.diff(levels, prepend=0.0))


def as_points(curves: Curves) -> Float64s:
    """Vectors whose Euclidean distances are W_2, about their centre: products then cancel as little as they can."""
    points: Float64s = curves.value - curves.value.mean(axis=0)
    points *= np.sqrt(curves.width)
    return points


def _join_anchors(x: AnchorRows, y: AnchorRows) -> Rows:
    """Both in one; of step functions the shorter ones stay at their last value, over no level at all."""
    if x.quantiles is not None and y.quantiles is not None:
        k, l, width = common_segments(len(x.quantiles), len(y.quantiles))
        return Curves(np.concatenate([x.quantiles[k].T, y.quantiles[l].T]), width)
    longest = max(x.steps.value.shape[1], y.steps.value.shape[1])
    padded = (
        [np.pad(a, [(0, 0), (0, longest - a.shape[1])], mode="edge") for a in rows] for rows in (x.steps, y.steps)
    )
    (value_x, end_x), (value_y, end_y) = padded
    return StepRows(np.concatenate([value_x, value_y]), np.concatenate([end_x, end_y]))


def _pick_rows(rows: Rows, kept: Int64s) -> Rows:
    if len(kept) == len(rows.value) and (kept == np.arange(len(kept))).all():
        return rows
    value = rows.value[kept]
    return Curves(value, rows.width) if isinstance(rows, Curves) else StepRows(value, rows.end[kept])


def _in_units(rows: Rows) -> tuple[Rows, float]:
    """Divide values by a power of two, which rounds nothing; the largest is then below 1."""
    largest = max(float(rows.value.max()), -float(rows.value.min()))
    unit = math.ldexp(1.0, min(math.frexp(largest)[1], 1023))
    value = rows.value / unit
    value += 0.0  # of the two zeros the positive one
    return rows._replace(value=value), unit


def _distinct(rows: Rows) -> tuple[Rows, Int64s]:
    """Measures that differ, and for each measure which of them it is."""
    keys = [value.tobytes() for value in rows.value]
    if isinstance(rows, StepRows):
        keys = [key + end.tobytes() for key, end in zip(keys, rows.end, strict=True)]
    first, own = _number_keys(keys)
    return _pick_rows(rows, first), own


def _number_keys(keys: list[bytes]) -> tuple[Int64s, Int64s]:
    """Where each different key first stands, and for every key which of these it is."""
    numbers: dict[bytes, int] = {}
    own = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    return np.unique(own, return_index=True)[1], own


def _blocks(rows: Rows, threads: int) -> Iterator[tuple[int, Float64s]]:
    """Yield W_2 from some rows on to all from the first of these on: (begin, distances[begin:end, begin:])."""
    if not len(rows.value):
        return iter(())
    curves = on_common_levels(rows)
    if curves is not None:
        return _euclidean(as_points(curves))
    assert isinstance(rows, StepRows)
    return _merge_rows(rows, threads)


def _merge_rows(rows: StepRows, threads: int) -> Iterator[tuple[int, Float64s]]:
    """Distances by merges of two measures at a time."""
    count = len(rows.value)
    for begin in range(0, count, ROWS):
        end = min(begin + ROWS, count)
        some, rest = (StepRows(rows.value[begin:stop], rows.end[begin:stop]) for stop in (end, count))
        yield begin, np.sqrt(kernels.step_costs(some, rest, 2, threads))


def _euclidean(points: Float64s) -> Iterator[tuple[int, Float64s]]:
    """Distances by a product of matrices; those of near points from their differences."""
    count = len(points)
    norms = np.einsum("il,il->i", points, points)
    step = max(1, BLOCK_NUMBERS // count)
    for begin in range(0, count, step):
        some, rest = points[begin : begin + step], points[begin:]
        sums = norms[begin : begin + step, None] + norms[begin:]
        squares = (-2 * some) @ rest.T
        squares += sums
        sums *= MIN_SQUARE_SHARE
        mend_near(squares, squares <= sums, some, rest)
        yield begin, np.sqrt(squares, out=squares)


# -- random projections ------------------------------------------------------------------------------------------------


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
    line, one per anchor, and never negative.

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
        Threads to sort with; the result does not depend on it.

    Returns
    -------
    ProjectedEnergy

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> found = ao.distances.projected_energy(line, triangle, n_projections=1000, rng=0)
    >>> abs(found.value - 0.5132) < 3 * found.standard_error < 0.05
    True
    """
    count = check_integer(n_projections, "n_projections", 2)
    threads = check_threads(threads)
    rows, signed, unit = ready(*both_anchors(*(ground_rows(side, robust, threads) for side in (x, y))))
    generator = check_rng(rng)
    found = np.concatenate([_energies_on_the_line(values, signed) for values in _projections(rows, count, generator)])
    found *= FOLDED
    return summary(found, unit)


def summary(found: Float64s, unit: float) -> ProjectedEnergy:
    """Mean of energies, one per projection and in units, and its standard error."""
    count = len(found)
    with np.errstate(over="ignore"):
        value, error = float(found.mean() * unit), float(found.std(ddof=1) / math.sqrt(count) * unit)
    check_overflow(value, 1)
    return ProjectedEnergy(value, error, count)


def _projections(rows: Rows, count: int, generator: np.random.Generator) -> Iterator[Float64s]:
    """Yield <θ, Q> of every measure for white noises θ; shape (measures, projections of this block)."""
    curves = on_common_levels(rows) if len(rows.value) else Curves(np.zeros((0, 1)), np.ones(1))
    if curves is not None:
        points = as_points(curves) if len(rows.value) else curves.value
        step = max(1, BLOCK_NUMBERS // max(points.shape))
        for begin in range(0, count, step):
            yield points @ generator.normal(size=(points.shape[1], min(step, count - begin)))
        return
    assert isinstance(rows, StepRows)
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
