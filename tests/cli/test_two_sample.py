"""`anchorot test`: do two collections of files differ?"""

import json

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import PAIR, anchorot


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
def test_test_equals_the_library(graph_files, statistic):
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
        (["ring5.edgelist"], "nothing to test against; use: anchorot test A... --against B..."),
        (["ring5.edgelist", "--against", "missing.edgelist"], "missing.edgelist: No such file or directory"),
        (
            [PAIR[0], "--against", PAIR[1]],
            "authors_1.txt: a graph is needed: .edgelist, .edges, .gexf, .gml, .graphml, .swc",
        ),
        (
            ["ring5.edgelist", "--against", "ring6.edgelist", "--picture", "null.bmp"],
            "null.bmp: the file must end in",
        ),
    ],
)
def test_test_refuses_bad_input_in_one_line(graph_files, arguments, message):
    result = anchorot("test", *arguments, cwd=graph_files)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_test_of_spaces_that_are_not_graphs():
    found = json.loads(anchorot("test", PAIR[0], "--against", PAIR[1], "--statistic", "anchors", "--json").stdout)
    assert found["energy_distance"] == pytest.approx(2 * 9.9270448**0.5)


@pytest.fixture
def patients(tmp_path):
    """Three graphs each of four patients; two have rings, two have stars."""
    for patient, kind in (("p1", "ring"), ("p2", "ring"), ("p3", "star"), ("p4", "star")):
        for n in range(5, 8):
            edges = [(i, (i + 1) % n) if kind == "ring" else (0, i + 1) for i in range(n)]
            (tmp_path / f"{kind}_{patient}_{n}.edgelist").write_text("".join(f"{i} {j}\n" for i, j in edges))
    return tmp_path


def test_subjects_are_found_in_names_and_few_assignments_are_noted(patients):
    rings, stars = (sorted(path.name for path in patients.glob(f"{kind}*")) for kind in ("ring", "star"))
    result = anchorot("test", *rings, "--against", *stars, "--subjects", "p[0-9]", "--json", cwd=patients)
    found = json.loads(result.stdout)
    assert (found["permuted"], found["assignments"], found["permutations"]) == ("subjects", 3, 2)
    assert found["pvalue"] == found["min_pvalue"] == pytest.approx(1 / 3)
    assert "only 3 ways to divide the subjects into such groups: no p-value could be below 0.33" in result.stderr
    plain = anchorot("test", *rings, "--against", *stars, "--json", cwd=patients)
    assert json.loads(plain.stdout)["assignments"] == 462
    assert plain.stderr == ""
    paired = ("--subjects", "_([0-9])[.]", "--within", "--json")
    for options, unit, count in (((), "conditions", 4), (("--blocks", "p[0-9]"), "items", 108)):
        result = anchorot("test", *rings, "--against", *stars, *paired, *options, cwd=patients)
        found = json.loads(result.stdout)
        assert (found["permuted"], found["assignments"]) == (f"{unit} within subjects", count)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--subjects", "q[0-9]"], "--subjects 'q[0-9]' matches nothing in the name ring_p1_5.edgelist"),
        (["--subjects", "("], "--subjects '(' is not a regular expression"),
        (["--subjects", "_[0-9]"], "the subject '_5' is in several groups, as are all 3: are these the same persons?"),
        (["--subjects", "_[0-9]"], "only if every person was measured in several groups, use --within"),
        (["--within"], "--within permutes labels within subjects, but no subjects are given"),
        (["--strata", "x*"], "--strata 'x*' matches nothing in the name ring_p1_5.edgelist"),
        (["--pooled"], "--pooled is for --statistic anchors"),
    ],
)
def test_bad_patterns_are_one_clear_line(patients, options, message):
    rings, stars = (sorted(path.name for path in patients.glob(f"{kind}*")) for kind in ("ring", "star"))
    result = anchorot("test", *rings, "--against", *stars, *options, cwd=patients)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


# -- tissues -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tissue_files(tmp_path):
    """Four tissues with both types anywhere, and four with each B beside an A."""
    rng = np.random.default_rng(0)
    for name, k in [(name, k) for name in ("apart", "close") for k in range(4)]:
        a = rng.random((30, 2))
        b = a + 0.02 * rng.normal(size=(30, 2)) if name == "close" else rng.random((30, 2))
        rows = [f"{x},{y},{kind}\n" for kind, side in (("A", a), ("B", b)) for x, y in side]
        (tmp_path / f"{name}{k}.csv").write_text("x,y,kind\n" + "".join(rows))
    return tmp_path


TISSUES = [f"apart{k}.csv" for k in range(4)] + ["--against"] + [f"close{k}.csv" for k in range(4)]
READING = ("--kind", "points", "--types", "kind", "--json")


def test_test_compares_arrangement_and_composition(tissue_files):
    found = json.loads(anchorot("test", *TISSUES, "--metric", "arrangement", *READING, cwd=tissue_files).stdout)
    spaces = [
        ao.from_points(np.loadtxt(file, delimiter=",", skiprows=1, usecols=(0, 1)), types=["A"] * 30 + ["B"] * 30,
                       area="extent")
        for file in sorted(tissue_files.glob("*.csv"))
    ]  # fmt: skip
    expected = ao.energy_test(spaces[:4], spaces[4:], metric="arrangement", rng=0)
    assert found["energy_distance"] == pytest.approx(expected.statistic)
    assert (found["metric"], found["statistic"], found["pvalue"]) == ("arrangement", "anchors", 1 / 35)
    found = json.loads(anchorot("test", *TISSUES, "--metric", "composition", *READING, cwd=tissue_files).stdout)
    assert (found["f_of_compositions"], found["pvalue"]) == (0, 1)


@pytest.mark.parametrize("options", [("--statistic", "degree"), ("--pooled",), ("--ground", "w2")])
def test_test_refuses_what_arrangement_does_not_take(tissue_files, options):
    result = anchorot("test", *TISSUES, "--metric", "arrangement", *options, *READING, cwd=tissue_files)
    assert result.returncode != 0
    assert "--metric arrangement is for --statistic anchors, without --pooled and --ground" in result.stderr
