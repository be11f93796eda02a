"""The chance that a label is right which points of the other side have voted for.

A point's neighbours in kind vote for its label. That they agree says little where they are few, and where labels are
mixed. So the shares of labels around a point are taken as drawn from a Dirichlet distribution with the frequencies p of
labels as its mean and a concentration of c points: after K votes of which a share s is for a label, the chance of that
label is (K s + c p) / (K + c). In such a model two neighbours have the same label with probability

    q = (1 + c h) / (1 + c),    h = sum of p²,

so that c = (1 - q) / (q - h) follows from the labels alone: q is the share of the points on the side of the labels
whose nearest neighbour has the same one. The nearest point of the other side may be nearer than that, as where objects
are common to both, or further away: c grows with its squared distance, since two points on one spot are one. Nothing is
fitted to other data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.embeddings.candidates import MIN_VARIANCE, ROUNDING
from anchorot.align.embeddings.pairs import nearest

MIN_EXCESS = 1e-12  # of neighbours' agreement over that of any two points: below, neighbours say nothing


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
    if same <= by_chance + MIN_EXCESS:
        return np.inf
    least = max(ROUNDING * float(np.square(points).sum(axis=1).mean()), MIN_VARIANCE)
    across = nearest(goals, points, 1, device)[1][:, 0]
    further = np.log(np.maximum(across, least)).mean() - np.log(np.maximum(away[:, 1], least)).mean()
    return float(np.exp(further)) * (1 - same) / (same - by_chance)


def shrunk(share: Float64s, votes: Float64s, common: Float64s, strength: float) -> Float64s:
    """The chance of a label with that share of so many votes, which is `common` among all labels."""
    if strength == np.inf:
        return common
    weight = np.divide(votes, votes + strength, out=np.zeros(len(votes)), where=votes > 0)
    return weight * share + (1 - weight) * common
