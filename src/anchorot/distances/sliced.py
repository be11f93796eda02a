"""Sliced Anchor Wasserstein: transport between the anchors' quantiles, one level at a time."""

from __future__ import annotations

from numpy.typing import ArrayLike

from anchorot._validate import check_low_power, check_threads
from anchorot.anchors.attribute_features import attribute_features, settle_attributes
from anchorot.anchors.attributes import AttributeRule, AttributesLike
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.space import Space


def sliced_anchor_wasserstein(
    x: Space | AnchorFeatures | ArrayLike,
    y: Space | AnchorFeatures | ArrayLike,
    p: int = 1,
    robust: bool = False,
    *,
    attributes: AttributesLike = None,
    max_cost: float | None = None,
    threads: int = 1,
) -> float:
    r"""Sliced Anchor Wasserstein distance between two measured metric spaces, exactly.

    At each level t the anchors' quantiles :math:`Q_i(t)`, with the points' weights, are a distribution on the line.
    SAW transports one space's to the other's, level by level:

    .. math:: SAW_p = \Big(\int_0^1 W_p(\mu_t, \nu_t)^p\,dt\Big)^{1/p}
        = \Big(\iint |G_X(s, t) - G_Y(s, t)|^p\,ds\,dt\Big)^{1/p}

    with :math:`G_X(s, t)` the s-quantile of the :math:`Q_i(t)`. For uniform spaces of one size it is the mean absolute
    difference (p = 1) of two matrices whose rows, then columns, are sorted.

    It compares what Anchor Energy compares, and is 0 where that is 0, but it is a distance without a root: costs times
    c multiply it by c, and a constant d added to all costs of one of two equal spaces makes it d. It is at most
    :func:`anchor_wasserstein` without regularisation, usually little less, and so bounds Gromov-Wasserstein:
    :math:`AE / 2 \le SAW_1 \le AW_1 \le 2\,GW_1`. SAW_1 is an L1 distance and SAW_2 a Euclidean distance
    (:func:`signature` gives its vectors), so ``exp(-g SAW_1)`` and ``exp(-g SAW_2²)`` are positive definite kernels.

    Parameters
    ----------
    x, y : Space, AnchorFeatures or array_like of shape (n, n)
        A bare cost matrix stands for a uniform space. With :class:`AnchorFeatures` the sorting is done already.
    p : {1, 2}
        Power of the cost.
    robust : bool
        Compare the ranks of the costs instead of the costs, see :meth:`Space.ranked`.
    attributes : {"types"}, optional
        Distinguish points by :attr:`Space.types`: the sum over all pairs of types of ``∬ |F - G| dx dt``, where anchors
        of one type see points of the other. p = 1 only.
    max_cost : float, optional
        Costs above this value count as this value; with types by default the largest cost of both spaces. Give the
        same to all pairs of a collection.
    threads : int
        Threads for the kernels; the result is the same to the last bit.

    Returns
    -------
    float
        In units of the costs. O(n² log n) time, or O(n²) from features. With weights a sweep, for p = 2 in one thread.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> line = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> round(ao.sliced_anchor_wasserstein(line, triangle), 6)
    0.222222
    >>> ao.sliced_anchor_wasserstein(line, 3 * line), ao.sliced_anchor_wasserstein(line, line + 5)
    (1.7777777777777777, 5.0)
    """
    p, threads = check_low_power(p), check_threads(threads)
    rule = settle_attributes((x, y), attributes, max_cost, robust=robust)
    check_sliced_rule(rule, p)
    fx, fy = (
        attribute_features(side, rule, robust=robust, threads=threads, name=name) for side, name in ((x, "x"), (y, "y"))
    )
    return fx.sliced_to(fy, p, threads=threads)


def check_sliced_rule(rule: AttributeRule | None, p: int) -> None:
    """Refuse attributes that SAW is not defined for."""
    if rule is None or rule.attributes is None:
        return
    if rule.attributes != "types" or p != 1:
        raise InputError(
            "Sliced Anchor Wasserstein takes attributes='types' with p=1, or none, "
            f"but got attributes={rule.attributes!r} and p={p}"
        )
