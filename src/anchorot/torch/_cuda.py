"""anchorot's CUDA kernels on tensors: sorted rows, the energy of sorted levels, distances."""

import os
import warnings
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from anchorot.torch._nvrtc import Kernel, compiled, long, pointer, short

SHARED_MEMORY = 48 * 1024  # of a block, without asking for more
LARGEST_TAG = 1 << 32
TILES = ((32, 4), (64, 9), (128, 9), (128, 17), (256, 15), (256, 17), (512, 17))  # threads, items of each
ENERGY_THREADS = 256
CHUNK = 8 * ENERGY_THREADS  # numbers of a level that one block handles


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
        warnings.warn(f"anchorot's CUDA kernels cannot be used, plain PyTorch serves: {line}", stacklevel=2)
        return False
    return True


@cache
def _kernels(dtype: torch.dtype, threads: int, items: int, tagged: bool, device: torch.device) -> list[Kernel]:
    source = Path(__file__).with_name("kernels.cu").read_text()
    key = "double" if dtype == torch.float64 else "float"
    defines = {"KEY": key, "THREADS": threads, "ITEMS": items, "TAGGED": int(tagged)}
    return compiled(source, ["sort_tiles", "merge_runs", "side_energy", "distances"], defines, device)


def tile_for(width: int, item_bytes: int) -> tuple[int, int]:
    """Threads and items of the smallest tile that holds a row, or of the largest that shared memory holds."""
    fitting = [tile for tile in TILES if (tile[0] * tile[1] + 1) * item_bytes + 16 <= SHARED_MEMORY]
    return next((tile for tile in fitting if tile[0] * tile[1] >= width), fitting[-1])


def sort_rows(values: Tensor, tags: Tensor | None = None, *, tagged: bool = False) -> tuple[Tensor, Tensor | None]:
    """Sort the last dimension; carry `tags` (int32, taken as unsigned) along, or make flat indices if `tagged`."""
    tagged = tagged or tags is not None
    source, width = values.contiguous(), values.shape[-1]
    threads, items = tile_for(width, values.element_size() + 4 * tagged)
    sort_tiles, merge_runs, *_ = _kernels(values.dtype, threads, items, tagged, values.device)
    tiles = -(-width // (threads * items))
    grid = (values.numel() // width * tiles, 1)
    with torch.cuda.device(values.device):
        out = torch.empty_like(source)
        tags_out = torch.empty(source.shape, dtype=torch.int32, device=source.device) if tagged else None
        sizes = long(width), long(tiles)
        tensors = [pointer(t) for t in (source, tags, out, tags_out)]
        sort_tiles.launch(grid, threads, (*tensors, *sizes))
        run = threads * items
        if run < width:
            spare, spare_tags = torch.empty_like(out), None if tags_out is None else torch.empty_like(tags_out)
        while run < width:
            tensors = [pointer(t) for t in (out, tags_out, spare, spare_tags)]
            merge_runs.launch(grid, threads, (*tensors, *sizes, long(run)))
            out, tags_out, spare, spare_tags = spare, spare_tags, out, tags_out
            run *= 2
    return out, tags_out


def side_energy(
    a: Tensor, b: Tensor, first: Tensor, other: Tensor, width: Tensor, tags: Tensor | None, upper: bool
) -> tuple[Tensor, Tensor | None]:
    """One side's part of the energy, (batch,) float64, and its gradient in the costs that the tags point to."""
    batch, levels, n = a.shape
    _, _, kernel, _ = _kernels(a.dtype, ENERGY_THREADS, 1, False, a.device)
    chunks = -(-n // CHUNK)
    energy = torch.empty(batch, levels * chunks, dtype=torch.float64, device=a.device)
    gradient = None if tags is None else torch.empty(batch, n, levels, dtype=a.dtype, device=a.device)
    tensors = [pointer(t) for t in (a, b, first, other, width, tags, gradient, energy)]
    sizes = long(levels), long(b.shape[1]), short(n), short(b.shape[2]), short(CHUNK), short(upper)
    with torch.cuda.device(a.device):
        kernel.launch((batch * levels, chunks), ENERGY_THREADS, (*tensors, *sizes))
    return energy.sum(-1), gradient


def distances(rows: Tensor, points: Tensor) -> Tensor:
    """Distances from some points to all points, (k, d) and (n, d)."""
    *_, kernel = _kernels(points.dtype, ENERGY_THREADS, 1, False, points.device)
    out = torch.empty(len(rows), len(points), dtype=points.dtype, device=points.device)
    tensors = [pointer(t) for t in (rows.contiguous(), points.contiguous(), out)]
    with torch.cuda.device(points.device):
        grid = len(rows), -(-len(points) // ENERGY_THREADS)
        kernel.launch(grid, ENERGY_THREADS, (*tensors, long(len(points)), short(points.shape[1])))
    return out
