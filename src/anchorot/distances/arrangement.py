"""Arrangement energy: which types of points are near which, apart from how many there are of each."""

from __future__ import annotations

from anchorot.anchors.arrangement import ArrangementFeatures, arrangement_rule_of
from anchorot.space import Space


def arrangement_energy(x: Space, y: Space, max_cost: float | None = None) -> float:
    r"""Anchor Energy of two thinned fields of view: it depends only on which types of points are near which.

    Anchor Energy with types depends on the numbers of points of each type and on the size of the field of view as well.
    Here every type is thinned at random to the lower of its intensities in the two spaces, and the distributions of the
    costs of its points are averaged over all thinnings. With :math:`C_{ib}(x)` the number of other points of type b
    within x of point i, and :math:`q_b` the share of them that stay,

    .. math:: F_{cb}(x, k) = \frac{1}{n_c} \sum_{i \in c} P(\mathrm{Bin}(C_{ib}(x), q_b) \ge k), \quad
        E = \sum_{c, b} \sum_k 2 \int_0^R (F_{cb} - G_{cb})^2 dx

    It is the square of a distance. Points near the edge see fewer others, which is not corrected for, so that fields of
    very different sizes still differ a little. ``pairwise(spaces, metric="arrangement")`` thins all spaces of a
    collection to the same intensities, as tests of groups need it.

    Parameters
    ----------
    x, y : Space
        With `types` and an `area`, and without weights. Types that one of them lacks are left out, with a warning.
    max_cost : float, optional
        The largest distance R; by default the median distance to the 10th neighbour.

    Returns
    -------
    float
        In units of the costs.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> def tissue(n, together):
    ...     a, b = rng.random((2, n, 2))
    ...     b = a + 0.02 * rng.normal(size=(n, 2)) if together else b
    ...     return ao.from_points(np.r_[a, b], types=["A"] * n + ["B"] * n, area=1.0)
    >>> few, many, close = tissue(50, False), tissue(150, False), tissue(150, True)
    >>> energy = ao.distances.arrangement_energy
    >>> energy(few, many, 0.1) < energy(few, close, 0.1)
    True
    """
    rule = arrangement_rule_of((x, y), max_cost)
    fx, fy = (ArrangementFeatures.of_space(side, rule, name) for side, name in ((x, "x"), (y, "y")))
    return fx.energy_to(fy)
