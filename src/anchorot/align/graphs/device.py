"""The backend on a device: the same on tensors."""

import warnings
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from anchorot._kernels.numpy.networks import LARGEST_SCALE, LEAST_SHARE, node_blocks, owners_of, sum_matchings
from anchorot._kernels.records import EdgeLanes, EdgeRows
from anchorot._typing import Float32s
from anchorot.align.graphs.backend import ROUNDS, Backend, Messages

BLOCK_NUMBERS = 1 << 26  # messages worked on at a time


class Device(Backend):
    """PyTorch tensors."""

    def __init__(self, name: str) -> None:
        self._name = name

    def dense(self, array: Float32s) -> torch.Tensor:
        """Bring a matrix to the device."""
        return torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self._name)

    def host(self, array: torch.Tensor) -> Float32s:
        """Bring a matrix back."""
        return array.cpu().numpy()

    def sparse(self, matrix: csr_array) -> torch.Tensor:
        """Bring a sparse matrix to the device."""
        start, neighbour, data = (
            torch.from_numpy(part).to(self._name) for part in (matrix.indptr, matrix.indices, matrix.data)
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse (CSR tensor support is in beta|invariant checks)")
            return torch.sparse_csr_tensor(start, neighbour, data, size=matrix.shape, check_invariants=False)

    def left(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The product A X."""
        return a @ x

    def right(self, x: torch.Tensor, transposed: torch.Tensor) -> torch.Tensor:
        """The product X B."""
        return (transposed @ x.T).T.contiguous()

    def tilt(self, plan: torch.Tensor, slope: torch.Tensor, rate: float, copies: torch.Tensor, rounds: int) -> Any:
        """Multiply a plan by exp(rate slope) and scale it."""
        tilted = plan * torch.exp((rate * (slope - slope.amax(1, keepdim=True))).clamp(min=-87))
        tilted.clamp_(min=float(LEAST_SHARE))
        tilted /= tilted.sum(1, keepdim=True)
        rows, columns = torch.ones_like(copies), torch.ones_like(tilted[0])
        for turn in range(rounds):
            if turn > 0:
                rows = (1 / (tilted @ columns)).clamp(max=float(LARGEST_SCALE))
            columns = (1 / ((copies * rows) @ tilted)).clamp(max=float(LARGEST_SCALE))
        return tilted * rows[:, None] * columns

    def spread(self, matrix: torch.Tensor) -> float:
        """Standard deviation of all entries."""
        return float(matrix.std(correction=0))

    def sorted_bins(self, matrix: torch.Tensor, ends: Any) -> torch.Tensor:
        """Sum the roots of each row's entries, from the largest down."""
        sums = torch.sqrt(matrix.sort(1, descending=True).values).double().cumsum(1)[:, torch.as_tensor(ends - 1)]
        return torch.diff(sums, dim=1, prepend=torch.zeros_like(sums[:, :1])).T

    def row_costs(self, x: Any, y: Any) -> torch.Tensor:
        """Mean absolute differences of columns."""
        rows, others = (torch.from_numpy(np.ascontiguousarray(own.T, np.float32)).to(self._name) for own in (x, y))
        return torch.cdist(rows, others, p=1) / len(x)

    def messages(self, first: EdgeRows, second: EdgeLanes) -> "DeviceMessages":
        """Messages between the edges of two networks."""
        return DeviceMessages(first, second, self._name)


class DeviceMessages(Messages):
    """What was said in the last round, (edges of the first network, places of the second)."""

    def __init__(self, first: EdgeRows, second: EdgeLanes, name: str) -> None:
        self._name, self._n = name, len(first.start) - 1
        self._first = EdgeRows(*(torch.from_numpy(part.astype(np.int64)).to(name) for part in first))  # type: ignore[arg-type]
        self._second = EdgeLanes(*(torch.from_numpy(part.astype(np.int64)).to(name) for part in second))  # type: ignore[arg-type]
        owner, places = owners_of(second)
        self._m = int((second.node >= 0).sum())
        self._owner = torch.from_numpy(owner).to(name).long()
        self._owners = self._incidence(owner[places], places, (self._m, len(owner)))
        self._blocks = []
        for nodes, edges in node_blocks(first.start, max(1, BLOCK_NUMBERS // max(1, len(second.neighbour)))):
            tails = np.repeat(np.arange(nodes.stop - nodes.start), np.diff(first.start[nodes.start : nodes.stop + 1]))
            ends = self._incidence(tails, np.arange(len(tails)), (nodes.stop - nodes.start, len(tails)))
            self._blocks.append((nodes, edges, ends, torch.from_numpy(tails).to(name)))
        self._said = torch.empty((len(first.neighbour), len(second.neighbour)), device=name)

    def _incidence(self, rows: Any, columns: Any, shape: tuple[int, int]) -> torch.Tensor:
        matrix = csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
        return Device(self._name).sparse(matrix)

    def step(self, plan: torch.Tensor, ratios: Float32s) -> torch.Tensor:
        """Pass messages once; return the evidence."""
        first, second = self._first, self._second
        table = torch.from_numpy(ratios).to(self._name)
        evidence, said = torch.zeros((self._n, self._m), device=self._name), torch.empty_like(self._said)
        for nodes, edges, ends, tails in self._blocks:
            weight = table[first.kind[edges]][:, second.kind]
            weight *= plan[first.neighbour[edges]][:, second.neighbour]
            weight *= self._said[first.reverse[edges]][:, second.reverse]
            evidence[nodes], said[edges] = sum_matchings(torch, weight, ends, tails, self._owners, self._owner, ROUNDS)
        self._said = said
        return evidence
