"""Alignments that leave out what fits far worse than the rest, as much of it as there is."""

import numpy as np

from anchorot._typing import Float64s
from anchorot.distances.quadratic import Quadratic
from anchorot.distances.solver import MIN_SHARE, Found, Setting, solve
from anchorot.distances.starts import StartingPlan

MAX_DEVIATIONS = 4.0  # deviations from the median distortion: beyond, a point is not matched if the mass is free
DISTORTION_ROUNDING = 1e-6  # of the unit of costs, beside those deviations
ROUNDS = 4  # of trimming, at the most


def solve_freely(setting: Setting, starts: list[StartingPlan]) -> list[Found]:
    """Match all that can be, then leave out what fits far worse than the rest, until that stays the same.

    How much worse is too much is settled by the first result: what is left always fits better than what was there, and
    a limit that went down with it would end at the few points that fit best.
    """
    share, limits = 1.0, None
    for _ in range(ROUNDS):
        found = solve(setting, starts, share)
        sides = distortions(setting.exact(), found[0].plan)
        limits = limits or [_limit(own) for _, own in sides]
        kept = min(
            float(mass[own <= limit].sum() / mass.sum()) for (mass, own), limit in zip(sides, limits, strict=True)
        )
        if kept > 1 - 1e-3 or share * kept < MIN_SHARE:  # as it stays, or nothing would be left
            break
        share *= kept
    return found


def distortions(problem: Quadratic, plan: Float64s) -> list[tuple[Float64s, Float64s]]:
    """Of either side's matched points: their mass, and the root of what each adds to the objective per mass.

    Without features that is how far its costs are distorted, root mean square. The loss is a mean over pairs, of which
    a point sees as much as is matched; features are the point's own, so what they add does not depend on that.
    """
    total = plan.sum()
    cost = problem.slope_of_loss(plan) * plan / (2 * total)
    if problem.features is not None:
        cost += (1 - problem.alpha) * problem.features * plan
    found = []
    for axis in (1, 0):
        mass = plan.sum(axis=axis)
        is_matched = mass > 0
        squares = cost.sum(axis=axis)[is_matched] / mass[is_matched]
        found.append((mass[is_matched], np.sqrt(np.maximum(squares, 0))))
    return found


def _limit(sizes: Float64s) -> float:
    """From where a distortion is far from the others, and more than rounding."""
    middle = np.median(sizes)
    return float(middle + MAX_DEVIATIONS * 1.4826 * np.median(np.abs(sizes - middle))) + DISTORTION_ROUNDING
