"""Vectors of spaces by a CUDA device: batches of uniform spaces of one size are sorted and averaged together."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import GridSpec
from anchorot._typing import Floats
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.parts import plain_averages
from anchorot.space import as_space, heavy_part

BATCH_NUMBERS = 1 << 25  # costs and cells of the spaces of one batch


def embed_on_device(
    spaces: Iterable[Any], count: int, grid: GridSpec, cell_area: float, robust: bool, device: str
) -> NDArray[np.float32]:
    """Averages over the cells times the root of a cell's area; those of weighted spaces by the CPU."""
    out = np.empty((count, grid.cells_x * grid.cells_t), np.float32)
    averages = _Averages(grid, device)
    waiting: defaultdict[int, list[tuple[int, Floats]]] = defaultdict(list)  # by size: places and costs

    def settle(n: int) -> None:
        places, costs = zip(*waiting.pop(n), strict=True)
        out[list(places)] = math.sqrt(cell_area) * averages(costs)

    for k, x in enumerate(spaces):
        space = None if isinstance(x, AnchorFeatures) else heavy_part(as_space(x, robust=robust))
        if space is None or not space.is_uniform:
            out[k] = math.sqrt(cell_area) * plain_averages(as_features(x, robust=robust), grid).ravel()
            continue
        waiting[space.n].append((k, space.cost))
        if len(waiting[space.n]) * (space.n**2 + 3 * out.shape[1]) >= BATCH_NUMBERS:
            settle(space.n)
    for n in list(waiting):
        settle(n)
    return out


class _Averages:
    """Averages of uniform spaces of one size over the cells of a grid."""

    def __init__(self, grid: GridSpec, device: str) -> None:
        import torch

        from anchorot.torch._pairs import check_kernels

        self._grid, self._device = grid, torch.device(device)
        check_kernels(self._device)

    def __call__(self, costs: Sequence[Floats]) -> NDArray[np.float64]:
        import torch

        from anchorot.torch._pairs import grid_averages

        with torch.cuda.device(self._device):
            stacked = torch.from_numpy(np.stack(costs).astype(np.float64, copy=False)).to(self._device)
            return grid_averages(stacked, self._grid).flatten(1).numpy(force=True)
