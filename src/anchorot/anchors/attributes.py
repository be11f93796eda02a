"""Attributes and max_cost: what distinguishes points besides their costs, and up to which cost they are compared.

Features of points count as vectors whose inner products are a kernel: a feature map, the same for all spaces compared.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, RngLike
from anchorot._validate import (
    check_choice,
    check_finite_number,
    check_integer,
    check_list,
    check_positive,
    check_rng,
)
from anchorot.anchors.fields import Field, local_cost
from anchorot.exceptions import InputError, type_of
from anchorot.rows import Rows
from anchorot.space import Space, as_space

KINDS = ("fourier", "linear", "onehot")
MOST_POOLED = 1000  # points whose distances are looked at for the median
MOST_CATEGORIES = 256  # of one-hot vectors, whose length every comparison is multiplied by
ATTRIBUTES = ("types", "features")
FOURIER_SIZE = 64  # of Fourier vectors


class FeatureMap(Protocol):
    """A map phi of features to vectors, shared by all spaces that are compared."""

    @property
    def dim(self) -> int:
        """Length of the features that it takes."""

    @property
    def size(self) -> int:
        """Length of the vectors that it gives."""

    def __call__(self, features: Float64s) -> Float64s:
        """Map features, one row per point."""


@dataclass(frozen=True)
class LinearMap:
    """The features themselves: points count by the inner product of their features."""

    dim: int

    @property
    def size(self) -> int:
        """Length of the vectors that it gives."""
        return self.dim

    def __call__(self, features: Float64s) -> Float64s:
        """Map features, one row per point."""
        return features


@dataclass(frozen=True)
class FourierMap:
    """Random Fourier features of the Gaussian kernel ``exp(-|u - v|² / (2 width²))``; every vector has length 1.

    Attributes
    ----------
    dim : int
        Length of the features.
    width : float
        Of the kernel: features much nearer than that are alike, much farther apart have nothing in common.
    size : int
        Length of the vectors, even; the kernel is met to about 1 / sqrt(size).
    seed : int
        Of the draw.
    """

    dim: int
    width: float
    size: int = 64
    seed: int = 0

    def __call__(self, features: Float64s) -> Float64s:
        """Map features, one row per point."""
        frequencies = np.random.default_rng(self.seed).normal(size=(self.dim, self.size // 2))
        angles = (features / self.width) @ frequencies
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(self.size // 2)


@dataclass(frozen=True)
class OneHotMap:
    """One coordinate for every category: points count together if their features are equal, others are nothing."""

    categories: tuple[tuple[float, ...], ...]

    @property
    def dim(self) -> int:
        """Length of the features that it takes."""
        return len(self.categories[0])

    @property
    def size(self) -> int:
        """Length of the vectors that it gives."""
        return len(self.categories)

    def __call__(self, features: Float64s) -> Float64s:
        """Map features, one row per point."""
        return (features[:, None, :] == np.array(self.categories)).all(axis=2).astype(np.float64)


def feature_map(
    spaces: Sequence[Space],
    kind: str = "fourier",
    *,
    size: int = 64,
    width: float | None = None,
    rng: RngLike = 0,
) -> FeatureMap:
    """Fit a feature map to the points of all spaces, for ``attributes=``: what is compared must be mapped alike.

    Parameters
    ----------
    spaces : sequence of Space
        Each with features of the same length.
    kind : {"fourier", "linear", "onehot"}
        - "fourier": random Fourier features of a Gaussian kernel, for features that are alike when they are near.
          Features count as they are: scale columns of different units first.
        - "linear": the features themselves.
        - "onehot": one coordinate for every row of features that occurs, at most 256.
    size : int
        Of Fourier vectors, even.
    width : float, optional
        Of the Gaussian; by default the median distance between features of different points (median heuristic).
    rng : None, int or numpy.random.Generator
        Where frequencies come from; by default they are the same every time.

    Returns
    -------
    LinearMap, FourierMap or OneHotMap
        To be called with features, and compared: equal maps do the same.

    Examples
    --------
    >>> import anchorot as ao
    >>> x = ao.Space([[0, 1], [1, 0]], features=[[0.0], [3.0]])
    >>> ao.anchors.feature_map([x])
    FourierMap(dim=1, width=3.0, size=64, seed=0)
    """
    listed = check_list(spaces, "spaces", "space")
    return fit_map([features_of(space, f"spaces[{k}]") for k, space in enumerate(listed)], kind, size, width, rng)


def fit_map(features: Sequence[Float64s], kind: str, size: int, width: float | None, rng: RngLike) -> FeatureMap:
    """Fit a feature map to the features of the points of several spaces."""
    check_choice(kind, "kind", KINDS)
    lengths = {rows.shape[1] for rows in features}
    if len(lengths) != 1:
        raise InputError(f"features of all spaces must have one length, but got {sorted(lengths)}")
    pooled = np.concatenate(features)
    if kind == "linear":
        return LinearMap(pooled.shape[1])
    if kind == "onehot":
        rows = np.unique(pooled, axis=0)
        if len(rows) > MOST_CATEGORIES:
            raise InputError(f"kind='onehot' takes {MOST_CATEGORIES} different features at most, but got {len(rows)}")
        return OneHotMap(tuple(tuple(row) for row in rows.tolist()))
    size = check_integer(size, "size", 2)
    if size % 2:
        raise InputError(f"size must be even, a cosine and a sine of every frequency, but got {size}")
    width = None if width is None else check_positive(width, "width")
    seed = check_integer(rng, "rng", 0) if isinstance(rng, int) else int(check_rng(rng).integers(2**31))
    return FourierMap(pooled.shape[1], _median_distance(pooled) if width is None else width, size, seed)


def features_of(space: Space, name: str) -> Float64s:
    """Features of the points of positive weight; refuse a space that has none."""
    if not isinstance(space, Space):
        raise InputError(f"{name} is {type_of(space)}, but a Space with features is needed")
    return needed_features(space.features, name)[space.weights > 0]


def needed_features(features: Float64s | None, name: str) -> Float64s:
    """Refuse the features of a space that has none."""
    if features is None:
        raise InputError(
            f"{name} has no features, but attributes='features' needs some for each point; give Space(features=...)"
        )
    return features


def _median_distance(features: Float64s) -> float:
    from scipy.spatial.distance import pdist

    order = np.random.default_rng(0).permutation(len(features))[:MOST_POOLED]
    unit = unit_of(float(np.abs(features).max()))  # in which squares neither overflow nor vanish
    distances = pdist(features[np.sort(order)] / unit)
    apart = distances[distances > 0]
    return unit * float(np.median(apart)) if len(apart) else 1.0


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
    field : Field or None
        The field of view, if its area is known.
    """

    span: tuple[float, float]
    farthest: float
    types: tuple[Hashable, ...] | None = None
    features: Float64s | None = None
    field: Field | None = None

    @classmethod
    def of(cls, x: Any, *, robust: bool) -> Outline:
        """Look at a space or cost matrix; at ranks of costs, if `robust`, for `farthest`."""
        if isinstance(x, Outline):
            return x
        if isinstance(x, Rows):
            return cls._of_rows(x.support(), robust)
        space = as_space(x)
        heavy = space.support()
        span = float(heavy.cost.min()), float(heavy.cost.max())
        farthest = float(as_space(space, robust=True).support().cost.max()) if robust else span[1]
        types = None if heavy.types is None else tuple(dict.fromkeys(heavy.types))
        return cls(span, farthest, types, heavy.features, None if robust else Field.of(heavy))

    @classmethod
    def _of_rows(cls, rows: Rows, robust: bool) -> Outline:
        span = float(rows.values.min()), float(rows.values.max())
        farthest = float(rows.ranked().values.max()) if robust else span[1]
        return cls(span, farthest, None if rows.types is None else tuple(dict.fromkeys(rows_types(rows, "rows"))))


MAPS = (FourierMap, LinearMap, OneHotMap)


@dataclass(frozen=True)
class AttributeRule:
    """One way to look at all spaces of a comparison.

    Attributes
    ----------
    attributes : {"types", "features"} or None
        What distinguishes points besides their costs.
    max_cost : float
        Costs above it count as it does.
    phi : FeatureMap or None
        How features count, if they do.
    """

    attributes: str | None
    max_cost: float
    phi: FeatureMap | None = None

    def seen(self, x: Space | Rows | Any, *, robust: bool, name: str = "the space") -> Any:
        """Return the points of a space that count, costs (or ranks) up to max_cost; refuse one without attributes."""
        if isinstance(x, Rows):
            return self._seen_rows((x.ranked() if robust else x).support(), name)
        space = as_space(x, robust=robust).support().reaching(self.max_cost)
        if self.attributes == "types":
            types_of(space, name)
        if self.phi is not None:
            length = features_of(space, name).shape[1]
            if length != self.phi.dim:
                raise InputError(f"{name} has features of length {length}, but those compared have {self.phi.dim}")
        return space

    def _seen_rows(self, rows: Rows, name: str) -> Rows:
        if self.attributes == "types":
            rows_types(rows, name)
        if self.phi is not None:
            raise InputError(
                f"{name} are Rows, whose points have no features; compare them by types, or by costs alone"
            )
        return rows.reaching(self.max_cost)

    def vectors(self, space: Space) -> Float64s:
        """Map the features of a space, one row per point."""
        assert self.phi is not None
        assert space.features is not None
        return self.phi(space.features)

    def describe(self) -> dict[str, Any]:
        """Return what there is to know, as plain values."""
        phi = None if self.phi is None else repr(self.phi)
        return {"attributes": self.attributes, "max_cost": self.max_cost, "feature_map": phi}


def rows_types(rows: Rows, name: str) -> tuple[Hashable, ...]:
    """Types of points, then of columns; refuse rows that lack either."""
    if rows.types is None or rows.column_types is None:
        raise InputError(
            f"{name} have no types, but attributes='types' needs those of points and of columns; "
            "give Rows(types=..., column_types=...)"
        )
    return (*rows.types, *rows.column_types)


def types_of(space: Space | Outline, name: str) -> tuple[Hashable, ...]:
    """Types of the points; refuse a space that has none."""
    if space.types is None:
        raise InputError(f"{name} has no types, but attributes='types' needs one for each point; give Space(types=...)")
    return space.types


AttributesLike = str | FeatureMap | AttributeRule | None


def attribute_rule_of(
    spaces: Iterable[Any],
    attributes: AttributesLike,
    max_cost: float | None,
    *,
    robust: bool = False,
    rng: RngLike = 0,
) -> AttributeRule | None:
    """Return how to look at a collection of spaces; None if neither attributes nor `max_cost` are asked for.

    By default `max_cost` of comparisons with attributes is local where fields of view are known (`local_cost`), else
    the largest cost of the collection (of ranks: the largest rank), and features are mapped by random Fourier features
    of the median width. The spaces are gone through only if that is needed, once, one at a time. An `AttributeRule` in
    place of attributes is returned as it is.
    """
    if isinstance(attributes, AttributeRule):
        return attributes
    if attributes is None and max_cost is None:
        return None
    if attributes is not None and not isinstance(attributes, MAPS) and attributes not in ATTRIBUTES:
        raise InputError(f"attributes must be 'types', 'features', a feature map or None, but got {attributes!r}")
    limit = None if max_cost is None else check_finite_number(max_cost, "max_cost")
    phi: FeatureMap | None = attributes if isinstance(attributes, MAPS) else None
    fits = attributes == "features"
    kind = "features" if fits or phi is not None else "types" if attributes == "types" else None
    if limit is not None and not fits:
        return AttributeRule(kind, limit, phi)
    largest, features, fields = -math.inf, [], []
    for k, x in enumerate(spaces):
        seen = Outline.of(x, robust=robust and limit is None)
        if fits:
            features.append(needed_features(seen.features, f"spaces[{k}]"))
        largest = max(largest, seen.farthest)
        fields.append(seen.field)
    if fits:
        phi = fit_map(features, "fourier", FOURIER_SIZE, None, rng)
    if limit is None:
        near = local_cost(fields)
        limit = largest if near is None else near
    return AttributeRule(kind, limit, phi)
