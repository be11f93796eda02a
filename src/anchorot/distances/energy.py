"""Anchor Energy: the energy distance between two spaces' anchors."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from anchorot._typing import RngLike
from anchorot._validate import check_choice, check_overflow, check_power, check_threads
from anchorot.anchors.attribute_features import attribute_features, settle_attributes
from anchorot.anchors.attributes import AttributeRule, AttributesLike
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.distances.w2_energy import ground_rows, is_w2, rows_energy
from anchorot.exceptions import InputError
from anchorot.space import Space

METHODS = ("auto", "sort", "sweep")


def anchor_energy(
    x: Space | AnchorFeatures | ArrayLike,
    y: Space | AnchorFeatures | ArrayLike,
    p: int = 1,
    robust: bool = False,
    method: str = "auto",
    *,
    ground: str = "w1",
    attributes: AttributesLike = None,
    max_cost: float | None = None,
    rng: RngLike = 0,
    threads: int = 1,
) -> float:
    r"""Anchor Energy between two measured metric spaces, exactly.

    Every point of a space is an *anchor*: the distribution of its costs to all points. AE is the energy distance
    between the two spaces' anchors, with one-dimensional optimal transport as the ground cost (the paper's Eq. 3):

    .. math:: AE_p = 2\,E[OT_p(h, g)] - E[OT_p(h, h')] - E[OT_p(g, g')]

    For p = 1 it is also twice the squared L2 distance of :math:`F(x, t) = \sum_i a_i [Q_i(t) \le x]`, the quantile
    functions' own distribution; it is computed as that square, so it is never negative and nothing cancels.

    AE is a *squared* distance: ``sqrt(anchor_energy(x, y))`` obeys the triangle inequality, for p in {1, 2}. For p >= 3
    it is no distance and can be negative, and it is slow: by NumPy alone, about ten times as slow as p = 1, and with
    weights about a hundred times. p = 2 compares only the mean quantile functions of the spaces: very cheap, but weak.

    AE can be 0 for spaces whose anchors differ. With p = 1 it depends on F alone: at each level t on how the quantiles
    :math:`Q_i(t)` are distributed over the anchors, but not on which quantiles of different levels are of one anchor.
    ``ground="w2"`` depends on that too. It is the energy distance with the *unsquared* Wasserstein distance
    :math:`W_2(h, g) = \|Q_h - Q_g\|` as ground,

    .. math:: 2\,E[W_2(h, g)] - E[W_2(h, h')] - E[W_2(g, g')],

    a squared distance too, and 0 only where both spaces have the same anchors with the same masses. It takes O(n³)
    time; :func:`~anchorot.distances.projected_energy` estimates it in O(n²).

    With `attributes` it distinguishes points by more than their costs. Anchors and what they see are split by type,

    .. math:: F_{cb}(x, t) = s_b \sum_{i \in c} a_i [Q_i^b(t) \le x], \quad
        AE = \sum_{c, b} 2 \iint_{x \le R} (F_{cb} - G_{cb})^2 dx\, dt

    (s_b: mass of type b, Q_i^b: quantiles of anchor i's costs to the points of type b), or anchors weigh vectors
    :math:`\varphi(i)` of their features, F being vector-valued. Both are squared distances again, of attributes and
    structure together; adding a cost of features to that of structure would not couple the two.

    Parameters
    ----------
    x, y : Space, AnchorFeatures or array_like of shape (n, n)
        A bare cost matrix stands for a uniform space. With :class:`AnchorFeatures` the sorting is done already.
    p : int from 1 to 64
        Power of the cost.
    robust : bool
        Compare the ranks of the costs instead of the costs (:meth:`Space.ranked`): unchanged by any increasing map
        of either space's costs, so blind to scale.
    method : {"auto", "sort", "sweep"}
        - "sort": sort rows, sort columns, merge. For uniform weights. O(n² log n) time, O(n²) memory.
        - "sweep": sweep over all CDF jumps, for any weights.
        - "auto": "sort" where it applies, else "sweep".
    ground : {"w1", "w2"}
        The distance between anchors: OT_p, or the unsquared W_2. The latter goes with p=1, method="auto" and spaces,
        not with `attributes`, `max_cost` or :class:`AnchorFeatures`.
    attributes : {"types", "features"}, FeatureMap, optional
        Distinguish points by :attr:`Space.types` or by :attr:`Space.features`, these through random Fourier features
        of the median width or through a given :func:`~anchorot.anchors.feature_map`. p = 1 only.
        Types are the same if they are equal; a type that one of the spaces lacks has no mass there.
    max_cost : float, optional
        Compare costs up to here: every cost above counts as this one. A local distance, growing with it; p = 1
        only. By default there is no limit. With attributes, whose masses may differ, it is the largest cost of both
        spaces; for fields of view (:attr:`Space.area`) the median distance to the 10th neighbour, the same for all.
        Give the same to all pairs of a collection (:func:`pairwise` does): only then is AE one squared distance.
    rng : None, int or numpy.random.Generator
        For random Fourier features. They are part of what this distance is, so that by default, 0, the draw is the same
        every time: values of separate calls compare.
    threads : int
        Threads for the kernels; the result is the same to the last bit.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> line = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> round(ao.anchor_energy(line, triangle), 6)
    0.296296
    >>> ao.anchor_energy(line, line)
    0.0
    >>> in_the_middle, at_the_end = ao.Space(line, types=list("HOH")), ao.Space(line, types=list("OHH"))
    >>> round(ao.anchor_energy(in_the_middle, at_the_end, attributes="types"), 6)
    0.271605

    Two graphs of six nodes whose anchors differ, but agree level by level:

    >>> from scipy.sparse.csgraph import shortest_path
    >>> def paths(*edges):
    ...     graph = np.zeros((6, 6))
    ...     graph[tuple(np.transpose(edges))] = 1
    ...     return shortest_path(graph, directed=False)
    >>> x = paths((0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (3, 5))
    >>> y = paths((0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (4, 5))
    >>> ao.anchor_energy(x, y), round(ao.anchor_energy(x, y, ground="w2"), 6)
    (0.0, 0.026572)
    """
    p = check_power(p)
    threads = check_threads(threads)
    check_choice(method, "method", METHODS)
    if is_w2(ground, alone=p == 1 and method == "auto" and attributes is None and max_cost is None):
        return rows_energy(ground_rows(x, robust, threads), ground_rows(y, robust, threads), threads)
    attribute_rule = settle_attributes((x, y), attributes, max_cost, robust=robust, rng=rng)
    if attribute_rule is not None:
        return _attribute_energy(x, y, attribute_rule, p, robust, method, threads)
    mean_only = p == 2 and method == "auto"
    fx, fy = (as_features(s, robust=robust, threads=threads, mean_only=mean_only) for s in (x, y))
    if method == "sweep":
        return fx.sweep_energy_to(fy, p, threads=threads)
    if method == "sort" and (fx.levels is None or fy.levels is None):
        raise InputError("method='sort' needs uniform weights; method='sweep' takes any weights")
    return fx.energy_to(fy, p, threads=threads)


def _attribute_energy(
    x: Any, y: Any, attribute_rule: AttributeRule, p: int, robust: bool, method: str, threads: int
) -> float:
    if p != 1:
        raise InputError(f"attributes and max_cost need p=1, but got p={p}")
    fx, fy = (
        attribute_features(side, attribute_rule, robust=robust, threads=threads, name=name)
        for side, name in ((x, "x"), (y, "y"))
    )
    return fx.sweep_energy_to(fy, threads=threads) if method == "sweep" else fx.energy_to(fy, threads=threads)


def expected_cost(
    x: Space | AnchorFeatures | ArrayLike,
    y: Space | AnchorFeatures | ArrayLike,
    p: int = 1,
    robust: bool = False,
    method: str = "auto",
    *,
    threads: int = 1,
) -> float:
    r"""Mean transport cost :math:`E[OT_p(h, g)]` between an anchor h of x and an anchor g of y.

    The first of the three terms of the Anchor Energy (what the paper's authors' program prints). It is not a
    distance: ``expected_cost(x, x)`` is not 0. Parameters are those of :func:`anchorot.anchor_energy`.

    Returns
    -------
    float
        In units of the costs to the power p; never negative but for rounding.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.distances.expected_cost([[0, 1], [1, 0]], [[0, 3], [3, 0]])
    1.0
    """
    p = check_power(p)
    threads = check_threads(threads)
    check_choice(method, "method", METHODS)
    fx, fy = (as_features(s, robust=robust, threads=threads) for s in (x, y))
    # AE = 2 E_xy - E_xx - E_yy, solved for the cross term
    cost = (anchor_energy(fx, fy, p, robust, method, threads=threads) + fx.self_cost(p) + fy.self_cost(p)) / 2
    check_overflow(cost, p)
    return cost
