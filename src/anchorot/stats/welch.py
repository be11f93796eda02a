"""Welch's statistic of several groups from distances, for groups that may differ in spread.

That of Hamidi, Wallace, Vasu and Alekseyenko (2019) for weighted units: centres are compared in units of their own
variances V_k, and groups weigh by 1 / V_k.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s
from anchorot.exceptions import InputError
from anchorot.stats.dispersion import ROUNDING, UnitSums


def welch_ratios(sums: UnitSums, labels: NDArray[Any]) -> Float64s:
    """1 / (1 + F) of every labelling (labellings, U), with Welch's F; 1 if there is no dispersion at all."""
    counts = np.bincount(labels[0])
    if counts.min() < 2:
        raise InputError(f"welch=True needs at least two units in every group, but a group has {counts.min()}")
    total = sums.weights @ sums.distances @ sums.weights / sums.weights.sum() ** 2
    if total <= 0:
        return np.ones(len(labels))
    members = [np.where(labels == group, sums.weights, 0.0) for group in range(len(counts))]
    shares = [1 / member.sum(axis=1) for member in members]
    rows = [share[:, None] * (member @ sums.distances) for member, share in zip(members, shares, strict=True)]
    spreads = [
        share * np.einsum("bi,bi->b", row, member) / 2 for row, member, share in zip(rows, members, shares, strict=True)
    ]  # mean squared distances from the centres
    precisions = np.stack(
        [
            1 / np.maximum(_variance(row, member, share, spread), ROUNDING * total)
            for row, member, share, spread in zip(rows, members, shares, spreads, strict=True)
        ]
    )
    whole = precisions.sum(axis=0)
    between = np.zeros(len(labels))
    for k, l in combinations(range(len(counts)), 2):
        apart = shares[l] * np.einsum("bi,bi->b", rows[k], members[l]) - spreads[k] - spreads[l]
        between += precisions[k] * precisions[l] / whole * np.maximum(apart, 0.0)
    groups = len(counts)
    lost = ((1 - precisions / whole) ** 2 / (counts[:, None] - 1)).sum(axis=0)
    f = between / ((groups - 1) * (1 + 2 * (groups - 2) / (groups**2 - 1) * lost))
    return 1 / (1 + f)


def _variance(row: Float64s, member: Float64s, share: Float64s, spread: Float64s) -> Float64s:
    """Variance of a group's weighted mean, from the squared distances of its units from it."""
    scatter = row - spread[:, None]  # |x_a - centre|² = sum_b w_b E_ab / W - spread
    count = (member > 0).sum(axis=1)
    return share**2 * np.einsum("bi,bi,bi->b", member, member, scatter) * count / (count - 1)
