"""Logistic models of the chance that a match is right, with the coefficients that were fitted for each kind of data.

All coefficients are in `coefficients.toml`, with what they were fitted on and the command that fits them again
(``python benchmarks/calibrate.py --fit graphs``, ``meshes``, ``spaces``, ``whole_graphs`` or ``whole_spaces``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s

LEAST_CHANCE = 1e-12  # of a t-test; a smaller one is no surer


class Logistic(NamedTuple):
    """A linear score of named features, and the chance that it stands for."""

    coefficients: Mapping[str, float]
    constant: float

    def score(self, features: Mapping[str, Any]) -> Any:
        """The constant plus the sum of coefficient times feature; features that the model does not name are ignored."""
        return self.constant + sum(factor * features[name] for name, factor in self.coefficients.items())

    def probability(self, features: Mapping[str, Any]) -> Any:
        """The chance of the score."""
        return sigmoid(self.score(features))


def sigmoid(score: Any) -> Any:
    """1 / (1 + exp(-score)), without overflow at large scores."""
    return np.exp(-np.logaddexp(0, -np.asarray(score, np.float64)))


def t_log_odds(ratios: Float64s) -> float:
    """Log-odds, by a t-test, that such numbers are not above 0 on average: logit P(T > z); 0 of less than two."""
    from scipy.special import stdtr

    if len(ratios) < 2:
        return 0.0
    z = float(ratios.mean()) / max(float(ratios.std(ddof=1)), LEAST_CHANCE) * np.sqrt(len(ratios))
    more, fewer = np.log(np.maximum(stdtr(len(ratios) - 1, [-z, z]), LEAST_CHANCE))
    return float(more - fewer)


def load(name: str) -> Logistic:
    """The fitted model of this name, ``"graphs.match"`` for example."""
    task, part = name.split(".")
    table = tables()[task][part]
    return Logistic(table["coefficients"], table["constant"])


@cache
def tables() -> dict[str, Any]:
    """Everything in the data file: by kind of data, then by model."""
    import tomllib

    return tomllib.loads(files(__package__).joinpath("coefficients.toml").read_text(encoding="utf-8"))
