"""How an index preprocesses spaces: costs or ranks, up to a largest cost, by types.

With types there is one function F_cb(x, t) per pair of types. They are laid side by side: pair k of K² begins at
k (max_cost - low). The mass that a pair lacks to 1 is put at its end. All pairs together then form one collection of
measures, of mass K², that fits into plain features. Divided by K², it has the Anchor Energy of the types over K⁴.
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import Events
from anchorot.anchors.attribute_features import (
    Alphabet,
    TypedFeatures,
    attribute_features,
    block_pairs,
    empty_events,
    parts_of,
    sorted_types,
    sum_energies,
)
from anchorot.anchors.attributes import AttributeRule, AttributesLike, attribute_rule_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.space import as_space, heavy_part

MOST_TYPES = 256


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
    """

    robust: bool
    attribute_rule: AttributeRule | None = None
    low: float = 0.0
    alphabet: Alphabet = ()

    @property
    def has_types(self) -> bool:
        """Whether types count."""
        return self.attribute_rule is not None and self.attribute_rule.attributes == "types"

    @property
    def scale(self) -> float:
        """Factor from energies of the features to Anchor Energies."""
        return float(len(self.alphabet) ** 4) if self.has_types else 1.0

    def features(self, x: Any, name: str = "the space") -> AnchorFeatures:
        """Plain features of a space to add; the index must know its types."""
        found = attribute_features(x, self.attribute_rule, robust=self.robust, name=name)
        if not isinstance(found, TypedFeatures):
            return found
        unknown = set(found.alphabet) - set(self.alphabet)
        if unknown:
            raise InputError(f"{name} has the type {sorted_types(unknown)[0]!r}, which the index lacks; build it again")
        return self._side_by_side(found, name)

    def query(self, x: Any) -> tuple[AnchorFeatures, float]:
        """Plain features of a query, and the energy that its unknown types add to every result."""
        found = attribute_features(x, self.attribute_rule, robust=self.robust)
        if not isinstance(found, TypedFeatures):
            return found, 0.0
        none = empty_events(found.max_cost)
        others = [own for own, part in block_pairs(found.alphabet, self.alphabet).tolist() if part < 0]
        added = sum_energies(kernels.sweep_energy(found.block_events[own], none, 1) for own in others)
        return self._side_by_side(found, "the space"), added

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


def choose_view(spaces: Iterable[Any], attributes: AttributesLike, max_cost: float | None, *, robust: bool) -> View:
    """Return the preprocessing for an index of these spaces; with types they are read several times."""
    if attributes not in (None, "types"):
        raise InputError(
            f"an index takes attributes='types' or None, but got {attributes!r}; embed() takes features too"
        )
    attribute_rule = attribute_rule_of(spaces, attributes, max_cost, robust=robust)
    if attribute_rule is None or attribute_rule.attributes is None:
        return View(robust, attribute_rule)
    alphabet = parts_of(spaces, attribute_rule).alphabet
    if not _are_plain(alphabet):
        raise InputError(
            f"an index takes at most {MOST_TYPES} types, each a text or a number, but got {len(alphabet)} types"
        )
    least = 0.0 if robust else min((float(heavy_part(as_space(x)).cost.min()) for x in spaces), default=0.0)
    return View(robust, attribute_rule, min(0.0, least), alphabet)


def view_from_header(about: Any, robust: bool) -> View:
    """The view that the header of a file describes; a ValueError if it is invalid."""
    if about is None:
        return View(robust)
    attributes, max_cost = about.get("attributes"), about.get("max_cost")
    if attributes not in (None, "types") or not _is_number(max_cost):
        raise ValueError(f"attributes={attributes!r}, max_cost={max_cost!r}")
    if attributes is None:
        return View(robust, AttributeRule(None, max_cost))
    low, alphabet = about.get("low"), about.get("types")
    if not _is_number(low) or not isinstance(alphabet, list) or not _are_plain(alphabet):
        raise ValueError(f"low={low!r} and {alphabet!r} as types")
    return View(robust, AttributeRule("types", max_cost), low, sorted_types(alphabet))


def _are_plain(alphabet: Iterable[Hashable]) -> bool:
    kinds = list(alphabet)
    return len(kinds) <= MOST_TYPES and all(type(kind) in (str, int, float, bool) for kind in kinds)


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)
