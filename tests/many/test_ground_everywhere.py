"""W_2 as the ground of energies, in all that compares many spaces: all pairs, kernels, vectors and commands."""

import json

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import anchorot
from tests.strategies import SIX_NODES, clouds, mixed, six_nodes

# -- all pairs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [False, True])
def test_all_pairs_are_those_of_the_function_to_the_last_bit(robust):
    spaces = mixed()
    found = ao.pairwise(spaces, ground="w2", robust=robust, progress=False)
    expected = [
        [ao.anchor_energy(*sorted_pair, ground="w2", robust=robust) for sorted_pair in row] for row in pairs(spaces)
    ]
    assert found.tolist() == expected


def pairs(spaces):
    """Every pair with the earlier one first, as `pairwise` compares them."""
    numbers = range(len(spaces))
    return [[(spaces[min(i, j)], spaces[max(i, j)]) for j in numbers] for i in numbers]


def test_checkpoints_of_one_ground_do_not_serve_the_other(tmp_path):
    spaces = clouds([5, 6, 7])
    ao.pairwise(spaces, ground="w2", checkpoint=tmp_path, progress=False)
    assert (ao.pairwise(spaces, ground="w2", checkpoint=tmp_path, progress=False) > 0).sum() == 6
    with pytest.raises(ao.InputError, match="ground"):
        ao.pairwise(spaces, checkpoint=tmp_path, progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "aw"}, "ground='w2' goes with metric 'ae', but got metric 'aw'"),
        ({"p": 2}, "ground='w2' goes with p=1"),
        ({"max_cost": 1.0}, "neither attributes nor max_cost"),
    ],
)
def test_what_does_not_go_with_w2_is_refused(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise(clouds([4, 4]), ground="w2", progress=False, **options)


# -- estimators ----------------------------------------------------------------------------------------------------


def test_kernels_of_w2_tell_apart_what_those_of_w1_do_not():
    pytest.importorskip("sklearn")
    from anchorot.estimators import AnchorKernel, AnchorNeighborsClassifier, AnchorProcessKernel

    x, y = six_nodes()
    energy = ao.anchor_energy(x, y, ground="w2")
    for ground, value in (("w1", 1.0), ("w2", np.exp(-energy))):
        assert AnchorKernel(gamma=1.0, ground=ground).fit([x, y]).transform([x])[0, 1] == pytest.approx(value)
        assert AnchorProcessKernel(1.0, ground=ground)([x], [y])[0, 0] == pytest.approx(value)
    model = AnchorNeighborsClassifier(1, ground="w2").fit([x, y], ["x", "y"])
    assert model.predict([y, x]).tolist() == ["y", "x"]


# -- commands ------------------------------------------------------------------------------------------------------


@pytest.fixture
def graph_files(tmp_path):
    paths = []
    for name, edges in zip("xy", SIX_NODES, strict=True):
        paths.append(tmp_path / f"{name}.edgelist")
        paths[-1].write_text("\n".join(f"{i} {j}" for i, j in edges))
    return paths


def test_commands_tell_apart_what_w1_does_not(graph_files):
    exact = ao.anchor_energy(*six_nodes(), ground="w2")
    for ground, value in (("w1", 0.0), ("w2", exact)):
        found = json.loads(anchorot("compare", *graph_files, "--ground", ground, "--no-robust", "--json").stdout)
        assert (found["anchor_energy"], found["ground"]) == (pytest.approx(value), ground)
        found = json.loads(anchorot("pairwise", *graph_files, "--ground", ground, "--json").stdout)
        assert found["distances"][0][1] == pytest.approx(value)
        options = ("--statistic", "anchors", "--ground", ground, "--resamples", 9, "--json")
        found = json.loads(anchorot("test", graph_files[0], "--against", graph_files[1], *options).stdout)
        assert (found["energy_distance"], found["ground"]) == (pytest.approx(2 * value**0.5, abs=1e-6), ground)


def test_unknown_grounds_and_estimates_of_w2_are_refused_in_one_line(graph_files):
    assert "is not one of w1, w2" in anchorot("compare", *graph_files, "--ground", "w3").stderr
    refused = anchorot("compare", *graph_files, "--ground", "w2", "--estimate")
    assert refused.returncode == 2
    assert "and not with --ground, --attributes or --max-cost" in refused.stderr
