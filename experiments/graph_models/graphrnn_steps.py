"""Steps of training GraphRNN: on a GPU each length of batches is recorded once as a CUDA graph, and replayed.

A step is some thousand small kernels; to launch them one by one takes longer than they run. Lengths are rounded up to
a few, rows of padding count for nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from threading import Lock

import torch
from torch import Tensor

from experiments.graph_models.graph_files import Adjacency
from experiments.graph_models.graphrnn import (
    BATCH,
    BATCHES_PER_EPOCH,
    DECAY,
    LEARNING_RATE,
    MILESTONES,
    GraphRNN,
    breadth_first,
    encode,
    stack,
)

ROUNDED = 16  # lengths of recorded steps are multiples of it
EAGER = 3  # steps of each length before it is recorded, in which libraries choose their ways

_ALONE = Lock()  # gradients of all models are computed in one thread of PyTorch's: what is not recorded goes in turn


@dataclass
class _Recorded:
    """A step of one length: where its input is put, what it is replayed by, and its loss."""

    rows: Tensor
    sizes: Tensor
    n_eager: int = 0
    graph: "torch.cuda.CUDAGraph | None" = None
    loss: Tensor = field(default_factory=lambda: torch.zeros(()))


class Trainer:
    """Adam with the authors' schedule, a step a batch."""

    def __init__(self, model: GraphRNN) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        on_gpu = self.device.type == "cuda"
        rate = torch.tensor(LEARNING_RATE, device=self.device) if on_gpu else LEARNING_RATE
        self.optimizer = torch.optim.Adam(model.parameters(), lr=rate, capturable=on_gpu)
        self.stream = torch.cuda.Stream(self.device) if on_gpu else None
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream(self.device))
        self.recorded: dict[int, _Recorded] = {}
        self.n_steps = 0

    def step(self, rows: Tensor, sizes: Tensor) -> Tensor:
        """Lower the loss of a batch; return it."""
        self._follow_schedule()
        if self.stream is None:
            return self._step(rows[:, : int(sizes.max())], sizes)
        return self._step_on_gpu(rows, sizes)

    def at_work(self) -> AbstractContextManager[object]:
        """Where its steps, and what they are made of, are computed: on a GPU in a stream of its own."""
        return nullcontext() if self.stream is None else torch.cuda.stream(self.stream)

    def _follow_schedule(self) -> None:
        """Lower the learning rate at the milestones."""
        if self.n_steps in MILESTONES:
            for group in self.optimizer.param_groups:
                if isinstance(group["lr"], Tensor):
                    group["lr"].mul_(DECAY)
                else:
                    group["lr"] *= DECAY
        self.n_steps += 1

    def _step(self, rows: Tensor, sizes: Tensor) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model.loss(rows, sizes)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _step_on_gpu(self, rows: Tensor, sizes: Tensor) -> Tensor:
        length = min(-(-int(sizes.max()) // ROUNDED) * ROUNDED, rows.shape[1])
        cut = rows[:, :length]
        known = self.recorded.setdefault(length, _Recorded(cut.clone(), sizes.clone()))
        if known.n_eager < EAGER:
            known.n_eager += 1
            with _ALONE:
                return self._step(cut, sizes)
        if known.graph is None:
            with _ALONE:
                torch.cuda.synchronize(self.device)
                known.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(known.graph, stream=self.stream, capture_error_mode="relaxed"):
                    known.loss = self._step(known.rows, known.sizes)
        known.rows.copy_(cut)
        known.sizes.copy_(sizes)
        known.graph.replay()
        return known.loss.clone()


def training(
    model: GraphRNN, graphs: Sequence[Adjacency], n_epochs: int, generator: torch.Generator, *, batch: int = BATCH
) -> Iterator[float]:
    """Train a model; yield the mean loss of each epoch, which is 32 batches of graphs drawn with repetition."""
    trainer = Trainer(model)
    adjacency, sizes = stack(graphs, str(trainer.device))
    for _ in range(n_epochs):
        with trainer.at_work():
            drawn = torch.randint(len(graphs), (BATCHES_PER_EPOCH * batch,), generator=generator, device=trainer.device)
            rows = encode(breadth_first(adjacency[drawn], sizes[drawn], generator), model.window)
            parts = zip(rows.split(batch), sizes[drawn].split(batch), strict=True)
            loss = float(torch.stack([trainer.step(part, part_sizes) for part, part_sizes in parts]).mean())
        yield loss
