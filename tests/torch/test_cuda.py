"""Energies on a CUDA device: the kernels compile, sort, and agree with plain PyTorch and the CPU."""

import os
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import anchorot.torch as aot  # noqa: E402
from anchorot.torch import _cuda  # noqa: E402
from tests.torch.test_torch import random_costs  # noqa: E402


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
class TestCuda:
    def test_the_kernels_compile(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert _cuda.serves(torch.zeros(2, 2, device="cuda"))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("tagged", [False, True])
    @pytest.mark.parametrize("width", [1, 100, 129, 2048, 2177, 4353, 8705, 20_000])
    def test_rows_are_sorted(self, width, tagged, dtype):
        values = torch.randn(7, width, device="cuda", dtype=dtype).round(decimals=3)
        ordered, tags = _cuda.sort_rows(values, tagged=tagged)
        assert torch.equal(ordered, values.sort(-1).values)
        if tagged:
            assert torch.equal(values.flatten()[tags.long()], ordered)

    @pytest.mark.parametrize(("n", "m"), [(300, 300), (2500, 2500), (300, 217)])
    def test_kernels_and_plain_pytorch_agree(self, monkeypatch, n, m):
        x, y = (t.detach().cuda().requires_grad_() for t in random_costs(n, m))
        value = aot.anchor_energy(x, y)
        gradients = torch.autograd.grad(value, (x, y))
        monkeypatch.setenv("ANCHOROT_TORCH", "plain")
        plain = aot.anchor_energy(x, y)
        torch.testing.assert_close(value, plain, rtol=1e-11, atol=0)
        for one, two in zip(gradients, torch.autograd.grad(plain, (x, y)), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-14)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_what_is_not_finite_gives_what_is_not_finite(self, weighted):
        weights = torch.rand(20, device="cuda").softmax(0) if weighted else None
        for bad in (torch.nan, torch.inf):
            x = torch.rand(20, 20, device="cuda")
            x[3, 4] = bad
            assert not torch.isfinite(aot.anchor_energy(x, torch.rand(20, 20, device="cuda"), weights))

    @pytest.mark.parametrize("kind", ["random", "ties", "heavy", "alike"])
    @pytest.mark.parametrize(("n", "m"), [(300, 217), (400, 400)])
    def test_weighted_spaces_have_the_energies_and_gradients_of_the_cpu(self, n, m, kind):
        inputs = weighted_problem(n, m, kind)
        on_device = [t.cuda().requires_grad_() for t in inputs]
        value = aot.anchor_energy(*on_device)
        gradients = torch.autograd.grad(value, on_device)
        assert float(value.detach()) == pytest.approx(float(aot.anchor_energy(*inputs)), rel=1e-12)
        assert torch.equal(value, aot.anchor_energy(*on_device))
        os.environ["ANCHOROT_TORCH"] = "plain"
        try:
            plain = torch.autograd.grad(aot.anchor_energy(*on_device), on_device)
        finally:
            del os.environ["ANCHOROT_TORCH"]
        subgradients = 2 if kind == "ties" else 0
        for one, two in list(zip(gradients, plain, strict=True))[subgradients:]:
            torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-12)
        for one, two in zip(gradients, torch.autograd.grad(aot.anchor_energy(*on_device), on_device), strict=True):
            assert torch.equal(one, two)  # to the bit

    def test_weighted_pairs_have_the_same_bits_in_any_batch(self):
        problems = [weighted_problem(60, 45, kind) for kind in ("random", "ties", "heavy", "alike")]
        batch = [torch.stack(part).cuda() for part in zip(*problems, strict=True)]
        together = aot.anchor_energy(*batch)
        assert together.tolist() == [float(aot.anchor_energy(*(t.cuda() for t in problem))) for problem in problems]


def weighted_problem(n, m, kind):
    """Costs and weights of two spaces."""
    rng = np.random.default_rng(n)
    costs = [rng.normal(size=(k, k)) for k in (n, m)]
    if kind == "ties":
        costs = [np.round(3 * cost) for cost in costs]
    elif kind == "alike":
        costs = [np.arange(k) / k + 1e-6 * cost for k, cost in zip((n, m), costs, strict=True)]
    weights = [rng.dirichlet(np.ones(k)) for k in (n, m)]
    if kind == "heavy":
        weights = [np.append(9, w[1:]) / (9 + w[1:].sum()) for w in weights]
    return [torch.tensor(t) for t in (*costs, *weights)]
