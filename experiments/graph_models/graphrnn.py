"""GraphRNN (You et al. 2018), compact: nodes come in breadth-first order, each with its links to earlier ones.

A graph of n nodes is a sequence of rows: row i says to which of the `window` nodes before it node i + 1 is linked,
nearest first; a row of zeros ends it. One recurrent net reads the rows so far; a second part draws the next row: edge
by edge with a recurrent net of its own (GraphRNN), or all edges independently (GraphRNN-S). PyTorch and NumPy alone,
on any device.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from experiments.graph_models.graph_files import Adjacency

# Sizes, batches and learning rates are those of the authors' program.
LAYERS = 4
BATCH = 32
BATCHES_PER_EPOCH = 32
LEARNING_RATE = 0.003
MILESTONES = (400, 1000)  # batches, as in their program; at the 12 800 and 32 000 of their paper the loss stays high
DECAY = 0.3


def stack(graphs: Sequence[Adjacency], device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Return the adjacencies of graphs, padded to the largest, and their sizes."""
    sizes = [len(graph) for graph in graphs]
    padded = np.zeros((len(graphs), max(sizes), max(sizes)), dtype=bool)
    for graph, size, place in zip(graphs, sizes, padded, strict=True):
        place[:size, :size] = graph
    return torch.as_tensor(padded, device=device), torch.as_tensor(sizes, device=device)


def breadth_first(adjacency: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """Renumber every connected graph of a stack in a random breadth-first order; all graphs go in step."""
    n_graphs, n, _ = adjacency.shape
    device = adjacency.device
    lines = torch.arange(n_graphs, device=device)
    padding = torch.arange(n, device=device) >= sizes[:, None]
    # A random order of the nodes, padding last: the first one starts, and neighbours queue up in this order.
    keys = torch.rand((n_graphs, n), generator=generator, device=device) + 2 * padding
    adjacency = _renumber(adjacency, keys.argsort(dim=1))
    queue = torch.zeros((n_graphs, n + 1), dtype=torch.long, device=device)  # the last place is for who need not queue
    seen = torch.arange(n, device=device).expand(n_graphs, n) == 0
    length = torch.ones(n_graphs, dtype=torch.long, device=device)
    for head in range(n):
        new = adjacency[lines, queue[:, head]] & ~seen
        place = torch.where(new, length[:, None] + new.cumsum(dim=1) - 1, n)
        queue.scatter_(1, place, torch.arange(n, device=device).expand(n_graphs, n))
        seen = seen | new
        length = length + new.sum(dim=1)
    # Padding stays where it is; a place past a graph's end still holds node 0.
    order = torch.where(padding, torch.arange(n, device=device), queue[:, :n])
    return _renumber(adjacency, order)


def _renumber(adjacency: Tensor, order: Tensor) -> Tensor:
    lines = torch.arange(len(adjacency), device=adjacency.device)[:, None, None]
    return adjacency[lines, order[:, :, None], order[:, None, :]]


def bandwidth(adjacency: Tensor) -> Tensor:
    """Return how far back the farthest link of each graph of a stack goes."""
    place = torch.arange(adjacency.shape[1], device=adjacency.device)
    return (adjacency * (place[:, None] - place[None, :])).flatten(1).amax(dim=1)


def encode(adjacency: Tensor, window: int) -> Tensor:
    """Return the rows of every graph of a stack, (graphs, nodes, window), with the zeros that end each.

    Links that go farther back than the window are lost.
    """
    n = adjacency.shape[1]
    padded = nn.functional.pad(adjacency, (window, 0, 0, 1))  # nodes before the first one; a node after the last
    row = torch.arange(n, device=adjacency.device)[:, None]
    back = torch.arange(window, device=adjacency.device)[None, :]
    return padded[:, row + 1, row - back + window].float()


def decode(rows: Tensor) -> list[Adjacency]:
    """Return the graph of each sequence of rows, which ends before its first row of zeros."""
    links = rows.cpu().numpy() > 0
    graphs = []
    for sequence in links:
        ended = ~sequence.any(axis=1)
        n_rows = int(np.argmax(ended)) if ended.any() else len(sequence)
        adjacency = np.zeros((n_rows + 1, n_rows + 1), dtype=bool)
        row, back = np.nonzero(sequence[:n_rows])
        adjacency[row + 1, row - back] = True
        graphs.append(adjacency | adjacency.T)
    return graphs


class IndependentEdges(nn.Module):
    """The row that comes next, each of its edges drawn by itself: GraphRNN-S."""

    def __init__(self, window: int, hidden: int, embedding: int) -> None:
        super().__init__()
        self.net = _two_layers(hidden, embedding, window)

    def forward(self, state: Tensor, rows: Tensor) -> Tensor:
        """Return the logits of the edges of rows; they do not depend on the rows themselves."""
        return self.net(state)

    def sample(self, state: Tensor, generator: torch.Generator) -> Tensor:
        """Draw one row a state."""
        return _coins(self.net(state), generator)


class DependentEdges(nn.Module):
    """The row that comes next, edge by edge, each knowing those before it: GraphRNN."""

    def __init__(self, window: int, hidden: int, embedding: int, own_hidden: int = 16, own_embedding: int = 8) -> None:
        super().__init__()
        self.window = window
        self.start = _two_layers(hidden, embedding, own_hidden)
        self.embed = nn.Sequential(nn.Linear(1, own_embedding), nn.ReLU())
        self.recurrent = nn.GRU(own_embedding, own_hidden, LAYERS, batch_first=True)
        self.net = _two_layers(own_hidden, own_embedding, 1)

    def forward(self, state: Tensor, rows: Tensor) -> Tensor:
        """Return the logits of each edge of rows, given the edges before it."""
        before = torch.cat([torch.ones_like(rows[:, :1]), rows[:, :-1]], dim=1)
        output, _ = self.recurrent(self.embed(before[:, :, None]), self._memory(state))
        return self.net(output)[:, :, 0]

    def sample(self, state: Tensor, generator: torch.Generator) -> Tensor:
        """Draw one row a state."""
        memory, edge, row = self._memory(state), torch.ones((len(state), 1), device=state.device), []
        for _ in range(self.window):
            output, memory = self.recurrent(self.embed(edge[:, :, None]), memory)
            edge = _coins(self.net(output)[:, :, 0], generator)
            row.append(edge)
        return torch.cat(row, dim=1)

    def _memory(self, state: Tensor) -> Tensor:
        first = self.start(state)
        return torch.cat([first[None], first.new_zeros((LAYERS - 1, *first.shape))])


class GraphRNN(nn.Module):
    """A model of graphs.

    Parameters
    ----------
    window : int
        How many earlier nodes a node may be linked to.
    dependent : bool
        Let the edges of a node depend on each other; otherwise the model is GraphRNN-S.
    hidden, embedding : int
        Sizes of the memory and of the layers around it.
    """

    def __init__(self, window: int, *, dependent: bool = True, hidden: int = 128, embedding: int = 64) -> None:
        super().__init__()
        self.window = window
        self.embed = nn.Sequential(nn.Linear(window, embedding), nn.ReLU())
        self.recurrent = nn.GRU(embedding, hidden, LAYERS, batch_first=True)
        self.edges = (DependentEdges if dependent else IndependentEdges)(window, hidden, embedding)

    def loss(self, rows: Tensor, sizes: Tensor) -> Tensor:
        """Return the cross-entropy of the rows of graphs, each given the true rows before it; the mean over edges."""
        before = torch.cat([torch.ones_like(rows[:, :1]), rows[:, :-1]], dim=1)
        state, _ = self.recurrent(self.embed(before))
        row = torch.arange(rows.shape[1], device=rows.device)
        # Rows of padding are computed and not counted, so that a batch's shapes do not depend on its sizes.
        exists = torch.arange(self.window, device=rows.device) <= row[:, None]
        counted = exists & (row < sizes[:, None])[:, :, None]
        logits = self.edges(state.flatten(0, 1), rows.flatten(0, 1)).view_as(rows)
        losses = nn.functional.binary_cross_entropy_with_logits(logits, rows, reduction="none")
        return (losses * counted).sum() / counted.sum()

    @torch.no_grad()
    def sample(self, n_graphs: int, max_nodes: int, generator: torch.Generator, tries: int = 1) -> list[Adjacency]:
        """Draw graphs; those that have not ended by then are cut at the greatest number of nodes.

        A row that comes out empty, which ends a graph, is drawn anew while there are tries left. The authors' program
        has one to three of them for GraphRNN-S, whose edges know nothing of each other, and one for GraphRNN.
        """
        device = next(self.parameters()).device
        rows = torch.zeros((n_graphs, max_nodes - 1, self.window), device=device)
        row, memory = torch.ones((n_graphs, self.window), device=device), None
        unended = torch.ones(n_graphs, dtype=torch.bool, device=device)
        for place in range(max_nodes - 1):
            state, memory = self.recurrent(self.embed(row)[:, None], memory)
            row = torch.zeros_like(row)
            for _ in range(tries):
                row = torch.where(row.any(dim=1, keepdim=True), row, self.edges.sample(state[:, 0], generator))
                row[:, place + 1 :] = 0  # there are no such nodes yet
            unended = unended & row.any(dim=1)
            rows[:, place] = row
            if not unended.any():
                break
        return decode(rows)


def _two_layers(n_input: int, n_between: int, n_output: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_input, n_between), nn.ReLU(), nn.Linear(n_between, n_output))


def _coins(logits: Tensor, generator: torch.Generator) -> Tensor:
    return torch.bernoulli(logits.sigmoid(), generator=generator)
