"""The chance that a label is right which points of the other side have voted for.

A point's neighbours in kind vote for its label. That they agree says little where they are few, and where labels are
mixed. So the shares of labels around a point are taken as drawn from a Dirichlet distribution with the frequencies p of
labels as its mean and a concentration of c points: after K votes of which a share s is for a label, the chance of that
label is (K s + c p) / (K + c). In such a model two neighbours have the same label with probability

    q = (1 + c h) / (1 + c),    h = sum of p²,

which is 1 / (1 + c) of the way from h to 1. That share e = (q - h) / (1 - h) follows from the labels alone: q is the
share of the points on the side of the labels whose nearest neighbour has the same one. The nearest point of the other
side may be nearer than that, as where objects are common to both, or further away. Two points on one spot are one, and
the share is taken to fall exponentially with the squared distance: at r times that of neighbours it is e to the power
of r, and c = 1 / e**r - 1. Nothing is fitted to other data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.embeddings.candidates import MIN_VARIANCE, ROUNDING
from anchorot.align.embeddings.pairs import nearest

MAX_LOG = 100.0  # of votes that frequencies count as: more make no difference


def effective_votes(masses: Any) -> Float64s:
    """(n,): as how many equal votes the masses of every row count, (sum of w)² / sum of w²; 0 without mass."""
    total = np.asarray(masses.sum(axis=1), np.float64).ravel()
    squares = np.asarray((masses * masses).sum(axis=1), np.float64).ravel()
    return np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0)


def concentration(goals: Floats, points: Floats, codes: Int64s, device: str | None) -> float:
    """How many votes the frequencies of labels count as, for goals among labelled points."""
    if len(points) < 2:
        return np.inf
    near, away = nearest(points, points, 2, device)
    is_own = near[:, 0] == np.arange(len(points))
    same = float(np.mean(codes[np.where(is_own, near[:, 1], near[:, 0])] == codes))
    by_chance = float(np.square(np.bincount(codes) / len(codes)).sum())
    if same == 1:
        return 0.0
    excess = max((same - by_chance) / (1 - by_chance), 0.5 / len(points))  # so many points say no less
    least = max(ROUNDING * float(np.square(points).sum(axis=1).mean()), MIN_VARIANCE)
    across = nearest(goals, points, 1, device)[1][:, 0]
    ratio = np.exp(np.log(np.maximum(across, least)).mean() - np.log(np.maximum(away[:, 1], least)).mean())
    return float(np.expm1(min(-ratio * np.log(excess), MAX_LOG)))


def shrunk(share: Float64s, votes: Float64s, common: Float64s, strength: float) -> Float64s:
    """The chance of a label with that share of so many votes, which is `common` among all labels."""
    weight = np.divide(votes, votes + strength, out=np.zeros(len(votes)), where=votes > 0)
    return weight * share + (1 - weight) * common
