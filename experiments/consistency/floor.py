"""The noise floor of real shapes: two draws of one TOSCA shape."""

from pathlib import Path
from typing import Any

import numpy as np

import anchorot as ao
from experiments.common.noise import noise_floor
from experiments.trade_off.shapes import Shapes, read_shapes

PAIRS = 2  # of disjoint draws of each shape
SIZES, QUICK_SIZES = (25, 50, 100, 200), (25, 50)


def read(folder: Path, rng: np.random.Generator, *, quick: bool) -> Shapes:
    """Read shapes of every class, with points enough for disjoint draws."""
    largest = max(QUICK_SIZES if quick else SIZES)
    return read_shapes(folder, 2 * PAIRS * largest, rng, *((2, 1) if quick else (None, 2)))


def floor_rows(shapes: Shapes, rng: np.random.Generator, *, quick: bool) -> list[dict[str, Any]]:
    """Compare disjoint draws of each shape at every size, and the shapes of different classes beside them."""
    rows = []
    for n in QUICK_SIZES if quick else SIZES:
        parts = [shapes.part(k, n).spaces for k in range(2 * PAIRS)]
        pairs = [pair for k in range(PAIRS) for pair in zip(parts[2 * k], parts[2 * k + 1], strict=True)]
        floor = noise_floor(pairs, rng)
        rows.append(
            {
                "n": n,
                "AE, two draws of one shape": floor.plain,
                "error": floor.plain_error,
                "n AE": n * floor.plain,
                "error of n AE": n * floor.plain_error,
                "estimate": floor.value,
                "error of the estimate": floor.value_error,
                "95 % intervals that hold 0": floor.covered,
                "pairs of draws": floor.pairs,
                "median AE, two classes": _between(shapes, n),
            }
        )
    return rows


def _between(shapes: Shapes, n: int) -> float:
    energies = ao.pairwise(shapes.part(0, n).spaces, progress=False, n_jobs=1)
    return float(np.median(energies[shapes.classes[:, None] != shapes.classes]))
