"""Problems and rivals that `benchmarks/` has already: loaded from there, never copied."""

import sys
from importlib import import_module
from typing import Any

from experiments.common.code import CHECKOUT


def benchmark(name: str) -> Any:
    """Return a module of benchmarks/, which import each other by bare names."""
    folder = str(CHECKOUT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)
