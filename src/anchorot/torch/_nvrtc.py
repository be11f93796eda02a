"""CUDA source in, kernels to launch out: NVRTC, which comes with PyTorch, and the driver. No toolkit is needed."""

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from struct import pack
from typing import Any

import torch
from torch import Tensor

Argument = Tensor | int | None
_BUFFER, _BUFFER_SIZE = 1, 2  # CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE of the driver


class Kernel:
    """A compiled kernel on one device."""

    def __init__(self, function: ctypes.c_void_p) -> None:
        self._function = function

    def launch(self, grid: tuple[int, int], threads: int, arguments: Sequence[tuple[type[Any], Argument]]) -> None:
        """Launch on the current stream; tensors go in as pointers, integers as the C type beside them."""
        # in one buffer, laid out as C does: an object of ctypes for each took longer than small spaces do
        kinds = "".join([kind._type_ for kind, _ in arguments])
        values = pack(kinds, *[v.data_ptr() if isinstance(v, Tensor) else v or 0 for _, v in arguments])
        size, begin = ctypes.c_size_t(len(values)), ctypes.cast(ctypes.c_char_p(values), ctypes.c_void_p).value
        buffer = (ctypes.c_void_p * 5)(_BUFFER, begin, _BUFFER_SIZE, ctypes.addressof(size), None)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        _check(_driver().cuLaunchKernel(self._function, *grid, 1, threads, 1, 1, 0, stream, None, buffer))


def pointer(value: Tensor | None) -> tuple[type, Argument]:
    """Return a tensor, or a null pointer, as an argument."""
    return ctypes.c_void_p, value


def long(value: int) -> tuple[type, Argument]:
    """Return a 64-bit integer as an argument."""
    return ctypes.c_longlong, value


def short(value: int) -> tuple[type, Argument]:
    """Return a 32-bit integer as an argument."""
    return ctypes.c_int, value


def compiled(source: str, names: Sequence[str], defines: dict[str, object], device: torch.device) -> list[Kernel]:
    """Compile for a device and load the named kernels; OSError or RuntimeError where that is not possible."""
    major, minor = torch.cuda.get_device_capability(device)
    options = [f"--gpu-architecture=sm_{major}{minor}", "--std=c++17", *(f"-D{k}={v}" for k, v in defines.items())]
    binary = _binary(source.encode(), [option.encode() for option in options])
    module = ctypes.c_void_p()
    with torch.cuda.device(device):
        torch.cuda.current_stream().synchronize()  # makes the device's context current
        _check(_driver().cuModuleLoadData(ctypes.byref(module), binary))
    return [Kernel(_function(module, name)) for name in names]


def _function(module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
    function = ctypes.c_void_p()
    _check(_driver().cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    return function


def _binary(source: bytes, options: list[bytes]) -> bytes:
    nvrtc = _nvrtc()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"anchorot.cu", 0, None, None):
        raise RuntimeError("NVRTC made no program")
    try:
        if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"NVRTC did not compile anchorot's kernels: {log.value.decode()}")
        if nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)):
            raise RuntimeError("NVRTC is too old to make binaries")
        binary = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, binary)
        return binary.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def _nvrtc() -> ctypes.CDLL:
    """Load the NVRTC of PyTorch's CUDA version: by its name, or from the packages that came with PyTorch."""
    major = str(torch.version.cuda).partition(".")[0]
    name = f"nvrtc64_{major}0_0.dll" if sys.platform == "win32" else f"libnvrtc.so.{major}"
    beside = Path(torch.__file__).parents[1].glob(f"nvidia/*/*/{name}")
    for path in (name, *map(str, beside)):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise OSError(f"{name} was not found")


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def _check(status: int) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"CUDA error {status}: {(text.value or b'unknown').decode()}")
