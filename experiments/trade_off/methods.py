"""The distances compared, with their parameters."""

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.trade_off.rivals import (
    PARTS,
    PROJECTIONS,
    RANK,
    Rival,
    low_rank_gromov,
    quantized_gromov,
    second_bound,
    sliced_third_bound,
)


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


def entropic_gromov(x: ao.Space, y: ao.Space, epsilon: float) -> float:
    """GW of a plan that entropy blurs, from the product of the weights, as in the paper."""
    return ao.gromov_wasserstein(x, y, epsilon, start="product").cost


def aligned(x: ao.Space, y: ao.Space) -> float:
    """GW of the matching that `align` finds."""
    return ao.align(x, y, rng=0).value


def methods(n_small: int, n_large: int, quick: bool) -> list[Method]:
    """Return all methods, AE first."""
    one, few, many, large = (1, 1, 1, 1) if quick else (1, 3, 5, 2)
    found = [
        Method("AE", "", {"metric": "ae"}, n_small, many),
        Method("robust AE", "", {"metric": "ae", "robust": True}, n_small, many),
        Method("AE, more points", f"n = {n_large}", {"metric": "ae"}, n_large, large),
        Method("SLB", "", second_bound, n_small, many),
        Method("sliced TLB", f"{PROJECTIONS} lines", sliced_third_bound, n_small, few),
    ]
    for epsilon in (0, 10.0) if quick else (0, 10.0, 100.0):
        setting = f"epsilon {epsilon:g}" if epsilon else "exact"
        found.append(Method("AW", setting, {"metric": "aw", "epsilon": epsilon}, n_small, few))
    found += [
        Method("GW", "from anchors", {"metric": "gw"}, n_small, few),
        Method("GW by POT", "from the product", gromov_by_pot, n_small, one),
    ]
    for epsilon in (4000.0,) if quick else (400.0, 4000.0):
        solve = partial(entropic_gromov, epsilon=epsilon)
        found.append(Method("entropic GW", f"epsilon {epsilon:g}", solve, n_small, one))
    return [
        *found,
        Method("align", "", aligned, n_small, one),
        Method("quantized GW", f"{PARTS} parts", quantized_gromov, n_small, one),
        Method("low-rank GW", f"rank {RANK}", low_rank_gromov, n_small, one),
    ]
