"""Lower bounds of Gromov-Wasserstein (Mémoli's, and half of Sliced Anchor Wasserstein)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anchorot._parallel import interruptible
from anchorot._rescale import unit_of
from anchorot._validate import check_low_power, check_overflow
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.line import StepFunction, quantile_function, step_distance
from anchorot.anchors.rows import AnchorRows, row_costs
from anchorot.distances.descent import cheapest_plan
from anchorot.distances.sinkhorn import STOPPED_EARLY
from anchorot.distances.wasserstein import Transport, exact_transport
from anchorot.exceptions import ConvergenceWarning
from anchorot.space import Space, as_space, unit_spaces, with_unit_costs


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds of :math:`GW_p`, in Mémoli's scale (half of the p-th root).

    ``slb <= saw <= tlb`` and ``flb <= tlb``, and all four are at most :math:`GW_p`; `flb` may be above `saw` or below.

    Attributes
    ----------
    flb : float
        First: transport between the points' eccentricities, O(n²).
    slb : float
        Second: transport between the distributions of all costs, O(n² log n).
    saw : float
        Transport between the anchors' quantiles, level by level, O(n² log n). Half of
        :func:`sliced_anchor_wasserstein`.
    tlb : float
        Third: exact transport between the anchors, O(n³). Half the p-th root of `anchor_wasserstein` at epsilon = 0.
    p : int
    """

    flb: float
    slb: float
    saw: float
    tlb: float
    p: int

    def loss(self) -> float:
        """Return the best bound in the scale of `gromov_wasserstein` and of POT, (2 GW_p)^p."""
        root = 2 * max(self.flb, self.slb, self.saw, self.tlb)
        loss = root * root if self.p == 2 else root
        check_overflow(loss, self.p)
        return loss


def lower_bounds(x: Space | ArrayLike, y: Space | ArrayLike, p: int = 2, robust: bool = False) -> LowerBounds:
    r"""Lower bounds of the Gromov-Wasserstein distance between two spaces.

    .. math:: GW_p = \tfrac12 \min_P \Big(\sum_{ijkl} |C_{ij} - C'_{kl}|^p P_{ik} P_{jl}\Big)^{1/p}

    :func:`gromov_wasserstein` and POT return :math:`(2\,GW_2)^2`, without the half and without the root;
    ``lower_bounds(x, y).loss()`` is a bound in that scale.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
    p : {1, 2}
    robust : bool
        Bounds of the distance between the ranks of the costs.

    Returns
    -------
    LowerBounds
        With `.flb`, `.slb`, `.saw` and `.tlb`, in the scale of :math:`GW_p`, and `.loss()`, the best of them in that of
        :func:`gromov_wasserstein`. O(n m (n + m)) time for the costs between all anchors, and O(n³) for the third.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> bounds = ao.lower_bounds(line, triangle, p=1)
    >>> round(bounds.flb, 6), round(bounds.saw, 6), round(bounds.tlb, 6)
    (0.111111, 0.111111, 0.111111)
    """
    p = check_low_power(p)
    space_x, space_y = as_space(x, robust=robust), as_space(y, robust=robust)
    (unit_x, unit_y), unit = with_unit_costs(space_x.support(), space_y.support())
    tlb, converged = interruptible(
        lambda: third_bound(AnchorRows.of(space_x), AnchorRows.of(space_y), p), max(space_x.n, space_y.n)
    )
    if not converged:
        warnings.warn(STOPPED_EARLY, ConvergenceWarning, stacklevel=2)
    return LowerBounds(
        flb=0.5 * unit * first_cost(unit_x, unit_y, p) ** (1 / p),
        slb=second_bound(all_costs(space_x), all_costs(space_y), p),
        saw=0.5 * AnchorFeatures.of(space_x).sliced_to(AnchorFeatures.of(space_y), p),
        tlb=tlb,
        p=p,
    )


def all_costs(space: Space) -> StepFunction:
    """Quantile function of all costs of a space: what its second bounds need, computed once."""
    return quantile_function(space.cost.ravel(), np.outer(space.weights, space.weights).ravel())


def second_bound(x: StepFunction, y: StepFunction, p: int) -> float:
    """SLB between two spaces, from the quantile functions of all their costs."""
    unit = unit_of(max(float(np.abs(steps.value).max()) for steps in (x, y)))
    unit_x, unit_y = (StepFunction(steps.value / unit, steps.end) for steps in (x, y))
    return 0.5 * unit * step_distance(unit_x, unit_y, p) ** (1 / p)


def third_bound(x: AnchorRows, y: AnchorRows, p: int) -> tuple[float, bool]:
    """TLB between two spaces from their anchors, and whether the solver was done."""
    x, y = x.heavy(), y.heavy()
    unit = unit_of(max(abs(end) for rows in (x, y) for end in rows.span))
    found = third_cost(x.divided_by(unit), y.divided_by(unit), p)
    return 0.5 * unit * max(found.cost, 0.0) ** (1 / p), found.converged


def least_loss(x: Space, y: Space) -> float:
    """No plan between the points of two spaces has a smaller loss: (2 TLB)², whatever offset all costs have."""
    (unit_x, unit_y), unit = unit_spaces(x, y)
    costs = row_costs(unit_x, unit_y, 2, threads=1)
    least = float((costs * cheapest_plan(costs, unit_x.weights, unit_y.weights)).sum())
    return max(0.0, least) * unit * unit  # in this order: 0 stays 0 where the square of the unit is infinite


def first_cost(x: Space, y: Space, p: int) -> float:
    """Transport cost between eccentricities: (2 FLB)^p."""
    steps_x, steps_y = (_eccentricities(space, p) for space in (x, y))
    return step_distance(steps_x, steps_y, p)


def _eccentricities(space: Space, p: int) -> StepFunction:
    """Quantile function of s_i = (Σ_j a_j |C_ij|^p)^(1/p), counted from c = |C_11|, so that it keeps its digits.

    s - c is Σ a (|C| - c) for p = 1 and Σ a (|C|² - c²) / (s + c) for p = 2.
    """
    size = np.abs(space.cost.astype(np.float64, copy=False))
    origin = float(size[0, 0])
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows here, `step_distance` refuses
        if p == 1:
            excess = (size - origin) @ space.weights
        else:
            norm = np.sqrt(size**2 @ space.weights)
            squares = ((size - origin) * (size + origin)) @ space.weights
            excess = np.divide(squares, norm + origin, out=np.zeros_like(norm), where=norm + origin > 0)
    return quantile_function(excess, space.weights)._replace(origin=origin)


def third_cost(x: AnchorRows, y: AnchorRows, p: int) -> Transport:
    """Exact transport between anchors: its cost is (2 TLB)^p."""
    return exact_transport(row_costs(x, y, p, threads=1), x.weights, y.weights, with_potentials=False)
