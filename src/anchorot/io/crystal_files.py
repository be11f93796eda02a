"""Read crystals: CIF with gemmi, and VASP's POSCAR."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.crystals import ELEMENT, Crystal, check_cell, crystal_rows
from anchorot.io.names import ending_of
from anchorot.io.options import ReadOptions
from anchorot.io.safe_open import content_of, note, reading
from anchorot.rows import Rows

POSCAR_NAMES = ("POSCAR", "CONTCAR")  # what the program calls its files
POSCAR_ENDINGS = (".poscar", ".vasp")
CRYSTAL_ENDINGS = (".cif", *POSCAR_ENDINGS)
MAX_ATOMS = 100_000  # of a cell: more are a mistake


def is_crystal(file: Path) -> bool:
    """Whether a file holds a crystal, by its ending or its name."""
    return ending_of(file) in CRYSTAL_ENDINGS or file.name in POSCAR_NAMES


def read_crystal(file: Path, options: ReadOptions) -> Rows:
    """Read a crystal: distances from each atom to its nearest, of each element with ``types="element"``."""
    if options.types not in (None, ELEMENT):
        raise InputError(f"types of a crystal are its elements: types={ELEMENT!r}, but got types={options.types!r}")
    if options.features is not None or options.n_points is not None:
        raise InputError("a crystal has no features, and all its atoms count; leave features and n_points out")
    found = (_read_cif if ending_of(file) == ".cif" else _read_poscar)(file, options.limit)
    if len(found.fraction) > MAX_ATOMS:
        raise InputError(f"the cell has {len(found.fraction)} atoms, but at most {MAX_ATOMS} are read")
    if options.types == ELEMENT and found.elements is None:
        raise InputError("the file names no elements; leave types out")
    elements = found.elements if options.types == ELEMENT else None
    return crystal_rows(check_cell(found.cell), found.fraction, elements, options.atoms)


def _read_cif(file: Path, limit: int) -> Crystal:
    """All atoms of the cell of the first block that has some; symmetry is applied."""
    try:
        import gemmi
    except ImportError:
        raise MissingExtraError("gemmi", "crystal") from None
    text = content_of(file, limit).decode("utf-8", "replace")
    with reading("a CIF file"):
        document = gemmi.cif.read_string(text)
        structures = [gemmi.make_small_structure_from_block(block) for block in document]
        found = next((each for each in structures if len(each.sites)), None)
        if found is None:
            raise InputError("there are no atoms with fractional coordinates (_atom_site_fract_x)")
        if len(found.sites) > MAX_ATOMS:
            raise InputError(f"it lists {len(found.sites)} atoms, but at most {MAX_ATOMS} are read")
        sites = found.get_all_unit_cell_sites()
        places = np.array([site.fract.tolist() for site in sites], np.float64).reshape(-1, 3)
        elements = [site.element.name if site.element.atomic_number else site.type_symbol for site in sites]
        cell = np.array(found.cell.orth.mat.tolist(), np.float64).T
    if any(site.occ < 1 for site in found.sites):
        note(file.name, "some atoms are there in part only (occupancy below 1), and count in full")
    return Crystal(cell, _finite(places), elements)


def _read_poscar(file: Path, limit: int) -> Crystal:
    """A comment, a scale, three edges, (names of elements,) numbers of atoms, and their coordinates."""
    with reading("a POSCAR file"):
        _, scale, *lines = content_of(file, limit).decode("utf-8", "replace").splitlines()
        cell = np.array([_numbers(line, (3,)) for line in lines[:3]])
        rest = lines[3:]
        names = None if rest[0].split()[0].isdigit() else [word.partition("_")[0] for word in rest.pop(0).split()]
        counts = [int(word) for word in rest.pop(0).split()]
        total = sum(counts)
        if min(counts) < 0 or total > MAX_ATOMS or (names is not None and len(names) != len(counts)):
            raise InputError(f"it promises {counts} atoms; at most {MAX_ATOMS}, with a name for each number, are read")
        if rest[0].strip()[:1] in ("S", "s"):  # selective dynamics
            rest.pop(0)
        is_cartesian = rest.pop(0).strip()[:1] in ("C", "c", "K", "k")
        places = np.array([_numbers(" ".join(line.split()[:3]), (3,)) for line in rest[:total]])
        if len(places) != total or total == 0:
            raise InputError(f"it promises {total} atoms, but has {len(places)}")
        factor = _scale(_numbers(scale, (1, 3)), cell)
    edges = check_cell(cell * factor)
    fraction = np.linalg.solve(edges.T, (places * factor).T).T if is_cartesian else places
    elements = None if names is None else np.repeat(names, counts).tolist()
    return Crystal(edges, _finite(np.asarray(fraction, np.float64)), elements)


def _scale(scale: list[float], cell: Float64s) -> Float64s:
    """What lengths are multiplied by, along each axis; a negative number is the volume that the cell shall have."""
    if len(scale) == 1 and scale[0] < 0:
        return np.full(3, np.cbrt(-scale[0] / max(abs(np.linalg.det(cell)), np.finfo(float).tiny)))
    return np.broadcast_to(scale, 3)


def _numbers(line: str, lengths: Sequence[int]) -> list[float]:
    words = line.split()
    if len(words) not in lengths or "_" in line:
        raise InputError(f"{lengths[0]} numbers are needed, but a line is {line[:40]!r}")
    return [float(word) for word in words]


def _finite(places: Float64s) -> Float64s:
    if not np.isfinite(places).all():
        raise InputError("some coordinates of atoms are missing or not finite")
    return np.ascontiguousarray(places)
