"""Train GraphRNN and GraphRNN-S on the training graphs of ENZYMES, and store graphs that they generate.

`python experiments/graph_models/train_graphrnn.py --data FOLDER`, where FOLDER holds ENZYMES_A.txt; on a GPU if there
is one, all seeds and both models side by side. Needs NumPy and PyTorch alone.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
if __name__ == "__main__":  # run as a file, Python looks beside it and not in the checkout
    sys.path.insert(0, str(HERE.parents[1]))

from experiments.graph_models.graph_files import Adjacency, read_graphs, save_graphs, split  # noqa: E402
from experiments.graph_models.graphrnn import BATCH, GraphRNN, bandwidth, breadth_first, stack  # noqa: E402
from experiments.graph_models.graphrnn_steps import training  # noqa: E402

ORDERS_PER_GRAPH = 20
TRIES = {"graphrnn": (1,), "graphrnn_s": (1, 2, 3)}  # of drawing a row that is not empty, as in the authors' program


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all models, and write the generated graphs."""
    options = _options(arguments)
    graphs, _ = split(read_graphs(options.data))
    first = torch.Generator(options.device).manual_seed(0)
    window = options.window or widest(graphs, first)
    print(f"{len(graphs)} graphs, window {window}, {options.device}", flush=True)
    _describe("real graphs", graphs)
    options.output.mkdir(parents=True, exist_ok=True)
    models = []
    for name, seed in product(options.models, options.seeds):
        torch.manual_seed(seed)  # weights are drawn from the one generator, so one model after the other
        models.append((name, seed, GraphRNN(window, dependent=name == "graphrnn").to(options.device)))
    with ThreadPoolExecutor(len(models) if options.device.startswith("cuda") else 1) as pool:
        for done in [pool.submit(_make, name, seed, model, graphs, options) for name, seed, model in models]:
            done.result()


def _make(name: str, seed: int, model: GraphRNN, graphs: Sequence[Adjacency], options: argparse.Namespace) -> None:
    """Train one model and store its graphs."""
    generator = torch.Generator(options.device).manual_seed(seed)
    losses = _train(f"{name} {seed}", model, graphs, generator, options)
    for tries in TRIES[name]:
        samples = sample(model, options.samples, max(len(graph) for graph in graphs), generator, tries)
        path = options.output / f"{name}-seed{seed}-tries{tries}.npz"
        facts = {"seed": seed, "epochs": len(losses), "window": model.window, "loss": losses[-1], "tries": tries}
        command = f"train_graphrnn.py --models {name} --seeds {seed} --epochs {len(losses)} --window {model.window}"
        save_graphs(path, samples, **facts, command=command)
        _describe(path.stem, samples)


def widest(graphs: Sequence[Adjacency], generator: torch.Generator) -> int:
    """Return how far back a link goes at most, in several random breadth-first orders of each graph."""
    adjacency, sizes = stack(graphs, str(generator.device))
    return max(int(bandwidth(breadth_first(adjacency, sizes, generator)).max()) for _ in range(ORDERS_PER_GRAPH))


def sample(
    model: GraphRNN, n_graphs: int, max_nodes: int, generator: torch.Generator, tries: int = 1
) -> list[Adjacency]:
    """Draw graphs that have an edge."""
    found: list[Adjacency] = []
    while len(found) < n_graphs:
        found += [graph for graph in model.sample(n_graphs, max_nodes, generator, tries) if len(graph) > 1]
    return found[:n_graphs]


def _train(
    name: str, model: GraphRNN, graphs: Sequence[Adjacency], generator: torch.Generator, options: argparse.Namespace
) -> list[float]:
    """Return the loss of every epoch; stop when time is up."""
    start = time.perf_counter()
    losses = []
    for loss in training(model, graphs, options.epochs, generator, batch=options.batch):
        losses.append(loss)
        seconds = time.perf_counter() - start
        if len(losses) == 3 or len(losses) % options.every == 0:
            mean = np.mean(losses[-options.every :])
            print(f"{name}, epoch {len(losses)}: loss {mean:.5f}, {seconds:.0f} s", flush=True)
        if seconds > 60 * options.minutes:
            print(f"{name}: time is up after {len(losses)} epochs", flush=True)
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
    parser.add_argument("--output", type=Path, default=HERE / "samples", help="folder to write to")
    parser.add_argument("--models", nargs="+", choices=list(TRIES), default=list(TRIES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=3000, help="epochs of 32 batches, 3000 if not given")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end the training after so many minutes")
    parser.add_argument("--samples", type=int, default=512, help="graphs to generate")
    parser.add_argument("--batch", type=int, default=BATCH, help="graphs a batch")
    parser.add_argument("--window", type=int, help="earlier nodes that a node may be linked to; found if not given")
    parser.add_argument("--every", type=int, default=50, help="epochs between two lines of output")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
