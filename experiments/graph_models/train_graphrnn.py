"""Train GraphRNN on the training graphs of ENZYMES, and store graphs that it generates.

`python experiments/graph_models/train_graphrnn.py --data FOLDER`, where FOLDER holds ENZYMES_A.txt; on a GPU if there
is one. Needs NumPy and PyTorch alone.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
if __name__ == "__main__":  # run as a file, Python looks beside it and not in the checkout
    sys.path.insert(0, str(HERE.parents[1]))

from experiments.graph_models.graph_files import Adjacency, read_graphs, save_graphs, split  # noqa: E402
from experiments.graph_models.graphrnn import (  # noqa: E402
    BATCH,
    GraphRNN,
    bandwidth,
    breadth_first,
    stack,
    training,
)

ORDERS_PER_GRAPH = 20


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write the generated graphs."""
    options = _options(arguments)
    torch.manual_seed(options.seed)
    generator = torch.Generator(options.device).manual_seed(options.seed)
    graphs, _ = split(read_graphs(options.data))
    window = options.window or widest(graphs, generator)
    model = GraphRNN(window, dependent=not options.independent).to(options.device)
    print(f"{len(graphs)} graphs, window {window}, {options.device}", flush=True)
    losses = _train(model, graphs, generator, options)
    samples = sample(model, options.samples, max(len(graph) for graph in graphs), generator)
    _describe("real graphs", graphs)
    _describe("generated graphs", samples)
    command = (
        f"train_graphrnn.py --epochs {len(losses)} --seed {options.seed} --samples {options.samples} "
        f"--batch {options.batch} --window {window}" + " --independent" * options.independent
    )
    facts = {"seed": options.seed, "epochs": len(losses), "window": window, "loss": losses[-1]}
    save_graphs(options.output, samples, **facts, command=command)
    print(f"written: {options.output}, {options.output.stat().st_size / 1024:.0f} KB")


def widest(graphs: Sequence[Adjacency], generator: torch.Generator) -> int:
    """Return how far back a link goes at most, in several random breadth-first orders of each graph."""
    adjacency, sizes = stack(graphs, str(generator.device))
    return max(int(bandwidth(breadth_first(adjacency, sizes, generator)).max()) for _ in range(ORDERS_PER_GRAPH))


def sample(model: GraphRNN, n_graphs: int, max_nodes: int, generator: torch.Generator) -> list[Adjacency]:
    """Draw graphs that have an edge."""
    found: list[Adjacency] = []
    while len(found) < n_graphs:
        found += [graph for graph in model.sample(n_graphs, max_nodes, generator) if len(graph) > 1]
    return found[:n_graphs]


def _train(
    model: GraphRNN, graphs: Sequence[Adjacency], generator: torch.Generator, options: argparse.Namespace
) -> list[float]:
    """Return the loss of every epoch; stop when time is up."""
    start = time.perf_counter()
    losses = []
    for loss in training(model, graphs, options.epochs, generator, batch=options.batch):
        losses.append(loss)
        seconds = time.perf_counter() - start
        if len(losses) <= 3 or len(losses) % options.every == 0:
            print(f"epoch {len(losses)}: loss {np.mean(losses[-options.every :]):.5f}, {seconds:.0f} s", flush=True)
        if seconds > 60 * options.minutes:
            print(f"time is up after {len(losses)} epochs", flush=True)
            break
    return losses


def _describe(name: str, graphs: Sequence[Adjacency]) -> None:
    sizes = np.array([len(graph) for graph in graphs])
    degrees = np.concatenate([graph.sum(axis=1) for graph in graphs])
    quartiles = ", ".join(f"{q:.0f}" for q in np.percentile(sizes, [0, 25, 50, 75, 100]))
    print(f"{name}: {len(graphs)}, nodes {quartiles} (quartiles), mean degree {degrees.mean():.2f}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds ENZYMES_A.txt")
    parser.add_argument("--output", type=Path, default=HERE / "graphrnn_samples.npz", help="file to write")
    parser.add_argument("--epochs", type=int, default=3000, help="epochs of 32 batches, 3000 if not given")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end the training after so many minutes")
    parser.add_argument("--samples", type=int, default=1024, help="graphs to generate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=BATCH, help="graphs a batch")
    parser.add_argument("--window", type=int, help="earlier nodes that a node may be linked to; found if not given")
    parser.add_argument("--independent", action="store_true", help="draw the edges of a node independently: GraphRNN-S")
    parser.add_argument("--every", type=int, default=50, help="epochs between two lines of output")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
