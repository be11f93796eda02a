"""How well a match keeps the latent order of nodes, in three ways of numbering them and of breaking ties."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.clock import processor_time
from experiments.node_assignment.matchings import (
    Centrality,
    Labelled,
    anchor_plan,
    baseline_plan,
    centralities,
    centrality_levels,
    energy_plan,
    gromov_plan,
    match_in_order,
    proximal_plan,
    signal_plan,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Couple = tuple[Labelled, Labelled]
PlanMaker = Callable[[Labelled, Labelled], Floats]
Matcher = Callable[[np.random.Generator | None], Ints]  # ties by number or, with an rng, at random
DRAWS = 20  # of ties


@dataclass(frozen=True)
class Score:
    """One method on one pair of graphs: correlations, and seconds.

    Attributes
    ----------
    as_generated : float
        Of the latent orders of matched nodes, where nodes are numbered in that order and ties broken by number.
    shuffled : float
        The same with nodes numbered at random.
    split : float
        Numbered at random, ties split: the mean over random choices among equal ones.
    leak : float
        Between the random numbers themselves, ties broken by number: 0 if numbers mean nothing to the method.
    expected : float or None
        Of a node's order and the mean order under its row of the plan, ties split; None where there is no plan.
    coupled : float or None
        Of both orders under the plan itself, ties split.
    apart : float or None
        Total variation between the plan and the product coupling: 0 is the product, 1 - 1/n a matching.
    seconds : float
    """

    as_generated: float
    shuffled: float
    split: float
    leak: float
    expected: float | None
    coupled: float | None
    apart: float | None
    seconds: float


def plans(quick: bool) -> dict[str, PlanMaker]:
    """Return the methods that give a plan, but for AEP and align, which have a form for each reading, and GOT."""
    found: dict[str, PlanMaker] = {}
    found["AW (exact)"] = partial(anchor_plan, epsilon=0)
    for epsilon in (0.1,) if quick else (0.01, 0.1):
        found[f"AW (epsilon {epsilon:g})"] = partial(anchor_plan, epsilon=epsilon)
    found["GW from product, POT (no epsilon)"] = partial(baseline_plan, epsilon=None)
    for epsilon in (1.0,) if quick else (0.5, 1.0, 2.0):
        found[f"GW from product, POT (epsilon {epsilon:g})"] = partial(baseline_plan, epsilon=epsilon)
    found["GW from anchors (no epsilon)"] = partial(gromov_plan, epsilon=None)
    for epsilon in (1.0,) if quick else (0.5, 1.0):
        found[f"GW from anchors (epsilon {epsilon:g})"] = partial(gromov_plan, epsilon=epsilon)
    for epsilon in (20.0,) if quick else (20.0, 50.0):
        found[f"GWL (epsilon {epsilon:g})"] = partial(proximal_plan, epsilon=epsilon)
    return found


def slow_plans(quick: bool) -> dict[str, PlanMaker]:
    """Return the method that takes too long for all pairs of graphs."""
    n_iter = 5 if quick else 200
    return {f"GOT ({n_iter} steps)": partial(signal_plan, n_iter=n_iter)}


def scores(x: Labelled, y: Labelled, rng: np.random.Generator, *, quick: bool, slow: bool) -> dict[str, Score]:
    """Match two graphs by every method, or by all but the slow one."""
    labels, ties = rng.spawn(2)
    generated, shuffled = (x, y), (x.shuffled(labels), y.shuffled(labels))
    found = {"AEP": _energy_score(generated, shuffled, ties), "align": _align_score(generated, shuffled, ties)}
    for name, plan in (plans(quick) | (slow_plans(quick) if slow else {})).items():
        found[name] = _plan_score(generated, shuffled, plan, ties)
    for name, centrality in centralities(quick).items():
        found[name] = _centrality_score(generated, shuffled, centrality, ties)
    return found


def correlation(x: Labelled, y: Labelled, match: Ints) -> float:
    """Correlation of the latent orders of matched nodes; 0 if all have one match."""
    if (match == match[0]).all():
        return 0.0
    return float(np.corrcoef(x.order, y.order[match])[0, 1])


def coupling_correlation(x: Labelled, y: Labelled, plan: Floats) -> float:
    """Correlation of the latent orders of two nodes drawn by the plan."""
    mass = plan / plan.sum()
    ends = []
    for graph, weights in ((x, mass.sum(axis=1)), (y, mass.sum(axis=0))):
        centred = graph.order - weights @ graph.order
        ends.append(centred / np.sqrt(weights @ centred**2))
    return float(ends[0] @ mass @ ends[1])


def distance_from_product(plan: Floats) -> float:
    """Total variation between a plan and the product of its marginals."""
    mass = plan / plan.sum()
    return float(np.abs(mass - np.outer(mass.sum(axis=1), mass.sum(axis=0))).sum() / 2)


def _energy_score(generated: Couple, shuffled: Couple, rng: np.random.Generator) -> Score:
    by_number = [energy_plan(x, y, "index") for x, y in (generated, shuffled)]
    split, seconds = processor_time(lambda: energy_plan(*shuffled, "split"))
    matchers = [_plan_matcher(plan) for plan in (*by_number, split)]
    return _score(generated, shuffled, matchers, rng, seconds, split)


def _align_score(generated: Couple, shuffled: Couple, rng: np.random.Generator) -> Score:
    """Nodes are matched by the sharp plan; row means and couplings are those of the soft one."""
    first = _align(generated)
    found, seconds = processor_time(lambda: _align(shuffled))
    matchers = [_plan_matcher(plan) for plan in (first.plan, found.plan, found.plan)]
    return _score(generated, shuffled, matchers, rng, seconds, found.soft())


def _align(graphs: Couple) -> ao.Alignment:
    return ao.align(graphs[0].space, graphs[1].space, rng=0)


def _plan_score(generated: Couple, shuffled: Couple, make: PlanMaker, rng: np.random.Generator) -> Score:
    first = make(*generated)
    plan, seconds = processor_time(lambda: make(*shuffled))
    matchers = [_plan_matcher(first), _plan_matcher(plan), _plan_matcher(plan)]
    return _score(generated, shuffled, matchers, rng, seconds, plan)


def _centrality_score(generated: Couple, shuffled: Couple, centrality: Centrality, rng: np.random.Generator) -> Score:
    first = _levels(generated, centrality)
    levels, seconds = processor_time(lambda: _levels(shuffled, centrality))
    matchers: list[Matcher] = [partial(match_in_order, *pair) for pair in (first, levels, levels)]
    return _score(generated, shuffled, matchers, rng, seconds, None)


def _levels(graphs: Couple, centrality: Centrality) -> tuple[Ints, Ints]:
    return centrality_levels(graphs[0], centrality), centrality_levels(graphs[1], centrality)


def _plan_matcher(plan: Floats) -> Matcher:
    return lambda rng: ao.match(plan) if rng is None else ao.match(plan, ties="random", rng=rng)


def _score(
    generated: Couple,
    shuffled: Couple,
    matchers: list[Matcher],
    rng: np.random.Generator,
    seconds: float,
    plan: Floats | None,
) -> Score:
    by_number, by_random_number, by_chance = matchers
    x, y = shuffled
    found = by_random_number(None)
    return Score(
        as_generated=correlation(*generated, by_number(None)),
        shuffled=correlation(x, y, found),
        split=float(np.mean([correlation(x, y, by_chance(rng)) for _ in range(DRAWS)])),
        leak=float(np.corrcoef(np.arange(len(found)), found)[0, 1]),
        expected=None if plan is None else float(np.corrcoef(x.order, plan @ y.order / plan.sum(axis=1))[0, 1]),
        coupled=None if plan is None else coupling_correlation(x, y, plan),
        apart=None if plan is None else distance_from_product(plan),
        seconds=seconds,
    )
