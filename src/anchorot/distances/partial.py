"""Alignments that leave something out: what is not matched goes to one more point on either side."""

from typing import Any, NamedTuple, Self

import numpy as np

from anchorot._typing import Float64s
from anchorot.distances.quadratic import Quadratic, library_of
from anchorot.distances.sharpening import round_to_marginals
from anchorot.space import Space

NEXT_TO_NOTHING = 1e-9  # of the mass: what the extra points have at least, since Sinkhorn's iteration takes logarithms
MIN_SHARE = 1e-9  # of the mass that is matched: less is lost in the rounding of the rest


class Partial:
    """An objective of plans (n + 1, m + 1) whose last row and column take the mass that stays unmatched, at no cost.

    The corner between the two extra points is prohibitive, so that the mass between the points themselves is fixed by
    the marginals, and no point is matched with more than its own.
    """

    def __init__(self, whole: Quadratic) -> None:
        self._whole = whole

    def product(self, plan: Any) -> Any:
        """What can be kept of an evaluation, linear in the plan."""
        return self._whole.product(plan[:-1, :-1])

    def value_of_product(self, a: Any, b: Any) -> Any:
        """The objective of the product plan's part between the points."""
        return self._whole.value_of_product(a[:-1], b[:-1] * (a[:-1].sum() / a.sum()))

    def slope(self, plan: Any, product: Any | None = None) -> Any:
        """Gradient: that between points, none towards the extra points, a prohibitive one between those."""
        inner = self._whole.slope(plan[:-1, :-1], product)
        found = library_of(plan).zeros_like(plan)
        found[:-1, :-1] = inner
        found[-1, -1] = 4 * abs(inner).max()
        return found

    def spread(self, slope: Any) -> Any:
        """Unit of temperature."""
        return self._whole.spread(slope[:-1, :-1])

    def value(self, plan: Any, product: Any | None = None) -> Any:
        """The objective of the plan between the points."""
        return self._whole.value(plan[:-1, :-1], product)


class Limits(NamedTuple):
    """Marginals of the extended plans.

    Points of uniform spaces are counted, so that one can be matched with one: each may be matched with 1 / max(n, m).
    Other points may be matched with their weights.
    """

    a: Float64s
    b: Float64s

    @classmethod
    def of(cls, x: Space, y: Space, share: float) -> Self:
        """Limits that leave `share` of the smaller side's mass to be matched."""
        a, b = x.weights, y.weights
        if x.is_uniform and y.is_uniform:
            a, b = np.full(x.n, 1 / max(x.n, y.n)), np.full(y.n, 1 / max(x.n, y.n))
        matched = share * min(a.sum(), b.sum()) * (1 - NEXT_TO_NOTHING)
        return cls(np.append(a, b.sum() - matched), np.append(b, a.sum() - matched))

    @property
    def matched(self) -> float:
        """The mass between the points themselves."""
        return float(self.a[:-1].sum() - self.b[-1])

    def extended(self, plan: Float64s) -> Float64s:
        """A plan between the points, scaled to the mass to be matched, with the rest towards the extra points."""
        found = np.zeros((len(self.a), len(self.b)))
        found[:-1, :-1] = plan * (self.matched / plan.sum())
        found[:-1, -1] = np.maximum(self.a[:-1] - found[:-1].sum(axis=1), 0)
        found[-1, :-1] = np.maximum(self.b[:-1] - found[:, :-1].sum(axis=0), 0)
        return round_to_marginals(found, self.a, self.b)
