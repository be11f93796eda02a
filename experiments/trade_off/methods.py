"""The distances compared, with their parameters."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

from experiments.common.clock import one_core
from experiments.common.got import got

SIGMA = 10.0  # of GOT's weights exp(-cost / sigma), as in the paper


@dataclass(frozen=True)
class Method:
    """A distance with its parameter.

    Attributes
    ----------
    family : str
        One line of the picture.
    setting : str
        The parameter, in words.
    options : dict
        Arguments of `anchorot.pairwise`; of GOT, its number of steps.
    n_points : int
        Points of each shape.
    draws : int
        How many draws of points are compared.
    queries : int or None
        Shapes of each class that are queries; None for all.
    """

    family: str
    setting: str
    options: dict[str, Any]
    n_points: int
    draws: int
    queries: int | None = None

    @property
    def name(self) -> str:
        """Family and setting."""
        return f"{self.family} ({self.setting})" if self.setting else self.family

    def compare(self, x: ao.Space, y: ao.Space) -> float:
        """Compare two shapes, as one who has nothing but their costs would."""
        options = dict(self.options)
        metric = options.pop("metric")
        if metric == "got":
            return _got_cost(x, y, options["n_iter"])
        if metric == "ae":
            return ao.anchor_energy(x, y, **options)
        if metric == "aw":
            return ao.anchor_wasserstein(x, y, **options).cost
        try:
            return ao.gromov_wasserstein(x, y, start="quick", **options).cost
        except ao.InputError:  # GW has no answer at some small epsilons
            return float("nan")

    def all_pairs(
        self, spaces: list[ao.Space], queries: NDArray[np.int64], n_jobs: int, checkpoint: Path | None
    ) -> NDArray[np.float64]:
        """Compare the queries with all shapes."""
        if self.options["metric"] == "got":
            return _got_pairs(spaces, queries, self.options["n_iter"], n_jobs)
        asked = None if len(queries) == len(spaces) else spaces  # all pairs are half the work
        chosen = [spaces[query] for query in queries]
        return ao.pairwise(chosen, asked, n_jobs=n_jobs, checkpoint=checkpoint, **self.options)


def methods(unit: float, n_small: int, n_large: int, quick: bool) -> list[Method]:
    """Return all methods; `unit` is the median squared cost, which GW's epsilons are shares of."""
    few, many, large = (1, 1, 1) if quick else (3, 5, 2)
    found = [
        Method("AE", "", {"metric": "ae"}, n_small, many),
        Method("robust AE", "", {"metric": "ae", "robust": True}, n_small, many),
        Method("AE, more points", f"n = {n_large}", {"metric": "ae"}, n_large, large),
    ]
    for epsilon in (0, 10.0) if quick else (0, 0.1, 1.0, 10.0, 100.0):
        setting = f"epsilon {epsilon:g}" if epsilon else "exact"
        found.append(Method("AW", setting, {"metric": "aw", "epsilon": epsilon}, n_small, few))
    found.append(Method("GW", "no epsilon", {"metric": "gw"}, n_small, few))
    for share, queries in ((1.0, 1),) if quick else ((3.0, 3), (1.0, None), (0.3, 2), (0.1, 2)):
        options = {"metric": "gw", "epsilon": share * unit}
        found.append(Method("GW", f"epsilon {share:g}", options, n_small, 1, queries))
    for n_iter in (1,) if quick else (5, 20):
        found.append(Method("GOT", f"steps {n_iter}", {"metric": "got", "n_iter": n_iter}, n_small, 1, 1))
    return found


def _got_cost(x: ao.Space, y: ao.Space, n_iter: int) -> float:
    weights_x, weights_y = (np.exp(-space.cost / SIGMA) for space in (x, y))
    return got(weights_x, weights_y, n_iter, np.random.default_rng(0), n_samples=3).cost


def _got_pairs(spaces: list[ao.Space], queries: NDArray[np.int64], n_iter: int, n_jobs: int) -> NDArray[np.float64]:
    def row(query: int) -> list[float]:
        return [_got_cost(spaces[query], space, n_iter) for space in spaces]

    with one_core(), ThreadPoolExecutor(n_jobs if n_jobs > 0 else None) as pool:
        return np.array(list(pool.map(row, queries.tolist())))
