"""How sure one can be of a match: by maps that have not seen it.

Matches are dealt into five folds. The map of the other four, with the weights of directions that they suggest, carries
the points of a fold over; what is left between these and their matches is noise that no fit has reduced. Divided by its
variance in one direction, squared distances to all points of the other side are log-likelihoods of Gaussian noise, and
their doubly stochastic form (Sinkhorn) is the chance of every pair. Nothing is fitted to data. Where no map was found,
the folds' maps disagree with the matches, and the chance is low.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.embeddings.candidates import MIN_VARIANCE, Map
from anchorot.align.embeddings.pairs import DensePairs, shares_of, squared_distances
from anchorot.align.embeddings.refine import Finished, compared, direction_weights

FOLDS = 5  # parts, each left out of a fit in turn: the usual number, which leaves four fifths to every fit
SINGLE_ROUNDING = 1e-6  # of the variance: what float32 leaves of squared distances
BLOCK = 1 << 22  # pairs of points whose distances are computed at a time


class HeldOut(NamedTuple):
    """Squared distances between points by maps that did not see them, in units of twice the noise in one direction."""

    costs: Any  # (n, m), an array, or a sparse one: exp(-costs) is a likelihood
    temperature: float  # that unit

    def shares(self, blur: float = 1.0) -> Any:
        """The chance of every pair, (n, m); the noise may be taken to be larger."""
        return shares_of(self.costs, blur)


def held_out(found: Finished) -> HeldOut:
    """Compare every point with all others by the map of the folds that it is not in."""
    sides, matches = found.sides, found.matches
    fold = np.empty(len(matches), np.int64)
    fold[sides.x.order] = np.arange(len(matches)) % FOLDS
    is_dense = isinstance(found.pairs, DensePairs)
    costs = np.empty(found.pairs.costs.shape) if is_dense else found.pairs.costs.copy()
    left = []
    for k in range(FOLDS):
        own = np.flatnonzero(fold == k)
        if not len(own):
            continue
        own_map, weights = _map_without(found, fold == k)
        moved, others = compared(sides, own_map, weights)
        matched = own[matches[own] >= 0]
        away = moved[matched] - others[matches[matched]]
        left.append(away @ own_map.right.T)  # in directions that all folds have in common
        if is_dense:
            costs[own] = squared_distances(moved[own], others)
        else:
            _fill(costs, own, moved, others)
    noise = max(_noise_of(np.concatenate(left)), MIN_VARIANCE if is_dense else SINGLE_ROUNDING)
    costs /= 2 * noise
    return HeldOut(costs, 2 * noise)


def chances(shares: Any, matches: Int64s) -> Float64s:
    """(n,): the chance of every point's match; 0 without one."""
    found = np.zeros(len(matches))
    own = np.flatnonzero(matches >= 0)
    found[own] = np.asarray(shares[own, matches[own]]).ravel()
    return np.minimum(found, 1.0)


def _map_without(found: Finished, is_out: Any) -> tuple[Map, Floats | None]:
    """The map of the other matches, in the directions that they determine, and the weights of these."""
    seen = np.where(is_out, -1, found.matches)
    x, y = found.sides.x.points, found.sides.y.points
    count = int((seen >= 0).sum())
    if count < 2:
        return found.map, None
    own = Map.of_matches(x, y, seen, rank=count - 1)
    weights = None if found.floor is None else direction_weights(*compared(found.sides, own, None), seen, found.floor)
    return own, weights


def _noise_of(left: Floats) -> float:
    """Mean square of what is left (n, k) in one of the directions that it takes up."""
    if not len(left):
        return MIN_VARIANCE
    moments = left.T @ left / len(left)
    total = float(np.trace(moments))
    directions = total**2 / max(float(np.square(moments).sum()), MIN_VARIANCE**2)
    return total / max(directions, 1.0)


def _fill(costs: Any, own: Int64s, moved: Floats, others: Floats) -> None:
    """Squared distances of the pairs that a sparse matrix has in some rows."""
    per_row = np.diff(costs.indptr)
    rows = np.repeat(own, per_row[own])
    place = np.concatenate([np.arange(costs.indptr[row], costs.indptr[row + 1]) for row in own])
    step = max(1, BLOCK // moved.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        costs.data[place[part]] = np.square(moved[rows[part]] - others[costs.indices[place[part]]]).sum(axis=1)
