"""How often each source is found out, by the number of graphs compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

import anchorot as ao
from experiments.common.progress import progress_bar
from experiments.common.study import Study
from experiments.graph_models.comparing import LEVEL, Source


@dataclass(frozen=True)
class Power:
    """The share of draws in which a source was rejected, and its standard error."""

    statistic: str
    source: str
    n_graphs: int
    n_draws: int
    n_rejected: int

    @property
    def share(self) -> float:
        """Share of draws that were rejected."""
        return self.n_rejected / self.n_draws

    @property
    def error(self) -> float:
        """Its standard error, after adding two draws of either kind, so that none is without."""
        share = (self.n_rejected + 2) / (self.n_draws + 4)
        return float(np.sqrt(share * (1 - share) / (self.n_draws + 4)))

    def row(self) -> dict[str, str | int | float]:
        """Return a row of the table."""
        return {
            "statistic": self.statistic,
            "source": self.source,
            "graphs a side": self.n_graphs,
            "rejected": f"{self.n_rejected} of {self.n_draws}",
        }


def powers(
    study: Study,
    test: Sequence[nx.Graph],
    found: Mapping[str, Source],
    statistics: Sequence[str],
    sizes: Sequence[int],
    n_draws: int,
    n_resamples: int = 199,
) -> list[Power]:
    """Test parts of the test graphs against as many graphs of every source, many times over."""
    answers = []
    with progress_bar(len(statistics) * len(found) * len(sizes), "power", "curves") as advance:
        for statistic in statistics:
            for name, source in found.items():
                for n_graphs in sizes:
                    rejected = 0
                    for draw in range(n_draws):
                        rng = study.rng(7, n_graphs, draw)
                        chosen = [test[place] for place in rng.choice(len(test), n_graphs, replace=False)]
                        result = ao.graph_model_test(
                            chosen,
                            source(n_graphs, rng),
                            statistic=statistic,
                            pooled=statistic == "anchors",
                            n_resamples=n_resamples,
                            rng=rng,
                        )
                        rejected += bool(result.pvalue <= LEVEL)
                    answers.append(Power(statistic, name, n_graphs, n_draws, rejected))
                    advance(1)
    return answers
