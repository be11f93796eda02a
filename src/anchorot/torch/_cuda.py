"""anchorot's CUDA kernels on tensors: sorted rows, the energy of sorted levels, distances."""

import os
import warnings
from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from anchorot.torch._nvrtc import Kernel, compiled, long, pointer, short

SHARED_MEMORY = 48 * 1024  # of a block, without asking for more
LARGEST_TAG = 1 << 32
TILES = ((32, 4), (64, 9), (128, 9), (128, 17), (256, 15), (256, 17), (512, 17))  # threads, items of each
ENERGY_THREADS = 256
CHUNK = 8 * ENERGY_THREADS  # numbers of a level that one block handles
LARGEST_TURNED = 1024  # points up to which sorted rows are written to columns at once, which saves launches
KERNELS = ("sort_tiles", "sort_sides", "merge_runs", "level_energy", "distances")


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
def _kernels(dtype: torch.dtype, threads: int, items: int, tagged: bool, device: torch.device) -> dict[str, Kernel]:
    source = Path(__file__).with_name("kernels.cu").read_text()
    key = "double" if dtype == torch.float64 else "float"
    defines = {"KEY": key, "THREADS": threads, "ITEMS": items, "TAGGED": int(tagged)}
    return dict(zip(KERNELS, compiled(source, KERNELS, defines, device), strict=True))


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
