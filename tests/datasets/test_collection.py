"""Data sets as collections: what all loaders share."""

import dataclasses
import sys

import numpy as np
import pytest

import anchorot as ao
from anchorot import datasets

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


def test_unknown_kinds_are_named():
    with pytest.raises(ao.InputError, match="kinds must be among person, dog, giraffe, lizard, but got 'cat'"):
        datasets.figures(["cat"])
