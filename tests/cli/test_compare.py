"""`anchorot compare`: both energies, every metric, and what reaches the reader."""

import json

import numpy as np
import pytest

import anchorot as ao
from anchorot.many.metrics import METRICS
from tests.command_line import PAIR, anchorot


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


@pytest.mark.parametrize("metric", METRICS)
def test_compare_by_every_metric(metric):
    found = json.loads(anchorot("compare", *PAIR, "--metric", metric, "--threads", 2, "--json").stdout)
    x, y = map(ao.read, PAIR)
    for robust, prefix in ((False, ""), (True, "robust_")):
        result = METRICS[metric].function(x, y, robust=robust)
        expected = getattr(result, METRICS[metric].result_field or "real")
        assert found[f"{prefix}{METRICS[metric].value_name}"] == expected
    assert (found["metric"], found["p"]) == (metric, METRICS[metric].power)


def test_any_number_of_threads_gives_the_same_values():
    few, many = (anchorot("compare", *PAIR, "--threads", count, "--json") for count in (1, 10**11))
    few, many = (json.loads(result.stdout) for result in (few, many))
    assert {**few, "seconds": None} == {**many, "seconds": None}


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


def test_an_unconverged_solver_is_a_note(tmp_path):
    program = (
        "import anchorot.many.metrics as metrics; from anchorot.cli import main\n"
        "metrics._anchor_cost.__code__ = (lambda x, y, p, epsilon, row_metric, threads: Outcome(1.0, False)).__code__\n"
        "main()"
    )
    result = anchorot("compare", *PAIR, "--metric", "aw", "--no-robust", program=program)
    assert result.returncode == 0
    assert result.stderr == "anchorot: note: Anchor Wasserstein: the solver did not converge; try another --epsilon\n"


def test_cat_and_dog(data):
    folder = data / "tosca_nonrigid3d"
    result = anchorot("compare", folder / "cat0.mat", folder / "dog0.mat", "--n-points", 60)
    assert result.returncode == 0, result.stderr
    for row in ("reading cat0.mat", "reading dog0.mat", "anchor energy", "robust anchor energy", "seconds"):
        assert row in result.stdout


def test_compare_estimates_the_energy_behind_the_samples(tmp_path):
    places = np.random.default_rng(0).random((200, 2))
    np.save(tmp_path / "a.npy", places)
    arguments = ("compare", "a.npy", "a.npy", "--kind", "points", "--n-points", 40, "--no-robust", "--estimate")
    result = anchorot(*arguments, cwd=tmp_path)
    assert "anchor energy estimate" in result.stdout
    assert "two samples of one space may be as far apart" in " ".join(result.stdout.split())
    found = json.loads(anchorot(*arguments, "--json", cwd=tmp_path).stdout)
    rng = np.random.default_rng(0)
    x, y = (ao.read(tmp_path / "a.npy", kind="points", n_points=40, rng=rng) for _ in range(2))
    expected = ao.anchor_energy_estimate(x, y, rng=rng)
    assert found["anchor_energy"] == expected.plain > 0  # the file was drawn from twice, by different seeds
    shown = found["anchor_energy_estimate"]
    assert (shown["value"], shown["standard_error"]) == (expected.value, expected.standard_error)
    assert (shown["low"], shown["high"], shown["noise"]) == (*expected.interval(), expected.noise)
    assert "anchor_energy_estimate" in found["seconds"]


def test_estimates_draw_vertices_uniformly(tmp_path):
    vertices, faces = np.random.default_rng(0).random((40, 3)), [[i, i + 1, i + 2] for i in range(38)]
    np.savez(tmp_path / "m.npz", V=vertices, F=faces)
    how = {"n_points": 12, "geodesic": "edge"}
    arguments = ("compare", "m.npz", "m.npz", "--n-points", 12, "--geodesic", "edge", "--estimate", "--json")
    found = json.loads(anchorot(*arguments, cwd=tmp_path).stdout)
    rng = np.random.default_rng(0)
    x, y = (ao.read(tmp_path / "m.npz", sampling="uniform", rng=rng, **how) for _ in range(2))
    assert found["anchor_energy"] == ao.anchor_energy(x, y)
