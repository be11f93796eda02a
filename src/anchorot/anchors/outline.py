"""What of a space must be known before any of a collection is looked at closely."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from anchorot._typing import Float64s
from anchorot.space import as_space, heavy_part


@dataclass(frozen=True)
class Outline:
    """A space at a glance, light enough to be sent from worker to caller.

    Attributes
    ----------
    span : (float, float)
        Smallest and largest cost between points of positive weight.
    farthest : float
        The largest cost, or rank, of such points.
    types : tuple or None
        Types of such points, once each.
    features : ndarray or None
        Features of such points.
    """

    span: tuple[float, float]
    farthest: float
    types: tuple[Hashable, ...] | None = None
    features: Float64s | None = None

    @classmethod
    def of(cls, x: Any, *, robust: bool) -> "Outline":
        """Look at a space or cost matrix; at ranks of costs, if `robust`, for `farthest`."""
        if isinstance(x, Outline):
            return x
        space = as_space(x)
        heavy = heavy_part(space)
        span = float(heavy.cost.min()), float(heavy.cost.max())
        farthest = float(heavy_part(as_space(space, robust=True)).cost.max()) if robust else span[1]
        types = None if heavy.types is None else tuple(dict.fromkeys(heavy.types))
        return cls(span, farthest, types, heavy.features)
