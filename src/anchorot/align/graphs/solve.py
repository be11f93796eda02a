"""From two networks as they are given to the alignment in the caller's terms."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from anchorot._parallel import interruptible
from anchorot._progress import Advance, late_bar
from anchorot._typing import Int64s
from anchorot._validate import check_free_memory, check_memory
from anchorot.align.correspondence import Candidate, excess_allowed, find_runner_up, warn_if_unreliable
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.candidates import ROUNDING, Ways, choose_ways, count_steps, solve
from anchorot.align.graphs.evidence import reliability
from anchorot.align.graphs.inputs import Networks
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.result import GraphAlignment, SolvedGraphs
from anchorot.align.graphs.score import judged
from anchorot.align.graphs.symmetry import twin_classes
from anchorot.io.safe_open import note

OBJECTIVE_ROUNDING = 1e-6  # of the objective without a common edge
BYTES_PER_PAIR = 40  # of nodes, at the peak
# With a few candidates for each node, at the peak: networks of 20 000 and 100 000 nodes took 0.4 to 0.9 of that.
BYTES_PER_NODE, BYTES_PER_EDGE = 5000, 1000


def align_networks(
    networks: Networks,
    device: str | None,
    threads: int,
    rng: np.random.Generator,
    share: float,
    is_sparse: bool | None,
    progress: bool,
) -> GraphAlignment:
    """Align two networks, and match a share of the smaller one's nodes."""
    is_turned = networks.first.n > networks.second.n
    ordered = networks.turned() if is_turned else networks
    ways = choose_ways(ordered.second.n, is_sparse, networks.has_features or device is not None)
    _check_memory(ordered, ways)
    problem = ordered.problem()
    backend = Backend(threads)
    if device is not None:
        from anchorot.align.graphs.device import Device

        backend = Device(device)
    with late_bar(count_steps(problem, ways), "aligning", "steps", progress) as advance:
        found, is_best = interruptible(
            lambda: _align(ordered, problem, backend, rng, share, is_turned, ways, advance), problem.m
        )
    if not problem.has_worth and not is_best:
        warn_if_unreliable(found.reliable, found.remedies, stacklevel=3)
    return found


def _check_memory(networks: Networks, ways: Ways) -> None:
    """Raise if there is not enough for two networks, the smaller one first."""
    sizes = [side.n for side in networks[:2]]
    if ways is Ways.SPARSE:
        edges = sum(side.weights.nnz for side in networks[:2])
        needed = BYTES_PER_NODE * sum(sizes) + BYTES_PER_EDGE * edges
        check_free_memory(needed, f"candidates of {sum(sizes)} nodes", "keep fewer nodes")
    else:
        check_memory(max(sizes), BYTES_PER_PAIR, "plans between")


def _align(
    networks: Networks,
    problem: Problem,
    backend: Backend,
    rng: np.random.Generator,
    share: float,
    is_turned: bool,
    ways: Ways,
    advance: Advance,
) -> tuple[GraphAlignment, bool]:
    """Align two networks, the smaller one first; also return whether no matching can be worth more.

    `is_turned` says that the caller has the smaller network second.
    """
    n, m = networks.first.n, networks.second.n
    hashes = networks.hashes()
    unit, is_scaled = _unit(networks, problem)
    found = solve(problem, hashes, backend, rng, ways, advance)
    whole = found[0].matches
    regions, alike = judged(problem, whole, hashes)
    chance = regions / alike
    best = _without_spare(whole, m)
    n_kept = round(share * n)
    best[np.argsort(-np.where(best >= 0, chance, -1), kind="stable")[n_kept:]] = -1
    chance = np.where(best >= 0, chance, 0.0)

    twins = [twin_classes(side.weights, own[: side.n]) for side, own in zip(networks[:2], hashes, strict=True)]
    solved = SolvedGraphs(problem, whole, np.flatnonzero(best >= 0), chance, m, is_turned)
    alone = sum(_edge_weight(side.weights, is_scaled, problem.is_directed) for side in networks[:2])  # none is common
    matchings = [best, *(_without_spare(one.matches, m) for one in found[1:])]
    candidates = [
        Candidate(
            name=one.name,
            objective=_without_rounding(alone - 2 * unit * one.value, alone),
            seconds=one.seconds,
            matches=_turned(own, None, m) if is_turned else own,
            differs=_share_differing(best, own, twins[1]),
            details={"n_iter": one.n_iter, "converged": one.is_finished},
        )
        for one, own in zip(found, matchings, strict=True)
    ]
    if is_turned:
        chance = _turned(best, chance, m, 0.0)
        twins.reverse()
        networks = networks.turned()
    result = GraphAlignment(
        matches=candidates[0].matches,
        confidence=chance,
        objective=candidates[0].objective,
        candidates=tuple(candidates),
        runner_up=find_runner_up(candidates, excess_allowed(candidates[0].objective, alone)),
        converged=found[0].is_finished,
        is_settled=any(one.is_settled for one in found),
        reliable=1.0 if problem.is_isomorphism(whole) else reliability(problem, whole, regions),
        twins=(twins[0], twins[1]),
        names=(networks.first.names, networks.second.names),
        graphs=(networks.first.weights, networks.second.weights),
        directed=networks.is_directed,
        _solved=solved,
    )
    return result, found[0].value >= problem.bound - ROUNDING * abs(problem.bound)


def _edge_weight(weights: csr_array, is_scaled: bool, is_directed: bool) -> float:
    """Sum of the squares of the weights of all edges, each counted once."""
    largest = (float(weights.data.max(initial=0)) or 1.0) if is_scaled else 1.0
    total, loops = (float(np.square(part / largest).sum()) for part in (weights.data, weights.diagonal()))
    return total if is_directed else (total + loops) / 2


def _without_rounding(objective: float, alone: float) -> float:
    """An objective that is 0 but for the rounding of float32."""
    return 0.0 if abs(objective) <= OBJECTIVE_ROUNDING * alone else objective


def _share_differing(best: Int64s, other: Int64s, twins: Int64s) -> float:
    """Share of the matched nodes whose other match is no twin of their match."""
    kept = np.flatnonzero(best >= 0)
    here, there = best[kept], other[kept]
    return float(np.mean((there < 0) | (twins[here] != twins[there]))) if len(kept) else 0.0


def _unit(networks: Networks, problem: Problem) -> tuple[float, bool]:
    """What a value is multiplied with, and whether weights count as shares of the largest.

    Edges are counted once, and by the weights that they were given with, unless float64 does not hold their squares.
    """
    once = 1.0 if problem.is_directed else 0.5
    x, y = (float(side.weights.data.max(initial=0)) or 1.0 for side in networks[:2])
    most = max(x * x, y * y) * (1 + problem.first.nnz + problem.second.nnz)
    if sys.float_info.min <= once * x * y and math.isfinite(most):
        return once * x * y, False
    note(
        "the objective",
        f"is in units of the largest weights, {x:.3g} and {y:.3g}: their squares are beyond float64; "
        "divide the weights by the largest to silence this",
    )
    return once, True


def _without_spare(matches: Int64s, m: int) -> Int64s:
    """Matches with the m nodes of the caller; -1 for others, which stand for none."""
    return np.where(matches < m, matches, -1)


def _turned(matches: Int64s, values: Any, m: int, missing: Any = -1) -> Any:
    """Matches of the m nodes on the other side, or what is known of matched nodes, given to their matches."""
    found = np.full(m, missing)
    kept = np.flatnonzero(matches >= 0)
    found[matches[kept]] = kept if values is None else values[kept]
    return found
