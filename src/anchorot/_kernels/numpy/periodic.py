"""Distances in a crystal, in NumPy: all images in a ball around every atom, which grows until it holds enough."""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s

MORE_ATOMS = 1.3  # than k are expected within the first radius
GROWTH = 1.26  # of a radius that is too small: twice the volume
SLACK = 1e-9  # of a cell, more than rounding
SHORTER = 1 - 1e-12  # a vector counts as shorter below this share of its square
MAX_ROUNDS = 10_000  # steps, one edge shortened in each: a guard against endless loops by rounding


def periodic_distances(cell: Float64s, fraction: Float64s, kind: NDArray[np.uint32], species: int, k: int) -> Float64s:
    """Distances to the k nearest atoms of each species, over all periodic images."""
    basis, change = reduced_cell(cell)
    inside = (fraction - np.floor(fraction)) @ change
    inside -= np.floor(inside)
    volume = abs(np.linalg.det(basis))
    heights = volume / np.linalg.norm(np.cross(basis[[1, 2, 0]], basis[[2, 0, 1]]), axis=1)
    out = np.empty((len(inside), species, k))
    for s in range(species):
        others = np.flatnonzero(kind == s)
        first = _first_radius(basis, volume, heights, MORE_ATOMS * (k + 1), len(others))
        for i in range(len(inside)):
            radius = first
            while len(near := _within(inside, i, others, basis, heights, radius)) < k:
                radius *= GROWTH
            out[i, s] = np.sqrt(np.sort(near)[:k])
    return out


def _first_radius(basis: Float64s, volume: float, heights: Float64s, count: float, each: int) -> float:
    """About the radius that holds a given number of points, by their density in space, in a face and along an edge."""
    edge, face = np.linalg.norm(basis, axis=1).min(), (volume / heights).min()
    space = np.cbrt(0.75 / np.pi * count * volume / each)
    return float(min(space, np.sqrt(count * face / (each * np.pi)), 0.5 * count * edge / each))


def _within(
    inside: Float64s, i: int, others: NDArray[np.intp], basis: Float64s, heights: Float64s, radius: float
) -> Float64s:
    """Squared distances up to the radius from atom i to images of others: their coordinates are at most r / height."""
    gaps = inside[others] - inside[i]
    reach = np.ceil(radius / heights + SLACK).astype(int) + 1
    steps = np.stack(np.meshgrid(*(np.arange(-r, r + 1) for r in reach), indexing="ij"), axis=-1).reshape(-1, 3)
    places = (gaps[:, None] + steps) @ basis
    squares = np.einsum("jtx,jtx->jt", places, places)
    squares[np.ix_(others == i, (steps == 0).all(axis=1))] = np.inf  # no atom is its own neighbour
    return squares[squares <= radius**2]


def reduced_cell(cell: Float64s) -> tuple[Float64s, Float64s]:
    """Shorten the edges by multiples of each other; return them, and what turns fractional coordinates into theirs."""
    basis, change = np.array(cell, dtype=np.float64), np.eye(3)
    for _ in range(MAX_ROUNDS):
        for a, factors in _steps(basis):
            shorter = basis[a] + factors @ basis
            if shorter @ shorter < SHORTER * (basis[a] @ basis[a]):
                basis[a] = shorter
                change -= np.outer(change[:, a], factors)
                break
        else:
            break
    return basis, change


def _steps(basis: Float64s) -> Iterator[tuple[int, Float64s]]:
    """Yield an edge, and how many of the others to add: the nearest multiple of one, or both with either sign."""
    for a, b in itertools.permutations(range(3), 2):
        factors = np.zeros(3)
        factors[b] = -np.rint(basis[a] @ basis[b] / (basis[b] @ basis[b]))
        yield a, factors
    for a, signs in itertools.product(range(3), itertools.product((-1.0, 1.0), repeat=2)):
        factors = np.zeros(3)
        factors[[(a + 1) % 3, (a + 2) % 3]] = signs
        yield a, factors
