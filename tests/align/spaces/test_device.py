"""Arrays whose alignment is annealed on a device: the result is that without one."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import anchorot as ao  # noqa: E402
from anchorot.distances.descent import anneal  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

cuda = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=cuda)]


def noisy_pair(n, noise=0.1):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 4))
    moved = points + noise * rng.normal(size=points.shape)
    return ao.from_points(points).cost, ao.from_points(moved[rng.permutation(n)]).cost


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mass", [None, 0.8])
def test_arrays_annealed_on_a_device_end_where_they_end_without(device, mass):
    pytest.importorskip("ot")
    x, y = noisy_pair(30)
    plain, found = ao.align(x, y, mass=mass), ao.align(x, y, mass=mass, device=device)
    assert found.matches.tolist() == plain.matches.tolist()
    assert found.value == pytest.approx(plain.value, rel=1e-6)
    assert isinstance(found.plan, np.ndarray)


def test_a_device_anneals_where_it_is_asked_to(monkeypatch):
    arrays = sys.modules["anchorot.distances.solver"]
    seen = []
    monkeypatch.setattr(
        arrays, "anneal", lambda problem, plan, *rest: seen.append(plan) or anneal(problem, plan, *rest)
    )
    x, y = noisy_pair(10)
    ao.align(x, y, device="cpu")
    assert seen
    assert all(isinstance(plan, torch.Tensor) and plan.dtype == torch.float32 for plan in seen)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_refused_in_one_line():
    with pytest.raises(ao.InputError, match="device is 'cuda', but PyTorch finds no CUDA device") as caught:
        ao.align(np.eye(3), np.eye(3), device="cuda")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["gpu", "", 3.5, "cuda:x", "meta"])
def test_what_is_no_device_is_refused_in_one_line(device):
    with pytest.raises(ao.InputError, match="device must be 'cpu', 'cuda' or a device") as caught:
        ao.align(np.eye(3), np.eye(3), device=device)
    assert "\n" not in str(caught.value)


def test_without_torch_a_device_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ao.MissingExtraError, match=r"anchorot\[torch\]"):
        ao.align(np.eye(3), np.eye(3), device="cuda")
