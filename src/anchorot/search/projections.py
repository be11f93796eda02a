r"""Spaces as vectors whose distances estimate energies with W_2 as ground distance.

For a white noise θ let F_θ(z) be the share of a space's anchors with <θ, Q> <= z. The energy distance with W_2 is
sqrt(π / 2) E_θ[2 ∫ (F_θ - G_θ)² dz] (:mod:`anchorot.distances.w2_energy`). A vector holds F_θ(z), times the root of
the right factor, for several θ that all spaces share. For each θ the positions z are drawn one per cell, from equal
cells: a sum over them is an unbiased estimate of the integral.

θ is the derivative of a Brownian motion B on [0, 1], which is drawn at RESOLUTION equal levels and linear between. A
quantile function with values between low and high has <θ, Q> = low B(1) + ∫ (B(1) - B(t)) dQ, so that all positions lie
between low B(1) + (high - low) min(B(1) - B) and the same with the maximum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer, check_rng, check_values
from anchorot.anchors.rows import AnchorRows
from anchorot.distances.w2_energy import FOLDED, ProjectedEnergy, ground_rows, summary
from anchorot.exceptions import InputError

RESOLUTION = 4096  # levels at which a noise is sampled: finer steps of quantile functions are averaged


class Projections:
    """Random projections that turn spaces into vectors: noises and positions, sampled once and shared by all spaces.

    Parameters
    ----------
    shape : (int, int)
        Number of noises, and of positions for each.
    low, high : float
        The range of costs. Costs beyond it are accepted, but their contribution may be missed.
    robust : bool
        Whether ranks of costs are projected.
    rng : None, int or numpy.random.Generator
    """

    def __init__(self, shape: tuple[int, int], low: float, high: float, robust: bool, rng: RngLike) -> None:
        count, cells = shape
        self._robust = robust
        generator = check_rng(rng)
        steps = generator.normal(scale=math.sqrt(1 / RESOLUTION), size=(RESOLUTION, count))
        self._motion = np.concatenate([np.zeros((1, count)), np.cumsum(steps, axis=0)])
        rest = self._motion[-1] - self._motion
        start = low * self._motion[-1]
        first, last = start + (high - low) * rest.min(axis=0), start + (high - low) * rest.max(axis=0)
        cell = (last - first) / cells
        self._places = first + cell * (np.arange(cells)[:, None] + generator.random((cells, count)))
        self._scale = np.sqrt(FOLDED * cell / count)  # 2 |e - e'|² then estimates the energy

    @property
    def size(self) -> int:
        """Numbers of a vector."""
        return self._places.size

    def __call__(self, x: Any, index: int) -> NDArray[np.float32]:
        """The vector of a space: all positions of the first noise, then of the second, ..."""
        rows = ground_rows(x, self._robust, threads=1)
        values = self._projected(rows)
        shares = [
            np.append(0.0, np.cumsum(rows.weights[order]))[np.searchsorted(own[order], places, side="right")]
            for own, places in zip(values.T, self._places.T, strict=True)
            for order in [np.argsort(own, kind="stable")]
        ]
        return (self._scale[:, None] * np.array(shares)).astype(np.float32).ravel()

    def _projected(self, rows: AnchorRows) -> Float64s:
        """(anchors, noises): <θ, Q> of every anchor."""
        if rows.quantiles is not None:
            at = self._at(np.arange(rows.n + 1) / rows.n)
            return rows.quantiles.T @ np.diff(at, axis=0)
        ends = np.pad(rows.steps.end, [(0, 0), (1, 0)])
        return np.stack(
            [value @ np.diff(self._at(end), axis=0) for value, end in zip(rows.steps.value, ends, strict=True)]
        )

    def _at(self, level: Float64s) -> Float64s:
        """B at the given levels."""
        place = level * RESOLUTION
        below = np.minimum(place.astype(np.int64), RESOLUTION - 1)
        share = (place - below)[:, None]
        return (1 - share) * self._motion[below] + share * self._motion[below + 1]


def embedded_energy(e_x: ArrayLike, e_y: ArrayLike, n_projections: int = 32) -> ProjectedEnergy:
    """Energy distance with W_2 from two vectors of ``embed(spaces, ground="w2")``, with its standard error.

    Parameters
    ----------
    e_x, e_y : array_like of shape (n_projections · positions,)
        Two rows of one result of :func:`anchorot.embed`.
    n_projections : int >= 2
        The first number of the grid that they were made with.

    Returns
    -------
    ProjectedEnergy
        Its value is twice the squared distance of the vectors.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> e = ao.embed([line, triangle], grid=(400, 32), ground="w2")
    >>> found = ao.search.embedded_energy(*e, n_projections=400)
    >>> abs(found.value - 0.5132) < 3 * found.standard_error < 0.15
    True
    """
    count = check_integer(n_projections, "n_projections", 2)
    first, second = check_values(e_x, "e_x"), check_values(e_y, "e_y")
    if len(first) != len(second) or len(first) % count:
        lengths = f"e_x has {len(first)} entries and e_y {len(second)}"
        raise InputError(f"{lengths}, but both need the same multiple of {count} projections")
    gap = first - second
    return summary(2 * count * np.square(gap).reshape(count, -1).sum(axis=1), 1.0)
