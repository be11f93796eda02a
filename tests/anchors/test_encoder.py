"""Vectors that adapt to a collection: lower bounds all the same, and better ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors import encoder as encoders
from anchorot.anchors.encoder import Directions, Encoder
from anchorot.anchors.grid import Grid
from anchorot.search.file import IndexFile
from tests.search.expected import brute_force, pairs
from tests.search.index_fuzz import Parts
from tests.strategies import assert_same, clouds, examples, spaces


@pytest.fixture
def few_suffice(monkeypatch):
    """So that small collections, too, are adapted to."""
    monkeypatch.setattr(encoders, "MIN_LEARNED", 1)


def learned(many, grid):
    features = [ao.AnchorFeatures.of(x) for x in many]
    encoder = Encoder.learn(grid, features.__getitem__, len(features))
    assert encoder.directions is not None
    return encoder


def encoder_of(index):
    return index._file.header().encoder


def alike(count, seed):
    rng = np.random.default_rng(seed)
    return [ao.from_points(rng.normal(size=(20, 3))) for _ in range(count)]


# -- bounds --------------------------------------------------------------------------------------------------------


@examples(40)
@given(st.lists(spaces(), min_size=1, max_size=6), spaces(), spaces(), st.integers(1, 4), st.integers(1, 4))
def test_vectors_less_their_radii_bound_the_computed_energy_whatever_was_learned_from(many, x, y, cells_x, cells_t):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "MIN_LEARNED", 1)
        encoder = learned(many, Grid((cells_x, cells_t), -1.0, 3.0))
    features = [ao.AnchorFeatures.of(each) for each in (x, y, *many)]
    vectors, radii = zip(*map(encoder.encode, features), strict=True)
    for one in range(2):
        for other, found in enumerate(features):
            apart = np.linalg.norm(vectors[one].astype(float) - vectors[other]) - radii[one] - radii[other]
            assert encoder.scale * max(apart, 0) ** 2 <= ao.anchor_energy(features[one], found)


@examples(30)
@given(st.lists(spaces(), min_size=1, max_size=6), st.integers(1, 3))
def test_vectors_of_many_are_those_of_each(many, threads):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "MIN_LEARNED", 1)
        patch.setattr(encoders, "AVERAGED_TOGETHER", 2)
        encoder = learned(many, Grid((2, 3), -1.0, 3.0))
    features = [ao.AnchorFeatures.of(x) for x in many]
    for each in (encoder, Encoder(encoder.grid)):
        assert_same(each.encode_many(features, threads), [each.encode(x) for x in features])


@pytest.mark.parametrize("threads", [1, 2])
def test_vectors_of_many_have_the_bits_of_each_on_the_grid_of_an_index(threads):
    many = [ao.AnchorFeatures.of(x) for x in clouds(300, weighted=False)]
    encoder = Encoder.learn(Grid((16, 16), 0.0, 5.0), many.__getitem__, len(many))
    assert encoder.directions is not None
    some = [x for x in many if x.levels.dtype == np.float64][:70]
    assert_same(encoder.encode_many(some, threads), [encoder.encode(x) for x in some])


def test_all_directions_together_see_what_the_finer_grid_sees(few_suffice):
    many = clouds(30)
    grid = Grid.around(many, (4, 4))
    encoder = learned(many, grid)
    x, y = (ao.AnchorFeatures.of(each) for each in clouds(2, seed=1))
    fine = [encoders.details(each, grid) for each in (x, y)]
    whole = Directions.learn(np.array([encoders.details(ao.AnchorFeatures.of(m), grid) for m in many]), 16 * 32)
    a, b = whole.coordinates(np.array(fine))
    np.testing.assert_allclose(np.linalg.norm(a - b), np.linalg.norm(fine[0] - fine[1]), rtol=1e-9)
    u, v = (encoder.encode(each)[0] for each in (x, y))
    assert np.linalg.norm(u - v) <= np.linalg.norm(a - b) * (1 + 1e-6)


def test_vectors_fit_into_the_unit_ball(few_suffice):
    encoder = learned(clouds(20), Grid((4, 4), 0.0, 2.0))
    for x in (*clouds(5, seed=1), ao.Space(np.zeros((2, 2))), ao.Space(np.full((2, 2), 1e9))):
        assert np.linalg.norm(encoder.encode(ao.AnchorFeatures.of(x))[0]) <= 1 + 1e-6


# -- results -------------------------------------------------------------------------------------------------------


@examples(25)
@given(st.lists(spaces(), min_size=1, max_size=10), spaces(), st.data())
def test_exact_search_along_directions_is_brute_force(many, x, data):
    many = many + many[:2]  # ties
    k, robust = data.draw(st.integers(1, len(many))), data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "MIN_LEARNED", 1)
        index = ao.SearchIndex.build(many, grid=(2, 3), robust=robust)
    assert pairs(index.query(x, k)) == brute_force(x, many, k, robust=robust)


def test_copies_of_few_spaces_are_all_found_in_the_order_of_their_ids(few_at_first):
    kinds = clouds(3)
    index = ao.SearchIndex.build([kinds[k % 3] for k in range(300)])
    assert encoder_of(index).directions is not None
    assert pairs(index.query(kinds[1], 100)) == [(0.0, k) for k in range(1, 300, 3)]


def test_spaces_that_are_nearly_alike_take_half_the_energies_that_equal_cells_took(monkeypatch):
    many, wanted = alike(1000, 0), alike(8, 1)
    adapted = ao.SearchIndex.build(many)
    monkeypatch.setattr(encoders, "MIN_LEARNED", 1 << 30)
    plain = ao.SearchIndex.build(many)
    counts = [sum(index.query(x).n_exact for x in wanted) for index in (adapted, plain)]
    assert counts[0] < 0.6 * counts[1]
    assert [pairs(adapted.query(x)) for x in wanted] == [pairs(plain.query(x)) for x in wanted]


# -- files ---------------------------------------------------------------------------------------------------------


def test_directions_are_saved_with_the_vectors_along_them(tmp_path, few_at_first):
    many, more = alike(260, 0), clouds(5)
    index = ao.SearchIndex.build(many, grid=(4, 4))
    index.save(tmp_path / "x")
    again = ao.SearchIndex.load(tmp_path / "x")
    assert encoder_of(again).to_bytes() == encoder_of(index).to_bytes() != b""
    for each in (index, again):
        each.add(more)
    index.save(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    for x in alike(3, 1):
        found = [each.query(x, 5) for each in (index, again)]
        assert pairs(found[0]) == pairs(found[1]) == brute_force(x, many + more, 5)
        assert found[0].n_exact == found[1].n_exact


def test_an_index_that_was_begun_with_few_spaces_adapts_when_it_is_compacted(tmp_path):
    many, wanted = alike(600, 0), alike(4, 1)
    index = ao.SearchIndex.build(many[:100], [str(k) for k in range(100)], path=tmp_path / "x")
    reader = ao.SearchIndex.load(tmp_path / "x")
    index.compact()
    assert encoder_of(index).directions is None
    index.add(many[100:], [str(k) for k in range(100, 600)])
    index.remove([3])
    before = [index.query(x, 5) for x in wanted]
    index.compact()
    assert encoder_of(index).directions is not None
    for each in (index, reader, ao.SearchIndex.load(tmp_path / "x")):
        after = [each.query(x, 5) for x in wanted]
        assert [(pairs(found), found.names) for found in after] == [(pairs(found), found.names) for found in before]
        assert sum(found.n_exact for found in after) < 0.7 * sum(found.n_exact for found in before)
        assert each.ids.tolist() == [k for k in range(600) if k != 3]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {"along_x": d.along_x * 1.001},
        lambda d: {"along_t": np.where(d.along_t > 0, np.nan, d.along_t)},
        lambda d: {"along_t": np.full_like(d.along_t, np.inf)},
        lambda d: {"chosen": d.chosen * 0},
        lambda d: {"chosen": -d.chosen - 1},
        lambda d: {"chosen": d.chosen + (1 << 40)},
        lambda d: {"mean": d.mean - 1},
        lambda d: {"mean": d.mean * np.nan},
        lambda d: {"along_x": d.along_x[:, :-1]},
        lambda d: {"along_x": d.along_x[:, :0]},
        lambda d: {"along_x": np.hstack([d.along_x] * 9)},
    ],
)
def test_directions_that_bound_nothing_are_refused(change, tmp_path):
    ao.SearchIndex.build(alike(256, 0), grid=(2, 2), path=tmp_path / "x")
    directions = IndexFile(tmp_path / "x").header().encoder.directions
    parts, other = Parts.of(tmp_path / "x"), replace(directions, **change(directions))
    parts.directions = other.to_bytes()
    parts.write(tmp_path / "x", widths=other.widths)
    with pytest.raises(ao.InputError, match=r"^x: its (directions|header)"):
        ao.SearchIndex.load(tmp_path / "x")
