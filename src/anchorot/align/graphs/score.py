"""How sure one can be of a node's match, from the matching alone.

The chance is that of the right neighbourhood, divided by the number of nodes in it that would do as well (`ties`, by
exchanges that cost nothing, or because refinement cannot distinguish nodes). The first is a logistic function of what
the matching shows: how many common edges the next best exchange would cost (`margin`), margins and ties of the nodes
that a node shares edges with, and how good the whole matching is: the `share` of edges that are common, and their
`excess` over what networks of that degree with nothing in common would share. The coefficients are in
align/coefficients.toml; ``python benchmarks/calibrate.py --fit graphs`` draws the pairs of random networks and fits
them, and the guide on graphs has figures for other kinds.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from anchorot._typing import Float32s, Float64s, Int64s
from anchorot._validate import check_free_memory
from anchorot.align.calibration import Logistic, load
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.sparse.changes import margins_and_ties
from anchorot.align.graphs.symmetry import Hashes, refined_colours

TIE_TOLERANCE = 1e-4  # edges: an exchange that costs less costs nothing; sums of float32 weights are off by as much
LARGEST_MARGIN = 10.0  # edges: margins of hubs grow with their degree, and would outweigh all others nearby
MIN_DEGREE = 1e-3  # edges per node, where there are hardly any: its logarithm is a feature
MIN_COMMON = 0.01  # common edges per node, likewise
BYTES_PER_PAIR = 32  # of nodes, at the peak, of what else they may be matched with
MANY_PAIRS = 5000**2  # beyond, exchanges that lose both nodes' edges are not computed one by one


def edge_support(common: csr_array, steps: int = 8) -> Float64s:
    """(n,): how far a node's edges are common ones, and lead to nodes whose edges are: 1 on average.

    Wrong matches have common edges too, as many as a tree has; right ones hang together by more.
    """
    sure = np.ones(common.shape[0])
    for _ in range(steps):
        sure = common @ sure + 1e-9
        sure /= sure.mean()
    return sure


def judged(problem: Problem, matches: Int64s, attributes: tuple[Hashes, Hashes]) -> tuple[Float64s, Int64s]:
    """(n,) and (n,): estimated chance that a match is in the right neighbourhood, and how many nodes there are as good.

    The match is the right one with the chance divided by that number. `attributes` are what nodes have besides edges.
    """
    seen = observations(problem, matches, attributes)
    chance = load("graphs.match").probability(features_of(seen, load("graphs.by_chance")))
    return np.asarray(chance, np.float64), seen["alike"]


def observations(problem: Problem, matches: Int64s, attributes: tuple[Hashes, Hashes]) -> dict[str, Any]:
    """What the chances are computed from: of every node, or of the whole; and the number of matches as good (`alike`).

    Degrees and common edges are per node.
    """
    common = problem.common(matches)
    edges = csr_array((np.ones(common.nnz), common.indices, common.indptr), shape=common.shape)
    if problem.n * problem.m > MANY_PAIRS:
        margin, ties = sparse_margins_and_ties(problem, matches, common)
    else:
        margin, ties = dense_margins_and_ties(problem, matches, common)
    around = np.maximum(edges.sum(axis=1), 1)
    sizes = [_class_sizes(side, own) for side, own in zip((problem.first, problem.second), attributes, strict=True)]
    return {
        "margin": margin,
        "margin nearby": edges @ margin / around,
        "ties nearby": edges @ np.log(ties) / around,
        "common edges": max(MIN_COMMON, common.nnz / 2 / problem.n),
        "degree": max(MIN_DEGREE, float(np.sqrt(problem.first.nnz / problem.n * problem.second.nnz / problem.m))),
        "share": common.nnz / max(1, min(problem.first.nnz, problem.second.nnz)),
        "alike": np.maximum(ties, np.maximum(sizes[0], sizes[1][matches])),
    }


def dense_margins_and_ties(problem: Problem, matches: Int64s, common: csr_array) -> tuple[Float32s, Int64s]:
    """What the next best exchange costs each node that costs something, and how many, itself too, cost nothing."""
    change = np.maximum(changes_in_edges(problem, matches, common), -LARGEST_MARGIN)  # -inf for other kinds
    change[np.arange(problem.n), matches] = 0
    is_tie = change >= -TIE_TOLERANCE
    ties = is_tie.sum(axis=1)
    margin = -np.where(is_tie, -np.inf, change).max(axis=1)
    return np.minimum(np.where(np.isfinite(margin), margin, 0.0), LARGEST_MARGIN), ties


def sparse_margins_and_ties(problem: Problem, matches: Int64s, common: csr_array) -> tuple[Float32s, Int64s]:
    """The same, without a matrix of all pairs of nodes."""
    margin, ties = margins_and_ties(problem, matches, unit_of_changes(problem, common), TIE_TOLERANCE)
    return np.where(ties < problem.m, np.minimum(margin, LARGEST_MARGIN), 0.0).astype(np.float32), ties


def features_of(seen: dict[str, Any], by_chance: Logistic) -> dict[str, Any]:
    """Evidence for a match; `by_chance` gives common edges per node between networks with nothing in common."""
    return {
        "margin": np.log1p(seen["margin"]),
        "margin nearby": np.log1p(seen["margin nearby"]),
        "ties nearby": seen["ties nearby"],
        "excess": np.log(seen["common edges"] / by_chance.score(seen)),
        "degree": np.log(seen["degree"]),
        "share": seen["share"],
    }


def candidates(problem: Problem, whole: Int64s, kept: Int64s, chance: Float64s, m: int) -> Float64s:
    """(n, m): where each node might belong. Its match has its chance; others share the rest by what they would cost.

    Of the first m nodes of the second network, and of the nodes that are kept of a whole matching: their rows sum to 1,
    others to 0.
    """
    what = f"chances of all pairs of {problem.n} and {m} nodes"
    check_free_memory(float(BYTES_PER_PAIR) * problem.n * problem.m, what, "use matches and confidence")
    change = changes_in_edges(problem, whole, problem.common(whole))[kept, :m]
    at = np.arange(len(kept)), whole[kept]
    change[at] = -np.inf
    shares = np.exp(change - change.max(axis=1, keepdims=True, initial=-1e30), dtype=np.float64)
    total = shares.sum(axis=1, keepdims=True)
    shares *= np.divide(1 - chance[kept, None], total, out=np.zeros_like(total), where=total > 0)
    shares[at] = chance[kept]
    found = np.zeros((problem.n, m))
    found[kept] = shares / shares.sum(axis=1, keepdims=True)
    return found


def changes_in_edges(problem: Problem, matches: Int64s, common: csr_array) -> Float32s:
    """(n, m): how many common edges it gains to exchange i's match for j, in edges of average weight."""
    return problem.changes_by_swap(matches) / np.float32(unit_of_changes(problem, common))


def unit_of_changes(problem: Problem, common: csr_array) -> float:
    """By how much the value changes for a common edge of average weight."""
    mean = float(common.data.mean()) if common.nnz else 1.0
    return mean * (1 if problem.is_directed else 2)


def _class_sizes(matrix: csr_array, attributes: Hashes) -> Int64s:
    """(n,): of every node, how many have its colour."""
    _, number, count = np.unique(refined_colours(matrix, attributes), return_inverse=True, return_counts=True)
    return count[number]
