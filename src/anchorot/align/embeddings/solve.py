"""From maps to the answer: the best one, finished on all points, its rivals, and how sure one can be.

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

import time
from typing import Any

import numpy as np

from anchorot._progress import Advance
from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.calibration import load
from anchorot.align.correspondence import Candidate, excess_allowed, find_runner_up
from anchorot.align.embeddings.pairs import TIE_TOLERANCE
from anchorot.align.embeddings.refine import (
    MAX_MAP_DIFFERENCE,
    MAX_RIVAL_EXCESS,
    MIN_VARIANCE,
    ROUNDING,
    Finished,
    MapCandidate,
    Search,
    Side,
    finish,
)
from anchorot.align.embeddings.result import BlurredPairs, EmbeddingAlignment
from anchorot.align.plans import share_differing
from anchorot.exceptions import InputError

SOFT_BLUR = 4.0  # temperature of what is carried over: neighbours that are as good in kind have a say
MAX_RIVALS = 2  # that are finished on all points
UNRELATED_OBJECTIVE = 2.0  # mean squared distance of unrelated points, each of variance 1
MIN_SHARE = 1e-4  # of a match, and of all others: keeps log-odds of shares within 9.2
MAX_EXCESS = 5.0  # of a logarithm: more than 150 times the median is no worse
MAX_SQUARED_DISTANCE = 1e3  # squared distance that is as good as infinite


def solve(
    rows: Float64s,
    others: Float64s,
    metric: str,
    n_landmarks: int | None,
    rng: np.random.Generator,
    device: str | None,
    advance: Advance,
) -> EmbeddingAlignment:
    """Find the map from rows to others."""
    x, y = Side.of(rows), Side.of(others)
    search = Search(x, y, n_landmarks, rng, advance)
    maps = search.candidates()
    rivals = [
        one
        for one in maps[1:]
        if one.objective <= (1 + MAX_RIVAL_EXCESS) * maps[0].objective + ROUNDING
        and search.difference(maps[0].map, one.map) >= MAX_MAP_DIFFERENCE
    ][:MAX_RIVALS]
    finished = sorted(
        (_finished(one, x, y, device, rng, advance) for one in (maps[0], *rivals)), key=lambda one: one[0].objective
    )
    best = finished[0][0]
    candidates = [_candidate(*one, best) for one in finished]
    runner_up = find_runner_up(candidates, excess_allowed(best.objective, UNRELATED_OBJECTIVE))
    own = best.matches >= 0
    left = best.map.map_first(x.points[own]) - best.map.map_second(y.points[best.matches[own]])
    temperature = SOFT_BLUR * temperature_of(left)
    rotation = best.map.left @ best.map.right.T
    with np.errstate(over="ignore", invalid="ignore"):
        scale = best.map.stretch * (y.unit / x.unit)
        origin, target = x.mean + x.unit * best.map.origin, y.mean + y.unit * best.map.target
        offset = target - scale * (origin @ rotation)
    if not (0 < scale < np.inf and np.isfinite(offset).all()):
        raise InputError("x and y differ in size by more than float64 can hold; multiply one of them by a constant")
    return EmbeddingAlignment(
        matches=best.matches,
        confidence=chances(best, None if runner_up is None else runner_up.matches),
        rotation=rotation,
        scale=scale,
        offset=offset,
        metric=metric,
        objective=best.objective,
        candidates=tuple(candidates),
        runner_up=runner_up,
        converged=best.converged,
        n_second=len(others),
        _blurred=BlurredPairs(best.map.map_first(x.points), best.map.map_second(y.points), temperature, device),
    )


def _finished(
    one: MapCandidate, x: Side, y: Side, device: str | None, rng: np.random.Generator, advance: Advance
) -> tuple[Finished, str, float]:
    """A map fitted to all points, with its name and the time that all of it took."""
    begin = time.perf_counter()
    found = finish(x, y, one.map, device, rng, advance)
    return found, one.name, one.seconds + time.perf_counter() - begin


def _candidate(found: Finished, name: str, seconds: float, best: Finished) -> Candidate:
    return Candidate(
        name=name,
        objective=found.objective,
        seconds=seconds,
        matches=found.matches,
        differs=share_differing(best.matches, found.matches),
        details={"converged": found.converged, "rotation": found.map.left @ found.map.right.T},
    )


# -- how sure one can be -----------------------------------------------------------------------------------------------


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
    nearest, ties = found.pairs.rivals(found.matches)
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


def chances(found: Finished, rival: Int64s | None) -> Float64s:
    """(n,): estimated chance that a point's match is its partner; 0 without a match."""
    signs, ties = signs_of(found)
    chance = np.zeros(len(found.matches))
    chance[found.matches >= 0] = load("embeddings.match").probability(signs) / ties
    return chance if rival is None else np.where(rival == found.matches, chance, chance / 2)
