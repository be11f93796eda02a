"""From two networks as they are given to the alignment in the caller's terms."""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any

import numpy as np

from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_memory
from anchorot.align.correspondence import Start
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.candidates import solve
from anchorot.align.graphs.inputs import Networks
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.result import GraphAlignment, rival_of
from anchorot.align.graphs.score import candidates, chances
from anchorot.align.graphs.symmetry import twin_classes
from anchorot.io.safe_open import note

AS_GOOD = 0.05  # of the best objective: a matching that has less by no more is about as good
ANOTHER = 0.1  # of the nodes matched otherwise make another matching
BYTES_PER_PAIR = 40  # of nodes, at the peak


def align_networks(
    networks: Networks, device: str | None, threads: int, rng: np.random.Generator, share: float
) -> GraphAlignment:
    """Align two networks, and match a share of the smaller one's nodes."""
    is_turned = networks.first.n > networks.second.n
    ordered = networks.turned() if is_turned else networks
    problem = ordered.problem()
    check_memory(problem.m, BYTES_PER_PAIR, "plans between")
    backend = Backend(threads)
    if device is not None:
        from anchorot.align.graphs.device import Device

        backend = Device(device)
    return interruptible(lambda: _align(ordered, problem, backend, rng, share, is_turned), problem.m)


def _align(
    networks: Networks, problem: Problem, backend: Backend, rng: np.random.Generator, share: float, is_turned: bool
) -> GraphAlignment:
    """Align two networks, the smaller one first; `is_turned` says that the caller has it second."""
    n, m = networks.first.n, networks.second.n
    hashes, unit = networks.hashes(), _unit(networks, problem)
    found = solve(problem, hashes, backend, rng)
    whole = found[0].matches
    chance = chances(problem, whole, hashes)
    best = _without_spare(whole, m)
    n_kept = round(share * n)
    best[np.argsort(-np.where(best >= 0, chance, -1), kind="stable")[n_kept:]] = -1
    chance = np.where(best >= 0, chance, 0.0)

    twins = [twin_classes(side.weights, own[: side.n]) for side, own in zip(networks[:2], hashes, strict=True)]
    others = [(_without_spare(one.matches, m), unit * one.value) for one in found[1:]]
    least = unit * (found[0].value - AS_GOOD * problem.magnitude(whole))
    rival = rival_of(best, others, twins[1], least, ANOTHER)
    doubts = partial(_soft, problem, whole, best, chance, is_turned, m)  # as large as a plan, and not always asked for
    if is_turned:
        chance = _turned(best, chance, m, 0.0)
        twins.reverse()
        rival = rival and type(rival)(_turned(rival.matches, None, m), rival.objective, rival.differs)
        best = _turned(best, None, m)
        networks = networks.turned()
    return GraphAlignment(
        matches=best,
        confidence=chance,
        objective=unit * found[0].value,
        starts=tuple(Start(one.name, unit * one.value, one.seconds, one.n_iter, one.is_finished) for one in found),
        runner_up=rival,
        converged=any(one.is_settled for one in found),
        twins=(twins[0], twins[1]),
        names=(networks.first.names, networks.second.names),
        graphs=(networks.first.weights, networks.second.weights),
        directed=networks.is_directed,
        doubts=doubts,
    )


def _soft(problem: Problem, whole: Int64s, best: Int64s, chance: Float64s, is_turned: bool, m: int) -> Float64s:
    """(n, m), in the order of the caller: where else nodes might belong."""
    found = candidates(problem, whole, np.flatnonzero(best >= 0), chance, m)
    return found.T if is_turned else found


def _unit(networks: Networks, problem: Problem) -> float:
    """What an objective is multiplied with: edges are counted once, and by the weights that they were given with.

    The largest weights are the unit where float64 does not hold the products of the given ones.
    """
    once = 1.0 if problem.is_directed else 0.5
    x, y = (float(side.weights.data.max(initial=0)) or 1.0 for side in networks[:2])
    unit = once * x * y
    if sys.float_info.min <= unit and math.isfinite(unit * (1 + abs(problem.bound))):
        return unit
    note(
        "the objective",
        f"is in units of the largest weights, {x:.3g} and {y:.3g}: their product is beyond float64; "
        "divide the weights by the largest to silence this",
    )
    return once


def _without_spare(matches: Int64s, m: int) -> Int64s:
    """Matches with the m nodes of the caller; -1 for others, which stand for none."""
    return np.where(matches < m, matches, -1)


def _turned(matches: Int64s, values: Any, m: int, missing: Any = -1) -> Any:
    """Matches of the m nodes on the other side, or what is known of matched nodes, given to their matches."""
    found = np.full(m, missing)
    kept = np.flatnonzero(matches >= 0)
    found[matches[kept]] = kept if values is None else values[kept]
    return found
