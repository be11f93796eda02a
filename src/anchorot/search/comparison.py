"""What an index keeps of a space, and how it compares two of these exactly.

For Anchor Energy and Sliced Anchor Wasserstein it keeps features. Anchor Wasserstein needs to know which costs are of
one anchor, so that the space itself is kept, and Sliced Anchor Wasserstein bounds it.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from anchorot._validate import check_choice, check_low_power
from anchorot.anchors.bounded import BoundedMetric
from anchorot.anchors.features import AnchorFeatures
from anchorot.distances.sinkhorn import STOPPED_EARLY
from anchorot.exceptions import ConvergenceWarning, InputError
from anchorot.many.metrics import metric_of
from anchorot.many.sliced_bounds import with_bounds
from anchorot.space import Space

Kept = AnchorFeatures | Space
METRICS_OF_AN_INDEX = ("ae", "saw", "aw")


class Comparison(NamedTuple):
    """How two spaces are compared, once `prepare` has done what needs to be done once per space."""

    prepare: Callable[[Kept], Any]
    value: Callable[[Any, Any], float]
    bound: Callable[[Any, Any], float] | None = None  # never above the value, and far quicker


def check_metric(metric: Any, p: Any) -> BoundedMetric:
    """Return the metric of an index."""
    name, power = check_choice(metric, "metric", METRICS_OF_AN_INDEX), check_low_power(p)
    if name == "ae" and power != 1:
        raise InputError(f"an index of metric 'ae' takes p=1, but got p={p!r}; metrics 'saw' and 'aw' take p=2 too")
    return BoundedMetric(name, power)


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
