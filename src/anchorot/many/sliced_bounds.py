"""Lower bounds by Sliced Anchor Wasserstein: they rule out pairs when the nearest spaces are looked for.

SAW_p <= AW_p <= 2 GW_p bounds Anchor Wasserstein and Gromov-Wasserstein; signatures bound SAW itself. Every bound is
lowered by more than rounding can add to it, or take from the value that it bounds.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.grid import signature_of
from anchorot.anchors.rows import AnchorRows
from anchorot.distances.bounds import third_cost
from anchorot.many.metric import LowerBound, Metric, Outcome
from anchorot.rows import Rows
from anchorot.space import Space, as_space

CELLS = 32, 8  # levels and shares of the signatures that bound SAW: 2 kB per space, as the vectors that bound AE; of
# crystals, whose atoms are alike, a third fewer pairs are compared than with 16 by 16, elsewhere as many
RELATIVE, ABSOLUTE = 1e-9, 1e-12  # of a value, and of the largest cost to the power of the value: more than rounding


class Bounded(NamedTuple):
    """A space as a metric prepares it, and as its bound does."""

    item: Any
    below: Any


class Below(NamedTuple):
    """What bounds of a space are computed from."""

    features: AnchorFeatures
    size: float  # of its costs
    rows: AnchorRows | None = None


class CoarseSignature(NamedTuple):
    """A signature as a vector."""

    vector: Float64s
    size: float


def with_bounds(metric: Metric) -> Metric:
    """Return the metric on spaces that are prepared for its bound too; it compares them to the same bits."""
    if metric.bound is None:
        return metric
    many = metric.compare_many
    return replace(
        metric,
        prepare=partial(_prepare_both, metric.prepare, metric.bound.prepare),
        prepare_many=None,
        compare=partial(_compare_items, metric.compare),
        compare_many=None if many is None else partial(_compare_all_items, many),
    )


def _prepare_both(prepare: Callable[[Any], Any], prepare_bound: Callable[[Any], Any], x: Any) -> Bounded:
    return Bounded(prepare(x), prepare_bound(x))


def _compare_items(compare: Callable[[Any, Any], Outcome], x: Bounded, y: Bounded) -> Outcome:
    return compare(x.item, y.item)


def _compare_all_items(compare: Any, xs: list[Bounded], ys: list[Bounded], counts: Any) -> Float64s | None:
    found: Float64s | None = compare([x.item for x in xs], [y.item for y in ys], counts)
    return found


# -- the bounds ----------------------------------------------------------------------------------------------------


def bound_of_sliced(p: int, robust: bool) -> LowerBound:
    """Signatures bound SAW_p."""
    return LowerBound(partial(_coarse_signature, robust=robust), partial(_signature_gaps, p=p))


def bound_of_transport(p: int, robust: bool) -> LowerBound:
    """SAW_p to the power p bounds AW_p, whose anchors may also cost their largest difference, which is more."""
    return LowerBound(partial(_below, robust=robust), partial(_sliced_costs, p=p, root=False))


def bound_of_third(p: int, robust: bool) -> LowerBound:
    """Half of SAW_p bounds the third lower bound."""
    return LowerBound(partial(_below, robust=robust), partial(_sliced_costs, p=p, root=True))


def bound_of_gromov(robust: bool) -> LowerBound:
    """The square of SAW_2 bounds the loss of Gromov-Wasserstein, and AW_2 bounds it better."""
    prepare = partial(_below, robust=robust, with_rows=True)
    return LowerBound(prepare, partial(_sliced_costs, p=2, root=False), _third_cost)


def lowered(values: Any, sizes: Any) -> Float64s:
    """Bounds less what rounding may add to them; `sizes` are those of the costs, to the power of the values.

    What is beyond the range of floats bounds nothing.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = np.asarray(values) * (1 - RELATIVE) - ABSOLUTE * np.asarray(sizes)
    return np.where(np.isfinite(bounds), bounds, -np.inf)


def _size(features: AnchorFeatures) -> float:
    return max(abs(end) for end in features.span)


def sliced_vector(x: Any, shape: tuple[int, int], robust: bool, p: int) -> CoarseSignature:
    """A vector whose gaps in the p-norm are at most SAW_p."""
    vector, size = _coarse_signature(x, robust, shape)
    return CoarseSignature(vector if p == 2 else vector / np.sqrt(shape[0] * shape[1]), size)


def _coarse_signature(x: Any, robust: bool, shape: tuple[int, int] = CELLS) -> CoarseSignature:
    features = as_features(x, robust=robust)
    return CoarseSignature(signature_of(features, shape).ravel(), _size(features))


def _signature_gaps(xs: list[CoarseSignature], ys: list[CoarseSignature], p: int) -> Float64s:
    from scipy.spatial.distance import cdist

    vectors = (np.array([each.vector for each in side]) for side in (xs, ys))
    gaps = cdist(*vectors, "euclidean" if p == 2 else "cityblock")
    return lowered(gaps if p == 2 else gaps / np.sqrt(CELLS[0] * CELLS[1]), _larger_size(xs, ys))


def _below(x: Any, robust: bool, with_rows: bool = False) -> Below:
    if isinstance(x, Rows):
        space: Space | Rows = (x.ranked() if robust else x).support()
    else:
        space = as_space(x, robust=robust).support()
    features = AnchorFeatures.of(space)
    return Below(features, _size(features), AnchorRows.of(space) if with_rows else None)


def _sliced_costs(xs: list[Below], ys: list[Below], p: int, root: bool) -> Float64s:
    values = np.array([[x.features.sliced_to(y.features, p) for y in ys] for x in xs])
    power = 1 if root else p
    with np.errstate(over="ignore"):
        return lowered(0.5 * values if root else values**power, _larger_size(xs, ys) ** power)


def _third_cost(x: Below, y: Below) -> float:
    assert x.rows is not None
    assert y.rows is not None
    return float(lowered(third_cost(x.rows, y.rows, 2).cost, np.square(max(x.size, y.size))))


def _larger_size(xs: list[Any], ys: list[Any]) -> Float64s:
    return np.maximum.outer([x.size for x in xs], [y.size for y in ys])
