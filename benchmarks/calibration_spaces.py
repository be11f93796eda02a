"""Pairs of spaces that the confidence of `align` is fitted to, and others that it is reported on."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from anchorot.align.spaces.score import features_of
from calibration import Fit, Floats, Job, Models, Seen, Task, fitted, joined, linear, weights_of
from confidence import FIT_PAIRS, HELD, PAIRS, Pair, aligned
from drawn_pairs import DRAWN

NOTHING = "nothing in common"


def observe_drawn(name: str, seed: int) -> Seen:
    return observe(DRAWN[name][0](np.random.default_rng([seed, *name.encode()])))


def observe(pair: Pair) -> Seen:
    seen, is_right = aligned(pair)
    return seen | {"is_right": is_right}


def jobs(folder: Path, is_fit: bool) -> Iterator[Job]:
    for name, (_, serves) in DRAWN.items():
        if serves == is_fit:
            yield from (Job(name, k, observe_drawn, (name, k)) for k in range(FIT_PAIRS if is_fit else PAIRS))
    for name, (pairs, needed, serves) in HELD.items():
        if serves == is_fit and (folder / needed).exists():
            drawn = enumerate(pairs(folder))
            yield from (Job(name, k, observe, (pair,)) for k, pair in drawn if isinstance(pair, Pair))


def fit(found: dict[str, list[Seen]]) -> dict[str, Fit]:
    """Both models: `by_chance` from spaces with nothing in common, `match` from all."""
    whole = ("dimension", "points", "kept neighbours")  # alike at all points of a pair
    dimension, points, kept = (np.array([one[name][0] for one in found[NOTHING]]) for name in whole)
    by_chance = linear({"log dimension": np.log(dimension), "log points": np.log(points)}, kept)
    seen = [one for pairs in found.values() for one in pairs]
    total = joined(seen, seen[0])
    features = features_of(total, by_chance)
    names = ("neighbours", "agreement", "kept beyond chance")
    weights = weights_of([sum(len(one["is_right"]) for one in pairs) for pairs in found.values()])
    divisor = (1 + total["exchanges"]) * total["solutions"]
    match = fitted({name: features[name] for name in names}, total["is_right"], weights, divisor)
    return {
        "match": Fit(match, len(seen), len(weights)),
        "by_chance": Fit(by_chance, len(found[NOTHING]), len(found[NOTHING])),
    }


def judge(pairs: list[Seen], models: Models) -> dict[str, tuple[Floats, Floats]]:
    total = joined(pairs, pairs[0])
    chance = models["match"].probability(features_of(total, models["by_chance"]))
    return {"": (chance / (1 + total["exchanges"]) / total["solutions"], total["is_right"])}


TASK = Task(
    jobs,
    fit,
    judge,
    {
        "match": "pairs of spaces of seven kinds: Gaussian clouds, two views of clusters, bent surfaces, neighbours' "
        "graphs, nearly symmetric clouds, nothing in common, scans of one person",
        "by_chance": "pairs of Gaussian clouds with nothing in common, by least squares",
    },
)
