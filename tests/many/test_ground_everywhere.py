"""W_2 as the ground of energies, in all that compares many spaces: all pairs, kernels, vectors and commands."""

import json

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import anchorot
from tests.strategies import clouds

SIX_NODES = (
    [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (3, 5)],
    [(0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (4, 5)],
)


def six_nodes():
    return [ao.from_graph(edges) for edges in SIX_NODES]


def mixed():
    """Sizes, weights and shapes of all kinds."""
    return [*clouds([6, 7, 7]), *clouds([5, 8], seed=1, weighted=True), *six_nodes()]


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


def test_vectors_of_w2_are_drawn_once_and_serve_later_spaces():
    pytest.importorskip("sklearn")
    from anchorot.estimators import AnchorEmbedding

    spaces = mixed()
    model = AnchorEmbedding(grid=(8, 16), ground="w2", rng=np.random.default_rng(3)).fit(spaces)
    np.testing.assert_array_equal(model.transform(spaces[2:])[0], model.transform(spaces)[2])
    seeded = AnchorEmbedding(grid=(8, 16), ground="w2", rng=3).fit_transform(spaces)
    np.testing.assert_array_equal(seeded, ao.embed(spaces, grid=(8, 16), ground="w2", rng=3))
    assert len(model.get_feature_names_out()) == seeded.shape[1] == 128


# -- vectors -------------------------------------------------------------------------------------------------------


def test_squared_distances_of_vectors_are_the_energy_on_average():
    """Of spaces of different sizes and weights, whose levels have nothing in common."""
    spaces = mixed()
    vectors = ao.embed(spaces, grid=(2000, 16), ground="w2")
    exact = ao.pairwise(spaces, ground="w2", progress=False)
    for i in range(len(spaces)):
        for j in range(i):
            found = ao.embedded_energy(vectors[i], vectors[j], n_projections=2000)
            assert found.value == pytest.approx(exact[i, j], abs=4 * found.standard_error + 1e-3 * exact[i, j])
            assert found.standard_error < 0.15 * found.value


def test_the_standard_error_of_vectors_is_their_deviation_over_seeds():
    x, y = clouds([12, 15])
    draws = [
        ao.embedded_energy(*ao.embed([x, y], grid=(20, 32), ground="w2", rng=seed), n_projections=20)
        for seed in range(100)
    ]
    deviation = np.std([one.value for one in draws])
    assert np.mean([one.standard_error for one in draws]) == pytest.approx(deviation, rel=0.2)


def test_vectors_of_a_space_relabelled_are_equal():
    (x,) = clouds([9], weighted=True)
    order = np.random.default_rng(0).permutation(9)
    e, f = ao.embed([x, x.take(order)], grid=(4, 8), ground="w2")
    np.testing.assert_allclose(e, f, rtol=1e-6)


@pytest.mark.parametrize(
    ("e_x", "e_y", "message"),
    [
        (np.zeros(10), np.ones(10), "e_x has 10 entries and e_y 10, but both need the same multiple of 4 projections"),
        (np.zeros(8), np.ones(4), "e_x has 8 entries and e_y 4, but"),
        (np.zeros((2, 4)), np.ones(8), r"e_x has shape \(2, 4\), but values \(k,\)"),
        (np.zeros(8), np.full(8, np.nan), "e_y must be finite"),
        (np.zeros(8), ["a"] * 8, "e_y has dtype <U1, but real numbers are needed"),
    ],
)
def test_what_are_no_vectors_of_such_projections_is_one_clear_line(e_x, e_y, message):
    with pytest.raises(ao.InputError, match=f"^{message}[^\n]*$"):
        ao.embedded_energy(e_x, e_y, n_projections=4)


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
