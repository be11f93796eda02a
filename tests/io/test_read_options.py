"""Options of reading: the same ones in Python, in the documentation and on the command line."""

import inspect
import re
import sys
import threading
import warnings
from dataclasses import fields

import numpy as np
import pytest
from typer.testing import CliRunner

import anchorot as ao
from anchorot.cli import app
from anchorot.io.options import ReadOptions, by_keywords
from anchorot.search.query import import_faiss

NAMES = [option.name for option in fields(ReadOptions)]
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])


def test_read_takes_the_options_and_no_others(tmp_path):
    signature = inspect.signature(ao.read)
    assert list(signature.parameters) == ["path", *NAMES]
    for option in fields(ReadOptions):
        assert signature.parameters[option.name].default == option.default
        assert signature.parameters[option.name].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(TypeError, match="unexpected keyword argument 'points'"):
        ao.read(tmp_path / "x.csv", points=3)


def test_every_option_is_documented():
    shown = inspect.getdoc(ao.read)
    section = shown.partition("Parameters\n")[2].partition("Returns\n")[0]
    assert re.findall(r"^(\w+) : ", section, re.MULTILINE) == ["path", *NAMES]
    assert "OPTIONS" not in shown


def test_help_is_aligned_whether_or_not_the_compiler_dedents_docstrings():
    def indented(path, options):
        """Read.

        Parameters
        ----------
        path : path
        OPTIONS
        """

    def dedented(path, options):  # as Python 3.13 and later compile the one above
        pass

    dedented.__doc__ = inspect.cleandoc(indented.__doc__)
    shown = [inspect.getdoc(by_keywords(function)) for function in (indented, dedented)]
    assert shown[0] == shown[1]
    headings = [line for line in shown[0].splitlines() if re.match(r" *\w+ : ", line)]
    assert [line.partition(" : ")[0] for line in headings] == ["path", *NAMES]


@pytest.mark.parametrize("command", ["compare", "match", "pairwise", "test", "barycenter"])
def test_every_option_stands_on_the_command_line(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
    for name in NAMES:
        assert ("--seed" if name == "rng" else f"--{name.replace('_', '-')}") in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "edges"}, "kind must be one of 'cost', 'points', 'graph'"),
        ({"geodesic": "fast"}, "geodesic must be one of 'heat', 'edge', 'exact'"),
        ({"sampling": "best"}, "sampling must be one of 'farthest', 'uniform'"),
        ({"max_bytes": "much"}, "max_bytes must be a number of bytes or a text such as '2GB'"),
        ({"max_bytes": 0}, "max_bytes must be a number of bytes"),
        ({"max_bytes": "9" * 400}, "max_bytes must be a number of bytes"),
    ],
)
def test_bad_options_get_one_clear_line(tmp_path, options, message):
    (tmp_path / "x.csv").write_text("0")
    with pytest.raises(ao.InputError, match=message):
        ao.read(tmp_path / "x.csv", **options)


def in_threads(work, count):
    """Run work in several threads that take turns very often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("name", ["x.npz", "x.off"])
def test_reading_in_threads_loses_no_note_and_leaves_the_filters_alone(tmp_path, name):
    vertices = np.concatenate([SQUARE[0], SQUARE[0] + 9])
    faces = np.concatenate([SQUARE[1], SQUARE[1] + 4])
    np.savez(tmp_path / "x.npz", V=vertices, F=faces)
    lines = [" ".join(map(str, row)) for row in (*vertices, *np.insert(faces, 0, 3, axis=1).tolist())]
    (tmp_path / "x.off").write_text("\n".join(["OFF", "8 4 0", *lines]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ao.read(tmp_path / name, geodesic="edge")  # what it needs is imported, which adds filters of SciPy's own
    shown, lock = [], threading.Lock()

    def show(message, *_):
        with lock:
            shown.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        before = list(warnings.filters)
        in_threads(lambda: [ao.read(tmp_path / name, geodesic="edge") for _ in range(40)], 4)
        assert warnings.filters == before
        warnings.warn("still shown", UserWarning, stacklevel=1)
    assert [message for message in shown if "2 components" in message] == [shown[0]] * 160
    assert shown[-1] == "still shown"


def test_looking_for_faiss_in_threads_leaves_the_filters_alone():
    pytest.importorskip("faiss")
    with warnings.catch_warnings():
        before = list(warnings.filters)
        in_threads(lambda: [import_faiss() for _ in range(3000)], 4)
        assert warnings.filters == before


def test_the_metric_of_points_has_one_name_wherever_files_are_read(tmp_path):
    rng = np.random.default_rng(0)
    for name in "ab":
        np.savetxt(tmp_path / f"{name}.csv", rng.normal(size=(5, 2)), delimiter=",")
    paths, how = [tmp_path / "a.csv", tmp_path / "b.csv"], {"kind": "points", "point_metric": "cityblock"}
    spaces = [ao.read(path, **how) for path in paths]
    assert spaces[0].cost.tolist() == ao.from_points(np.loadtxt(paths[0], delimiter=","), "cityblock").cost.tolist()
    assert spaces[0].origin.reading == how
    np.testing.assert_array_equal(ao.pairwise(paths, **how), ao.pairwise(spaces))
    np.testing.assert_array_equal(ao.embed(paths, (3, 3), **how), ao.embed(spaces, (3, 3)))
    for file, space in zip(ao.convert(paths, tmp_path / "spaces", **how), spaces, strict=True):
        np.testing.assert_array_equal(ao.read(file).cost, space.cost)


@pytest.fixture
def clouds(tmp_path):
    """Two files of points, of which some are to be drawn."""
    rng = np.random.default_rng(0)
    for name in "ab":
        np.savetxt(tmp_path / f"{name}.csv", rng.normal(size=(30, 2)), delimiter=",")
    return [tmp_path / "a.csv", tmp_path / "b.csv"]


def test_the_same_points_are_drawn_wherever_many_files_are_read(tmp_path, clouds):
    how = {"kind": "points", "n_points": 9}
    spaces = [ao.read(path, **how, rng=0) for path in clouds]
    np.testing.assert_array_equal(ao.pairwise(clouds, **how), ao.pairwise(spaces))
    np.testing.assert_array_equal(ao.embed(clouds, (3, 3), **how), ao.embed(spaces, (3, 3)))
    assert ao.SearchIndex.build(clouds, **how).query(spaces[1], k=1).value.tolist() == [0.0]
    for file, space in zip(ao.convert(clouds, tmp_path / "python", **how), spaces, strict=True):
        np.testing.assert_array_equal(ao.read(file).cost, space.cost)
    command = ["convert", *map(str, clouds), "--kind", "points", "--n-points", "9", "-o", str(tmp_path / "shell")]
    assert CliRunner().invoke(app, command).exit_code == 0
    np.testing.assert_array_equal(ao.read(tmp_path / "shell" / "b.npz").cost, spaces[1].cost)


def test_without_a_seed_other_points_are_drawn_each_time(clouds):
    """Statistics of two samples that `read` draws need draws that do not depend on each other."""
    how = {"kind": "points", "n_points": 9}
    draws = [ao.read(clouds[0], **how).cost.tolist() for _ in range(9)]
    assert draws.count(draws[0]) < 9
    assert ao.read(clouds[0], **how).origin.reading == how | {"rng": None}
    assert len({float(ao.pairwise(clouds, **how, rng=None)[0, 1]) for _ in range(9)}) > 1


UNKNOWN = {
    "speed": "see anchorot.read for the options of reading files",
    "n_point": "did you mean n_points?",
    "metric": "did you mean point_metric?",
    "seed": "did you mean rng?",
    "random_state": "did you mean rng?",
    "geodesics": "did you mean geodesic?",
}


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, option)
        for name in ("read", "pairwise", "embed", "convert")
        for option in UNKNOWN
        if (name, option) != ("pairwise", "metric")  # the distance between spaces
    ],
)
def test_an_unknown_option_is_one_line_that_names_the_right_one(tmp_path, name, option):
    np.save(tmp_path / "x.npy", np.eye(2))
    arguments = {"read": [tmp_path / "x.npy"], "convert": [[tmp_path / "x.npy"], tmp_path / "spaces"]}
    advice = re.escape(UNKNOWN[option])
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument '{option}'; {advice}$"):
        getattr(ao, name)(*arguments.get(name, [[tmp_path / "x.npy"]]), **{option: 3})


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, option)
        for name in ("build", "add")
        for option in UNKNOWN
        if (name, option) != ("build", "metric")  # the distance between spaces
    ],
)
def test_an_unknown_option_of_an_index_is_one_line_that_names_the_right_one(tmp_path, name, option):
    np.save(tmp_path / "x.npy", np.eye(2))
    index, advice = ao.SearchIndex.build([np.eye(2)]), re.escape(UNKNOWN[option])
    wanted = rf"^SearchIndex\.{name}\(\) got an unexpected keyword argument '{option}'; {advice}$"
    with pytest.raises(TypeError, match=wanted):
        getattr(index, name)([tmp_path / "x.npy"], **{option: 3})
