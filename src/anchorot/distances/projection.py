r"""Energy distances of anchors with W_2 as ground distance, estimated from random projections.

For a white noise θ on [0, 1] the number <θ, Q_h - Q_g> is normal with deviation |Q_h - Q_g| = W_2(h, g), hence its
absolute value is sqrt(2 / π) W_2 on average. So sqrt(π / 2) times the energy distance of the projections <θ, Q>,
numbers on the line, is right on average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels.records import StepRows
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer, check_overflow, check_threads
from anchorot.anchors.rows import BLOCK_NUMBERS
from anchorot.distances.ground import Curves, Rows, as_points, both_anchors, ground_rows, on_common_levels, ready
from anchorot.space import Space

FOLDED = math.sqrt(math.pi / 2)  # 1 / E|N(0, 1)|


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
    threads = check_threads(threads)
    rows, signed, unit = ready(*both_anchors(*(ground_rows(side, robust, threads) for side in (x, y))))
    generator = np.random.default_rng(rng)
    found = np.concatenate([_energies_on_the_line(values, signed) for values in _projections(rows, count, generator)])
    found *= FOLDED
    return summary(found, unit)


def summary(found: Float64s, unit: float) -> ProjectedEnergy:
    """Mean of energies, one a projection and in units, and its standard error."""
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
