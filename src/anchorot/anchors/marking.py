"""Marks and reach: what of points a comparison looks at besides their costs, and how far it sees."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_finite_number
from anchorot.anchors.feature_maps import (
    FeatureMap,
    FourierMap,
    LinearMap,
    OneHotMap,
    features_of,
    fit_map,
    needed_features,
)
from anchorot.anchors.outline import Outline
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, heavy_part

MARKS = ("types", "features")
MAPS = (FourierMap, LinearMap, OneHotMap)
SIZE = 64  # of Fourier vectors


@dataclass(frozen=True)
class Marking:
    """One way to look at all spaces of a comparison.

    Attributes
    ----------
    marks : {"types", "features"} or None
        What tells points apart besides their costs.
    reach : float
        Costs above it count as it does.
    phi : FeatureMap or None
        How features count, if they do.
    """

    marks: str | None
    reach: float
    phi: FeatureMap | None = None

    def seen(self, x: Space | Any, *, robust: bool, name: str = "the space") -> Space:
        """Return the points of a space that count, costs (or ranks) up to the reach; refuse a space without marks."""
        space = heavy_part(as_space(x, robust=robust)).reaching(self.reach)
        if self.marks == "types":
            types_of(space, name)
        if self.phi is not None:
            length = features_of(space, name).shape[1]
            if length != self.phi.dim:
                raise InputError(f"{name} has features of length {length}, but those compared have {self.phi.dim}")
        return space

    def vectors(self, space: Space) -> Float64s:
        """Map the features of a space, one point a row."""
        assert self.phi is not None
        assert space.features is not None
        return self.phi(space.features)

    def describe(self) -> dict[str, Any]:
        """Return what there is to know, as plain values."""
        phi = None if self.phi is None else repr(self.phi)
        return {"marks": self.marks, "reach": self.reach, "feature_map": phi}


def types_of(space: Space | Outline, name: str) -> tuple[Hashable, ...]:
    """Types of the points; refuse a space that has none."""
    if space.types is None:
        raise InputError(f"{name} has no types, but marks='types' needs one for each point; give Space(types=...)")
    return space.types


MarksLike = str | FeatureMap | Marking | None


def marking_of(
    spaces: Iterable[Any],
    marks: MarksLike,
    reach: float | None,
    *,
    robust: bool = False,
    rng: RngLike = 0,
) -> Marking | None:
    """Return how to look at a collection of spaces; None if neither marks nor a reach are asked for.

    By default the reach of marked comparisons is the largest cost of the collection (of ranks: the largest rank), and
    features are mapped by random Fourier features of the median width. The spaces are gone through only if that is
    needed, once, one at a time. A `Marking` in place of marks is the answer.
    """
    if isinstance(marks, Marking):
        return marks
    if marks is None and reach is None:
        return None
    if marks is not None and not isinstance(marks, MAPS) and marks not in MARKS:
        raise InputError(f"marks must be 'types', 'features', a feature map or None, but got {marks!r}")
    limit = None if reach is None else check_finite_number(reach, "reach")
    phi: FeatureMap | None = marks if isinstance(marks, MAPS) else None
    fits = marks == "features"
    kind = "features" if fits or phi is not None else "types" if marks == "types" else None
    if limit is not None and not fits:
        return Marking(kind, limit, phi)
    largest, features = -math.inf, []
    for k, x in enumerate(spaces):
        seen = Outline.of(x, robust=robust and limit is None)
        if fits:
            features.append(needed_features(seen.features, f"spaces[{k}]"))
        largest = max(largest, seen.farthest)
    if fits:
        phi = fit_map(features, "fourier", SIZE, None, rng)
    return Marking(kind, largest if limit is None else limit, phi)
