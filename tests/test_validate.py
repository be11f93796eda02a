"""Input validation: odd inputs are read as intended, or refused in one line that helps."""

import itertools

import numpy as np
import pandas as pd
import pytest
import trimesh

import anchorot as ao
from tests.messages import noted, said

RNG = np.random.default_rng(0)


POINTS = RNG.normal(size=(12, 3))


COST = ao.from_points(POINTS).cost


NAMES = [f"p{i}" for i in range(12)]


BALL = trimesh.creation.icosphere(1)


MESH = np.asarray(BALL.vertices), np.asarray(BALL.faces)


MAKERS = {
    "Space": lambda **given: ao.Space(COST, **given),
    "from_points": lambda **given: ao.from_points(POINTS, **given),
    "from_neighbors": lambda **given: ao.from_neighbors(POINTS, 11, "euclidean", **given),
}


IN_ORDER = {
    "list": NAMES,
    "generator": lambda: (name for name in NAMES),
    "iterator": lambda: iter(NAMES),
    "array": np.array(NAMES),
    "objects": np.array(NAMES, object),
    "series": pd.Series(NAMES, index=range(100, 112)),
    "index": pd.Index(NAMES),
    "categories": pd.Categorical(NAMES),
    "keys": dict.fromkeys(NAMES).keys,
    "arrays without dimensions": [np.array(name) for name in NAMES],
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("form", IN_ORDER)
def test_labels_and_types_come_in_every_form_that_has_an_order(make, form):
    given = IN_ORDER[form] if callable(IN_ORDER[form]) else lambda: IN_ORDER[form]
    found = MAKERS[make](labels=given(), types=given())
    assert found.labels == found.types == tuple(NAMES)
    assert {type(name) for name in (*found.labels, *found.types)} == {str}


@pytest.mark.parametrize("form", IN_ORDER)
def test_groups_come_in_every_form_that_has_an_order(form):
    given = IN_ORDER[form] if callable(IN_ORDER[form]) else lambda: IN_ORDER[form]
    distances = np.pad(COST, ((0, 12), (0, 12)), constant_values=1) + np.pad(COST, ((12, 0), (12, 0)))
    groups = itertools.chain(given(), given()) if form in ("generator", "iterator") else [*given(), *given()]
    assert ao.group_test(distances, groups, n_resamples=9, rng=0).groups == tuple(sorted(NAMES))


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, float("nan")])
def test_a_space_without_a_group_is_one_line(missing):
    if missing is None:
        assert ao.group_test(COST, [None] * 6 + ["a"] * 6, n_resamples=9, rng=0).groups  # a name like any other
    else:
        assert "every space needs a group" in said(ao.group_test, COST, [missing] * 6 + ["a"] * 6)


def test_numbers_of_numpy_are_labels_like_any_others(tmp_path):
    x = ao.Space(COST, labels=np.arange(12))
    ao.write(x, tmp_path / "x.npz")
    assert ao.read(tmp_path / "x.npz").labels == x.labels == tuple(range(12))


WITHOUT_ORDER = {
    "mapping": dict.fromkeys(range(12)),
    "set": set(range(12)),
    "number": 12,
    "matrix": np.zeros((12, 12)),
    "frame": pd.DataFrame(np.zeros((12, 12))),
    "masked": np.ma.array(range(12), mask=[True] + [False] * 11),
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("form", WITHOUT_ORDER)
@pytest.mark.parametrize("what", ["labels", "types"])
def test_what_has_no_order_or_holds_more_than_names_is_refused(make, form, what):
    assert said(MAKERS[make], **{what: WITHOUT_ORDER[form]}).startswith(what)


NUMBERS = {  # arguments that are numbers, and what makes something of them
    "cost": (COST, ao.Space),
    "weights": (np.full(12, 1 / 12), lambda given: ao.Space(COST, given)),
    "features": (POINTS, lambda given: ao.Space(COST, features=given)),
    "points": (POINTS, ao.from_points),
    "neighbours": (POINTS, lambda given: ao.from_neighbors(given, 11)),
    "vertices": (MESH[0], lambda given: ao.from_mesh((given, MESH[1]), geodesic="edge")),
    "faces": (MESH[1], lambda given: ao.from_mesh((MESH[0], given), geodesic="edge")),
    "indices": (np.arange(5), lambda given: ao.Space(COST).take(given)),
    "edges": (MESH[1][:, :2], ao.from_graph),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_masked_entries_are_refused_for_what_is_under_a_mask_is_not_meant(what):
    array, make = NUMBERS[what]
    mask = np.zeros(array.shape, bool)
    assert make(np.ma.array(array, mask=mask)).n == make(array).n
    mask.flat[1] = True
    assert "masked" in said(make, np.ma.array(array, mask=mask))


@pytest.mark.parametrize("what", NUMBERS)
@pytest.mark.parametrize("wrong", ["objects", "text", "ragged", "structure", "dates", "none"])
def test_what_is_no_number_is_one_line(what, wrong):
    array, make = NUMBERS[what]
    given = {
        "objects": np.full(array.shape, None),
        "text": np.full(array.shape, "x"),
        "ragged": [*array.tolist(), [1, 2, 3, 4, 5]],
        "structure": np.zeros(len(array), [("a", float), ("b", complex)]),
        "dates": np.zeros(array.shape, "M8[s]"),
        "none": None,
    }
    if what == "edges" and wrong in ("text", "dates", "structure"):
        assert make(given[wrong]).n == 1  # a name of a node, and a loop
    elif (what, wrong) not in {("weights", "none"), ("features", "none")}:
        said(make, given[wrong])


def test_frames_of_numbers_that_pandas_holds_as_objects_say_what_to_do():
    frame = pd.DataFrame(POINTS).convert_dtypes()
    frame[3] = pd.array([1, None] * 6, "Int64")
    assert ".astype(float)" in said(ao.from_points, frame)
    assert ao.from_points(frame.drop(columns=3).astype(float)).n == 12


def test_numbers_beyond_the_range_of_floats_are_one_line():
    assert "must be finite" in said(ao.from_points, np.full((2, 2), np.longdouble("1e400")))


def test_masked_items_of_a_list_are_no_names():
    hidden = list(np.ma.array(range(12), mask=[True] + [False] * 11))
    assert "types[0] is masked" in said(ao.Space, COST, types=hidden)
    assert "nodes need hashable names" in said(ao.from_graph, [(hidden[0], 1), (1, 2)])


DISTANCES = (ao.Space, ao.AnchorFeatures.of, lambda x: ao.anchor_energy(x, COST), lambda x: ao.align(COST, x))


@pytest.mark.parametrize("function", DISTANCES)
def test_points_in_the_place_of_costs_are_sent_to_from_points(function):
    assert "anchorot.from_points(" in said(function, POINTS)


@pytest.mark.parametrize("function", DISTANCES)
def test_similarities_in_the_place_of_costs_are_noted(function):
    grams = POINTS @ POINTS.T, np.abs(POINTS) @ np.abs(POINTS.T)
    for similarity in (np.corrcoef(POINTS), np.exp(-COST), np.exp(-COST).astype(np.float32), *grams, np.eye(12)):
        assert "look like similarities" in noted(function, similarity)


def test_negative_costs_are_noted():
    assert "negative" in noted(ao.Space, COST - 1)
    assert "negative" in noted(ao.anchor_energy, COST, COST - 1)


@pytest.mark.parametrize(
    "cost",
    [
        COST,
        COST.astype(np.float32),
        COST**2,
        COST + 1e9,
        COST + 1e15,
        COST * 1e150,
        COST * 1e-150,
        np.triu(COST),
        COST * RNG.random(COST.shape),
        RNG.random(COST.shape) + np.eye(len(COST)) / 2,
        COST - 1e-17,
        np.zeros((3, 3)),
        np.full((3, 3), 0.1),
        np.full((3, 3), 0.1, np.float32),
        [[5.0]],
    ],
)
def test_ordinary_costs_cause_no_note(cost):
    assert noted(ao.Space, cost) is None
    assert noted(ao.anchor_energy, cost, COST) is None


def test_what_was_noted_once_is_not_noted_of_what_is_made_of_it():
    with pytest.warns(ao.InputWarning):
        x = ao.Space(np.corrcoef(POINTS))
    assert (
        noted(lambda: (x.take([2, 0]), x.sample(3, rng=0), x.ranked(), x.scaled("max"), ao.anchor_energy(x, x))) is None
    )


def test_similarities_in_a_file_are_noted_by_its_name(tmp_path):
    np.save(tmp_path / "x.npy", np.corrcoef(POINTS))
    np.savetxt(tmp_path / "x.csv", np.exp(-COST), delimiter=",")
    for name in ("x.npy", "x.csv"):
        assert noted(ao.read, tmp_path / name).startswith(f"{name} holds costs that look like similarities")
    assert noted(ao.read, tmp_path / "x.npy", kind="points") is None


@pytest.mark.parametrize("make", ["from_points", "from_neighbors"])
def test_a_point_of_weight_zero_is_never_drawn(make):
    weights = np.r_[np.zeros(10), 0.25, 0.75]
    for seed in range(9):
        drawn = MAKERS[make](labels=range(12), weights=weights, n_points=1, rng=seed)
        assert drawn.labels[0] in (10, 11)
        path = ao.from_graph([(i, i + 1) for i in range(11)], weights=weights, n_points=2, rng=seed)
        assert sorted(path.labels) == [10, 11]
    whole = MAKERS[make](labels=range(12), weights=weights, n_points=12, rng=0)
    assert whole.labels == tuple(range(12))


@pytest.mark.parametrize("geodesic", ["heat", "edge", "exact"])
def test_a_face_that_is_repeated_changes_nothing(geodesic):
    vertices, faces = MESH
    again = np.concatenate(
        [faces, np.repeat(faces[5:6], 30_000, axis=0), np.roll(faces[7:9], 1, axis=1), faces[:1, ::-1]]
    )
    found = ao.from_mesh((vertices, again), geodesic=geodesic)
    np.testing.assert_array_equal(found.cost, ao.from_mesh(MESH, geodesic=geodesic).cost)
    assert len(found.geometry.faces) == len(again)


def test_an_edge_of_very_many_faces_is_a_surface_like_any_other():
    n = 3000
    faces = np.stack([np.zeros(n, int), np.ones(n, int), np.arange(2, n + 2)], axis=1)
    fan = np.concatenate([[[0, 0, 0], [0, 0, 1]], RNG.normal(size=(n, 3))]), faces
    heat, edge = (ao.from_mesh(fan, 5, geodesic, rng=0).cost for geodesic in ("heat", "edge"))
    assert (heat < 1.2 * edge + 1e-9).all()


DRAWS = {
    "from_points": lambda rng: ao.from_points(POINTS, n_points=5, rng=rng),
    "from_graph": lambda rng: ao.from_graph([(0, 1), (1, 2)], n_points=2, rng=rng),
    "sample": lambda rng: ao.Space(COST).sample(3, rng=rng),
    "projected_energy": lambda rng: ao.distances.projected_energy(COST, COST, rng=rng),
    "embed": lambda rng: ao.embed([COST], ground="w2", rng=rng, progress=False),
    "align_graphs": lambda rng: ao.align_graphs([(0, 1)], [(0, 1)], rng=rng),
    "datasets": lambda rng: ao.datasets.tissues(1, rng=rng),
    "from_cohort": lambda rng: ao.from_cohort({"s": ["a", "a"], "x": [0.0, 1.0]}, sample="s", points="x", rng=rng),
    "from_mesh": lambda rng: ao.from_mesh(MESH, 5, "edge", rng=rng),
    "from_mesh, uniform": lambda rng: ao.from_mesh(MESH, 5, "edge", sampling="uniform", rng=rng),
    "anchor_energy_estimate": lambda rng: ao.anchor_energy_estimate(COST, COST, rng=rng),
    "match": lambda rng: ao.match(COST, ties="random", rng=rng),
    "align": lambda rng: ao.align(COST, COST, rng=rng),
    "align by landmarks": lambda rng: ao.align(POINTS, POINTS, n_landmarks=3, rng=rng),
    "align_meshes": lambda rng: ao.align_meshes(MESH, MESH, rng=rng),
    "align_embeddings": lambda rng: ao.align_embeddings(POINTS, POINTS, rng=rng),
    "energy_test": lambda rng: ao.energy_test([[0.0]] * 3, [[1.0]] * 3, rng=rng, progress=False),
    "group_test": lambda rng: ao.group_test(1 - np.eye(4), [0, 0, 1, 1], rng=rng, progress=False),
    "scale_test": lambda rng: ao.scale_test([COST] * 4, [0, 0, 1, 1], rng=rng, progress=False),
    "graph_model_test": lambda rng: ao.graph_model_test([[(0, 1)]] * 3, [[(0, 1)]] * 3, rng=rng, progress=False),
    "GraphDistance": lambda rng: ao.GraphDistance([[(0, 1)]] * 3).compute([[(0, 1), (1, 2)]] * 3, rng=rng),
    "barycenter": lambda rng: ao.barycenter([COST, COST], n_points=4, rng=rng),
}


@pytest.mark.parametrize("rng", ["x", -1, 1.5])
@pytest.mark.parametrize("name", DRAWS)
def test_an_invalid_source_of_randomness_is_one_line(name, rng):
    if name == "barycenter":
        pytest.importorskip("torch")
    needed = "rng must be None, an integer >= 0 or a numpy.random.Generator"
    assert said(DRAWS[name], rng) == f"{needed}, but got {rng!r}"


@pytest.mark.parametrize(("given", "kind"), [(3, "an int"), (2.5, "a float")])
def test_messages_name_types_with_their_articles(given, kind):
    assert f"got {kind}, but a networkx" in said(ao.from_graph, given)
    assert f"but got {kind}; make it a list" in said(ao.pairwise, given)
