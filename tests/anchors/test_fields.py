"""Fields of view: their areas, and the local default of max_cost."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.anchors.fields import NEIGHBOR, Field, local_cost
from anchorot.geometry import extent


def cells(n, seed, side=1.0):
    rng = np.random.default_rng(seed)
    return side * rng.random((n, 2)), rng.choice(["B", "T"], n).tolist()


def test_the_median_distance_to_the_tenth_neighbour_is_that_of_sorted_rows():
    points, types = cells(60, 0)
    space = ao.from_points(points, types=types, area=1.0)
    expected = np.median(np.sort(space.cost, axis=1)[:, NEIGHBOR])  # the first is the point itself
    found = Field.of(space)
    assert found.near == expected
    assert (found.area, found.n_points) == (1.0, 60)
    assert found.counts == {"B": types.count("B"), "T": types.count("T")}


def test_with_few_points_the_farthest_counts():
    assert Field.of(ao.from_points([[0.0], [1.0], [3.0]], area=3.0)).near == 3.0
    assert Field.of(ao.from_points([[5.0]], area=3.0)).near == 0.0
    assert Field.of(ao.from_points([[0.0], [1.0]])) is None


def test_the_extent_of_uniform_points_is_unbiased():
    rng = np.random.default_rng(0)
    for n in (5, 40):
        found = [extent(rng.random((n, 2)) * [2.0, 3.0]) for _ in range(4000)]
        assert np.mean(found) == pytest.approx(6.0, rel=0.02)
    assert extent(np.zeros((3, 2))) is None
    assert extent(np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 1.0]])) == 2.0


def test_the_area_follows_the_points_but_not_another_unit(tmp_path):
    points, types = cells(30, 1)
    space = ao.from_points(points, types=types, area="extent", n_points=20, rng=0)
    assert space.area == extent(points)
    assert space.take([0, 1]).area == space.reaching(0.1).area == space.area
    assert space.ranked().area is None
    assert space.scaled().area is None
    ao.write(space, tmp_path / "space.npz")
    assert ao.read(tmp_path / "space.npz").area == space.area


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, np.nan, "wide", [1.0, 2.0]])
def test_a_bad_area_is_refused(bad):
    with pytest.raises(ao.InputError, match="area must be a positive number, but got"):
        ao.Space(np.zeros((2, 2)), area=bad)


def cohort(**options):
    rows = {"image": [], "x": [], "y": [], "type": [], "size": []}
    for k in range(4):
        points, types = cells(40, k, side=1 + k)
        for name, values in (("image", [k] * 40), ("x", points[:, 0]), ("y", points[:, 1]), ("type", types)):
            rows[name] += list(values)
        rows["size"] += [(1.0 + k) ** 2] * 40
    return ao.from_cohort(rows, sample="image", points=["x", "y"], types="type", **options)


def test_a_cohort_knows_the_areas_of_its_fields():
    found, given = [space.area for space in cohort()], [space.area for space in cohort(area="size")]
    assert given == [1.0, 4.0, 9.0, 16.0]
    np.testing.assert_allclose(found, given, rtol=0.15)
    assert [space.area for space in cohort(n_neighbors=10)] == [None] * 4
    assert [space.area for space in cohort(metric="correlation")] == [None] * 4


def test_types_in_fields_of_view_are_compared_locally_by_default():
    spaces = cohort()
    limit = local_cost(map(Field.of, spaces))
    assert limit == np.median([Field.of(space).near for space in spaces])
    found = ao.pairwise(spaces, attributes="types", progress=False)
    np.testing.assert_array_equal(found, ao.pairwise(spaces, attributes="types", max_cost=limit, progress=False))
    largest = max(space.cost.max() for space in spaces)
    bare = [ao.Space(space.cost, types=space.types) for space in spaces]
    whole = ao.pairwise(spaces, attributes="types", max_cost=largest, progress=False)
    np.testing.assert_array_equal(whole, ao.pairwise(bare, attributes="types", progress=False))


def test_without_attributes_areas_change_nothing():
    spaces = cohort()
    bare = [ao.Space(space.cost) for space in spaces]
    np.testing.assert_array_equal(ao.pairwise(spaces, progress=False), ao.pairwise(bare, progress=False))


def test_cells_at_places_have_an_area_and_expression_has_none():
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    adata = anndata.AnnData(rng.normal(size=(30, 5)).astype(np.float32))
    adata.obsm["spatial"] = rng.random((30, 2))
    assert ao.from_cells(adata, obsm="spatial").area == extent(adata.obsm["spatial"])
    assert ao.from_cells(adata).area is None
    assert ao.from_cells(adata, obsm="spatial", n_points=10, rng=0).area == extent(adata.obsm["spatial"])
