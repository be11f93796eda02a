"""Permutation tests on a device give the results that they give without one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.pooled import PooledMeasures, matrix_energies, sweep_energies
from anchorot.torch import _labelled
from tests.strategies import examples

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


CUDA = [pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]


def collections(seed, *, most=6, ties=False, spaces=False):
    """Two collections of measures of different sizes, or of spaces."""
    rng = np.random.default_rng(seed)
    sides = []
    for shift in (0.0, 0.3):
        sizes = rng.integers(1, most + 1, size=rng.integers(1, 7))
        values = [np.round(rng.normal(size=(n, n) if spaces else n), 0 if ties else 9) + shift for n in sizes]
        sides.append([ao.Space(v, rng.dirichlet(np.ones(len(v)))) for v in values] if spaces else values)
    return sides


def pooled(x, y, count=40):
    """Both collections in one, and labellings of them."""
    measures = PooledMeasures.of(x, None, "x") + PooledMeasures.of(y, None, "y")
    labels = np.repeat(np.array([1, 0], np.uint8), [len(x), len(y)])
    return measures, exchange_of(labels).draw(count, np.random.default_rng(0))


def on_device(measures, device):
    return _labelled.LabelledLevels(measures.row, measures.value, measures.height, measures.items, device)


def assert_same(one, two):
    np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("device", DEVICES)
@examples(20)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_sums_over_levels_on_a_device_are_sweeps(device, seed, ties, spaces):
    measures, labels = pooled(*collections(seed, ties=ties, spaces=spaces))
    assert_same(on_device(measures, device).energies(labels), sweep_energies(measures, labels, 1))


@pytest.mark.parametrize("device", DEVICES)
def test_products_of_matrices_are_the_same_on_a_device(device):
    measures, labels = pooled(*collections(1))
    costs = np.abs(np.random.default_rng(0).normal(size=(measures.n_items,) * 2))
    assert_same(
        _labelled.matrix_energies(torch.from_numpy(costs).to(device), labels).clip(min=0),
        matrix_energies(costs, labels),
    )


def test_many_levels_are_sorted_part_by_part(monkeypatch):
    measures, labels = pooled(*collections(3, most=30))
    monkeypatch.setattr(_labelled, "SORTED_NUMBERS", 50)
    monkeypatch.setitem(_labelled.PLAIN_NUMBERS, "cpu", 40)
    assert_same(on_device(measures, "cpu").energies(labels), sweep_energies(measures, labels, 1))


def test_a_range_beyond_floats_has_no_energy():
    measures, labels = pooled([[-1.7e308], [0.0]], [[1.7e308], [1.0]])
    assert on_device(measures, "cpu").energies(labels).tolist() == [np.inf] * len(labels)


def test_the_cpu_as_a_device_changes_nothing():
    x, y = collections(5)
    one, two = (ao.energy_test(x, y, n_resamples=30, rng=0, device=device).null for device in (None, "cpu"))
    assert one.tolist() == two.tolist()


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ao.InputError, match="device must be 'cpu', 'cuda'"):
        ao.energy_test([[0.0]], [[1.0]], device="tpu")


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize(
    "options", [{}, {"method": "sweep"}, {"method": "matrix"}, {"ground": "w2"}, {"stop_after": 3}]
)
def test_every_method_has_its_device(monkeypatch, options):
    x, y = collections(1)
    weights = [np.random.default_rng(2).dirichlet(np.ones(len(v))) for v in x]
    expected = ao.energy_test(x, y, weights, n_resamples=300, rng=0, **options)
    for most in (_labelled.MOST_NUMBERS, 1):  # on the device, and too many levels for it
        monkeypatch.setattr(_labelled, "MOST_NUMBERS", most)
        found = ao.energy_test(x, y, weights, n_resamples=300, rng=0, device="cuda", **options)
        assert found.pvalue == expected.pvalue
        assert_same([found.statistic, *found.null], [expected.statistic, *expected.null])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pooled", [False, True])
def test_spaces_and_subjects_of_unequal_sizes_give_the_same_result_on_a_device(device, pooled):
    """Labellings of subjects put different numbers of spaces on a side, which kernels take by number."""
    rng = np.random.default_rng(3)
    spaces = [ao.from_points(rng.normal(size=(n, 2)) * (1 + (n > 9))) for n in range(5, 16)]
    subjects = ([0, 0, 0, 1, 2], [3, 3, 4, 5, 5, 5])
    expected, found = (
        ao.energy_test(spaces[:5], spaces[5:], subjects=subjects, pooled=pooled, rng=0, device=own, progress=False)
        for own in (None, device)
    )
    assert (found.unit, found.n_assignments, found.pvalue) == ("subjects", 10, expected.pvalue)
    assert_same([found.statistic, *found.null], [expected.statistic, *expected.null])
