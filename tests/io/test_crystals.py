"""Crystals: rows do not depend on how a crystal is described, files are read as they mean, and bad ones refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import anchorot as ao
from tests.command_line import anchorot
from tests.io.fuzz import SALT_CIF, SALT_POSCAR
from tests.strategies import examples

SEEDS = st.integers(0, 10**6)
saw = ao.sliced_anchor_wasserstein
FACES = np.array([[0, 2.82, 2.82], [2.82, 0, 2.82], [2.82, 2.82, 0]])
SALT = np.array([[0, 0, 0], [0.5, 0.5, 0.5]])


def made(seed, n=None):
    rng = np.random.default_rng(seed)
    cell = np.zeros((3, 3))
    while abs(np.linalg.det(cell)) < 0.2:
        cell = rng.normal(size=(3, 3))
    n = n or int(rng.integers(1, 6))
    return cell, rng.uniform(size=(n, 3)), rng.choice(["C", "N"], n)


def distances(first, second, **how):
    """SAW_1 and AE without and with species; `how` is of both."""
    yield from (function(*(ao.from_crystal(*each[:2], **how) for each in (first, second))) for function in (saw,))
    typed = [ao.from_crystal(*each, **how) for each in (first, second)]
    limit = float(max(x.values.max() for x in typed))
    yield saw(*typed, attributes="types", max_cost=limit)


# -- the same crystal, described otherwise -----------------------------------------------------------------------------


@examples(25)
@given(SEEDS, st.integers(1, 40))
def test_rotations_origins_cells_and_supercells_change_nothing(seed, k):
    cell, places, species = made(seed)
    rng = np.random.default_rng(seed)
    turned = cell @ Rotation.random(rng=rng).as_matrix()
    shear = np.eye(3)
    shear[0, 1], shear[2, 0] = rng.integers(-5, 6, 2)
    repeats = rng.integers(1, 4, 3)
    steps = np.stack(np.meshgrid(*map(np.arange, repeats), indexing="ij"), axis=-1).reshape(-1, 3)
    copies = ((places[:, None] + steps) / repeats).reshape(-1, 3)
    order = rng.permutation(len(places))
    others = [
        (turned, places, species),
        (cell, places + rng.normal(size=3) + rng.integers(-3, 4, size=places.shape), species),
        (shear @ cell, places @ np.linalg.inv(shear), species),
        (repeats[:, None] * cell, copies, np.repeat(species, len(steps))),
        (cell[[1, 2, 0]], places[order][:, [1, 2, 0]], species[order]),
    ]
    for other in others:
        for merge in (None, 0):
            assert max(distances((cell, places, species), other, k=k, merge=merge)) <= 1e-12


@examples(25)
@given(SEEDS, st.floats(1e-4, 0.3))
def test_moving_atoms_moves_distances_by_twice_that_at_most(seed, size):
    cell, places, species = made(seed)
    moves = np.random.default_rng(seed).normal(size=places.shape)
    moves *= size / np.linalg.norm(moves, axis=1).max()
    moved = places + moves @ np.linalg.inv(cell)
    assert max(distances((cell, places, species), (cell, moved, species), k=15)) <= 2 * size + 1e-12


def test_cartesian_positions_are_those_in_the_cell():
    cell, places, _ = made(0)
    plain, cartesian = ao.from_crystal(cell, places), ao.from_crystal(cell, places @ cell, cartesian=True)
    np.testing.assert_allclose(plain.values, cartesian.values, atol=1e-12)


def test_equivalent_atoms_are_one_row_with_their_weight():
    salt = ao.from_crystal(FACES, SALT, k=30)
    assert (salt.n, salt.weights.tolist()) == (1, [1.0])
    typed = ao.from_crystal(FACES, SALT, ["Na", "Cl"], k=30)
    assert (typed.n, typed.k, typed.types) == (2, 60, ("Na", "Cl"))
    noisy = ao.from_crystal(FACES, [[0, 0, 0], [0.5 + 1e-6, 0.5, 0.5]], k=30)
    three = ao.from_crystal(np.diag([2, 1, 1]), [[0, 0, 0], [0.4, 0, 0]], k=30, merge=0)
    assert (noisy.n, three.n) == (1, 2)


def test_species_tell_crystals_apart_that_are_otherwise_alike():
    two = [ao.from_crystal(FACES, SALT, species, k=20) for species in (["Na", "Cl"], ["K", "Cl"])]
    assert saw(*two) == 0
    assert saw(*two, attributes="types") > 0.1


def test_rows_are_the_distances_of_pointwise_distance_distributions():
    """Two lattices that AMD and PDD tell apart by hand: the square and the hexagonal one, in planes far apart."""
    square = ao.from_crystal(np.diag([1, 1, 50.0]), [[0, 0, 0]], k=8)
    hexagonal = ao.from_crystal([[1, 0, 0], [0.5, 0.75**0.5, 0], [0, 0, 50.0]], [[0, 0, 0]], k=8)
    np.testing.assert_allclose(square.values[0], [1] * 4 + [2**0.5] * 4)
    np.testing.assert_allclose(hexagonal.values[0], [1] * 6 + [3**0.5] * 2)
    linf = ao.anchor_wasserstein(square, hexagonal, epsilon=0, row_metric="linf").value
    assert linf == pytest.approx(2**0.5 - 1)
    assert saw(square, hexagonal) == pytest.approx((2 * (2**0.5 - 1) + 2 * (3**0.5 - 2**0.5)) / 8)


# -- files and objects -------------------------------------------------------------------------------------------------


class Atoms:
    """What is used of an ASE Atoms."""

    cell, pbc = FACES, [True, True, True]

    def get_scaled_positions(self, wrap=True):
        return SALT

    def get_chemical_symbols(self):
        return ["Na", "Cl"]


class Site:
    def __init__(self, species_string):
        self.species_string = species_string


class Structure(list):
    """What is used of a pymatgen Structure."""

    frac_coords = SALT

    class lattice:  # noqa: N801  # pymatgen's name
        matrix = FACES


@pytest.mark.parametrize("thing", [Atoms(), Structure([Site("Na"), Site("Cl")])])
def test_objects_of_other_packages_are_crystals(thing):
    wanted = ao.from_crystal(FACES, SALT, ["Na", "Cl"], k=10)
    found = ao.from_crystal(thing, species="element", k=10)
    np.testing.assert_array_equal(found.values, wanted.values)
    assert found.types == wanted.types
    assert ao.from_crystal(thing, k=10).types is None


@pytest.fixture
def files(tmp_path):
    pytest.importorskip("gemmi")
    (tmp_path / "salt.cif").write_text(SALT_CIF)
    (tmp_path / "POSCAR").write_text(SALT_POSCAR)
    faces = "0 1 1\n1 0 1\n1 1 0\n"
    moved = "Selective dynamics\nCartesian\n.1 .1 .1 T T F\n1.1 1.1 1.1 F F F\n"
    (tmp_path / "moved.vasp").write_text(f"moved\n2.82\n{faces}Na Cl\n1 1\n{moved}")
    (tmp_path / "volume.poscar").write_text(f"volume\n-{2 * 2.82**3}\n{faces}1 1\nDirect\n0 0 0\n.5 .5 .5\n")
    return [tmp_path / name for name in ("salt.cif", "POSCAR", "moved.vasp", "volume.poscar")]


def test_files_hold_the_crystal(files):
    wanted = ao.from_crystal(FACES, SALT, k=50)
    for file in files:
        found = ao.read(file, atoms=50)
        assert saw(found, wanted) <= 1e-12
        assert found.origin.name == file.name
    for file in files[:3]:
        typed = ao.read(file, atoms=20, types="element")
        assert set(typed.types) == {"Na", "Cl"}
        assert saw(typed, ao.from_crystal(FACES, SALT, ["Na", "Cl"], k=20), attributes="types") <= 1e-12
    with pytest.raises(ao.InputError, match=r"volume\.poscar: the file names no elements"):
        ao.read(files[3], types="element")


def test_partial_occupancies_are_noted(tmp_path):
    pytest.importorskip("gemmi")
    text = SALT_CIF.replace("_z\n", "_z\n_atom_site_occupancy\n").replace("0 0 0\n", "0 0 0 0.5\n")
    text = text.replace("0.5 0.5 0.5\n", "0.5 0.5 0.5 1\n")
    (tmp_path / "part.cif").write_text(text)
    with pytest.warns(ao.InputWarning, match="part.cif .*in part only"):
        ao.read(tmp_path / "part.cif")


BAD_POSCARS = {
    "cut off": "\n".join(SALT_POSCAR.splitlines()[:8]),
    "too few atoms": SALT_POSCAR.replace("1 1\n", "1 2\n"),
    "flat": SALT_POSCAR.replace("2.82 2.82 0.0", "2.82 0.0 2.82"),
    "a name too many": SALT_POSCAR.replace("Na Cl", "Na Cl K"),
    "no number": SALT_POSCAR.replace("0.5 0.5 0.5", "0.5 half 0.5"),
    "not finite": SALT_POSCAR.replace("0.5 0.5 0.5", "0.5 nan 0.5"),
    "too many": SALT_POSCAR.replace("1 1\n", "1 999999999\n"),
    "empty": "",
}


@pytest.mark.parametrize("problem", BAD_POSCARS)
def test_bad_files_are_refused_in_one_line(problem, tmp_path):
    file = tmp_path / "bad.vasp"
    file.write_text(BAD_POSCARS[problem])
    with pytest.raises(ao.InputError, match=r"^bad\.vasp: ") as caught:
        ao.read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "data_x\n", SALT_CIF[:100], SALT_CIF.replace("5.64", "0"), "not a file {"])
def test_bad_cif_files_are_refused_in_one_line(text, tmp_path):
    pytest.importorskip("gemmi")
    file = tmp_path / "bad.cif"
    file.write_text(text)
    with pytest.raises(ao.InputError, match=r"^bad\.cif: ") as caught:
        ao.read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ao.from_crystal(np.eye(2), SALT), r"cell has shape \(2, 2\)"),
        (lambda: ao.from_crystal(np.ones((3, 3)), SALT), "lie in one plane"),
        (lambda: ao.from_crystal(np.zeros((3, 3)), SALT), "choose another unit"),
        (lambda: ao.from_crystal(1e200 * np.eye(3), SALT), "choose another unit"),
        (lambda: ao.from_crystal(FACES, SALT[:, :2]), r"positions has shape \(2, 2\)"),
        (lambda: ao.from_crystal(FACES, SALT + np.inf), "must be finite"),
        (lambda: ao.from_crystal(FACES, SALT, ["Na"]), "types has 1 entries, but positions has 2"),
        (lambda: ao.from_crystal(FACES, SALT, "element"), "species must be one per atom"),
        (lambda: ao.from_crystal(FACES, SALT, k=0), "k must be an integer >= 1"),
        (lambda: ao.from_crystal(FACES, SALT, merge=-1), "merge must be a finite number >= 0"),
        (lambda: ao.from_crystal(FACES), "got an ndarray without positions"),
    ],
)
def test_bad_crystals_are_refused(call, message):
    with pytest.raises(ao.InputError, match=message):
        call()


def test_flat_and_long_cells_take_no_longer():
    for cell in (np.diag([1, 1, 1e5]), np.diag([1, 1e5, 1e5])):
        found = ao.from_crystal(cell, [[0, 0, 0]], k=100).values[0]
        shells = np.sort(np.abs(np.arange(-60, 61)))[1:101] if cell[1, 1] > 1 else None
        if shells is not None:
            np.testing.assert_allclose(found, shells)
        assert found[0] == 1


def test_cells_in_which_species_are_too_far_apart_are_refused():
    cell, places = np.diag([1, 1, 1e9]), [[0, 0, 0], [0, 0, 0.5]]
    with pytest.raises(ao.InputError, match="so long or flat"):
        ao.from_crystal(cell, places, ["A", "B"])
    assert ao.from_crystal(cell, places, k=4).values.tolist() == [[1, 1, 1, 1]]
    slab = ao.from_crystal(np.diag([3, 3, 60]), places, ["A", "B"], k=2)
    np.testing.assert_allclose(slab.values[0], [3, 3, 30, 30])


# -- commands ----------------------------------------------------------------------------------------------------------


def test_commands_take_crystals(files):
    folder = files[0].parent
    found = anchorot("pairwise", folder, "--metric", "saw", "--nearest", 1, "--atoms", 20)
    assert found.returncode == 0, found.stderr
    assert "salt.cif" in found.stdout
    found = anchorot("duplicates", folder, "--threshold", 1e-6, "--json")
    assert found.returncode == 0, found.stderr
    assert '"labels": [0, 0, 0, 0]' in " ".join(found.stdout.split())


def test_commands_that_need_a_square_matrix_refuse_crystals(files):
    for words in (("match", files[1], files[2]), ("convert", files[1], "-o", files[0].parent / "out")):
        found = anchorot(*words)
        assert found.returncode != 0
        assert "rows lack the square matrix" in " ".join(found.stderr.split())
        assert "Traceback" not in found.stderr
