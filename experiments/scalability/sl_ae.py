"""The paper's own algorithm, SL-AE, compiled when it is first asked for: `sl_ae.cpp` by the compiler at hand."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import anchorot as ao

SOURCE = Path(__file__).with_suffix(".cpp")


def paper_energy(x: ao.Space, y: ao.Space) -> float:
    """AE by the paper's sweep line over Fenwick trees, once for each of its three terms."""
    return 2 * expected_cost(x, y) - expected_cost(x, x) - expected_cost(y, y)


def expected_cost(x: ao.Space, y: ao.Space) -> float:
    """E[OT_1] between the anchors of two spaces, as the paper's Algorithms 1 and 2 compute it."""
    sides = [np.ascontiguousarray(part, np.float64) for side in (x, y) for part in (side.cost, side.weights)]
    pointers = [part.ctypes.data_as(ctypes.c_void_p) for part in sides]
    sizes = [ctypes.c_size_t(side.n) for side in (x, y)]
    return float(_library().expected_cost(*pointers[:2], sizes[0], *pointers[2:], sizes[1]))


@cache
def _library() -> ctypes.CDLL:
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ao.InputError("SL-AE needs a C++ compiler, but there is none; install one, or name it in CXX")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sl_ae.so"
        subprocess.run([compiler, "-O3", "-std=c++17", "-shared", "-fPIC", str(SOURCE), "-o", str(file)], check=True)
        library = ctypes.CDLL(str(file))
    library.expected_cost.restype = ctypes.c_double
    return library
