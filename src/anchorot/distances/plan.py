"""The Anchor Energy Plan, a mean of couplings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels
from anchorot._kernels.records import ShareSteps, common_segments, from_heights, tie_blocks, to_heights
from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import check_choice, check_indices
from anchorot.space import Space, as_space

MAX_COUNTED_ROWS = 8  # of a plan: for fewer than about this number, counting is faster than sorting


def anchor_energy_plan(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    robust: bool = False,
    *,
    rows: Sequence[int] | None = None,
    ties: str = "split",
) -> Float64s:
    r"""Anchor Energy Plan: the mean of the optimal couplings of all pairs of anchors.

    .. math:: AEP = \sum_{ij} a_i b_j \arg\min_{P} \sum_{kl} P_{kl} |C_{ik} - C'_{jl}|^p

    An optimal coupling on the line matches equal quantiles, whatever p, so :math:`AEP_{kl} = \int A_t(k) B_t(l)\,dt`
    with :math:`A_t(k)` the share of anchors whose quantile at level t is the point k: a product of two matrices.

    A mean of optimal couplings is not optimal itself: its mass is spread over all similar points. It is quick, unique
    and smooth, and shows at a glance which points are similar; to match points, use :func:`align`.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
        A bare cost matrix stands for a uniform space.
    robust : bool
        Accepted as by the other distances, and never read: the plan depends on the order of each anchor's costs alone,
        which ranks keep, so that the plan of the ranked spaces is this one.
    rows : sequence of int, optional
        Compute only these rows of the plan, without the rest.
    ties : {"split", "index"}
        Where points tie in an anchor's view, as most do on graphs, the coupling is not unique. "split" shares their
        levels between them in proportion to their weights: the only choice that does not depend on how points are
        numbered. "index" takes them in the order of their numbers, as the authors' program does; the plan then leaks
        that order.

    Returns
    -------
    ndarray of shape (n, m) or (len(rows), m)
        Its rows sum to ``x.weights``, its columns (of the whole plan) to ``y.weights``.

    Notes
    -----
    Uniform spaces: two sorts and one matrix product, O(n m (n + m)) operations at the speed of BLAS. With weights every
    step of one space's shares meets the primitives of the other's, O(n² m).

    Examples
    --------
    >>> import anchorot as ao
    >>> path = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> ao.anchor_energy_plan(path, path).round(3).tolist()
    [[0.13, 0.074, 0.13], [0.074, 0.185, 0.074], [0.13, 0.074, 0.13]]
    """
    check_choice(ties, "ties", ("split", "index"))
    space_x, space_y = as_space(x), as_space(y)
    atoms = np.arange(space_x.n) if rows is None else check_indices(rows, "rows", space_x.n)
    if len(atoms) == 0:
        return np.zeros((0, space_y.n))
    plan_of = _uniform_plan if space_x.is_uniform and space_y.is_uniform else _weighted_plan
    return interruptible(lambda: plan_of(space_x, space_y, atoms, ties), max(space_x.n, space_y.n))


def _shares_of_few(cost: Floats, atoms: Int64s) -> Float64s:
    """Columns `atoms` of the level shares with split ties, by counting smaller and equal costs instead of sorting."""
    n = len(cost)
    steps = np.zeros((n + 1, len(atoms)))
    for column, k in enumerate(atoms):
        below = np.count_nonzero(cost < cost[:, [k]], axis=1)
        block = np.count_nonzero(cost == cost[:, [k]], axis=1)
        share = 1 / (n * block)
        steps[:, column] = np.bincount(below, share, n + 1) - np.bincount(below + block, share, n + 1)
    return np.maximum(np.cumsum(steps[:-1], axis=0), 0)


def _uniform_plan(x: Space, y: Space, atoms: Int64s, ties: str) -> Float64s:
    split = ties == "split"
    if split and len(atoms) < MAX_COUNTED_ROWS:
        shares_x = _shares_of_few(x.cost, atoms)
    else:
        shares_x = kernels.level_shares(x.cost.astype(np.float64, copy=False), split)[:, atoms]
    shares_y = kernels.level_shares(y.cost.astype(np.float64, copy=False), split)
    if x.n == y.n:
        return shares_x.T @ shares_y / x.n
    k, l, width = common_segments(x.n, y.n)
    return (shares_x[k] * width[:, None]).T @ shares_y[l]


def _weighted_plan(x: Space, y: Space, atoms: Int64s, ties: str) -> Float64s:
    steps_x, steps_y = _share_steps(x, atoms, ties), _share_steps(y, np.arange(y.n), ties)
    return np.maximum(kernels.share_product(steps_x, len(atoms), steps_y, y.n, threads=1), 0)


def _share_steps(space: Space, atoms: Int64s, ties: str) -> ShareSteps:
    """A_t(k) for the chosen points: each anchor gives each of them a_i a_k / |block| on the levels of its block."""
    anchors, heavy = np.flatnonzero(space.weights), np.flatnonzero(space.weights[atoms])
    heights = to_heights(space.weights)
    below, block = _blocks(space.cost[anchors], heights, atoms[heavy], ties)
    begin, end = from_heights(below).ravel(), from_heights(below + block).ravel()
    share = (np.outer(space.weights[anchors], space.weights[atoms[heavy]]) / from_heights(block)).ravel()
    point = np.tile(heavy.astype(np.uint32), len(anchors))
    level, order = kernels.argsort(np.concatenate([begin, end]), threads=1)
    return ShareSteps(level, np.tile(point, 2)[order], np.concatenate([share, -share])[order])


def _blocks(cost: Floats, heights: Int64s, atoms: Int64s, ties: str) -> tuple[Int64s, Int64s]:
    """Of every anchor and chosen point: total weight at smaller cost, and at the same cost, in integers."""
    order = np.argsort(cost, axis=1, kind="stable")
    ends = np.cumsum(heights[order], axis=1)
    if ties == "index":
        below, block = ends - heights[order], heights[order]
    else:
        ordered = np.take_along_axis(cost, order, axis=1)
        first, end = tie_blocks(ordered)
        below = np.take_along_axis(ends - heights[order], first, axis=1)
        block = np.take_along_axis(ends, end - 1, axis=1) - below
    place_of = np.empty_like(order)
    np.put_along_axis(place_of, order, np.broadcast_to(np.arange(cost.shape[1]), cost.shape), axis=1)
    chosen = place_of[:, atoms]
    return np.take_along_axis(below, chosen, axis=1), np.take_along_axis(block, chosen, axis=1)
