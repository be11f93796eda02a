"""The CUDA kernels' own source, run on the CPU thread by thread, with tiles so small that every path is taken."""

import contextlib
import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import anchorot as ao
from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.pooled import PooledMeasures, sweep_energies
from tests.requirements import require_or_skip
from tests.strategies import examples

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import anchorot.torch as aot  # noqa: E402
from anchorot.torch import _cuda, _labelled, _stretches  # noqa: E402

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("compiler")]

THREADS, ITEMS = 4, 3
HERE = Path(__file__).parent


class OnCpu:
    """Stands in for a compiled kernel: same arguments, run by the CPU."""

    def __init__(self, function):
        self.function = function

    def launch(self, grid, threads, arguments):
        assert threads == THREADS
        values = [kind(v.data_ptr() if isinstance(v, torch.Tensor) else v) for kind, v in arguments]
        self.function(*map(ctypes.c_uint, grid), *values)


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory):
    """Let anchorot.torch use its CUDA kernels for tensors on the CPU."""
    require_or_skip(shutil.which("g++"), "there is no g++ to compile the CUDA kernels for the CPU")
    folder = tmp_path_factory.mktemp("kernels")

    @cache
    def library(dtype, tagged):
        key = "double" if dtype == torch.float64 else "float"
        path = folder / f"{key}{int(tagged)}.so"
        defines = f"-DKEY={key} -DTHREADS={THREADS} -DITEMS={ITEMS} -DTAGGED={int(tagged)}".split()
        source = [f"-I{Path(_cuda.__file__).parent}", "-x", "c++", str(HERE / "stretches_on_cpu.hpp")]
        options = ["-std=c++20", "-O0", "-shared", "-fPIC", "-pthread"]
        subprocess.run(["g++", *options, *defines, *source, "-o", str(path)], check=True)
        return ctypes.CDLL(str(path))

    def sorts(dtype, threads, items, tagged, device):
        return {name: OnCpu(library(dtype, tagged)[f"run_{name}"]) for name in _cuda.KERNELS}

    def other(dtype, name):
        return OnCpu(ctypes.CFUNCTYPE(None).in_dll(library(dtype, True), f"run_{name}"))

    def stretches(dtype, device):
        return {name: other(dtype, name) for name in _stretches.KERNELS}

    for dtype in (torch.float32, torch.float64):  # now, not in the middle of an example
        for tagged in (False, True):
            library(dtype, tagged)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cuda, "serves", lambda values, tagged=False: True)
        patch.setattr(_cuda, "_kernels", sorts)
        patch.setattr(_cuda, "TILES", ((THREADS, ITEMS),))
        patch.setattr(_cuda, "ENERGY_THREADS", THREADS)
        patch.setattr(_cuda, "CHUNK", 2 * THREADS)
        patch.setattr(_stretches, "_kernels", stretches)
        patch.setattr(_stretches, "THREADS", THREADS)
        patch.setattr(_stretches, "LEAST_SIZE", 1)
        patch.setattr(_labelled, "_kernel", lambda device: other(torch.float64, "labelled_levels"))
        patch.setattr(_labelled, "THREADS", THREADS)
        patch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
        yield


@examples(40)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 70)), elements=st.integers(-9, 9).map(float)),
    st.booleans(),
    st.booleans(),
)
def test_rows_are_sorted_and_tags_go_along(on_cpu, rows, tagged, double):
    values = torch.tensor(rows, dtype=torch.float64 if double else torch.float32)
    ordered, tags = _cuda.sort_rows(values, tagged=tagged)
    assert ordered.tolist() == values.sort(-1).values.tolist()
    if tagged:
        assert values.flatten()[tags.long()].tolist() == ordered.tolist()
        assert sorted(tags.flatten().tolist()) == list(range(values.numel()))


def test_distances_are_those_of_scipy(on_cpu):
    points = torch.tensor(np.random.default_rng(0).normal(size=(9, 2)))
    np.testing.assert_allclose(_cuda.distances(points[2:5], points), ao.from_points(points).cost[2:5], rtol=1e-14)


def test_what_is_not_a_number_comes_last(on_cpu):
    values = torch.tensor([[3.0, torch.nan, -torch.inf, torch.inf, -0.0, -1.0]] * 2).repeat(1, 3)
    ordered, _ = _cuda.sort_rows(values)
    np.testing.assert_array_equal(ordered, values.sort(-1).values)


@examples(30)
@given(st.integers(1, 30), st.integers(1, 30), st.sampled_from([1, 1, 2, 3]), st.booleans(), st.integers(0, 2**32))
def test_energies_and_gradients_are_those_of_plain_pytorch(on_cpu, n, m, p, ties, seed):
    rng = np.random.default_rng(seed)
    x, y = (np.round(rng.normal(size=(2, k, k)), 1 if ties else 16) for k in (n, m))
    tensors = [torch.tensor(t, requires_grad=True) for t in (x, y)]
    value = aot.anchor_energy(*tensors, p=p)
    expected = [ao.anchor_energy(*pair, p=p) for pair in zip(x, y, strict=True)]
    np.testing.assert_allclose(value.detach(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(aot.anchor_energy(*(t.detach() for t in tensors), p=p), value.detach())
    if not ties:
        gradients = torch.autograd.grad(value.sum(), tensors)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_cuda, "serves", lambda values, tagged=False: False)
            plain = torch.autograd.grad(aot.anchor_energy(*tensors, p=p).sum(), tensors)
        for one, two in zip(gradients, plain, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_labellings_are_those_of_sums(on_cpu, weighted):
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(n, n) if weighted else n) for n in rng.integers(1, 7, size=9)]
    pool = PooledMeasures.of([ao.Space(cost) for cost in values] if weighted else values, None, "x")
    labels = exchange_of(np.repeat(np.array([1, 0], np.uint8), [5, 4])).draw(37, rng)
    levels = _labelled.LabelledLevels(pool.row, pool.value, pool.height, pool.items, "cpu")
    np.testing.assert_allclose(levels.energies(labels), sweep_energies(pool, labels, 1), rtol=1e-12)


@examples(10)
@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from(["random", "ties", "uniform", "heavy", "none"]),
    st.booleans(),
    st.sampled_from([1, 40, 1 << 24]),
    st.integers(0, 2**32),
)
def test_weighted_energies_and_gradients_are_those_of_plain_pytorch(on_cpu, n, m, kind, double, numbers, seed):
    rng = np.random.default_rng(seed)
    dtype = torch.float64 if double else torch.float32
    digits = 1 if kind == "ties" else 6
    costs = [torch.tensor(np.round(rng.normal(size=(2, k, k)), digits), dtype=dtype) for k in (n, m)]
    inputs = [t.requires_grad_() for t in (*costs, *(torch.tensor(weights_of(k, kind, rng)) for k in (n, m)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_stretches, "TABLE_NUMBERS", numbers)
        gradients = torch.autograd.grad(aot.anchor_energy(*inputs).sum(), inputs)
        value = aot.anchor_energy(*inputs)
        alone = aot.anchor_energy(*(t[1] for t in inputs))
        assert torch.equal(alone, value[1])
        for one, two in zip(torch.autograd.grad(value.sum(), inputs), gradients, strict=True):
            assert torch.equal(one, two)  # to the bit, whatever order threads run in
        patch.setattr(_cuda, "serves", lambda values, tagged=False: False)
        expected = aot.anchor_energy(*inputs)
        plain = torch.autograd.grad(expected.sum(), inputs)
    close = {"rtol": 1e-11, "atol": 1e-13} if double else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(value, expected, **close)
    unique = 0 if kind != "ties" else 2  # where costs tie, any of many subgradients in them
    for one, two in list(zip(gradients, plain, strict=True))[unique:]:
        torch.testing.assert_close(one, two, **close)


def weights_of(points, kind, rng):
    """Weights of two spaces."""
    if kind == "uniform":
        return np.full((2, points), 1 / points)
    found = rng.dirichlet(np.ones(points), size=2)
    if kind == "heavy":
        found[:, 0] += 9
    if kind == "none" and points > 1:
        found[:, ::2] = 0
    return found / found.sum(-1, keepdims=True)
