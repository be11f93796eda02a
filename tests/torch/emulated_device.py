"""The CUDA kernels for all pairs, compiled for the CPU and put in the place of a device's."""

import contextlib
import ctypes
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
import torch

from anchorot.many import pairwise
from anchorot.search import embedding
from anchorot.search.embedding import embed_on_device
from anchorot.torch import _pairs
from tests.requirements import require_or_skip

LANES, ROWS, STRETCH, ROW_STRETCH = 2, 64, 24, 1  # so few that every path is taken
HERE = Path(__file__).parent
ONE_AT_A_TIME = threading.Lock()  # what a block shares is static here


class OnCpu:
    """Stands in for a compiled kernel: same arguments, run by the CPU."""

    def __init__(self, function):
        self.function = function

    def launch(self, grid, threads, arguments):
        assert threads == LANES
        values = [kind(v.data_ptr() if isinstance(v, torch.Tensor) else v) for kind, v in arguments]
        with ONE_AT_A_TIME:
            self.function(*map(ctypes.c_uint, grid), *values)


def compiled_for_cpu(folder):
    """Return the kernels for all pairs, by name."""
    require_or_skip(shutil.which("g++"), "there is no g++ to compile the CUDA kernels for the CPU")
    sizes = {"THREADS": LANES, "LANES": LANES, "ROWS": ROWS, "STRETCH": STRETCH, "ROW_STRETCH": ROW_STRETCH}
    defines = ["-DALL_PAIRS", *(f"-D{name}={size}" for name, size in sizes.items())]
    source = [f"-I{Path(_pairs.__file__).parent}", "-x", "c++", str(HERE / "cuda_on_cpu.hpp")]
    options = ["-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread"]
    path = folder / "pairs.so"
    subprocess.run(["g++", *options, *defines, *source, "-o", str(path)], check=True)
    library = ctypes.CDLL(str(path))
    return {name: OnCpu(library[f"run_{name}"]) for name in _pairs.NAMES}


@contextlib.contextmanager
def emulated(folder, count=2):
    """Let the CPU pass for some CUDA devices of 1 MB of free memory each, within a block."""
    kernels = compiled_for_cpu(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("THREADS", LANES), ("LANES", LANES), ("STRETCH", STRETCH), ("ROW_STRETCH", ROW_STRETCH)):
            patch.setattr(_pairs, name, value)
        patch.setattr(_pairs, "_compiled", lambda threads, rows, device: kernels)
        patch.setattr(_pairs, "check_kernels", lambda device: None)
        patch.setattr(_pairs, "free_bytes", lambda device: 1 << 20)
        names = {"cuda": ["cpu"] * count}
        patch.setattr(pairwise, "device_names", lambda device: names.get(device, []))
        patch.setattr(embedding, "check_device", lambda device: device)
        patch.setattr(embedding, "embed_on_device", lambda *args: embed_on_device(*args[:-1], "cpu"))
        patch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
        yield
