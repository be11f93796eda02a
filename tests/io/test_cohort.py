"""Cohorts: a table of points becomes one space per sample, for every kind of table."""

import pickle

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anchorot as ao

SIZES = {"s2": 12, "s10": 9, "s1": 15}
DOSE = {"s2": 0, "s10": 5, "s1": 5}
SITE = {"s2": "lung", "s10": None, "s1": "lung"}


def table(seed=0):
    """Points of three samples, in mixed order; the first of them are of s2, s10 and s1."""
    rng = np.random.default_rng(seed)
    rest = [name for name, size in SIZES.items() for _ in range(size - 1)]
    samples = [*SIZES, *rng.permutation(rest).tolist()]
    n = len(samples)
    frame = pd.DataFrame(
        {
            "sample": pd.Categorical(samples),
            "dose": [DOSE[name] for name in samples],
            "site": [SITE[name] for name in samples],
            "x": rng.normal(size=n),
            "y": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(["T", "B", "tumour"], n)),
            "depth": rng.normal(size=n),
        }
    )
    frame.index = [f"cell{i}" for i in range(n)]
    return frame


def cells(frame):
    obs = frame.drop(columns=["x", "y"])
    return anndata.AnnData(np.zeros((len(frame), 1)), obs=obs, obsm={"spatial": frame[["x", "y"]].to_numpy()})


OPTIONS = {"sample": "sample", "types": "kind", "features": "depth"}


def holders(frame, tmp_path):
    """The same table in everything that holds one, with the names of its positions."""
    cells(frame).write_h5ad(tmp_path / "x.h5ad")
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    yield frame, ["x", "y"]
    yield {name: frame[name].tolist() for name in frame}, ["x", "y"]
    yield cells(frame), "spatial"
    yield tmp_path / "x.h5ad", "spatial"
    yield str(tmp_path / "x.csv"), ["x", "y"]
    yield tmp_path / "x.tsv", ["x", "y"]


def test_every_kind_of_table_gives_the_same_cohort(tmp_path):
    frame = table()
    for data, points in holders(frame, tmp_path):
        cohort = ao.from_cohort(data, points=points, **OPTIONS)
        assert cohort.samples == tuple(SIZES)
        assert cohort.metadata == {"dose": [0, 5, 5], "site": ["lung", None, "lung"]}
        for name, space in zip(cohort.samples, cohort, strict=True):
            own = frame[frame["sample"] == name]
            np.testing.assert_allclose(space.cost, ao.from_points(own[["x", "y"]].to_numpy()).cost, rtol=1e-14)
            assert space.types == tuple(own["kind"])
            np.testing.assert_allclose(space.features[:, 0], own["depth"], rtol=1e-14)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 99), st.integers(1, 14))
def test_types_and_features_follow_the_sampled_points(seed, n_points):
    frame = table(seed)
    for more in ({}, {"n_neighbors": 4, "disconnected": 9.0}):
        cohort = ao.from_cohort(frame, points=["x", "y"], n_points=n_points, rng=seed, **OPTIONS, **more)
        for name, space in zip(cohort.samples, cohort, strict=True):
            assert space.n == min(n_points, SIZES[name])
            own = frame.loc[list(space.labels)]
            assert set(own["sample"]) == {name}
            assert space.types == tuple(own["kind"])
            assert space.features[:, 0].tolist() == own["depth"].tolist()


def test_the_order_of_rows_changes_nothing_but_the_order_of_points():
    frame = table()
    back = frame.iloc[::-1]
    cohort, other = (ao.from_cohort(each, points=["x", "y"], **OPTIONS) for each in (frame, back))
    for name, space in zip(cohort.samples, cohort, strict=True):
        same = other[other.samples.index(name)]
        order = [same.labels.index(label) for label in space.labels]
        np.testing.assert_array_equal(same.take(order).cost, space.cost)
        assert same.take(order).types == space.types


def test_a_cohort_is_a_sequence_of_spaces():
    cohort = ao.from_cohort(table(), points=["x", "y"], **OPTIONS)
    np.testing.assert_array_equal(ao.pairwise(cohort, progress=False), ao.pairwise(list(cohort), progress=False))
    assert repr(cohort) == "Cohort(3 samples of 9 to 15 points; dose, site)"
    part = cohort[1:]
    assert (part.samples, part.metadata["dose"], part[0]) == (("s10", "s1"), [5, 5], cohort[1])
    assert (cohort[-1], len(cohort)) == (cohort[2], 3)
    assert pickle.loads(pickle.dumps(cohort)).samples == cohort.samples


def test_points_drawn_from_a_sample_do_not_depend_on_other_samples():
    frame = table()
    fewer = frame.drop(index=frame.index[frame["sample"] == "s2"][3:])
    pair = [ao.from_cohort(each, points=["x", "y"], n_points=4, rng=7, **OPTIONS) for each in (frame, fewer)]
    assert [space.labels for space in pair[0]][1:] == [space.labels for space in pair[1]][1:]


def changed(**columns):
    return table().assign(**columns)


NAN_FIRST = [np.nan, *table()["x"][1:]]
UNUSED = table()["sample"].cat.add_categories("s99")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (
            table(),
            {"sample": "patient"},
            "no column is called 'patient'; there are: sample, dose, site, x, y, kind, depth",
        ),
        (table(), {"points": ["x", "z"]}, "no column is called 'z'"),
        (table(), {"points": "kind"}, "'kind' holds texts, such as"),
        (table(), {"points": []}, "points must be names of columns, or of an array of obsm, but got a list"),
        (
            table(),
            {"features": np.zeros(36)},
            "features must be names of columns, or of an array of obsm, but got a nd",
        ),
        (table(), {"types": ["T"] * 36}, "types must be the name of a column, but got a list"),
        (table(), {"sample": None}, "sample must be the name of a column, but got a NoneType"),
        (cells(table()), {"sample": "spatial"}, "'spatial' is a list at 'cell0', but a sample has a name or a number"),
        (table(), {"types": "k"}, "no column is called 'k'"),
        (table(), {"features": ["depth", "size"]}, "no column is called 'size'"),
        (
            cells(table()),
            {"points": "umap"},
            "no column of obs or array of obsm is called 'umap'; there are: sample, dose",
        ),
        (changed(x=NAN_FIRST), {}, "'x' has no value at 'cell0'"),
        (
            {"sample": ["a", "b"], "x": [0, np.inf]},
            {"points": "x"},
            r"the position of 1 is \[inf\], but finite numbers",
        ),
        ({"sample": ["a", "b"], "x": [0]}, {"points": "x"}, "'x' has 1 values, but there are 2 points"),
        ({"sample": ["a", "b"], "x": [0, 1], "c": [1]}, {"points": "x"}, "'c' has 1 values, but there are 2 points"),
        (
            changed(sample=[None, *table()["sample"][1:]]),
            {},
            "'sample' has no value at 'cell0'; every point needs a sample",
        ),
        (changed(sample=UNUSED), {}, "the sample 's99' has no points; remove it from the categories of 'sample'"),
        (table().iloc[:0].assign(sample=[]), {}, "the samples have no points"),
        (changed(kind=[None, *table()["kind"][1:]]), {"types": "kind"}, "'kind' has no value at 'cell0'"),
        (
            table(),
            {"n_neighbors": 9},
            "the sample 's10': n_neighbors must be below the number of points",
        ),
        (table(), {"n_points": 0}, "n_points must be an integer >= 1"),
        ([1, 2], {}, "got a list, but an AnnData object, a data frame or a file is needed"),
    ],
)
def test_bad_cohorts_get_one_clear_line(data, options, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.from_cohort(data, **{"sample": "sample", "points": ["x", "y"], **options})
    assert "\n" not in str(caught.value)


def test_bad_files_of_cohorts_begin_with_their_names(tmp_path):
    cells(table()).write_h5ad(tmp_path / "x.h5ad")
    (tmp_path / "x.csv").write_text("a,1\nb,2\n")
    (tmp_path / "x.txt").write_text("")
    for name, options, message in (
        ("x.h5ad", {"sample": "patient"}, "no column of obs or array of obsm is called 'patient'; there are: "),
        ("x.h5ad", {"max_bytes": 100}, "its header promises"),
        ("x.csv", {}, "columns are requested by name, but the first line is not a header"),
        ("x.txt", {}, r"cohorts are read from \.h5ad, \.csv and \.tsv files"),
    ):
        with pytest.raises(ao.InputError, match=f"{name}: {message}") as caught:
            ao.from_cohort(tmp_path / name, **{"sample": "sample", "points": "spatial", **options})
        assert "\n" not in str(caught.value)


def test_columns_that_cannot_be_read_are_no_metadata_and_no_error(tmp_path):
    cells(table()).write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        handle["obs"].create_group("odd")
        handle["obs/short"] = [1.0]
    cohort = ao.from_cohort(tmp_path / "x.h5ad", points="spatial", **OPTIONS)
    assert list(cohort.metadata) == ["dose", "site"]
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        del handle["obs/sample/codes"]
        handle["obs/sample/codes"] = [0, 1]
    with pytest.raises(ao.InputError, match=r"x\.h5ad: 'sample' has 2 values, but there are 36 points"):
        ao.from_cohort(tmp_path / "x.h5ad", points="spatial", **OPTIONS)


HOLDERS_OF_NAN = {
    "list": lambda names, path: {"group": names, "x": range(len(names))},
    "frame": lambda names, path: pd.DataFrame({"group": names, "x": range(len(names))}),
    "objects": lambda names, path: {"group": np.array(names, object), "x": range(len(names))},
    "csv": lambda names, path: (
        path.write_text("group,x\n" + "".join(f"{n},{i}\n" for i, n in enumerate(names))) and path
    ),
}


@pytest.mark.parametrize("holder", HOLDERS_OF_NAN)
@pytest.mark.parametrize("missing", [np.nan, float("nan"), None, pd.NA], ids=["numpy", "python", "none", "pandas"])
def test_a_point_without_a_sample_is_in_no_sample(tmp_path, holder, missing):
    if holder == "csv" and missing is not None and missing is not pd.NA:
        names = ["a", "a", str(missing), "b"]
    elif holder == "csv":
        names = ["a", "a", "", "b"]
    else:
        names = ["a", "a", missing, "b"]
    with pytest.raises(ao.InputError, match="'group' has no value at 2; every point needs a sample"):
        ao.from_cohort(HOLDERS_OF_NAN[holder](names, tmp_path / "x.csv"), sample="group", points="x")


def test_samples_that_are_written_differently_are_different(tmp_path):
    (tmp_path / "x.csv").write_text("group,x\n001,1\n1,2\n1.0,3\n001,4\n")
    assert ao.from_cohort(tmp_path / "x.csv", sample="group", points="x").samples == ("001", "1", "1.0")
    (tmp_path / "x.csv").write_text("group,x\n3,1\n1,2\n3,3\n")
    assert ao.from_cohort(tmp_path / "x.csv", sample="group", points="x").samples == (3, 1)
    table = {"group": [1, "1", 1], "x": [1, 2, 3]}
    assert ao.from_cohort(table, sample="group", points="x").samples == (1, "1")
