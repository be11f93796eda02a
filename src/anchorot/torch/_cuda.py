"""anchorot's CUDA kernels on tensors: sorted rows, the energy of sorted levels, distances.

They are compiled by NVRTC, which comes with PyTorch, and launched by the driver: no toolkit is needed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from struct import pack
from typing import Any

import torch
from torch import Tensor

SHARED_MEMORY = 48 * 1024  # of a block, without asking for more
LARGEST_TAG = 1 << 32  # of a number that is sorted: tags have 32 bits
TILES = ((32, 4), (64, 9), (128, 9), (128, 17), (256, 15), (256, 17), (512, 17))  # threads, items of each
ENERGY_THREADS = 256  # of a block
CHUNK = 8 * ENERGY_THREADS  # numbers of a level that one block handles
LARGEST_TURNED = 1024  # points up to which sorted rows are written to columns at once, which saves launches
KERNELS = ("sort_tiles", "sort_sides", "merge_runs", "level_energy", "distances")
_BUFFER, _BUFFER_SIZE = 1, 2  # CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE of the driver


def serves(values: Tensor, *, tagged: bool = False) -> bool:
    """Whether the kernels can be used for a tensor like this one; tags are 32-bit numbers."""
    fits = not tagged or values.numel() < LARGEST_TAG
    return values.is_cuda and fits and os.environ.get("ANCHOROT_TORCH") != "plain" and _work(values.device)


@cache
def _work(device: torch.device) -> bool:
    """Compile one kernel, to see whether it is possible."""
    if torch.version.hip is not None:
        return False
    try:
        _kernels(torch.float32, *TILES[0], False, device)
    except (OSError, RuntimeError, AttributeError) as error:
        line = str(error).splitlines()[0]
        warnings.warn(f"anchorot's CUDA kernels cannot be used, using plain PyTorch: {line}", stacklevel=2)
        return False
    return True


@cache
def _kernels(dtype: torch.dtype, threads: int, items: int, tagged: bool, device: torch.device) -> dict[str, Kernel]:
    source = Path(__file__).with_name("kernels.cu").read_text()
    key = "double" if dtype == torch.float64 else "float"
    defines = {"KEY": key, "THREADS": threads, "ITEMS": items, "TAGGED": int(tagged)}
    return dict(zip(KERNELS, compile_kernels(source, KERNELS, defines, device), strict=True))


def tile_for(width: int, item_bytes: int) -> tuple[int, int]:
    """Threads and items of the smallest tile that holds a row, or of the largest that shared memory holds."""
    fitting = [tile for tile in TILES if (tile[0] * tile[1] + 1) * item_bytes + 16 <= SHARED_MEMORY]
    return next((tile for tile in fitting if tile[0] * tile[1] >= width), fitting[-1])


def sort_rows(values: Tensor, tags: Tensor | None = None, *, tagged: bool = False) -> tuple[Tensor, Tensor | None]:
    """Sort the last dimension; carry `tags` (int32, taken as unsigned) along, or make flat indices if `tagged`."""
    tagged = tagged or tags is not None
    source, width = values.contiguous(), values.shape[-1]
    threads, items = tile_for(width, values.element_size() + 4 * tagged)
    kernels = _kernels(values.dtype, threads, items, tagged, values.device)
    tiles = -(-width // (threads * items))
    grid = (values.numel() // width * tiles, 1)
    with torch.cuda.device(values.device):
        out = torch.empty_like(source)
        tags_out = torch.empty(source.shape, dtype=torch.int32, device=source.device) if tagged else None
        sizes = long(width), long(tiles)
        tensors = [pointer(t) for t in (source, tags, out, tags_out)]
        kernels["sort_tiles"].launch(grid, threads, (*tensors, *sizes))
        run = threads * items
        if run < width:
            spare, spare_tags = torch.empty_like(out), None if tags_out is None else torch.empty_like(tags_out)
        while run < width:
            tensors = [pointer(t) for t in (out, tags_out, spare, spare_tags)]
            kernels["merge_runs"].launch(grid, threads, (*tensors, *sizes, long(run)))
            out, tags_out, spare, spare_tags = spare, spare_tags, out, tags_out
            run *= 2
    return out, tags_out


def turns(x: Tensor, y: Tensor, *, tagged: bool) -> bool:
    """Whether `sorted_levels` serves: small matrices whose rows a tile holds, the same kind of tile on both sides."""
    n, m = x.shape[-1], y.shape[-1]
    if max(n, m) > LARGEST_TURNED or not (serves(x, tagged=tagged) and serves(y, tagged=tagged)):
        return False
    tiles = {tile_for(width, x.element_size() + 4 * tagged) for width in (n, m)}
    return len(tiles) == 1 and max(n, m) <= prod(*tiles)


def sorted_levels(x: Tensor, y: Tensor, *, tagged: bool) -> tuple[list[Tensor], list[Tensor | None]]:
    """Levels of both sides, (batch, levels, points), each sorted, and their tags: two launches."""
    n, m = x.shape[-1], y.shape[-1]
    threads, items = tile_for(n, x.element_size() + 4 * tagged)
    kernel = _kernels(x.dtype, threads, items, tagged, x.device)["sort_sides"]
    sides: list[Tensor] = [x.contiguous(), y.contiguous()]
    tags: list[Tensor | None] = [None, None]
    with torch.cuda.device(x.device):
        for turned in (True, False):
            out = [torch.empty_like(side) for side in sides]
            tags_out = [torch.empty_like(side, dtype=torch.int32) if tagged else None for side in sides]
            tensors = [pointer(t) for t in (*sides, *tags, *out, *tags_out)]
            sizes = long(len(x) * n), short(n), short(m), short(turned)
            kernel.launch((len(x) * (n + m), 1), threads, (*tensors, *sizes))
            sides, tags = out, tags_out
    return sides, tags


def level_energy(
    levels: Sequence[Tensor],
    first: Sequence[Tensor],
    other: Sequence[Tensor],
    width: Tensor,
    tags: Sequence[Tensor | None],
) -> tuple[Tensor, list[Tensor | None]]:
    """Energy of pairs of sorted levels, (batch,) float64, and the gradients in the costs that the tags point to."""
    shapes = [side.shape for side in levels]
    (batch, *_), dtype, device = shapes[0], levels[0].dtype, levels[0].device
    parts = sum(count * -(-points // CHUNK) for _, count, points in shapes)
    energy = torch.empty(batch, parts, dtype=torch.float64, device=device)
    gradients = [
        None if side is None else torch.empty(batch, points, count, dtype=dtype, device=device)
        for side, (_, count, points) in zip(tags, shapes, strict=True)
    ]
    tensors = [pointer(t) for t in (*levels, *first, *other, width, *tags, *gradients, energy)]
    sizes = *(long(count) for _, count, _ in shapes), *(short(points) for *_, points in shapes), short(CHUNK)
    with torch.cuda.device(device):
        kernel = _kernels(dtype, ENERGY_THREADS, 1, False, device)["level_energy"]
        kernel.launch((batch * parts, 1), ENERGY_THREADS, (*tensors, *sizes))
    return energy.sum(-1), gradients


def distances(rows: Tensor, points: Tensor) -> Tensor:
    """Distances from some points to all points, (k, d) and (n, d)."""
    kernel = _kernels(points.dtype, ENERGY_THREADS, 1, False, points.device)["distances"]
    out = torch.empty(len(rows), len(points), dtype=points.dtype, device=points.device)
    tensors = [pointer(t) for t in (rows.contiguous(), points.contiguous(), out)]
    with torch.cuda.device(points.device):
        grid = len(rows), -(-len(points) // ENERGY_THREADS)
        kernel.launch(grid, ENERGY_THREADS, (*tensors, long(len(points)), short(points.shape[1])))
    return out


Argument = Tensor | int | None


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


def compile_kernels(
    source: str, names: Sequence[str], defines: dict[str, object], device: torch.device
) -> list[Kernel]:
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
