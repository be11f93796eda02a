"""How far apart two groups are: an unbiased energy, with an interval that allows for few subjects.

Let x_a be the embeddings of units (subjects, or visits) whose squared distances are the energies E between units,
delta the difference of the mean embeddings of two groups, and V its covariance, S_1 / n_1 + S_2 / n_2, or Cov(delta_s)
/ n for subjects s with both conditions. An unbiased estimate of |delta|² leaves out pairs of one subject. Along u =
delta / |delta| the length of delta has the variance s² = u'Vu and is nearly normal; across u, V adds to |delta|² what
varies by omega² = 2 (tr V² - s⁴). Both parts of the interval are added as squares. Only inner products of embeddings
are needed, which follow from E. In strata delta is the weighted mean of the differences within each, and V the sum of
the covariances within all cells, a group in a stratum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s
from anchorot._validate import check_level
from anchorot.stats.dispersion import Units

MIN_SUBJECTS = 3  # of a group, for an interval


class Effect(NamedTuple):
    """An energy between two groups, 2 |delta|², and the variation of delta; NaN where subjects are too few."""

    energy: float = math.nan
    along: float = math.nan  # standard deviation of |delta|
    across: float = math.nan  # standard deviation of |delta|² from the other directions
    freedom: float = math.nan  # degrees of freedom of `along`

    def scaled(self, unit: float) -> Effect:
        """The effect for distances `unit` times as large."""
        return Effect(self.energy * unit, self.along * math.sqrt(unit), self.across * unit, self.freedom)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the root-t interval of the energy; NaN if there is none."""
        from scipy.stats import t as student

        if math.isnan(self.along):
            return math.nan, math.nan
        t = float(student.ppf((1 + check_level(level)) / 2, self.freedom))
        square = max(self.energy / 2 + self.along**2, 0.0)
        root, half, other = math.sqrt(square), t * self.along, t * self.across
        low = square - math.hypot(square - max(0.0, root - half) ** 2, other)
        high = square + math.hypot((root + half) ** 2 - square, other)
        return 2 * max(0.0, low), 2 * high


class Cell(NamedTuple):
    """The units of one group in one stratum, and what they weigh in the mean of the group."""

    places: NDArray[np.intp]
    shares: Float64s  # of the cell
    weight: float  # of the cell

    @property
    def freedom(self) -> int:
        """Degrees of freedom of its covariance."""
        return len(self.places) - 1

    @property
    def inflation(self) -> float:
        """Variance of the mean, of the mean squared distance from it: 1 / (n - 1) for n equal shares."""
        square = float(self.shares @ self.shares)
        return square / (1 - square)


def effect_between(
    units: Units,
    labels: NDArray[np.intp],
    owner: NDArray[np.intp] | None = None,
    layers: NDArray[np.intp] | None = None,
) -> Effect:
    """The effect between groups 0 and 1 of units, which are independent, or of subjects `owner` with units in both.

    Subjects weigh equally; by their number of items if these are weighed. In several strata (`layers`) groups are
    compared within each, and strata weigh by how well they tell groups apart.
    """
    weights = units.sizes if units.weighting == "items" else np.ones(len(labels))
    if owner is not None:
        return _effect_within(units.distances, labels, owner, weights)
    layers = np.zeros(len(labels), np.intp) if layers is None else layers
    cells = _cells(labels, layers, weights)
    if not all(cells):
        return Effect()
    if min(cell.freedom for side in cells for cell in side) == 0:  # matched sets: they differ among each other
        return _effect_within(units.distances, labels, layers, weights) if len(cells[0]) > 1 else Effect()
    return _effect_of_cells(units.energies, cells)


def _cells(labels: NDArray[np.intp], layers: NDArray[np.intp], weights: Float64s) -> tuple[list[Cell], list[Cell]]:
    """The cells of both groups, in strata that have members of both."""
    cells: tuple[list[Cell], list[Cell]] = ([], [])
    for layer in np.unique(layers):
        own = [np.flatnonzero((layers == layer) & (labels == group)) for group in (0, 1)]
        totals = [float(weights[places].sum()) for places in own]
        if min(totals) > 0:
            weight = totals[0] * totals[1] / (totals[0] + totals[1])
            for side, places, total in zip(cells, own, totals, strict=True):
                side.append(Cell(places, weights[places] / total, weight))
    whole = sum(cell.weight for cell in cells[0])
    first, second = ([cell._replace(weight=cell.weight / whole) for cell in side] for side in cells)
    return first, second


def _effect_of_cells(energies: Float64s, cells: tuple[list[Cell], list[Cell]]) -> Effect:
    """The effect from squared distances E between units, and the covariances within cells."""
    contrast = np.zeros(len(energies))
    for sign, side in zip((1, -1), cells, strict=True):
        for cell in side:
            contrast[cell.places] = sign * cell.weight * cell.shares
    every = [*cells[0], *cells[1]]
    energy = -float(contrast @ energies @ contrast) - sum(
        cell.weight**2 * cell.inflation * float(cell.shares @ energies[np.ix_(cell.places, cell.places)] @ cell.shares)
        for cell in every
    )
    if min(sum(cell.freedom for cell in side) for side in cells) < MIN_SUBJECTS - 1:
        return Effect(energy)
    # inner products with delta, and rows of deviations from the cell's mean, each scaled so that V is their covariance
    factors = [cell.weight * cell.shares * math.sqrt(1 + 1 / cell.freedom) for cell in every]
    scores = -energies @ contrast / 2
    length = math.sqrt(max(float(scores @ contrast), 0.0))
    variances = [
        float(np.sum((factor * (scores[cell.places] - cell.shares @ scores[cell.places])) ** 2))
        for factor, cell in zip(factors, every, strict=True)
    ]
    squares = 0.0
    for k, one in enumerate(every):
        for l, other in enumerate(every[: k + 1]):
            products = energies[np.ix_(one.places, other.places)]
            products *= -0.5
            products -= one.shares @ products
            products -= (products @ other.shares)[:, None]
            products *= factors[k][:, None]
            products *= factors[l]
            squares += (1 + (k != l)) * float(np.einsum("ij,ij->", products, products))
    return _effect(energy, length, variances, squares, [cell.freedom for cell in every])


def _effect_within(distances: Float64s, labels: NDArray[np.intp], owner: NDArray[np.intp], weights: Float64s) -> Effect:
    """The effect over subjects with units in both groups, from the differences within each."""
    weight = np.zeros((2, int(owner.max()) + 1))
    np.add.at(weight, (labels, owner), weights)
    both = np.flatnonzero((weight > 0).all(axis=0))
    if len(both) < 2:
        return Effect()
    sign = np.where(labels == 0, 1.0, -1.0) * weights / weight[labels, owner]
    contrast = np.where(owner == both[:, None], sign, 0.0)
    products = -contrast @ distances @ contrast.T / 2  # <delta_s, delta_t>
    count = len(both)
    energy = 2 * (products.sum() - np.trace(products)) / (count * (count - 1))
    if count < MIN_SUBJECTS:
        return Effect(float(energy))
    scores = products.mean(axis=0)
    length = math.sqrt(max(float(scores.mean()), 0.0))
    variance = float(np.sum((scores - scores.mean()) ** 2)) / (count * (count - 1))
    products -= scores
    products -= products.mean(axis=1)[:, None]
    squares = float(np.einsum("ij,ij->", products, products)) / (count * (count - 1)) ** 2
    return _effect(float(energy), length, [variance], squares, [count - 1])


def _effect(energy: float, length: float, variances: list[float], squares: float, freedoms: list[int]) -> Effect:
    """From |delta|, the parts of s² |delta|², and tr V²; degrees of freedom by Satterthwaite."""
    total = sum(variances)
    if length == 0 or total == 0:
        return Effect(energy, 0.0, math.sqrt(2 * max(squares, 0.0)), float(sum(freedoms)))
    along = total / length**2
    freedom = total**2 / sum(own**2 / n for own, n in zip(variances, freedoms, strict=True))
    return Effect(energy, math.sqrt(along), math.sqrt(2 * max(squares - along**2, 0.0)), freedom)
