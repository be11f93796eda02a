"""Distances over periodic images: against all images in a large block, in any basis of the lattice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from tests.strategies import examples

SETS = [kernels, numpy_kernels]


def made(seed, n=None, species=1):
    """A cell that is not too flat, coordinates inside and outside of it, and a species for each atom."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 5))
    shape = 0.0
    while shape < 0.3:
        cell = rng.normal(size=(3, 3))
        shape = abs(np.linalg.det(cell / np.linalg.norm(cell, axis=1, keepdims=True)))
    kind = np.concatenate([np.arange(species), rng.integers(0, species, n)])[: max(n, species)]
    return cell, rng.uniform(-2, 2, size=(len(kind), 3)), kind.astype(np.uint32), species


def brute_force(cell, fraction, kind, species, k, block):
    """Every image in a block of (2 block + 1)³ cells around the atom's own."""
    steps = np.stack(np.meshgrid(*[np.arange(-block, block + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = fraction - np.floor(fraction)
    out = np.empty((len(inside), species, k))
    for s in range(species):
        images = ((inside[kind == s][:, None] + steps) @ cell).reshape(-1, 3)
        for i, row in enumerate(np.sort(cdist(inside @ cell, images))):
            out[i, s] = row[1 : k + 1] if kind[i] == s else row[:k]
    return out


def skewed(cell, fraction, seed, shears=3):
    """The same crystal in a cell that is sheared again and again, by integers."""
    rng = np.random.default_rng(seed)
    basis = np.eye(3, dtype=int)
    for _ in range(shears):
        a, b = rng.choice(3, 2, replace=False)
        basis[a] += int(rng.integers(-4, 5)) * basis[b]
    return basis @ cell, fraction @ np.round(np.linalg.inv(basis))


@pytest.mark.parametrize("each", SETS)
@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 3))
def test_all_images_are_seen(each, seed, k, species):
    crystal = made(seed, species=species)
    found = each.periodic_distances(*crystal, k)
    np.testing.assert_allclose(found, brute_force(*crystal, k, 9), rtol=1e-12)


@pytest.mark.parametrize("each", SETS)
@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_skewed_cells_are_reduced_first(each, seed, k):
    cell, fraction, kind, species = made(seed)
    found = each.periodic_distances(*skewed(cell, fraction, seed), kind, species, k)
    np.testing.assert_allclose(found, brute_force(cell, fraction, kind, species, k, 9), rtol=1e-11)


@examples(20)
@given(st.integers(0, 10**6), st.integers(1, 150), st.integers(1, 2))
def test_both_kernels_agree(seed, k, species):
    cell, fraction, kind, species = made(seed, n=6, species=species)
    cell, fraction = skewed(cell, fraction, seed)
    found = [each.periodic_distances(cell, fraction, kind, species, k) for each in SETS]
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_golden_distances_of_simple_lattices():
    """The shells of the simple cubic and the face-centred cubic lattice, as in any textbook."""
    origin, kind = np.zeros((1, 3)), np.zeros(1, np.uint32)
    faces = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2.0
    for each in SETS:
        cubic = each.periodic_distances(np.eye(3), origin, kind, 1, 26)[0, 0]
        np.testing.assert_allclose(cubic, np.repeat([1, 2**0.5, 3**0.5], [6, 12, 8]))
        face_centred = each.periodic_distances(faces, origin, kind, 1, 18)[0, 0]
        np.testing.assert_allclose(face_centred, np.repeat([0.5**0.5, 1], [12, 6]))
