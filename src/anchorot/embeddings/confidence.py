"""How sure one can be of a point's match, from what is left after the map."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.embeddings.fit import SMALLEST, Finished

LEAST_SHARE = 1e-4
LARGEST_MARGIN = 5.0  # of logarithms
MOST_VARIANCE = 1e3  # squared distance that is as good as infinite
FACTORS = {
    "share": 1.0,
    "margin": 0.0,
    "excess": 0.0,
    "shares on average": 0.0,
    "margins on average": 0.0,
    "constant": 0.0,
}


def temperature_of(found: Finished, x: Float64s, y: Float64s) -> float:
    """Twice the variance of what is left at matches, in one direction: exp(-distance² / that) is Gaussian noise's."""
    own = found.matches >= 0
    left = found.map.moved(x[own]) - found.map.others(y[found.matches[own]])
    spectrum = np.linalg.eigvalsh(left.T @ left / len(left))
    directions = spectrum.sum() ** 2 / max(float(np.square(spectrum).sum()), SMALLEST**2)
    return max(2 * float(spectrum.sum()) / max(float(directions), 1.0), SMALLEST)


def signs_of(found: Finished, temperature: float) -> tuple[dict[str, Any], Int64s]:
    """What speaks for the match of every matched point, and how many points are as good as the match."""
    own = np.flatnonzero(found.matches >= 0)
    shares = found.pairs.shares(temperature)
    nearest, ties = found.pairs.rivals(found.matches)
    share = np.asarray(shares[own, found.matches[own]]).ravel() * ties
    share = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
    left = found.residuals[own] + SMALLEST
    margin = np.clip(
        np.log(np.minimum(nearest, MOST_VARIANCE) + SMALLEST) - np.log(left), -LARGEST_MARGIN, LARGEST_MARGIN
    )
    excess = np.clip(np.log(left) - np.log(np.median(left)), -LARGEST_MARGIN, LARGEST_MARGIN)
    logit = np.log(share / (1 - share))
    signs = {
        "share": logit,
        "margin": margin,
        "excess": excess,
        "shares on average": logit.mean(),
        "margins on average": margin.mean(),
    }
    return signs, ties


def chances(found: Finished, temperature: float, rival: Int64s | None) -> Float64s:
    """(n,): estimated chance that a point's match is its partner; 0 without a match."""
    signs, ties = signs_of(found, temperature)
    score = FACTORS["constant"] + sum(FACTORS[name] * value for name, value in signs.items())
    chance = np.zeros(len(found.matches))
    chance[found.matches >= 0] = 1 / (1 + np.exp(-score)) / ties
    return chance if rival is None else np.where(rival == found.matches, chance, chance / 2)
