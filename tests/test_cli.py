"""What each command does, run as a user runs it; what holds for all of them is in test_cli_laws.py."""

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import anchorot as ao
from anchorot.many.metrics import METRICS

from command_line import PAIR, PROGRAM, anchorot, anchorot_each
from test_import import HEAVY

pytestmark = pytest.mark.kernel_free


def test_compare_prints_both_energies():
    result = anchorot("compare", *PAIR)
    assert result.returncode == 0
    assert "9.9270448" in result.stdout
    assert "0.0116" in result.stdout


def test_compare_as_json():
    found = json.loads(anchorot("compare", *PAIR, "--json").stdout)
    assert found["anchor_energy"] == pytest.approx(9.9270448)
    assert found["robust_anchor_energy"] == pytest.approx(0.0116)
    assert (found["n"], found["m"], found["p"]) == (10, 10, 1)
    assert set(found["seconds"]) == {"read_a", "read_b", "anchor_energy", "robust_anchor_energy"}


def test_compare_points(tmp_path):
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(9, 3)), rng.normal(size=(8, 2))]
    for name, cloud in zip("ab", clouds, strict=True):
        np.save(tmp_path / f"{name}.npy", cloud)
    arguments = ("compare", "a.npy", "b.npy", "--kind", "points", "--p", 2, "--json")
    found = json.loads(anchorot(*arguments, cwd=tmp_path).stdout)
    assert found["anchor_energy"] == pytest.approx(ao.anchor_energy(*map(ao.from_points, clouds), p=2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "missing.npz", PAIR[0]], "anchorot: missing.npz: No such file or directory"),
        (["compare", __file__, PAIR[0]], "anchorot: test_cli.py: files ending in '.py' are not read"),
        (
            ["compare", PAIR[0], PAIR[1], "--point-metric", "x", "--kind", "points"],
            "anchorot: authors_1.txt: metric 'x'",
        ),
        (["demo", "-o", "no/such/folder/x.png"], "there is no folder"),
        (["match", *PAIR, "--report", "no/such/folder/x.html"], "there is no folder"),
        (["match", *PAIR, "--report", "x.pdf"], "x.pdf: a file ending in .html or .htm is written here"),
        (["match", *PAIR, "-o", "x.txt"], "x.txt: a file ending in .csv or .npz is written here"),
        (["compare", *PAIR, "--epsilon", "1"], "metric 'ae' has no epsilon"),
        (["compare", *PAIR, "--metric", "gw", "--p", "1"], "metric 'gw' has the square loss, p=2, but got p=1"),
        (["match", *PAIR, "--plan", "aep", "--p", "2"], "the Anchor Energy Plan is the same for every p, but got p=2"),
        (["match", *PAIR, "--p", "2"], "--plan align has no p to choose, but got --p 2; leave it out"),
        (["match", *PAIR, "--epsilon", "0.1"], "--plan align has no epsilon to choose, but got --epsilon 0.1"),
        (["match", *PAIR, "--plan", "gw", "--mass", "0.5"], "--mass is for --plan align, but got --mass 0.5 with"),
        (["match", *PAIR, "--plan", "aw", "--start", "aep"], "has no start, but got start='aep'; leave start out"),
        (["pairwise", *PAIR, "-o", "D.txt"], "D.txt: a file ending in .npz or .csv is written here"),
        (["pairwise", *PAIR, "--picture", "D.gif"], "D.gif: a file ending in .png or .svg or .pdf is written here"),
        (["pairwise", *PAIR * 7], "a matrix of 14 spaces is too large to print; say where to put it: -o D.npz"),
        (["pairwise", "."], "no file in this folder has a known ending"),
        (["pairwise", *PAIR, "--epsilon", "1"], "metric 'ae' has no epsilon"),
        (["pairwise", *PAIR, "--dask", "tcp://127.0.0.1:1"], "no Dask scheduler answers at tcp://127.0.0.1:1"),
        (["compare", PAIR[0], "."], "this is a folder, but a file is needed"),
        (["compare", *PAIR, "--disconnected", "x", "--kind", "graph"], "authors_1.txt: "),
    ],
)
def test_bad_input_is_one_line_and_status_two(tmp_path, arguments, message):
    result = anchorot(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["compare"], ["compare", "a", "b", "--p", "0"], ["nonsense"], ["match", "a", "b", "--metric", "slb"]]
)
def test_wrong_usage_is_status_two(arguments):
    result = anchorot(*arguments)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)


def test_without_a_word_the_help_is_shown():
    for words in ((), ("search",)):
        shown = anchorot(*words)
        assert "Usage: anchorot" in shown.stdout + shown.stderr
        assert "Example: anchorot" in shown.stdout + shown.stderr


def test_demo_writes_a_picture_and_a_table(tmp_path):
    pytest.importorskip("matplotlib")
    result = anchorot("demo", "--n-points", 40, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "scale-free x1.7" in result.stdout
    assert (tmp_path / "anchorot-demo.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 1


def test_demo_finds_kinds_by_robust_energy(tmp_path):
    pytest.importorskip("matplotlib")
    found = json.loads(anchorot("demo", "-o", tmp_path / "x.png", "--json").stdout)
    assert found["pairs"] == 210
    assert found["robust AE"]["same_kind"] > 2 * found["AE"]["same_kind"]
    distances = np.array(found["AE"]["distances"])
    assert (distances == distances.T).all()


def test_config_says_which_kernels():
    found = json.loads(anchorot("config", "--json").stdout)
    assert found == ao.config.config()
    assert anchorot("config", ANCHOROT_KERNELS="numpy").stdout.splitlines()[1].split() == ["kernels", "numpy"]


def test_version():
    assert anchorot("--version").stdout.strip() == ao.__version__


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("compare", "--help"), ("match", "--help")])
def test_start_up_loads_nothing_heavy(arguments):
    program = (
        "import sys, anchorot.cli as cli\n"
        f"sys.argv = ['anchorot', *{arguments}]\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr.split()
    )
    assert "typer" in loaded
    assert not loaded & (HEAVY - {"typer", "rich", "click"})


def test_shell_completion():
    words = {"_ANCHOROT_COMPLETE": "complete_bash", "COMP_WORDS": "anchorot co", "COMP_CWORD": "1"}
    assert set(anchorot(**words).stdout.split()) == {"compare", "config", "convert"}
    words = {"_ANCHOROT_COMPLETE": "complete_bash", "COMP_WORDS": "anchorot compare --metric ", "COMP_CWORD": "3"}
    assert {"ae", "aw", "gw"} <= set(anchorot(**words).stdout.split())


@pytest.mark.parametrize("metric", METRICS)
def test_compare_by_every_metric(metric):
    found = json.loads(anchorot("compare", *PAIR, "--metric", metric, "--threads", 2, "--json").stdout)
    x, y = map(ao.read, PAIR)
    for robust, prefix in ((False, ""), (True, "robust_")):
        if metric in ("slb", "tlb"):
            expected = getattr(ao.lower_bounds(x, y, robust=robust), metric)
        else:
            function = getattr(ao, METRICS[metric].value_name)
            expected = getattr(function(x, y, robust=robust), "cost", function(x, y, robust=robust))
        assert found[f"{prefix}{METRICS[metric].value_name}"] == expected
    assert (found["metric"], found["p"]) == (metric, METRICS[metric].power)


def test_compare_one_of_both_forms():
    robust = json.loads(anchorot("compare", *PAIR, "--robust", "--json").stdout)
    plain = json.loads(anchorot("compare", *PAIR, "--no-robust", "--json").stdout)
    assert "robust_anchor_energy" in robust
    assert "anchor_energy" not in robust
    assert "anchor_energy" in plain
    assert "robust_anchor_energy" not in plain


def test_epsilon_reaches_the_solver():
    found = json.loads(anchorot("compare", *PAIR, "--metric", "aw", "--epsilon", 0, "--json").stdout)
    x, y = map(ao.read, PAIR)
    assert found["anchor_wasserstein"] == ao.anchor_wasserstein(x, y, epsilon=0).cost


def test_reading_options_reach_the_reader(tmp_path):
    (tmp_path / "g.edgelist").write_text("a b 2\nb c 3\nd e 4\n")
    arguments = ("compare", "g.edgelist", "g.edgelist", "--no-robust", "--json")
    found = json.loads(anchorot(*arguments, "--disconnected", "largest", "--weight", "w", cwd=tmp_path).stdout)
    assert (found["n"], found["anchor_energy"]) == (3, 0)
    assert json.loads(anchorot(*arguments, "--disconnected", "9", cwd=tmp_path).stdout)["n"] == 5
    sampled = anchorot(*arguments, "--disconnected", "9", "--n-points", 2, "--seed", 4, cwd=tmp_path)
    assert json.loads(sampled.stdout)["n"] == 2


def test_notes_are_one_line(tmp_path):
    off = "OFF\n7 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n5 0 0\n6 0 0\n6 1 0\n3 0 1 2\n3 4 5 6\n"
    (tmp_path / "m.off").write_text(off.replace("3 4 5 6", "3 0 2 3"))
    result = anchorot("compare", "m.off", "m.off", "--geodesic", "edge", cwd=tmp_path)
    assert result.returncode == 0
    note = "anchorot: note: m.off has 4 components; the largest is kept, 4 of 7 vertices"
    assert result.stderr.splitlines() == [note]  # about one file, however often it is read


def write_lines(folder):
    """Three small spaces in files: a, a moved copy of it, and another."""
    np.savetxt(folder / "line1.csv", ao.from_points([[0.0], [1.0], [3.0]]).cost, delimiter=",")
    np.savetxt(folder / "line2.csv", ao.from_points([[5.0], [2.0], [6.0]]).cost, delimiter=",")
    np.savetxt(folder / "dots10.csv", ao.from_points([[0.0], [9.0]]).cost, delimiter=",")
    return [folder / name for name in ("line1.csv", "line2.csv", "dots10.csv")]


def test_pairwise_prints_writes_and_draws(tmp_path):
    paths = write_lines(tmp_path)
    expected = ao.pairwise([ao.read(path) for path in paths])
    result = anchorot("pairwise", *paths, "-o", "D.npz", "--picture", "D.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "3 pairs in" in result.stdout
    assert f"{expected[0, 2]:.4g}" in result.stdout
    with np.load(tmp_path / "D.npz") as saved:
        np.testing.assert_array_equal(saved["distances"], expected)
        assert saved["names"].tolist() == ["line1.csv", "line2.csv", "dots10.csv"]
        assert saved["groups"].tolist() == ["line", "line", "dots"]
        assert json.loads(str(saved["options"]))["metric"] == "ae"
    assert (tmp_path / "D.png").read_bytes().startswith(b"\x89PNG")
    assert anchorot("pairwise", *paths, "-o", "D.csv", cwd=tmp_path).returncode == 0
    rows = list(csv.reader((tmp_path / "D.csv").read_text().splitlines()))
    assert rows[0] == ["", "line1.csv", "line2.csv", "dots10.csv"]
    assert [[float(value) for value in row[1:]] for row in rows[1:]] == expected.tolist()


def test_pairwise_of_a_folder_is_in_natural_order(tmp_path):
    for number in (10, 9, 1):
        np.save(tmp_path / f"x{number}.npy", np.zeros((2, 2)))
    (tmp_path / "notes.md").write_text("not a space")
    found = json.loads(anchorot("pairwise", tmp_path, "--metric", "slb", "--robust", "--json").stdout)
    assert found["names"] == ["x1.npy", "x9.npy", "x10.npy"]
    assert found["distances"] == [[0.0] * 3] * 3


def test_pairwise_of_a_tu_folder(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n4, 5\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n3\n3\n")
    (folder / "TOY_graph_labels.txt").write_text("1\n2\n1\n")
    found = json.loads(anchorot("pairwise", folder, "--json").stdout)
    assert found["names"] == ["TOY/1", "TOY/2", "TOY/3"]
    assert found["distances"][0][2] == 0 < found["distances"][0][1]


def test_pairwise_goes_on_from_its_checkpoint(tmp_path):
    paths = write_lines(tmp_path)
    arguments = ("pairwise", *paths, "--checkpoint", "parts", "--json")
    first = json.loads(anchorot(*arguments, cwd=tmp_path).stdout)["distances"]
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert json.loads(anchorot(*arguments, "--jobs", 1, cwd=tmp_path).stdout)["distances"] == first
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == times
    other = anchorot(*arguments, "--robust", cwd=tmp_path)
    assert other.returncode == 2
    assert "is of another run: robust is False there and True here" in other.stderr


def test_pairwise_names_a_bad_file_or_skips_it(tmp_path):
    paths = [*write_lines(tmp_path), tmp_path / "bad.csv"]
    paths[-1].write_text("a,b\n")
    result = anchorot("pairwise", *paths, "--json")
    assert result.returncode == 2
    assert "bad.csv: line 1 of numbers" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    skipped = anchorot("pairwise", *paths, "--json", "--skip-errors")
    assert json.loads(skipped.stdout)["distances"][3] == [None] * 4
    assert skipped.stderr.startswith("anchorot: note: 1 of 4 spaces cannot be used")


def test_search_finds_what_was_built(tmp_path):
    paths = write_lines(tmp_path)
    built = anchorot("search", "build", *paths, "-o", "x.index", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert "index of 3 spaces" in built.stdout
    found = json.loads(anchorot("search", "query", "x.index", "line2.csv", "-k", 2, "--json", cwd=tmp_path).stdout)
    expected = ao.pairwise([ao.read(path) for path in paths])[1]
    assert [row["name"] for row in found["nearest"]] == ["line2.csv", "line1.csv"]
    assert [row["value"] for row in found["nearest"]] == [0.0, expected[0]]
    assert found["exact"] is True
    shown = anchorot("search", "query", "x.index", "line2.csv", "--candidates", 1, "-k", 1, cwd=tmp_path).stdout
    assert "not proved, with 1 of 3 Anchor Energies" in shown


def write_clouds(folder, count=4):
    """Clouds of 40 points each, as files of coordinates."""
    rng = np.random.default_rng(0)
    for number in range(count):
        np.savetxt(folder / f"cloud{number}.csv", rng.normal(size=(40, 2)) * [1, 1 + number], delimiter=",")
    return [folder / f"cloud{number}.csv" for number in range(count)]


def test_a_query_is_read_as_the_index_was_built(tmp_path):
    paths = write_clouds(tmp_path)
    how = ["--kind", "points", "--n-points", 12, "--seed", 5, "--point-metric", "cityblock"]
    build, plain, said, other = anchorot_each(
        ["search", "build", *paths, "-o", "x.index", *how, "--json"],
        ["search", "query", "x.index", paths[1], "--json"],
        ["search", "query", "x.index", paths[1], "--json", *how],
        ["search", "query", "x.index", paths[1], "--json", "--n-points", 13],
        cwd=tmp_path,
    )
    wanted = {"kind": "points", "n_points": 12, "seed": 5, "point_metric": "cityblock", "sampling": "uniform"}
    assert wanted.items() <= json.loads(build.stdout)["reading"].items()
    nearest = json.loads(plain.stdout)["nearest"]
    assert nearest[0]["name"] == "cloud1.csv"
    assert nearest[0]["value"] == 0
    assert json.loads(said.stdout)["nearest"] == nearest
    assert plain.stderr == said.stderr == ""
    note = "this was read otherwise than the index: n_points=13 where the index has 12"
    assert other.stderr == f"anchorot: note: {note}\n"


def test_results_of_pairwise_say_how_files_were_read(tmp_path):
    paths = write_clouds(tmp_path)
    how = ["--kind", "points", "--n-points", 12, "--seed", 5, "--no-cache"]
    shown, written = anchorot_each(
        ["pairwise", *paths, *how, "--p", 2, "--json"], ["pairwise", *paths, *how, "-o", "D.npz"], cwd=tmp_path
    )
    wanted = {"kind": "points", "n_points": 12, "seed": 5, "point_metric": "euclidean", "sampling": "uniform"}
    found = json.loads(shown.stdout)
    assert found["p"] == 2
    assert wanted.items() <= found["reading"].items()
    assert written.returncode == 0
    with np.load(tmp_path / "D.npz") as saved:
        assert json.loads(str(saved["reading"])) == found["reading"]
        assert json.loads(str(saved["options"]))["p"] == 1


def test_a_damaged_index_is_one_line(tmp_path):
    paths = write_lines(tmp_path)
    anchorot("search", "build", *paths, "-o", "x.index", cwd=tmp_path)
    whole = (tmp_path / "x.index").read_bytes()
    (tmp_path / "x.index").write_bytes(whole[: len(whole) // 2])
    result = anchorot("search", "query", "x.index", "line1.csv", cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "x.index" in result.stderr


def test_barycenter_of_one_space_is_that_space(tmp_path):
    pytest.importorskip("torch")
    square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    np.savetxt(tmp_path / "square.csv", square, delimiter=",")
    arguments = ("barycenter", "square.csv", "--kind", "points", "--support", 4, "--restarts", 4, "-o", "mean.csv")
    result = anchorot(*arguments, "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["loss"] < 0.1 * found["first_loss"]
    assert np.loadtxt(tmp_path / "mean.csv", delimiter=",").shape == (4, 2)


def test_match_prints_writes_and_reports(tmp_path):
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(8, 3)) * [1, 2, 4]
    np.savez(tmp_path / "a.npz", points=cloud, labels=list("abcdefgh"))
    np.savez(tmp_path / "b.npz", points=cloud[::-1] + 5, labels=list("hgfedcba"))
    result = anchorot("match", "a.npz", "b.npz", "--metric", "aw", "--epsilon", 0, "-o", "m.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "written: m.csv" in result.stdout
    with (tmp_path / "m.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["a"], row["b"]) for row in rows] == [(name, name) for name in "abcdefgh"]
    assert all(float(row["share"]) == pytest.approx(1) for row in rows)
    found = json.loads(
        anchorot(
            "match", "a.npz", "b.npz", "--plan", "aep", "-o", "m.npz", "--one-to-one", "--json", cwd=tmp_path
        ).stdout
    )
    assert sorted(found["match"]) == list(range(8))
    with np.load(tmp_path / "m.npz") as saved:
        expected = ao.anchor_energy_plan(*(ao.read(tmp_path / name) for name in ("a.npz", "b.npz")))
        np.testing.assert_array_equal(saved["plan"], expected)
        assert saved["match"].tolist() == found["match"]
        assert saved["labels_a"].tolist() == list("abcdefgh")
    assert anchorot("match", "a.npz", "b.npz", "--report", "r.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "r.html").read_text().lower().startswith("<!doctype html>")
    assert {path.name for path in tmp_path.iterdir()} == {"a.npz", "b.npz", "m.csv", "m.npz", "r.html"}


def test_match_aligns_unless_told_otherwise(tmp_path):
    cloud = np.random.default_rng(0).normal(size=(20, 3))
    order = np.random.default_rng(1).permutation(20)
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    np.save(tmp_path / "b.npy", ao.from_points(cloud[order] + 5).cost)
    found = json.loads(anchorot("match", "a.npy", "b.npy", "--json", cwd=tmp_path).stdout)
    assert found["plan"] == "align"
    assert order[found["match"]].tolist() == list(range(20))
    assert 0 <= found["bound"] <= found["value"] < 1e-12
    assert found["gap"] == found["value"] - found["bound"]
    assert (found["unmatched"], found["runner_up"], found["converged"]) == (0, None, True)
    assert {start["name"] for start in found["starts"]} >= {"near", "middle", "product"}
    shown = anchorot("match", "a.npy", "b.npy", "--start", "product", cwd=tmp_path).stdout
    assert all(text in shown for text in ("loss ", "a gap of ", "│ product │"))
    assert "near" not in shown


def test_match_leaves_out_what_is_missing(tmp_path):
    pytest.importorskip("ot")
    cloud = np.random.default_rng(2).normal(size=(20, 3))
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    np.save(tmp_path / "b.npy", ao.from_points(cloud[:15]).cost)
    command = ["match", "a.npy", "b.npy", "--mass", "1", "-o", "m.npz"]
    found = json.loads(anchorot(*command, "--json", cwd=tmp_path).stdout)
    assert found["match"] == [*range(15), *[-1] * 5]
    assert found["unmatched"] == 0.25
    with np.load(tmp_path / "m.npz") as saved:
        assert saved["match"].tolist() == found["match"]
    assert "25.0% of the first space's points have no match" in anchorot(*command[:-2], cwd=tmp_path).stdout
    told = anchorot("match", "a.npy", "b.npy", "--mass", "most", cwd=tmp_path)
    assert (told.returncode, "or 'free', but got 'most'" in told.stderr) == (2, True)


def test_every_plan_has_its_old_names(tmp_path):
    cloud = np.random.default_rng(3).normal(size=(6, 2))
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    for old, new in (("ae", "aep"), ("aw", "aw"), ("gw", "gw")):
        found = json.loads(anchorot("match", "a.npy", "a.npy", "--metric", old, "--json", cwd=tmp_path).stdout)
        assert found["plan"] == new
        assert ("value" in found) == (old != "ae")


def test_match_without_a_partner(tmp_path):
    np.save(tmp_path / "a.npy", ao.from_points(np.arange(4.0)[:, None]).cost)
    np.save(tmp_path / "b.npy", ao.from_points(np.arange(2.0)[:, None]).cost)
    result = anchorot("match", "a.npy", "b.npy", "--one-to-one", "-o", "m.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "m.csv").read_text().count(",,0") == 2


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-c", PROGRAM, "demo", "--n-points", "1500"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.5)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert (running.returncode, told) == (130, "anchorot: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_names_in_tables_are_no_formulas(tmp_path):
    labels = ["=1+1", "@x", "-7", "+a", "plain", "\t=x"]
    np.savez(tmp_path / "=a.npz", points=np.arange(6.0)[:, None] ** 2, labels=labels)
    assert anchorot("match", "=a.npz", "=a.npz", "--one-to-one", "-o", "m.csv", cwd=tmp_path).returncode == 0
    with (tmp_path / "m.csv").open(newline="") as handle:
        names = [row[0] for row in csv.reader(handle)][1:]
    assert names == ["'=1+1", "'@x", "-7", "'+a", "plain", "'\t=x"]
    assert anchorot("pairwise", "=a.npz", "=a.npz", "-o", "D.csv", cwd=tmp_path).returncode == 0
    rows = list(csv.reader((tmp_path / "D.csv").read_text().splitlines()))
    assert (rows[0], rows[1]) == (["", "'=a.npz", "'=a.npz"], ["'=a.npz", "0.0", "0.0"])


def test_an_unconverged_solver_is_a_note(tmp_path):
    program = (
        "import anchorot.many.metrics as metrics; from anchorot.cli import main\n"
        "metrics._anchor_cost.__code__ = (lambda x, y, p, epsilon, threads: Outcome(1.0, False)).__code__; main()"
    )
    result = anchorot("compare", *PAIR, "--metric", "aw", "--no-robust", program=program)
    assert result.returncode == 0
    assert result.stderr == "anchorot: note: Anchor Wasserstein: the solver did not converge; try another --epsilon\n"


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("matplotlib", "plot", ["demo"]),
        ("matplotlib", "plot", ["pairwise", "missing.npy", "--picture", "D.png"]),
        ("plotly", "report", ["match", "missing.npy", "missing.npy", "--report", "r.html"]),
        ("torch", "torch", ["barycenter", "missing.npy", "-o", "mean.csv"]),
    ],
)
def test_a_missing_package_is_told_before_the_work(tmp_path, package, extra, arguments):
    program = f"import sys; sys.modules[{package!r}] = None; from anchorot.cli import main; main()"
    result = anchorot(*arguments, cwd=tmp_path, program=program)
    assert result.returncode == 2
    assert result.stderr == f"anchorot: {package} is not installed; get it with: pip install 'anchorot[{extra}]'\n"
    assert list(tmp_path.iterdir()) == []


def test_cat_and_dog(data):
    folder = data / "tosca_nonrigid3d"
    result = anchorot("compare", folder / "cat0.mat", folder / "dog0.mat", "--n-points", 60)
    assert result.returncode == 0, result.stderr
    for row in ("reading cat0.mat", "reading dog0.mat", "anchor energy", "robust anchor energy", "seconds"):
        assert row in result.stdout


# -- test --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def graph_files(tmp_path):
    """Ten rings and ten stars of different sizes, as edge lists."""
    for n in range(5, 15):
        (tmp_path / f"ring{n}.edgelist").write_text("".join(f"{i} {(i + 1) % n}\n" for i in range(n)))
        (tmp_path / f"star{n}.edgelist").write_text("".join(f"0 {i}\n" for i in range(1, n)))
    return tmp_path


def test_test_takes_all_files_after_against_up_to_the_next_option(graph_files):
    rings, stars = (sorted(path.name for path in graph_files.glob(f"{kind}*")) for kind in ("ring", "star"))
    options = ("--resamples", 199, "--seed", 1, "--json")
    found = json.loads(anchorot("test", *rings, "--against", *stars, *options, cwd=graph_files).stdout)
    assert found["sizes"] == [10, 10]
    assert (found["statistic"], found["permutations"], found["stopped_early"]) == ("degree", 199, False)
    assert found["pvalue"] == 1 / 200
    moved = json.loads(anchorot("test", "--against", *stars, *options, *rings, cwd=graph_files).stdout)
    assert moved | {"seconds": 0} == found | {"seconds": 0}


@pytest.mark.parametrize("statistic", ["degree", "clustering", "anchors"])
def test_test_gives_what_the_library_gives(graph_files, statistic):
    rings, stars = (sorted(graph_files.glob(f"{kind}*")) for kind in ("ring", "star"))
    arguments = ("test", *rings, "--against", *stars, "--statistic", statistic, "--seed", 3, "--json")
    found = json.loads(anchorot(*arguments, cwd=graph_files).stdout)
    graphs = [[np.loadtxt(path, dtype=int) for path in side] for side in (rings, stars)]
    expected = ao.graph_model_test(*graphs, statistic, rng=3)
    assert (found["energy_distance"], found["pvalue"]) == (pytest.approx(expected.statistic), expected.pvalue)


def test_test_prints_a_verdict_and_draws(graph_files):
    files = sorted(graph_files.glob("ring*"))
    result = anchorot("test", *files, "--against", *files, "--picture", "null.png", "--stop-after", 20, cwd=graph_files)
    assert result.returncode == 0, result.stderr
    assert "no difference was found" in result.stdout
    assert (graph_files / "null.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ring5.edgelist"], "say what to test against: anchorot test A... --against B..."),
        (["ring5.edgelist", "--against", "missing.edgelist"], "missing.edgelist: No such file or directory"),
        ([PAIR[0], "--against", PAIR[1]], "authors_1.txt: a graph is needed: .edgelist, .edges, .graphml, .swc"),
        (["ring5.edgelist", "--against", "ring6.edgelist", "--picture", "null.bmp"], "null.bmp: a file ending in .png"),
    ],
)
def test_test_refuses_bad_input_in_one_line(graph_files, arguments, message):
    result = anchorot("test", *arguments, cwd=graph_files)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_test_of_spaces_that_are_no_graphs():
    found = json.loads(anchorot("test", PAIR[0], "--against", PAIR[1], "--statistic", "anchors", "--json").stdout)
    assert found["energy_distance"] == pytest.approx(9.9270448)
