"""Tests of whether two collections of spaces come from one source; each returns a p-value.

All but the last two are the energy test of groups (`group_test`, DISCO) on distances between all pairs of spaces. The
last two are other packages' tests on vectors, the quantiles of all distances of a space, which need no anchors.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

Spaces = list[ao.Space]
Floats = NDArray[np.float64]
N_RESAMPLES = 199
LEVEL = 0.05
QUANTILES = (np.arange(32) + 0.5) / 32
PROJECTIONS = (64, 32)


@dataclass(frozen=True)
class Method:
    """A test.

    Attributes
    ----------
    name : str
    prepare : callable
        What of all spaces the test needs: a matrix (N, N) or vectors (N, d).
    pvalue : callable
        Of some of the prepared, the first of them of side 0, and how many those are.
    """

    name: str
    prepare: Callable[[Spaces], Floats]
    pvalue: Callable[[Floats, int, int], float]
    is_matrix: bool = True

    def part(self, prepared: Floats, chosen: NDArray[np.int64]) -> Floats:
        """What was prepared of some of the spaces."""
        return prepared[np.ix_(chosen, chosen)] if self.is_matrix else prepared[chosen]


def methods(with_peers: bool) -> list[Method]:
    """All tests; those of other packages on demand, for they take a minute to compile."""
    own = [
        Method("AE", _energies, _disco),
        Method("robust AE", lambda spaces: _energies(spaces, robust=True), _disco),
        Method("marked AE", lambda spaces: _energies(spaces, marks="types"), _disco),
        Method("AE, W2", lambda spaces: _energies(spaces, ground="w2"), _disco),
        Method("AE, W2 projected", _projected, _disco),
        Method("AW", _transports, _disco),
        Method("SLB", lambda spaces: ao.pairwise(spaces, metric="slb", p=1, n_jobs=1, progress=False), _disco),
    ]
    peers = [
        Method("energy of all distances (dcor)", _quantiles, _dcor, is_matrix=False),
        Method("MMD of all distances (hyppo)", _quantiles, _hyppo, is_matrix=False),
    ]
    return own + (peers if with_peers else [])


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


def _quantiles(spaces: Spaces) -> Floats:
    return np.array([np.quantile(space.cost, QUANTILES) for space in spaces])


def _disco(distances: Floats, n_first: int, seed: int) -> float:
    labels = np.arange(len(distances)) >= n_first
    found = ao.group_test(distances, labels, post_hoc=False, n_resamples=N_RESAMPLES, rng=seed, progress=False)
    return found.pvalue


def _dcor(vectors: Floats, n_first: int, seed: int) -> float:
    from dcor.homogeneity import energy_test

    sides = vectors[:n_first], vectors[n_first:]
    return float(energy_test(*sides, num_resamples=N_RESAMPLES, random_state=seed, n_jobs=1).pvalue)


def _hyppo(vectors: Floats, n_first: int, seed: int) -> float:
    from hyppo.ksample import MMD

    sides = vectors[:n_first], vectors[n_first:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of fewer permutations than a thousand
        return float(MMD().test(*sides, reps=N_RESAMPLES, workers=1, auto=False, random_state=seed).pvalue)
