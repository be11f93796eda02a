"""How a search compares two spaces exactly, from what an index keeps of them.

Features are all that Anchor Energy and Sliced Anchor Wasserstein need. Anchor Wasserstein is computed from the spaces
themselves, and Sliced Anchor Wasserstein bounds it.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from anchorot.anchors.bounded import BoundedMetric
from anchorot.anchors.features import AnchorFeatures
from anchorot.distances.sinkhorn import STOPPED_EARLY
from anchorot.exceptions import ConvergenceWarning
from anchorot.many.metrics import metric_of
from anchorot.many.sliced_bounds import with_bounds
from anchorot.search.preprocessing import Kept


class Comparison(NamedTuple):
    """How two spaces are compared, once `prepare` has done what needs to be done once per space."""

    prepare: Callable[[Kept], Any]
    value: Callable[[Any, Any], float]
    bound: Callable[[Any, Any], float] | None = None  # never above the value, and far quicker


@cache
def comparison_of(bounded: BoundedMetric) -> Comparison:
    """Return how an index compares spaces by this metric."""
    if bounded.is_energy:
        return Comparison(_same, AnchorFeatures.energy_to)
    if bounded.metric == "saw":
        return Comparison(_same, lambda x, y: x.sliced_to(y, bounded.p))
    plain = metric_of("aw", bounded.p, epsilon=0)
    bound = plain.bound
    assert bound is not None

    def value(x: Any, y: Any) -> float:
        found = metric.compare(x, y)
        if not found.converged:
            warnings.warn(STOPPED_EARLY, ConvergenceWarning, stacklevel=2)
        return found.value

    metric = with_bounds(plain)
    return Comparison(metric.prepare, value, lambda x, y: float(bound.compare_many([x.below], [y.below])[0, 0]))


def _same(x: Any) -> Any:
    return x
