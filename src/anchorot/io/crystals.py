"""Rows of crystals: distances from every atom of the cell to its k nearest, over all periodic images."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels
from anchorot._kernels.numpy.periodic import reduced_cell
from anchorot._typing import Float64s
from anchorot._validate import (
    check_finite,
    check_free_memory,
    check_integer,
    check_nonnegative,
    check_numbers,
    check_types,
)
from anchorot.exceptions import InputError, type_of
from anchorot.rows import Rows

K = 100  # of the nearest atoms
ELEMENT = "element"
MIN_SHAPE = 1e-12  # volume of a cell over the product of its edges: below it the edges lie in a plane
MAX_IMAGES = 1e7  # seconds of work and a tenth of a gigabyte, for each atom
LENGTHS = 1e-100, 1e100  # of edges: their squares and volumes stay in the range of floats


class Crystal(NamedTuple):
    """A crystal that is not yet validated."""

    cell: Any  # (3, 3) edges in rows
    fraction: Any  # (n, 3)
    elements: Any = None  # n names


def from_crystal(
    cell: Any,
    positions: ArrayLike | None = None,
    species: Iterable[Hashable] | str | None = None,
    k: int = K,
    *,
    cartesian: bool = False,
    merge: float | None = None,
) -> Rows:
    """Make the rows of a crystal: exact distances from each atom of the cell to its k nearest, images included.

    They do not depend on the choice of the cell, its origin, or the crystal's orientation; supercells have the same
    rows, each repeated. Cells of any shape are reduced first. Atoms with the same distances are one row with their
    total weight.

    Compare them by :func:`sliced_anchor_wasserstein`: atoms that move by at most e change it by at most 2 e.

    Parameters
    ----------
    cell : array_like of shape (3, 3), ASE Atoms or pymatgen Structure
        The edges of the cell, in rows.
    positions : array_like of shape (n, 3)
        Fractional coordinates of the atoms; left out beside an object that has them.
    species : iterable of n hashable objects, "element", optional
        Each atom then has its k nearest of every species, and the rows have types for ``attributes="types"``: species
        of the centre and of the neighbour. "element" takes those of the object. By default all atoms are alike.
    k : int
        How many of the nearest atoms. Use one k for all crystals that you compare.
    cartesian : bool
        Whether positions are Cartesian coordinates instead.
    merge : float, optional
        Merge rows that differ nowhere by more than this, such as 1e-4 for files with rounded coordinates; distances
        change by no more. By default 1e-12 of the largest distance, for rounding; 0 keeps one row per atom.

    Returns
    -------
    Rows

    Examples
    --------
    >>> import anchorot as ao
    >>> salt = [[0, 0, 0], [0.5, 0.5, 0.5]]
    >>> faces = [[0, 2.82, 2.82], [2.82, 0, 2.82], [2.82, 2.82, 0]]
    >>> ao.from_crystal(faces, salt, k=6)
    Rows(n=1, k=6, uniform, float64)
    >>> ao.from_crystal(faces, salt, ["Na", "Cl"], k=2).values.round(2).tolist()
    [[3.99, 3.99, 2.82, 2.82], [2.82, 2.82, 3.99, 3.99]]
    """
    if positions is None:
        found = _crystal_of(cell)
        edges, places = check_cell(found.cell), found.fraction
        kinds = found.elements if isinstance(species, str) and species == ELEMENT else species
    else:
        edges, places, kinds = check_cell(cell), positions, species
    if isinstance(kinds, str):
        raise InputError(f"species must be one per atom, or 'element' of an object that has them, but got {kinds!r}")
    fraction = _check_places(places, edges, cartesian)
    return crystal_rows(edges, fraction, kinds, k, merge)


def crystal_rows(
    cell: Float64s, fraction: Float64s, species: Iterable[Hashable] | None, k: int, merge: float | None = None
) -> Rows:
    """Rows of a crystal whose cell and fractional coordinates are checked."""
    n, k = len(fraction), check_integer(k, "k", 1)
    kinds = None if species is None else check_types(species, n, "positions")
    alphabet = dict.fromkeys(kinds or (None,))
    number = {kind: code for code, kind in enumerate(alphabet)}
    size = 8.0 * n * k * len(alphabet)
    check_free_memory(size, f"distances of {n} atoms to {k} others", "take a smaller k, or leave species out")
    if len(alphabet) > 1:
        _check_extent(cell, n)
    code = np.zeros(n, np.uint32) if kinds is None else np.array([number[kind] for kind in kinds], np.uint32)
    values = kernels.periodic_distances(cell, fraction, code, len(alphabet), k).reshape(n, -1)
    columns = None if kinds is None else [kind for kind in alphabet for _ in range(k)]
    rows = Rows(values, types=kinds, column_types=columns, copy=False)
    limit = None if merge is None else check_nonnegative(merge, "merge")
    return rows if limit == 0 else rows.merged(limit)


def check_cell(cell: Any) -> Float64s:
    """Turn a cell into three edges that span a volume."""
    edges: Float64s = np.ascontiguousarray(check_numbers(cell, "cell"), dtype=np.float64)
    if edges.shape != (3, 3):
        raise InputError(f"cell has shape {edges.shape}, but (3, 3) is needed: the three edges of the cell, in rows")
    check_finite(edges, "cell")
    lengths = np.abs(edges).max(axis=1)
    if not (LENGTHS[0] < lengths.min() and lengths.max() < LENGTHS[1]):
        raise InputError(f"edges of the cell are {lengths.min():.3g} to {lengths.max():.3g} long; choose another unit")
    directions = edges / np.linalg.norm(edges, axis=1, keepdims=True)
    if abs(np.linalg.det(directions)) < MIN_SHAPE:
        raise InputError("the edges of the cell lie in one plane, but they must span a volume")
    return edges


def _check_extent(cell: Float64s, n: int) -> None:
    """Refuse cells so long or flat that atoms of one species are among too many images of themselves to see another."""
    if _images_within(cell, n) > MAX_IMAGES and _images_within(reduced_cell(cell)[0], n) > MAX_IMAGES:
        raise InputError(
            "the cell is so long or flat that the nearest atoms of another species are too many images away; leave "
            "species out, or give a cell whose edges are more alike"
        )


def _images_within(cell: Float64s, n: int) -> float:
    """About the number of atoms in a ball as wide as the cell: no atom is farther from the nearest of any species."""
    radius = float(np.linalg.norm(cell, axis=1).sum()) / 2
    return 4 / 3 * np.pi * radius**3 / abs(float(np.linalg.det(cell))) * n


def _check_places(places: Any, cell: Float64s, cartesian: bool) -> Float64s:
    found: Float64s = np.ascontiguousarray(check_numbers(places, "positions"), dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != 3 or len(found) == 0:
        raise InputError(f"positions has shape {found.shape}, but (n, 3) with n >= 1 is needed")
    check_finite(found, "positions")
    return np.ascontiguousarray(np.linalg.solve(cell.T, found.T).T) if cartesian else found


def _crystal_of(thing: Any) -> Crystal:
    """Cell, fractional coordinates and elements of an ASE Atoms or a pymatgen Structure, by their attributes."""
    if hasattr(thing, "get_scaled_positions") and hasattr(thing, "get_chemical_symbols"):
        if not np.all(thing.pbc):
            raise InputError(f"pbc is {list(map(bool, thing.pbc))}, but a crystal is periodic along all three edges")
        return Crystal(np.array(thing.cell), thing.get_scaled_positions(wrap=False), thing.get_chemical_symbols())
    if hasattr(thing, "lattice") and hasattr(thing, "frac_coords"):
        elements = [getattr(site, "species_string", None) for site in thing]
        return Crystal(thing.lattice.matrix, thing.frac_coords, elements)
    raise InputError(
        f"got {type_of(thing)} without positions, but a crystal is needed: from_crystal(cell, positions), or an ASE "
        "Atoms or pymatgen Structure; read(path) takes .cif and POSCAR files"
    )
