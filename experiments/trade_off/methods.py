"""The distances compared, with their parameters."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.trade_off.rivals import PARTS, PROJECTIONS, Rival, quantized_gromov, second_bound, sliced_third_bound


@dataclass(frozen=True)
class Method:
    """A distance with its parameter.

    Attributes
    ----------
    family : str
        One line of the picture.
    setting : str
        The parameter, in words.
    how : dict or callable
        Arguments of `anchorot.pairwise`, or the distance itself.
    n_points : int
        Points of each shape.
    draws : int
        How many draws of points are compared.
    """

    family: str
    setting: str
    how: dict[str, Any] | Rival
    n_points: int
    draws: int

    @property
    def name(self) -> str:
        """Family and setting."""
        return f"{self.family} ({self.setting})" if self.setting else self.family

    def compare(self, x: ao.Space, y: ao.Space) -> float:
        """Compare two shapes, as one who has nothing but their costs would."""
        if callable(self.how):
            return self.how(x, y)
        options = dict(self.how)
        metric = options.pop("metric")
        if metric == "ae":
            return ao.anchor_energy(x, y, **options)
        if metric == "aw":
            return ao.anchor_wasserstein(x, y, **options).cost
        return ao.gromov_wasserstein(x, y, start="quick", **options).cost

    def all_pairs(self, spaces: list[ao.Space], n_jobs: int, scratch: Path | None) -> NDArray[np.float64]:
        """Compare all shapes with each other; what takes long is kept in `scratch` for the next run."""
        if not callable(self.how):
            checkpoint = None if scratch is None else scratch / f"{self.name} {_digest(spaces)}"
            return ao.pairwise(spaces, n_jobs=n_jobs, checkpoint=checkpoint, **self.how)
        file = None if scratch is None else scratch / f"{self.name} {_digest(spaces)}.npy"
        if file is not None and file.exists():
            return np.asarray(np.load(file), dtype=np.float64)
        costs = np.stack([space.cost for space in spaces])  # one array, which workers map instead of copying it
        rows = joblib.Parallel(n_jobs)(joblib.delayed(_row)(self.how, costs, i) for i in range(len(spaces)))
        found = np.array(rows)
        found += found.T
        if file is not None:
            np.save(file, found)
        return found


def _row(distance: Rival, costs: NDArray[np.float64], i: int) -> NDArray[np.float64]:
    """Compare one shape with those after it."""
    first = ao.Space(costs[i])
    return np.array([distance(first, ao.Space(other)) if j > i else 0.0 for j, other in enumerate(costs)])


def _digest(spaces: list[ao.Space]) -> str:
    seen = hashlib.sha256(ao.__version__.encode())
    for space in spaces:
        seen.update(np.ascontiguousarray(space.cost).tobytes())
    return seen.hexdigest()[:16]


def gromov_by_pot(x: ao.Space, y: ao.Space) -> float:
    """GW as POT solves it by default: conditional gradients from the product of the weights."""
    return ao.gromov_wasserstein(x, y, start="product").cost


def methods(n_small: int, n_large: int, draws: int) -> list[Method]:
    """Return all methods, AE first; AE, AW and GW, which are judged, have all draws."""
    few = min(3, draws)
    return [
        Method("AE", "", {"metric": "ae"}, n_small, draws),
        Method("robust AE", "", {"metric": "ae", "robust": True}, n_small, draws),
        Method("AE, more points", f"n = {n_large}", {"metric": "ae"}, n_large, min(2, draws)),
        Method("SLB", "", second_bound, n_small, few),
        Method("sliced TLB", f"{PROJECTIONS} lines", sliced_third_bound, n_small, few),
        Method("AW", "exact", {"metric": "aw", "epsilon": 0}, n_small, draws),
        Method("GW", "from anchors", {"metric": "gw"}, n_small, draws),
        Method("GW by POT", "from the product", gromov_by_pot, n_small, 1),
        Method("quantized GW", f"{PARTS} parts", quantized_gromov, n_small, 1),
    ]
