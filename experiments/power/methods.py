"""Tests of whether two collections of spaces come from one source; each returns a p-value.

All are the energy test of groups (`group_test`, DISCO) on distances between all pairs of spaces.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

Spaces = list[ao.Space]
Floats = NDArray[np.float64]
N_RESAMPLES = 199
LEVEL = 0.05
PROJECTIONS = (64, 32)


@dataclass(frozen=True)
class Method:
    """A test: its name, and the distances (N, N) between all spaces that it takes."""

    name: str
    distances: Callable[[Spaces], Floats]


def methods() -> list[Method]:
    """All tests."""
    return [
        Method("AE", _energies),
        Method("robust AE", lambda spaces: _energies(spaces, robust=True)),
        Method("marked AE", lambda spaces: _energies(spaces, attributes="types")),
        Method("AE, W2", lambda spaces: _energies(spaces, ground="w2")),
        Method("AE, W2 projected", _projected),
        Method("AW", _transports),
        Method("SLB", lambda spaces: ao.pairwise(spaces, metric="slb", p=1, n_jobs=1, progress=False)),
    ]


def _energies(spaces: Spaces, **options: object) -> Floats:
    """Distances: the roots of energies."""
    return np.sqrt(ao.pairwise(spaces, n_jobs=1, progress=False, **options))  # type: ignore[call-overload]


def _projected(spaces: Spaces) -> Floats:
    vectors = ao.embed(spaces, grid=PROJECTIONS, ground="w2")
    squares = 2 * ((vectors[:, None] - vectors) ** 2).sum(axis=2, dtype=np.float64)
    found: Floats = np.sqrt(squares)
    return found


def _transports(spaces: Spaces) -> Floats:
    return ao.pairwise(spaces, metric="aw", epsilon=0, n_jobs=1, progress=False)


def pvalue(distances: Floats, n_first: int, seed: int) -> float:
    """Return the p-value of the energy test, of which the first spaces are of side 0."""
    labels = np.arange(len(distances)) >= n_first
    found = ao.group_test(distances, labels, post_hoc=False, n_resamples=N_RESAMPLES, rng=seed, progress=False)
    return found.pvalue
