"""Energy distances of many labellings of one pool of measures, on a device.

At every level t, between two neighbouring heights of the measures' distribution functions, the quantiles of all
measures are sorted once; what a labelling adds there is Σ gaps · D², with D summed up in that order.
"""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from anchorot._kernels.records import RowItems
from anchorot._typing import Float64s
from anchorot.torch import _cuda
from anchorot.torch._cuda import Kernel, compile_kernels, pointer, short
from anchorot.torch._levels import sort_rows

THREADS = 128  # of a block
MOST_NUMBERS = 1 << 29  # quantiles kept, 12 bytes each
SORTED_NUMBERS = 1 << 26  # sorted at a time
PLAIN_NUMBERS = {"cpu": 1 << 18, "cuda": 1 << 27}  # that plain PyTorch handles at a time


class LabelledLevels:
    """The quantiles of a pool of measures, sorted level by level.

    The atoms of the measures stand row by row in ascending order, with the height of the distribution function after
    each, the last being 1.
    """

    def __init__(self, row: NDArray[np.uint32], value: Float64s, height: Float64s, items: RowItems, device: str):
        self.device = torch.device(device)
        self._range = float(value.max()) - float(value.min())
        atoms = (torch.from_numpy(part).to(device) for part in (row.astype(np.int64), value, height))
        self.gap, order = _sorted_quantiles(*atoms)
        self.item = torch.from_numpy(items.item.astype(np.int32)).to(device)[order]
        self.mass = None if (items.mass == 1).all() else torch.from_numpy(items.mass).to(device)[order]

    @staticmethod
    def serves(height: Float64s, rows: int) -> bool:
        """Whether measures at all their levels fit into memory."""
        return rows * len(np.unique(height)) <= MOST_NUMBERS

    def energies(self, in_x: NDArray[np.uint8]) -> Float64s:
        """Energy distance of the two collections that each labelling makes; infinite if their range is."""
        if not np.isfinite(self._range):
            return np.full(len(in_x), np.inf)
        size_x = int(in_x[0].sum())
        size_y = in_x.shape[1] - size_x
        labels = torch.from_numpy(np.ascontiguousarray(in_x)).to(self.device)
        add_up = self._by_kernel if _cuda.serves(self.gap) else self._by_sums
        found = add_up(labels, size_x, size_y).cpu().numpy()
        return 2 * (found / size_x / size_y / size_x / size_y)

    def _by_kernel(self, labels: Tensor, size_x: int, size_y: int) -> Tensor:
        (levels, rows), count = self.gap.shape, len(labels)
        words = _packed(labels)
        energy = torch.empty(levels, count, dtype=torch.float64, device=self.device)
        tensors = [pointer(t) for t in (words, self.item, self.gap, self.mass, energy)]
        sizes = map(short, (rows, words.shape[1], count, size_x, size_y))
        with torch.cuda.device(self.device):
            _kernel(self.device).launch((levels, -(-count // THREADS)), THREADS, (*tensors, *sizes))
        return energy.sum(0)

    def _by_sums(self, labels: Tensor, size_x: int, size_y: int) -> Tensor:
        signed = labels.double() * (size_x + size_y) - size_x
        total = torch.zeros(len(labels), dtype=torch.float64, device=self.device)
        step = max(1, PLAIN_NUMBERS[self.device.type] // labels.numel())
        for start in range(0, len(self.gap), step):
            part = slice(start, start + step)
            moved = signed[:, self.item[part].long()]
            d = (moved if self.mass is None else moved * self.mass[part]).cumsum(-1)
            total += torch.einsum("lkr,kr->l", d.square(), self.gap[part])
        return total


def matrix_energies(costs: Tensor, in_x: NDArray[np.uint8]) -> Float64s:
    """Energy distance of the two collections that each labelling makes, from the costs between all items: -sᵀ W s."""
    size_x = int(in_x[0].sum())
    signed = torch.from_numpy(np.where(in_x, 1 / size_x, -1 / (in_x.shape[1] - size_x))).to(costs.device)
    return -torch.einsum("bi,bi->b", signed @ costs, signed).cpu().numpy()


def _sorted_quantiles(row: Tensor, value: Tensor, height: Tensor) -> tuple[Tensor, Tensor]:
    """Of every level the gaps between its sorted quantiles, times its width, and the rows in that order.

    Both (levels, rows).
    """
    ends, last = height.unique(return_inverse=True)
    follows = row.diff(prepend=row[:1] - 1) == 0
    first = pad(last[:-1] + 1, (1, 0)) * follows  # the level from which an atom holds
    rows, width = int(row[-1]) + 1, ends.diff(prepend=ends.new_zeros(1))
    step = max(1, SORTED_NUMBERS // rows)
    gaps, orders = [], []
    for start in range(0, len(ends), step):
        stop = min(start + step, len(ends))
        counts = (last + 1).clamp(start, stop) - first.clamp(start, stop)
        table = value.repeat_interleave(counts, output_size=rows * (stop - start)).view(rows, -1)
        ordered, tags = sort_rows(table.T.contiguous(), tagged=True)
        assert tags is not None
        gaps.append(pad(ordered.diff(dim=1), (0, 1)) * width[start:stop, None])
        orders.append(((tags.long() & 0xFFFFFFFF) % rows).int())
    return torch.cat(gaps), torch.cat(orders)


def _packed(labels: Tensor) -> Tensor:
    """Labels as bits, those of 32 labellings in a word; (items, words) int32."""
    count, items = labels.shape
    padded = pad(labels, (0, 0, 0, -count % 32)).view(-1, 32, items)
    shifts = torch.arange(32, device=labels.device)[:, None]
    return (padded.long() << shifts).sum(1).to(torch.int32).T.contiguous()


@cache
def _kernel(device: torch.device) -> Kernel:
    source = Path(__file__).with_name("labelled.cu").read_text()
    return compile_kernels(source, ["labelled_levels"], {"THREADS": THREADS}, device)[0]
