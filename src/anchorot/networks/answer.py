"""From two networks as they are given to the answer in the caller's terms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_memory
from anchorot.distances.alignment import Start
from anchorot.networks.backend import Backend
from anchorot.networks.confidence import candidates, chances
from anchorot.networks.inputs import Networks
from anchorot.networks.problem import Problem
from anchorot.networks.result import GraphAlignment, rival_of
from anchorot.networks.solver import solve
from anchorot.networks.symmetry import twin_classes

AS_GOOD = 0.05  # of the best objective: an answer that has less by no more is about as good
ANOTHER = 0.1  # of the nodes matched otherwise make another answer
BYTES_PER_PAIR = 40  # of nodes, at the peak


def align_networks(
    networks: Networks, device: str | None, threads: int, rng: np.random.Generator, share: float
) -> GraphAlignment:
    """Align two networks, and match a share of the smaller one's nodes."""
    most = max(networks.first.n, networks.second.n)
    check_memory(most, BYTES_PER_PAIR, "plans between")
    backend = Backend(threads)
    if device is not None:
        from anchorot.networks.device import Device

        backend = Device(device)
    return interruptible(lambda: _align(networks, backend, rng, share), most)


def _align(networks: Networks, backend: Backend, rng: np.random.Generator, share: float) -> GraphAlignment:
    is_turned = networks.first.n > networks.second.n
    ordered = networks.turned() if is_turned else networks
    problem, hashes = ordered.problem(), ordered.hashes()
    found = solve(problem, hashes, backend, rng)
    best = found[0].matches.copy()
    chance = chances(problem, best, hashes)
    if problem.forbidden is not None:
        best[problem.forbidden[np.arange(problem.n), best]] = -1
    n_kept = round(share * problem.n)
    best[np.argsort(-np.where(best >= 0, chance, -1), kind="stable")[n_kept:]] = -1
    chance = np.where(best >= 0, chance, 0.0)

    twins = [twin_classes(side.weights, own) for side, own in zip(ordered[:2], hashes, strict=True)]
    unit = _unit(ordered, problem)
    others = [(one.matches, unit * one.value) for one in found[1:]]
    rival = rival_of(best, others, twins[1], (1 - AS_GOOD) * unit * found[0].value, ANOTHER)
    doubts = partial(_soft, problem, best, chance, is_turned)  # as large as a plan, and not always asked for
    if is_turned:
        chance = _turned(best, chance, problem.m, 0.0)
        twins.reverse()
        rival = rival and type(rival)(_turned(rival.matches, None, problem.m), rival.objective, rival.differs)
        best = _turned(best, None, problem.m)
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


def _soft(problem: Problem, matches: Int64s, chance: Float64s, is_turned: bool) -> Float64s:
    """(n, m), in the order of the caller: where else nodes might belong."""
    found = candidates(problem, matches, chance)
    return found.T if is_turned else found


def _unit(networks: Networks, problem: Problem) -> float:
    """What an objective is multiplied with: edges are counted once, and by the weights that they were given with."""
    largest = [float(side.weights.data.max(initial=0)) or 1.0 for side in networks[:2]]
    return largest[0] * largest[1] / (1 if problem.is_directed else 2)


def _turned(matches: Int64s, values: Any, m: int, missing: Any = -1) -> Any:
    """Matches of the m nodes on the other side, or what is known of matched nodes, given to their matches."""
    found = np.full(m, missing)
    kept = np.flatnonzero(matches >= 0)
    found[matches[kept]] = kept if values is None else values[kept]
    return found
