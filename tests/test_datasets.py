"""Data to try things on: what the loaders promise."""

import dataclasses
import sys
from collections import Counter

import numpy as np
import pytest

import anchorot as ao
from anchorot import datasets
from anchorot.datasets.shapes import KINDS, _skin, surface_of

LOADERS = {
    "alkanes": datasets.alkanes,
    "digits": lambda **seed: datasets.digits((0, 1), 2, **seed),
    "figures": lambda **seed: datasets.figures(["dog"], 2, 40, **seed),
    "grown_neurons": lambda **seed: datasets.grown_neurons(1, 40, **seed),
    "isomers": lambda: datasets.isomers(4),
    "neurons": lambda **seed: datasets.neurons(40, **seed),
    "shapes_and_graphs": lambda **seed: datasets.shapes_and_graphs(10, **seed),
    "social_networks": datasets.social_networks,
    "tissues": lambda **seed: datasets.tissues(1, 30, **seed),
}
MADE = ["figures", "grown_neurons", "shapes_and_graphs", "tissues"]


@pytest.fixture(params=LOADERS)
def loaded(request):
    pytest.importorskip({"digits": "sklearn", "social_networks": "networkx"}.get(request.param, "numpy"))
    return LOADERS[request.param]()


def test_every_loader_is_tried_here():
    functions = {name for name in datasets.__all__ if name.islower()}
    assert functions - set(LOADERS) == {"two_assays"}


def test_a_set_is_a_sequence_of_spaces_with_a_name_a_label_a_source_and_a_licence(loaded):
    assert len(loaded) == len(loaded.spaces) == len(loaded.labels) == len(loaded.names) > 0
    assert all(isinstance(space, ao.Space) for space in loaded)
    assert loaded[0] is loaded.spaces[0]
    assert loaded[:2] == loaded.spaces[:2]
    assert len(set(loaded.names)) == len(loaded)
    assert loaded.source
    assert loaded.licence
    assert loaded.licence in repr(loaded)
    assert loaded.source[:20] in loaded._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.name = "mine"


def test_a_set_is_taken_by_pairwise_as_it_is(loaded):
    assert ao.pairwise(loaded, progress=False).shape == (len(loaded), len(loaded))


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_depends_on_the_seed_alone(name):
    first, second, other = (LOADERS[name](rng=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(x.cost, y.cost) for x, y in zip(first, second, strict=True))
    assert not all(x.n == y.n and np.array_equal(x.cost, y.cost) for x, y in zip(first, other, strict=True))


def test_data_are_loaded_when_they_are_asked_for(capsys):
    assert "datasets" in dir(ao)
    assert ao.datasets is sys.modules["anchorot.datasets"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_skin_of_a_figure_is_closed_in_one_piece_and_faces_outwards(kind):
    vertices, faces, shares = _skin(KINDS[kind])
    directed = Counter(tuple(face[[i, (i + 1) % 3]]) for face in faces for i in range(3))
    assert set(directed.values()) == {1}
    assert all((b, a) in directed for a, b in directed)
    assert len(vertices) - len(directed) // 2 + len(faces) == 2  # no handles
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    assert np.einsum("fi,fi->f", a, np.cross(b, c)).sum() > 0  # six times the volume
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_a_sphere_on_a_grid_has_the_area_and_volume_of_a_sphere():
    axis = np.linspace(-1.5, 1.5, 61)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    vertices, faces = surface_of(1 - np.linalg.norm(grid, axis=-1), np.full(3, -1.5), 0.05)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    assert areas.sum() == pytest.approx(4 * np.pi, rel=0.01)
    assert np.einsum("fi,fi->f", a, np.cross(b, c)).sum() / 6 == pytest.approx(4 * np.pi / 3, rel=0.01)


def test_poses_keep_distances_along_the_skin():
    straight, bent = datasets.figures(["dog"], 2, 60)
    assert straight.labels == bent.labels
    change = np.abs(straight.cost - bent.cost)
    assert 0 < change.mean() < 0.05 * straight.cost.mean()


def test_unknown_kinds_are_named():
    with pytest.raises(ao.InputError, match="kinds must be among person, dog, giraffe, lizard, but got 'cat'"):
        datasets.figures(["cat"])


# OEIS A000602 (alkanes), A000598 (alcohols) and A000642 shifted (ethers).
def test_there_are_as_many_isomers_as_chemists_count():
    assert Counter(datasets.alkanes().labels) == {"C4H10": 2, "C5H12": 3, "C6H14": 5, "C7H16": 9, "C8H18": 18}
    for n_carbons, alcohols, ethers in ((2, 1, 1), (3, 2, 1), (4, 4, 3), (5, 8, 6), (6, 17, 15), (7, 39, 33)):
        assert Counter(datasets.isomers(n_carbons).labels) == {"alcohol": alcohols, "ether": ethers}


def test_alkanes_have_the_indices_that_wiener_gives():
    """H. Wiener, J. Am. Chem. Soc. 69 (1947) 17: sums of path lengths."""
    data = datasets.alkanes()
    paths = {name: space.cost.sum() / 2 for name, space in zip(data.names, data, strict=True)}
    assert (paths["butane"], paths["octane"], paths["2,2,3-trimethylbutane"]) == (10, 84, 42)
    assert (paths["3-ethyl-2-methylpentane"], paths["2,2,3,3-tetramethylbutane"]) == (67, 58)


def test_a_digit_weighs_as_much_as_its_ink():
    sklearn = pytest.importorskip("sklearn.datasets")
    (space,), (name,) = (datasets.digits([7], 1)).spaces, datasets.digits([7], 1).names
    image = sklearn.load_digits().images[int(name.split()[-1])]
    assert space.n == (image > 0).sum()
    np.testing.assert_allclose(np.sort(space.weights), np.sort(image[image > 0]) / image.sum())


def test_more_digits_than_there_are_is_one_line():
    pytest.importorskip("sklearn")
    with pytest.raises(ao.InputError, match="there are 178 images of the digit 0, but 999 are asked for"):
        datasets.digits([0], 999)


@pytest.mark.parametrize(
    ("load", "package", "extra"), [("social_networks", "networkx", "graph"), ("digits", "sklearn.datasets", "learn")]
)
def test_a_missing_extra_names_itself(monkeypatch, load, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ao.MissingExtraError, match=rf"pip install 'anchorot\[{extra}\]'"):
        getattr(datasets, load)()


def test_tissues_differ_in_who_is_near_whom_and_in_nothing_else():
    data = datasets.tissues(4, 90)
    assert all(Counter(space.types)["immune"] == 30 for space in data)
    energies = ao.pairwise(data, attributes="types", max_cost=0.1, progress=False)
    assert ao.group_test(energies, data.labels, rng=0).pvalue < 0.05
    assert ao.group_test(ao.pairwise(data, progress=False), data.labels, rng=0).pvalue > 0.05


def test_both_assays_see_the_same_cells():
    data = datasets.two_assays(60, noise=0.0)
    x, y = ao.from_points(data.first), ao.from_points(data.second)
    assert np.corrcoef(x.cost.ravel(), y.cost.ravel())[0, 1] > 0.9
    assert set(data.branch.tolist()) == {0, 1, 2}


def test_trees_of_neurons_are_measured_along_their_branches():
    for space in (*datasets.neurons(60), *datasets.grown_neurons(1, 60)):
        geometry = space.geometry
        straight = np.linalg.norm(
            geometry.positions[geometry.index][:, None] - geometry.positions[geometry.index], axis=2
        )
        assert (space.cost >= straight - 1e-6).all()
        assert len(geometry.edges) == geometry.n_sites - 1
