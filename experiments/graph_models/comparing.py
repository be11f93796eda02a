"""Sources of graphs, and tests of each against the test graphs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import anchorot as ao
from experiments.common.study import Study
from experiments.graph_models.generators import MODELS, fit, rewired
from experiments.graph_models.graph_files import Adjacency, load_graphs, split

HERE = Path(__file__).parent
SAMPLES = HERE / "samples"  # training takes a GPU and minutes, so what train_graphrnn.py generated is stored
LEARNED = {"graphrnn": "GraphRNN", "graphrnn_s": "GraphRNN-S"}
TRAINING = "training set"
REWIRED = "rewired"
LEVEL = 0.05
STATISTICS = {
    "degree": "degrees",
    "clustering": "clustering coefficients",
    "anchors": "shortest-path anchors",
}

Source = Callable[[int, np.random.Generator], list[nx.Graph]]


@dataclass(frozen=True)
class Comparison:
    """Tests of one source of graphs against the test graphs, one a draw."""

    statistic: str
    source: str
    n_graphs: int
    distances: np.ndarray
    pvalues: np.ndarray
    thresholds: np.ndarray

    @property
    def pvalue(self) -> float:
        """The median of the draws' p-values."""
        return float(np.median(self.pvalues))

    @property
    def n_rejected(self) -> int:
        """How many draws are rejected."""
        return int(np.count_nonzero(self.pvalues <= LEVEL))

    @property
    def rejected(self) -> bool:
        """Whether most draws are rejected."""
        return 2 * self.n_rejected > len(self.pvalues)

    @property
    def in_thresholds(self) -> float:
        """The mean distance by the mean of what 95 % of permutations stay below."""
        return float(self.distances.mean() / self.thresholds.mean())

    def row(self) -> dict[str, Any]:
        """Return a row of the table."""
        return {
            "statistic": STATISTICS[self.statistic],
            "source": self.source,
            "graphs": self.n_graphs,
            "energy distance": float(self.distances.mean()),
            "standard deviation": float(self.distances.std(ddof=1)) if len(self.distances) > 1 else None,
            "95 % of permutations below": float(self.thresholds.mean()),
            "median p": self.pvalue,
            "rejected": f"{self.n_rejected} of {len(self.pvalues)}",
        }


@dataclass(frozen=True)
class Bench:
    """The test graphs, and how they are compared with others.

    Attributes
    ----------
    study : Study
        Gives every draw its own random numbers.
    test : sequence of graphs
        Real graphs that no model has seen.
    n_resamples : int
        Permutations a test.
    advance : callable
        Told of every test that is done.
    """

    study: Study
    test: Sequence[nx.Graph]
    n_resamples: int
    advance: Callable[[int], None]

    def compare(self, statistic: str, name: str, source: Source, n_graphs: int, n_draws: int) -> Comparison:
        """Test several draws of a source against the test graphs."""
        pairs = [(self.test, source(n_graphs, self.study.rng(1, draw))) for draw in range(n_draws)]
        return self._test(statistic, name, pairs)

    def compare_splits(self, statistic: str, real: Sequence[Adjacency], n_splits: int) -> Comparison:
        """Test training against test graphs of several splits: as nothing differs, 5 % should be rejected."""
        pairs = []
        for seed in range(n_splits):
            training, test = split(real, seed)
            n_graphs = len(self.test)
            pairs.append((as_networkx(test[:n_graphs]), as_networkx(training[:n_graphs])))
        return self._test(statistic, "other splits", pairs)

    def _test(
        self, statistic: str, name: str, pairs: Sequence[tuple[Sequence[nx.Graph], list[nx.Graph]]]
    ) -> Comparison:
        results = []
        for draw, (test, others) in enumerate(pairs):
            results.append(
                ao.graph_model_test(
                    test,
                    others,
                    statistic=statistic,
                    pooled=statistic == "anchors",  # as the paper pools
                    n_resamples=self.n_resamples,
                    rng=self.study.rng(2, draw),
                )
            )
            self.advance(1)
        return Comparison(
            statistic,
            name,
            len(pairs[0][1]),
            np.array([result.statistic for result in results]),
            np.array([result.pvalue for result in results]),
            np.array([np.quantile(result.null, 1 - LEVEL) for result in results]),
        )


def sources(training: Sequence[nx.Graph]) -> dict[str, Source]:
    """Return where graphs come from, by name: each gives so many graphs, none of them twice."""
    generated = {name: as_networkx(load_graphs(path)) for name, path in stored_samples().items()}
    stored = {TRAINING: list(training), **generated}
    return {name: _some_of(graphs) for name, graphs in stored.items()} | {
        **{name: fit(name, training).sample for name in MODELS},
        REWIRED: lambda n_graphs, rng: [rewired(graph, rng) for graph in _some_of(list(training))(n_graphs, rng)],
    }


def stored_samples() -> dict[str, Path]:
    """Return the files of generated graphs, by model, seed and tries of drawing a row that is not empty."""
    found = {}
    for path in sorted(SAMPLES.glob("*.npz")):
        name, seed, tries = path.stem.split("-")
        more = f", {tries.removeprefix('tries')} tries" if name == "graphrnn_s" else ""
        found[f"{LEARNED[name]} (seed {seed.removeprefix('seed')}{more})"] = path
    return found


def best_of(compared: Mapping[tuple[str, str], Comparison], model: str, statistics: Sequence[str]) -> str:
    """Return which training of a model is nearest to the test graphs, in thresholds of the tests.

    It is chosen on the test graphs, in the model's favour, as its authors choose the epoch.
    """
    names = {source for _, source in compared if source.startswith(f"{model} (")}
    return min(sorted(names), key=lambda name: sum(compared[s, name].in_thresholds for s in statistics))


def as_networkx(graphs: Sequence[Adjacency]) -> list[nx.Graph]:
    """Return graphs as networkx has them."""
    return [nx.from_numpy_array(adjacency) for adjacency in graphs]


def _some_of(graphs: list[nx.Graph]) -> Source:
    return lambda n_graphs, rng: [graphs[place] for place in rng.choice(len(graphs), n_graphs, replace=False)]
