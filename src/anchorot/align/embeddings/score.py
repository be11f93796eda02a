"""How sure one can be of a match.

With directions weighed so that what is left is alike in all of them, exp(-distance² / temperature) is the density of
Gaussian noise, and its doubly stochastic form (Sinkhorn) the chance of a match if nothing else were known. A logistic
function of four signs turns it into one that holds across kinds of data: that `share`; the `margin` to the nearest
other point of either side, in units of the temperature; how much more is left than at the median match (`excess`, which
varies as the root of the number of directions); and how many matches are the `nearest` points at all. The coefficients
are in align/coefficients.toml, fitted to 149 pairs of clouds of several spectra, dimensions (8 to 90) and noise, most
with all objects in common; no script fits them again. The signs were chosen by words and digits. The guide on
embeddings has the figures, also of data that were looked at later, and says where the chance is far too low: between
models that are unlike each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.calibration import load
from anchorot.align.embeddings.candidates import MIN_VARIANCE
from anchorot.align.embeddings.pairs import TIE_TOLERANCE
from anchorot.align.embeddings.refine import Finished

MIN_SHARE = 1e-4  # of a match, and of all others: keeps log-odds of shares within 9.2
MAX_EXCESS = 5.0  # of a logarithm: more than 150 times the median is no worse
MAX_SQUARED_DISTANCE = 1e3  # squared distance that is as good as infinite


def temperature_of(left: Floats) -> float:
    """Twice the variance, in one direction, of what is left at matches (n, k)."""
    spectrum = np.linalg.eigvalsh(left.T @ left / max(len(left), 1))
    total = float(spectrum.sum())
    directions = total**2 / max(float(np.square(spectrum).sum()), MIN_VARIANCE**2)
    return max(2 * total / max(directions, 1.0), MIN_VARIANCE)


def signs_of(found: Finished) -> tuple[dict[str, Any], Int64s]:
    """What speaks for the match of every matched point, and how many points are as good as the match."""
    own = np.flatnonzero(found.matches >= 0)
    left = found.residuals[own]
    temperature = max(2 * float(left.mean()) / found.map.left.shape[1], MIN_VARIANCE)  # directions are alike by now
    nearest, ties = found.pairs.others(found.matches)
    share = np.asarray(found.pairs.shares(temperature)[own, found.matches[own]]).ravel() * ties
    n_directions = found.map.left.shape[1]
    excess = np.log(left + MIN_VARIANCE) - np.log(np.median(left) + MIN_VARIANCE)
    nearest = np.minimum(nearest, MAX_SQUARED_DISTANCE)
    signs = {
        "share": np.log(np.clip(share, MIN_SHARE, 1) / np.clip(1 - share, MIN_SHARE, 1)),
        "margin": np.arcsinh((nearest - left) / temperature),
        "excess": np.sqrt(n_directions) * np.clip(excess, -MAX_EXCESS, MAX_EXCESS),
        "nearest": np.mean(nearest >= left - TIE_TOLERANCE),
    }
    return signs, ties


def chances(found: Finished, runner_up: Int64s | None) -> Float64s:
    """(n,): estimated chance that a point's match is its partner; 0 without a match."""
    signs, ties = signs_of(found)
    chance = np.zeros(len(found.matches))
    chance[found.matches >= 0] = load("embeddings.match").probability(signs) / ties
    return chance if runner_up is None else np.where(runner_up == found.matches, chance, chance / 2)
