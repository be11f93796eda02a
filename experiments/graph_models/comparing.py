"""Sources of graphs, and tests of each against real graphs that no model has seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import anchorot as ao
from experiments.common.rules import Interval
from experiments.graph_models.generators import MODELS, fit, rewired
from experiments.graph_models.graph_files import Adjacency, load_graphs, read_graphs, split

SAMPLES = Path(__file__).parent / "samples"  # training takes a GPU, so what train_graphrnn.py generated is stored
LEARNED = {"graphrnn": "GraphRNN", "graphrnn_s": "GraphRNN-S"}
TRAINING, REWIRED, SPLITS = "training set", "rewired", "other splits"
LEVEL = 0.05
STATISTICS = {"degree": "degrees", "clustering": "clustering coefficients", "anchors": "shortest-path anchors"}

Source = Callable[[int, np.random.Generator], list[nx.Graph]]


@dataclass(frozen=True)
class Real:
    """The real graphs: all, those that models are fitted to, and both halves of those that no model has seen.

    On the validation half the training of a learned model is chosen, on the other half all are judged.
    """

    everything: list[nx.Graph]
    training: list[nx.Graph]
    validation: list[nx.Graph]
    judged: list[nx.Graph]


@dataclass(frozen=True)
class Work:
    """Draws of one source to be tested against one half: `folder` has ENZYMES."""

    folder: Path
    half: str
    statistic: str
    source: str
    draws: range
    n_resamples: int


@dataclass(frozen=True)
class Comparison:
    """Tests of one source of graphs against real graphs, one a draw."""

    statistic: str
    source: str
    half: str
    n_graphs: int
    distances: np.ndarray
    pvalues: np.ndarray
    thresholds: np.ndarray

    @property
    def rejected(self) -> Interval:
        """The share of draws that are rejected."""
        return Interval.share(int(np.count_nonzero(self.pvalues <= LEVEL)), len(self.pvalues))

    @property
    def in_thresholds(self) -> float:
        """The mean distance by the mean of what 95 % of permutations stay below."""
        return float(self.distances.mean() / self.thresholds.mean())

    def row(self) -> dict[str, Any]:
        """Return a row of the table."""
        return {
            "statistic": STATISTICS[self.statistic],
            "source": self.source,
            "half": self.half,
            "graphs": self.n_graphs,
            "energy distance": float(self.distances.mean()),
            "standard deviation": float(self.distances.std(ddof=1)),
            "95 % of permutations below": float(self.thresholds.mean()),
            "median p": float(np.median(self.pvalues)),
            "rejected": str(self.rejected),
        }


@cache
def read_real(folder: Path) -> Real:
    """Read ENZYMES, split it as GraphRNN's authors do, and halve the test graphs."""
    everything = read_graphs(folder)
    training, test = split(everything)
    order = np.random.default_rng(3).permutation(len(test))
    validation, judged = ([test[k] for k in half] for half in np.array_split(order, 2))
    return Real(*map(as_networkx, (everything, training, validation, judged)))


@cache
def source_of(folder: Path, name: str) -> Source:
    """Return where the graphs of a name come from: it gives so many graphs, none of them twice."""
    training = read_real(folder).training
    if name in MODELS:
        return fit(name, training).sample
    if name == REWIRED:
        return lambda n_graphs, rng: [rewired(graph, rng) for graph in _some_of(training)(n_graphs, rng)]
    return _some_of(training if name == TRAINING else as_networkx(load_graphs(stored_samples()[name])))


def stored_samples() -> dict[str, Path]:
    """Return the files of generated graphs, by model, seed and tries of drawing a row that is not empty."""
    found = {}
    for path in sorted(SAMPLES.glob("*.npz")):
        name, seed, tries = path.stem.split("-")
        more = f", {tries.removeprefix('tries')} tries" if name == "graphrnn_s" else ""
        found[f"{LEARNED[name]} (seed {seed.removeprefix('seed')}{more})"] = path
    return found


def compare(work: Work) -> Comparison:
    """Test draws of a source against a half of the test graphs; of other splits, their parts against each other."""
    real = read_real(work.folder)
    half: list[nx.Graph] = getattr(real, work.half)
    results = []
    for draw in work.draws:
        if work.source == SPLITS:
            others, mine = (part[: len(half)] for part in split(real.everything, draw))
        else:
            mine, others = half, source_of(work.folder, work.source)(len(half), np.random.default_rng([1, draw]))
        results.append(
            ao.graph_model_test(
                mine,
                others,
                statistic=work.statistic,
                pooled=work.statistic == "anchors",  # as the paper pools
                n_resamples=work.n_resamples,
                rng=np.random.default_rng([2, draw]),
            )
        )
    return Comparison(
        work.statistic,
        work.source,
        work.half,
        len(half),
        np.array([result.statistic for result in results]),
        np.array([result.pvalue for result in results]),
        np.array([np.quantile(result.null, 1 - LEVEL) for result in results]),
    )


def best_of(compared: Sequence[Comparison], model: str) -> str:
    """Return which training of a model is nearest to real graphs, in thresholds of the tests, over all statistics."""
    names = {one.source for one in compared if one.source.startswith(f"{model} (")}
    return min(sorted(names), key=lambda name: sum(one.in_thresholds for one in compared if one.source == name))


def as_networkx(graphs: Sequence[Adjacency]) -> list[nx.Graph]:
    """Return graphs as networkx has them."""
    return [nx.from_numpy_array(adjacency) for adjacency in graphs]


def _some_of(graphs: list[nx.Graph]) -> Source:
    return lambda n_graphs, rng: [graphs[place] for place in rng.choice(len(graphs), n_graphs, replace=False)]
