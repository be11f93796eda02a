"""Random projections: vectors whose squared distances estimate energies with W_2."""

import numpy as np
import pytest

import anchorot as ao
from tests.strategies import clouds, mixed


def test_random_projections_are_shared_by_later_spaces():
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
            found = ao.search.embedded_energy(vectors[i], vectors[j], n_projections=2000)
            assert found.value == pytest.approx(exact[i, j], abs=4 * found.standard_error + 1e-3 * exact[i, j])
            assert found.standard_error < 0.15 * found.value


def test_the_standard_error_of_vectors_is_their_deviation_over_seeds():
    x, y = clouds([12, 15])
    draws = [
        ao.search.embedded_energy(*ao.embed([x, y], grid=(20, 32), ground="w2", rng=seed), n_projections=20)
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
        (np.zeros((2, 4)), np.ones(8), r"e_x has shape \(2, 4\), but \(k,\)"),
        (np.zeros(8), np.full(8, np.nan), "e_y must be finite"),
        (np.zeros(8), ["a"] * 8, "e_y has dtype <U1, but real numbers are needed"),
    ],
)
def test_invalid_vectors_are_one_clear_line(e_x, e_y, message):
    with pytest.raises(ao.InputError, match=f"^{message}[^\n]*$"):
        ao.search.embedded_energy(e_x, e_y, n_projections=4)
