"""Files: what is read, what is refused, and that nothing is half-written."""

import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given

import anchorot as ao
import anchorot.io.points
from anchorot.io.atomic import replacing
from tests.strategies import assert_same, spaces

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])
LINES = "0 1.5 2\n1.5 0 1\n2 1 0\n"


def saved(path, text):
    path.write_text(text)
    return path


@given(spaces())
def test_writing_and_reading_changes_no_bit(tmp_path_factory, x):
    path = tmp_path_factory.mktemp("io") / "space.npz"
    ao.write(x, path)
    assert_same(ao.read(path), x)


@pytest.mark.parametrize("n", [3, 49, 98, 103, 196])
def test_weights_that_are_checked_twice_stay_what_they_are(n):
    weights = np.random.default_rng(n).random(n)
    for once in (ao.Space(np.eye(n)), ao.Space(np.eye(n), weights / weights.sum())):
        assert ao.Space(np.eye(n), once.weights).weights.tobytes() == once.weights.tobytes()


def test_a_mesh_a_graph_and_a_cloud_are_written_with_what_they_look_like(tmp_path):
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]], [[0, 1, 2], [0, 2, 3]]
    mesh = ao.from_mesh(square, 3, "edge", rng=0)
    for x in (mesh, ao.from_graph([(0, 1), (1, 2), (2, 3)]), ao.from_points([[0.0, 1], [2, 3], [4, 5]])):
        ao.write(x, tmp_path / "x.npz")
        assert_same(ao.read(tmp_path / "x.npz"), x)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"geometry_index": np.array([0, 1, 9])}, "geometry_index names sites 0 to 9, but there are 4"),
        ({"geometry_index": np.array(0)}, r"geometry_index has shape \(\) and dtype int64"),
        ({"geometry_faces": np.array([[0, 1, -1]])}, "geometry_faces names sites -1 to 1"),
        ({"geometry_faces": np.array([[0.0, 1, 2]])}, "geometry_faces has shape .* dtype float64"),
        ({"geometry_edges": np.array([[0, 1, 2]])}, r"geometry_edges has shape \(1, 3\)"),
        ({"geometry_positions": np.full((4, 2), np.nan)}, "numbers that are not finite"),
        ({"geometry_positions": np.zeros((3, 2))}, "geometry_n_sites is 4, which does not fit"),
        ({"geometry_n_sites": np.array(1 << 40)}, "geometry_n_sites is 1099511627776"),
    ],
)
def test_a_file_with_an_impossible_geometry_is_refused(tmp_path, wrong, message):
    good = {"cost": COST, "geometry_index": np.arange(3), "geometry_n_sites": np.array(4)}
    np.savez(tmp_path / "x.npz", **good)
    assert ao.read(tmp_path / "x.npz").geometry.n_sites == 4
    np.savez(tmp_path / "x.npz", **good | wrong)
    with pytest.raises(ao.InputError, match=rf"x\.npz: .*{message}"):
        ao.read(tmp_path / "x.npz")


@pytest.mark.parametrize("types", [["H", "C", "H"], [6, 1, -2], [True, False, True], [0.5, 1.0, 0.5], ["ç", "", "x"]])
def test_types_and_features_are_kept(tmp_path, types):
    x = ao.Space(COST, types=types, features=[[1, 2], [3, 4], [5, 6]])
    ao.write(x, tmp_path / "x.npz")
    again = ao.read(tmp_path / "x.npz")
    assert again.types == tuple(types)
    assert [type(kind) for kind in again.types] == [type(kind) for kind in types]
    np.testing.assert_array_equal(again.features, x.features)


@pytest.mark.parametrize("types", [["H", 1, "H"], [(1, 2), (1, 3), (1, 2)], [2**70, 1, 1], ["a\0", "b", "c"]])
def test_types_that_would_come_back_changed_are_not_written(tmp_path, types):
    with pytest.raises(ao.InputError, match="cannot be written; make all of them texts, or all integers"):
        ao.write(ao.Space(COST, types=types), tmp_path / "x.npz")
    assert not list(tmp_path.iterdir())


def test_labels_and_number_types_are_kept(tmp_path):
    x = ao.Space(COST.astype(np.float32), [0.5, 0.25, 0.25], labels=["a", "b", "ç"])
    ao.write(x, tmp_path / "x.npz")
    again = ao.read(tmp_path / "x.npz")
    assert again.labels == ("a", "b", "ç")
    assert again.cost.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", LINES),
        ("x.txt", "3\n" + LINES),
        ("x.csv", LINES.replace(" ", ",")),
        ("X.CSV", LINES.replace(" ", " , ")),
    ],
)
def test_matrices_as_text(tmp_path, name, text):
    np.testing.assert_array_equal(ao.read(saved(tmp_path / name, text)).cost, COST)


def test_the_authors_format_with_weights(tmp_path):
    x = ao.read(saved(tmp_path / "x.txt", f"3\n{LINES}0.5 0.25 0.25\n"))
    assert x.weights.tolist() == [0.5, 0.25, 0.25]


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", COST)
    np.testing.assert_array_equal(ao.read(tmp_path / "x.npy").cost, COST)


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.npz"])
def test_points(tmp_path, name):
    points = np.array([[0.0, 0.0], [3.0, 4.0]])
    path = tmp_path / name
    if name.endswith("npy"):
        np.save(path, points)
    elif name.endswith("npz"):
        np.savez(path, points=points)
    else:
        np.savetxt(path, points, delimiter=",")
    assert ao.read(path, kind="points").cost.tolist() == [[0, 5], [5, 0]]
    assert ao.read(path, kind="points", point_metric="cityblock").cost.tolist() == [[0, 7], [7, 0]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "", "x.txt: the file is empty"),
        ("x.txt", "3\n0 1\n", "the first line promises 3 lines of 3 costs"),
        ("x.txt", "2\n0 1 2\n1 0 2\n", "promises a 2 x 2 matrix, but the lines hold 2 x 3"),
        ("x.txt", "99999999999\n0\n", "the first line promises 99999999999 lines"),
        ("x.csv", "1,2\na,b\n", "x.csv: line 2 of numbers: could not convert string to float: .*a"),
        ("x.csv", "1,2\n1\n", "line 2 of numbers has 1 of them, but line 1 has 2"),
        (
            "x.csv",
            "1,2,3\n4,5,6\n",
            "a cost matrix is square, but this one is 2 x 3; if its rows are points, use kind='points'",
        ),
        ("x.csv", "0,nan\n1,0\n", r"x.csv: cost must be finite, but 1 entries are not"),
        ("x.npz", "not a zip", "x.npz: not an .npz archive of plain numbers"),
        ("x.npy", "not an array", "x.npy: not a .npy array of plain numbers"),
        (
            "x.docx",
            "",
            "unknown ending '.docx'; known endings: .csv, .edgelist, .edges, .gexf, .gml, .gr",
        ),
    ],
)
def test_bad_files_get_one_clear_line(tmp_path, name, text, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.read(saved(tmp_path / name, text))
    assert "\n" not in str(caught.value)


def test_binary_rubbish_as_text(tmp_path):
    (tmp_path / "x.csv").write_bytes(bytes(range(256)))
    with pytest.raises(ao.InputError, match="not a text file"):
        ao.read(tmp_path / "x.csv")


def test_pickles_are_never_opened(tmp_path):
    np.savez(tmp_path / "x.npz", cost=np.array([[None]], dtype=object))
    np.save(tmp_path / "x.npy", np.array([[None]], dtype=object))
    for name in ("x.npz", "x.npy"):
        with pytest.raises(ao.InputError, match=name):
            ao.read(tmp_path / name)


def test_an_archive_without_a_space(tmp_path):
    np.savez(tmp_path / "x.npz", other=COST)
    with pytest.raises(ao.InputError, match=r"needs one of: 'cost'; 'points'; 'V' and 'F'\. This one holds other"):
        ao.read(tmp_path / "x.npz")


def test_names_of_arrays_break_no_line(tmp_path):
    np.savez(tmp_path / "x.npz", **{"a\nb": COST})
    with pytest.raises(ao.InputError, match=r"This one holds a b$"):
        ao.read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("arrays", "n"), [({"cost": COST, "V": COST}, 3), ({"points": COST[:2], "F": COST, "other": COST}, 2)]
)
def test_arrays_of_another_form_are_left_alone(tmp_path, arrays, n):
    np.savez(tmp_path / "x.npz", **arrays)
    assert ao.read(tmp_path / "x.npz").n == n


def test_a_header_that_claims_gigabytes(tmp_path):
    np.save(tmp_path / "x.npy", COST)
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data.replace(b"(3, 3), ", b"(90000, 90000), ", 1)[: len(data)])
    with pytest.raises(
        ao.InputError,
        match=r"x\.npy: the header of the array promises 8100000000 entries, 64800000\d+ bytes, but it has 200",
    ):
        ao.read(tmp_path / "x.npy")


def test_a_header_in_an_archive_that_claims_gigabytes(tmp_path):
    np.save(tmp_path / "cost.npy", np.zeros((2, 2)))
    data = (tmp_path / "cost.npy").read_bytes().replace(b"(2, 2), ", b"(90000, 90000), ", 1)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("cost.npy", data)
    with pytest.raises(
        ao.InputError, match=r"x\.npz: the header of cost\.npy promises 8100000000 entries, 64800000\d+ bytes, but"
    ):
        ao.read(tmp_path / "x.npz")


def test_an_archive_that_claims_gigabytes_twice_over(tmp_path):
    claimed = 2_200_000_128
    np.save(tmp_path / "cost.npy", np.zeros(0))
    shape = f"({(claimed - 128) // 8},), ".encode()
    data = (tmp_path / "cost.npy").read_bytes()
    data = data.replace(b"(0,), ", shape, 1)[:127] + b"\n"
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("cost.npy", data)
    content = bytearray((tmp_path / "x.npz").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = claimed.to_bytes(4, "little")
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ao.InputError, match=r"x\.npz: what is packed into it takes 2\.2 GB, but no more than 2\.15 GB"):
        ao.read(tmp_path / "x.npz")


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 2}], ids=str)
def test_what_write_has_written_can_be_read_as_points(tmp_path, options):
    rows = ao.from_points([[0.0, 1.0], [2.0, 0.0], [3.0, 3.0]], labels=["a", "b", "c"], types=["x", "y", "z"])
    ao.write(rows, tmp_path / "x.npz")  # with a geometry
    ao.write(ao.read(tmp_path / "x.npz"), tmp_path / "y.npz")  # and an origin
    found = ao.read(tmp_path / "y.npz", kind="points", **options)
    assert (found.labels, found.types) == (rows.labels, rows.types)
    if not options:
        np.testing.assert_array_equal(found.cost, ao.from_points(rows.cost).cost)


def test_a_draw_of_points(tmp_path):
    whole = ao.Space(ao.from_points(np.random.default_rng(0).normal(size=(20, 2))).cost, labels=range(20))
    ao.write(whole, tmp_path / "x.npz")
    part = ao.read(tmp_path / "x.npz", n_points=6, rng=2)
    chosen = [int(label) for label in part.labels]
    assert len(set(chosen)) == 6
    np.testing.assert_array_equal(part.cost, whole.cost[np.ix_(chosen, chosen)])
    assert ao.read(tmp_path / "x.npz", n_points=99).n == 20


LINE = np.outer(np.arange(6.0), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("make", [ao.from_points, lambda points, metric: ao.from_neighbors(points, 2, metric)])
@pytest.mark.parametrize(
    ("points", "metric", "message"),
    [
        (LINE, "mahalanobis", "needs points that vary in all 3 dimensions, not in 1; take fewer dimensions"),
        (LINE + 1e8, "mahalanobis", "needs points that vary in all 3 dimensions, not in 1; take fewer dimensions"),
        (np.ones((6, 2)), "seuclidean", "is not defined between points"),
    ],
)
def test_metrics_that_need_points_in_general_position(make, points, metric, message):
    with pytest.raises(ao.InputError, match=message):
        make(points, metric)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_one_point_does_not_vary(metric):
    with pytest.raises(ao.InputError, match=f"metric '{metric}' needs at least two points, to see how they vary"):
        ao.from_points([[1.0, 2.0]], metric)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_blocks_of_points_change_no_neighbours(monkeypatch, metric):
    points = np.random.default_rng(0).normal(size=(40, 3)) * [1, 10, 100]
    whole = ao.from_neighbors(points, 6, metric, mode="distance").cost
    monkeypatch.setattr(anchorot.io.points, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(ao.from_neighbors(points, 6, metric, mode="distance").cost, whole)


def test_missing_files_are_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ao.read(tmp_path / "nothing.npz")


def test_only_npz_is_written(tmp_path):
    with pytest.raises(ao.InputError, match=r"written as \.npz files only"):
        ao.write(ao.Space(COST), tmp_path / "x.csv")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = saved(tmp_path / "x.txt", "old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# -- where a space came from ------------------------------------------------------------------------------------------


def cloud_file(folder):
    np.savetxt(folder / "x.csv", np.random.default_rng(0).normal(size=(9, 2)), delimiter=",")
    return folder / "x.csv"


def test_a_space_knows_its_file_and_how_it_was_read(tmp_path):
    path = cloud_file(tmp_path)
    x = ao.read(path, kind="points", n_points=5, rng=np.int64(2), point_metric="euclidean", cache=True, max_bytes="1GB")
    assert x.origin == ao.Origin(str(path), {"kind": "points", "n_points": 5, "rng": 2})
    assert str(x.origin) == "x.csv, kind='points', n_points=5, rng=2"
    assert repr(x) == "Space(n=5, uniform, float64, from x.csv)"
    assert x.take([0, 1]).origin == x.sample(2, 0).origin == x.ranked().origin == x.origin
    assert pickle.loads(pickle.dumps(x)).origin == x.origin
    assert ao.Space(COST).origin is None


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)], ids=["none", "generator"])
def test_a_draw_without_a_seed_says_so(tmp_path, rng):
    assert ao.read(cloud_file(tmp_path), kind="points", n_points=5, rng=rng).origin.options["rng"] is None


def test_a_seed_that_drew_nothing_is_not_told(tmp_path):
    assert ao.read(cloud_file(tmp_path), kind="points", rng=7).origin.options == {"kind": "points"}


def test_a_long_name_leaves_the_repr_short(tmp_path):
    path = cloud_file(tmp_path).rename(tmp_path / f"{'x' * 90}.csv")
    assert repr(ao.read(path, kind="points")) == "Space(n=9, uniform, float64)"


def test_a_written_space_tells_of_its_source_but_of_no_folder(tmp_path):
    x = ao.read(cloud_file(tmp_path), kind="points", n_points=5, rng=2)
    ao.write(x, tmp_path / "y.npz")
    y = ao.read(tmp_path / "y.npz", n_points=3, rng=1)
    options = {"kind": "points", "n_points": 5, "rng": 2}
    assert y.origin.source == ao.Origin("x.csv", options, version=ao.__version__)
    assert y.origin.reading == {"kind": "points", "n_points": 3, "rng": 1}
    assert str(tmp_path) not in str(np.load(tmp_path / "y.npz")["origin"])
    ao.write(y, tmp_path / "z.npz")
    again = ao.read(tmp_path / "z.npz")
    assert (
        str(again.origin) == "z.npz; that of y.npz, n_points=3, rng=1; that of x.csv, kind='points', n_points=5, rng=2"
    )


@pytest.mark.parametrize(
    "said",
    [
        *(
            "no JSON",
            "[]",
            "{}",
            '{"path": 3}',
            '{"path": "x", "options": 3}',
            '{"path": "x", "source": 1}',
            "[" * 9999,
        ),
        *('{"path": "x", "version": []}', '{"path": "' + "x" * 70_000 + '"}'),
    ],
    ids=range(9),
)
def test_a_file_with_an_impossible_origin_is_refused(tmp_path, said):
    np.savez(tmp_path / "x.npz", cost=COST, origin=np.array(said))
    with pytest.raises(ao.InputError, match=r"x\.npz: its origin cannot be read"):
        ao.read(tmp_path / "x.npz")
