"""Which devices are meant, and what is said where there are none."""

import sys

import numpy as np
import pytest

import anchorot as ao

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from anchorot._validate import device_names  # noqa: E402

PAIR = [np.eye(2), np.ones((3, 3))]


def test_cuda_is_all_devices_and_a_number_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert device_names("cuda") == ["cuda:0", "cuda:1", "cuda:2"]
    assert device_names("cuda:1") == device_names(torch.device("cuda", 1)) == device_names(["cuda:1"]) == ["cuda:1"]
    assert device_names(["cuda:2", "cuda:0"]) == ["cuda:2", "cuda:0"]
    assert device_names(None) == device_names("cpu") == []


@pytest.mark.parametrize("devices", [[], ["cuda:0", "cuda:0"], ["cuda", "cuda:0"], ["cuda:0", "cpu"]])
def test_a_list_must_name_different_devices(monkeypatch, devices):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    with pytest.raises(ao.InputError, match="must name different CUDA devices"):
        device_names(devices)


def test_device_cpu_means_no_device():
    np.testing.assert_array_equal(ao.pairwise(PAIR, metric="slb", device="cpu"), ao.pairwise(PAIR, metric="slb"))
    np.testing.assert_array_equal(ao.embed(PAIR, device="cpu"), ao.embed(PAIR))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_one_line():
    with pytest.raises(ao.InputError, match="device is 'cuda', but PyTorch finds no CUDA device") as caught:
        ao.pairwise(PAIR, device="cuda")
    assert "\n" not in str(caught.value)
    with pytest.raises(ao.InputError, match="device is 'cuda', but PyTorch finds no CUDA device"):
        ao.embed(PAIR, device="cuda")


def test_without_torch_a_device_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ao.MissingExtraError, match=r"anchorot\[torch\]"):
        ao.pairwise(PAIR, device="cuda")


def test_kernels_that_fail_to_compile_are_reported_in_one_line(monkeypatch):
    from anchorot.torch import _pairs

    def fail(*args):
        raise RuntimeError("NVRTC did not compile anchorot's kernels: x\ny")

    monkeypatch.setattr(_pairs, "compile_kernels", fail)
    with pytest.raises(ao.AnchorotError, match=r"cannot be compiled for cuda:7 \(NVRTC .*x\); leave it out") as caught:
        _pairs.check_kernels(torch.device("cuda:7"))
    assert "\n" not in str(caught.value)
