"""What an index keeps of spaces: for which metric, of costs or ranks, up to a largest cost, by types.

For Anchor Energy and Sliced Anchor Wasserstein it keeps features. Anchor Wasserstein needs to know which costs are of
one anchor, so that the space itself is kept.

With types there is one function F_cb(x, t) per pair of types. They are laid side by side: pair k of K² begins at
k (max_cost - low). The mass that a pair lacks to 1 is put at its end. All pairs together then form one collection of
measures, of mass K², that fits into plain features. Divided by K², it has the Anchor Energy of the types over K⁴, and
their Sliced Anchor Wasserstein distance over K².
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import Events
from anchorot._validate import check_choice, check_low_power
from anchorot.anchors.attribute_features import TypedFeatures, attribute_features, sum_energies
from anchorot.anchors.attributes import AttributeRule, AttributesLike, Outline, attribute_rule_of
from anchorot.anchors.batches import features_together, plain_cost
from anchorot.anchors.bounded import ENERGY, BoundedMetric
from anchorot.anchors.cell_averages import parts_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.type_blocks import Alphabet, block_pairs, empty_events, sorted_types
from anchorot.distances.sliced import check_sliced_rule
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space

Kept = AnchorFeatures | Space
METRICS_OF_AN_INDEX = ("ae", "saw", "aw")
MOST_TYPES = 256  # in an index: its header lists them, and features grow with their pairs


def check_metric(metric: Any, p: Any) -> BoundedMetric:
    """Return the metric of an index."""
    name, power = check_choice(metric, "metric", METRICS_OF_AN_INDEX), check_low_power(p)
    if name == "ae" and power != 1:
        raise InputError(f"an index of metric 'ae' takes p=1, but got p={p!r}; metrics 'saw' and 'aw' take p=2 too")
    return BoundedMetric(name, power)


@dataclass(frozen=True)
class View:
    """How an index preprocesses spaces.

    Attributes
    ----------
    robust : bool
        Whether costs are replaced by their ranks.
    attribute_rule : AttributeRule or None
        The largest cost, and whether types count.
    low : float
        The least cost, where the functions of types begin.
    alphabet : tuple
        All types, sorted.
    bounded : BoundedMetric
        What spaces are compared by, and vectors bound.
    """

    robust: bool
    attribute_rule: AttributeRule | None = None
    low: float = 0.0
    alphabet: Alphabet = ()
    bounded: BoundedMetric = ENERGY

    @property
    def keeps_spaces(self) -> bool:
        """Whether the index keeps spaces, and not just features of them."""
        return self.bounded.metric == "aw"

    @property
    def has_types(self) -> bool:
        """Whether types count."""
        return self.attribute_rule is not None and self.attribute_rule.attributes == "types"

    @property
    def scale(self) -> float:
        """Factor from values of the features to those of spaces."""
        return float(len(self.alphabet) ** (4 if self.bounded.is_energy else 2)) if self.has_types else 1.0

    def kept(self, x: Any, name: str = "the space") -> Kept:
        """What the index keeps of a space to add: plain features, whose types it must know, or a plain space."""
        if self.keeps_spaces:
            return self._plain_space(x)
        found = attribute_features(x, self.attribute_rule, robust=self.robust, name=name)
        if not isinstance(found, TypedFeatures):
            return found
        unknown = set(found.alphabet) - set(self.alphabet)
        if unknown:
            raise InputError(f"{name} has the type {sorted_types(unknown)[0]!r}, which the index lacks; build it again")
        return self._side_by_side(found, name)

    def kept_together(self, spaces: Sequence[Any], threads: int) -> Sequence[Kept | None]:
        """The same of many spaces in one call; None for those that have to be looked at one by one."""
        if self.keeps_spaces or self.robust or self.attribute_rule is not None:
            return [None] * len(spaces)
        return features_together([plain_cost(x) for x in spaces], threads)

    def features(self, kept: Kept) -> AnchorFeatures:
        """Plain features, which vectors are made of."""
        return AnchorFeatures.of(kept) if isinstance(kept, Space) else kept

    def query(self, x: Any) -> tuple[Kept, float]:
        """What would be kept of a query, and what its unknown types add to the value of every result."""
        if self.keeps_spaces:
            return self._plain_space(x), 0.0
        found = attribute_features(x, self.attribute_rule, robust=self.robust)
        if not isinstance(found, TypedFeatures):
            return found, 0.0
        none = empty_events(found.max_cost)
        others = [own for own, part in block_pairs(found.alphabet, self.alphabet).tolist() if part < 0]
        compare = kernels.sweep_energy if self.bounded.is_energy else kernels.sweep_transport
        added = sum_energies(compare(found.block_events[own], none, 1) for own in others)
        return self._side_by_side(found, "the space"), added

    def _plain_space(self, x: Any) -> Space:
        """Costs, or their ranks, and weights of the points that have weight."""
        if isinstance(x, AnchorFeatures):
            raise InputError("an index of metric 'aw' takes spaces, but got AnchorFeatures; give the space itself")
        space = as_space(x, robust=self.robust).support()
        return Space(space.cost, space.weights, copy=False)

    def _side_by_side(self, features: TypedFeatures, name: str) -> AnchorFeatures:
        least, max_cost = features.span
        if least < self.low:
            raise InputError(f"{name} has a cost of {least}, below {self.low}, the least of the index; build it again")
        own_of = {part: own for own, part in block_pairs(features.alphabet, self.alphabet).tolist()}
        count, rows, joined = len(self.alphabet) ** 2, 0, []
        for part in range(count):
            own = own_of.get(part, -1)
            position, row, jump, mass = features.block_events[own] if own >= 0 else empty_events(max_cost)
            place = (position - self.low) + part * (max_cost - self.low)
            # Rounding may move the end of a part beyond the start of the next.
            place = np.minimum(place, (part + 1) * (max_cost - self.low))
            joined.append(Events(place, row + np.uint32(rows), jump, np.maximum(mass, 0.0) / count))
            rows += len(mass)
        return AnchorFeatures(events=Events(*map(np.concatenate, zip(*joined, strict=True))), robust=self.robust)

    def to_header(self) -> dict[str, Any] | None:
        """As plain values, for the header of a file."""
        if self.attribute_rule is None:
            return None
        about = {"attributes": self.attribute_rule.attributes, "max_cost": self.attribute_rule.max_cost}
        return about | ({"low": self.low, "types": list(self.alphabet)} if self.has_types else {})


def choose_view(
    spaces: Iterable[Any],
    attributes: AttributesLike,
    max_cost: float | None,
    *,
    robust: bool,
    bounded: BoundedMetric = ENERGY,
) -> View:
    """Return the preprocessing for an index of these spaces; with types they are read several times."""
    if attributes not in (None, "types"):
        raise InputError(
            f"an index takes attributes='types' or None, but got {attributes!r}; embed() takes features too"
        )
    if bounded.metric == "aw" and (attributes is not None or max_cost is not None):
        raise InputError("attributes and max_cost work with metrics 'ae' and 'saw', but got metric 'aw'")
    attribute_rule = attribute_rule_of(spaces, attributes, max_cost, robust=robust)
    check_sliced_rule(attribute_rule, bounded.p)
    if attribute_rule is None or attribute_rule.attributes is None:
        return View(robust, attribute_rule, bounded=bounded)
    alphabet = parts_of(spaces, attribute_rule).alphabet
    if not _are_plain(alphabet):
        raise InputError(
            f"an index takes at most {MOST_TYPES} types, each a text or a number, but got {len(alphabet)} types"
        )
    least = 0.0 if robust else min((Outline.of(x, robust=False).span[0] for x in spaces), default=0.0)
    return View(robust, attribute_rule, min(0.0, least), alphabet, bounded)


def view_from_header(about: Any, robust: bool, bounded: BoundedMetric) -> View:
    """The view that the header of a file describes; a ValueError if it is invalid."""
    if about is None:
        return View(robust, bounded=bounded)
    attributes, max_cost = about.get("attributes"), about.get("max_cost")
    if attributes not in (None, "types") or not _is_number(max_cost):
        raise ValueError(f"attributes={attributes!r}, max_cost={max_cost!r}")
    if bounded.metric == "aw" or (attributes == "types" and bounded.p != 1):
        raise ValueError(f"attributes={attributes!r} with metric {bounded.metric!r} and p={bounded.p}")
    if attributes is None:
        return View(robust, AttributeRule(None, max_cost), bounded=bounded)
    low, alphabet = about.get("low"), about.get("types")
    if not _is_number(low) or not isinstance(alphabet, list) or not _are_plain(alphabet):
        raise ValueError(f"low={low!r} and {alphabet!r} as types")
    return View(robust, AttributeRule("types", max_cost), low, sorted_types(alphabet), bounded)


def _are_plain(alphabet: Iterable[Hashable]) -> bool:
    kinds = list(alphabet)
    return len(kinds) <= MOST_TYPES and all(type(kind) in (str, int, float, bool) for kind in kinds)


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)
