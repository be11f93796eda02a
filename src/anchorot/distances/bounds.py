"""Lower bounds of Gromov-Wasserstein (Mémoli), and nearest neighbours by it without computing it everywhere."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anchorot._validate import check_choice, check_integer, check_overflow, check_power
from anchorot.anchors.line import StepFunction, quantile_function, step_distance
from anchorot.anchors.rows import AnchorRows, row_costs
from anchorot.distances.gromov import gromov_wasserstein
from anchorot.distances.neighbors import Neighbors
from anchorot.distances.schedule import STOPPED_EARLY
from anchorot.distances.transport import Transport
from anchorot.distances.wasserstein import exact_transport
from anchorot.exceptions import ConvergenceWarning, InputError
from anchorot.space import Space, as_space, heavy_part, unit_of, with_unit_costs


@dataclass(frozen=True)
class LowerBounds:
    """Mémoli's lower bounds of :math:`GW_p`, in his scale (half of the p-th root).

    ``flb <= tlb`` and ``slb <= tlb``, and all three are at most :math:`GW_p`; of `flb` and `slb` either may be larger.

    Attributes
    ----------
    flb : float
        First: transport between the points' eccentricities, O(n²).
    slb : float
        Second: transport between the distributions of all costs, O(n² log n).
    tlb : float
        Third: exact transport between the anchors, O(n³). Half the p-th root of `anchor_wasserstein` at epsilon = 0.
    p : int
    """

    flb: float
    slb: float
    tlb: float
    p: int

    def loss(self) -> float:
        """Return the best bound in the scale of `gromov_wasserstein` and of POT, (2 GW_p)^p."""
        root = 2 * max(self.flb, self.slb, self.tlb)
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
        With `.flb`, `.slb` and `.tlb`, in the scale of :math:`GW_p`, and `.loss()`, the best of them in that of
        :func:`gromov_wasserstein`. O(n m (n + m)) time for the costs between all anchors, and O(n³) for the third.

    Examples
    --------
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> bounds = lower_bounds(line, triangle, p=1)
    >>> round(bounds.flb, 6), round(bounds.slb, 6), round(bounds.tlb, 6)
    (0.111111, 0.111111, 0.111111)
    """
    p = check_bound_power(p)
    space_x, space_y = as_space(x, robust=robust), as_space(y, robust=robust)
    (unit_x, unit_y), unit = with_unit_costs(heavy_part(space_x), heavy_part(space_y))
    tlb, converged = third_bound(AnchorRows.of(space_x), AnchorRows.of(space_y), p)
    if not converged:
        warnings.warn(STOPPED_EARLY, ConvergenceWarning, stacklevel=2)
    return LowerBounds(
        flb=0.5 * unit * _first(unit_x, unit_y, p) ** (1 / p),
        slb=second_bound(all_costs(space_x), all_costs(space_y), p),
        tlb=tlb,
        p=p,
    )


def check_bound_power(p: int) -> int:
    """Return p if the bounds are known for it."""
    p = check_power(p)
    check_choice(str(p), "p", ("1", "2"))
    return p


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
    unit = unit_of(max(x.largest, y.largest))
    found = _third(x.divided_by(unit), y.divided_by(unit), p)
    return 0.5 * unit * max(found.cost, 0.0) ** (1 / p), found.converged


def _first(x: Space, y: Space, p: int) -> float:
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


def _third(x: AnchorRows, y: AnchorRows, p: int) -> Transport:
    return exact_transport(row_costs(x, y, p, threads=1), x.weights, y.weights)


def nearest_gw(
    query: Space | ArrayLike, spaces: Sequence[Space | ArrayLike], k: int = 1, *, robust: bool = False
) -> Neighbors:
    """The k spaces nearest to a query by Gromov-Wasserstein, computing it only where a lower bound allows.

    Bounds are tried from the cheapest to the dearest: eccentricities and all costs (FLB, SLB) for all spaces, then, in
    the order of those, the third bound, and the loss itself only while some bound is below the k-th best loss found.
    What the solver finds is never below a bound, so the answer is that of solving for all spaces; equal losses keep
    the order of `spaces`.

    Parameters
    ----------
    query : Space or array_like
    spaces : sequence of Space or array_like
    k : int
        How many; at most ``len(spaces)``.
    robust : bool
        Compare ranks of costs.

    Returns
    -------
    Neighbors
        `index` counts the entries of `spaces`; `distance` is in the scale of `gromov_wasserstein`.
    """
    k = check_integer(k, "k", 1)
    if k > len(spaces):
        raise InputError(f"k={k} nearest spaces are asked for, but there are only {len(spaces)}")
    x, *others = (heavy_part(as_space(s, robust=robust)) for s in [query, *spaces])
    costs, rows = all_costs(x), AnchorRows.of(x)
    cheap = [max(_first(x, y, 2), step_distance(costs, all_costs(y), 2)) for y in others]
    found: list[tuple[float, int]] = []  # the k best losses so far, with their spaces
    n_exact = 0
    for place in np.argsort(cheap, kind="stable"):
        limit = found[-1][0] if len(found) == k else np.inf
        slack = 1e-9 * abs(limit) if np.isfinite(limit) else 0.0
        if cheap[place] > limit + slack:
            break
        if _third(rows, AnchorRows.of(others[place]), 2).cost > limit + slack:
            continue
        n_exact += 1
        loss = gromov_wasserstein(x, others[place]).value
        found = sorted([*found, (loss, int(place))])[:k]
    losses, places = zip(*found, strict=True)
    return Neighbors(np.array(places), np.array(losses), None, n_exact, exact=True)
