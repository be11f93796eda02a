"""Spaces: what anchorot compares."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import card, dots, sorted_line
from anchorot._kernels import kernels
from anchorot._points import WeightedPoints, read_only
from anchorot._rescale import in_unit_range, unit_of
from anchorot._typing import Float64s, Floats, RngLike
from anchorot._validate import (
    as_array,
    check_choice,
    check_cost,
    check_features,
    check_indices,
    check_integer,
    check_labels,
    check_memory,
    check_positive,
    check_rng,
    check_types,
    check_weights,
    cost_names,
    suspicious_cost,
    uniform_weights,
)
from anchorot.exceptions import InputError, note_input, printable
from anchorot.geometry import Geometry
from anchorot.provenance import Origin

MAX_ORIGIN_LENGTH = 60  # characters in a repr


class Space(WeightedPoints):
    """A measured metric space: n weighted points, described only by their costs to each other.

    Row i of the cost matrix holds the costs from point i to all points. Costs may be any finite real numbers, symmetric
    or not, with any diagonal; an `InputWarning` is issued if they are negative or look like similarities.

    Parameters
    ----------
    cost : array_like of shape (n, n)
        float64 or float32 is kept as it is; other real numbers become float64. A data frame's row names become labels.
    weights : array_like of shape (n,), optional
        Non-negative, of sum 1 within 1e-6 (then renormalised); uniform by default. Points of weight
        zero are allowed and change nothing. Weights up to 2**-63, about 1e-19, count as zero.
    types : iterable of n hashable objects, optional
        The type of each point: an element, a cell type, a node's label. Types are compared by equality. Distances use
        them with ``attributes="types"``.
    features : array_like of shape (n, d) or (n,), optional
        Finite numbers for each point, used with ``attributes="features"``.
    labels : iterable of n objects, optional
        Names of the points.
    area : float, optional
        Area (or volume) of the field of view, in the squared (or cubed) unit of the costs, if the points are a sample
        of a larger pattern, such as cells of a tissue.
    geometry : Geometry, optional
        Positions, faces and edges for figures; no distance uses it.
    origin : Origin, optional
        The file that the space was read from, and the options.
    copy : bool
        Copy `cost`. With ``copy=False`` the matrix is shared, must not be changed later, and is not checked for
        similarities.

    Examples
    --------
    >>> import anchorot as ao
    >>> x = ao.Space([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> x.n, x.weights.tolist() == [1 / 3] * 3
    (3, True)
    """

    def __init__(
        self,
        cost: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        types: Iterable[Hashable] | None = None,
        features: ArrayLike | None = None,
        labels: Iterable[object] | None = None,
        area: float | None = None,
        geometry: Geometry | None = None,
        origin: Origin | None = None,
        copy: bool = True,
    ) -> None:
        checked = check_cost(cost)
        if copy:
            _warn_about(checked)
            if np.may_share_memory(checked, as_array(cost, "cost")):
                checked = checked.copy()
        n = len(checked)
        labels = cost_names(cost) if labels is None else labels
        self._cost = read_only(checked)
        checked_weights = uniform_weights(n) if weights is None else check_weights(weights, n, "the cost matrix")
        self._weights = read_only(checked_weights)
        self._types = None if types is None else check_types(types, n)
        self._features = None if features is None else read_only(check_features(features, n))
        self._labels = None if labels is None else check_labels(labels, n)
        self._area = None if area is None else check_positive(area, "area")
        if geometry is not None and len(geometry.index) != n:
            raise InputError(f"geometry has {len(geometry.index)} points, but the cost matrix has {n}")
        self._geometry = geometry
        self._origin = origin

    @property
    def cost(self) -> Floats:
        """Costs, shape (n, n), read-only; row i holds the costs from point i."""
        return self._cost

    @property
    def features(self) -> Float64s | None:
        """Features of the points, shape (n, d), read-only, if known."""
        return self._features

    @property
    def labels(self) -> tuple[object, ...] | None:
        """Names of the points, if they have any."""
        return self._labels

    @property
    def area(self) -> float | None:
        """Area of the field of view that the points were sampled from, if known."""
        return self._area

    @property
    def geometry(self) -> Geometry | None:
        """Positions, faces and edges for figures, if known."""
        return self._geometry

    def ranked(self) -> Space:
        """Return the robust representation: every cost replaced by its rank among all costs.

        ``p(i, j) = #{(k, l): cost[k, l] < cost[i, j]} / n**2`` (the paper's appendix, strict ``<``), so equal
        costs stay equal, and an increasing transformation of the costs changes nothing. O(n² log n).

        Ranks count points, not mass. Only points k, l of positive weight are counted, and n is their number: a point of
        weight zero changes nothing. The paper's formula, taken literally, counts all points.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.Space([[0, 5], [7, 0]]).ranked().cost.tolist()
        [[0.0, 0.5], [0.75, 0.0]]
        """
        check_memory(self.n, 48, "ranks of")
        ranks = strict_ranks(self._cost) if self._weights.all() else self._ranks_within_support()
        return self._without_area(ranks)

    def reaching(self, max_cost: float) -> Space:
        """Return the same points with costs above `max_cost` replaced by it, for local distances.

        If a cost is replaced, float32 costs become float64: `max_cost` rounded to float32 would differ from the value
        used for float64 spaces and for the limits of integrals.
        """
        if float(self._cost.max()) <= max_cost:  # a float32 cost would be compared with a rounded max_cost
            return self
        return self._with(_cost=read_only(np.minimum(self._cost, np.float64(max_cost))))

    def scaled(self, by: str = "mean") -> Space:
        """Return the same points with costs divided by their mean, median or maximum: a form that ignores scale.

        `by` is "mean", "median" or "max", over all pairs weighted by the product of their weights. Unlike
        ranks this keeps ratios of costs. Outliers change the mean and the maximum, but hardly the median.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.Space([[0, 5], [7, 0]]).scaled("mean").cost.tolist() == [[0, 5 / 3], [7 / 3, 0]]
        True
        """
        scale = cost_scale(self._cost, self._weights, check_choice(by, "by", ("mean", "median", "max")))
        return self._without_area(self._cost / self._cost.dtype.type(scale))

    def _without_area(self, cost: Floats) -> Space:
        """Return the same points with costs in another unit, which the area does not have."""
        return self._with(_cost=read_only(cost), _area=None)

    def _ranks_within_support(self) -> Float64s:
        kept = np.flatnonzero(self._weights)
        counted = np.sort(self._cost[np.ix_(kept, kept)], axis=None)
        return np.searchsorted(counted, self._cost) / counted.size

    def sample(self, k: int, rng: RngLike = None) -> Space:
        """Return the sub-space of k points drawn uniformly without replacement, weights renormalised.

        Points of weight zero are never drawn.

        Parameters
        ----------
        k : int
            Number of points, at most the number of points of positive weight.
        rng : None, int or numpy.random.Generator
            Source of randomness.
        """
        k = check_integer(k, "k", 1)
        candidates = np.flatnonzero(self._weights)
        if k > len(candidates):
            raise InputError(f"cannot sample {k} points: only {len(candidates)} points have positive weight")
        return self.take(check_rng(rng).choice(candidates, size=k, replace=False))

    def support(self) -> Space:
        """Return the sub-space of the points of positive weight; the others change no distance.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.Space([[0, 5, 6], [5, 0, 7], [6, 7, 0]], [0.5, 0.0, 0.5]).support().n
        2
        """
        return self if self._weights.all() else self.take(np.flatnonzero(self._weights))

    def take(self, points: ArrayLike) -> Space:
        """Return the sub-space of the given points, in that order, weights renormalised.

        Parameters
        ----------
        points : array_like of shape (k,)
            Indices; negative ones count from the end. Their total weight must be positive.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.Space([[0, 5, 6], [5, 0, 7], [6, 7, 0]]).take([2, 0]).cost.tolist()
        [[0.0, 6.0], [6.0, 0.0]]
        """
        index = check_indices(points, "points", self.n)
        weights = self._weights[index]
        total = weights.sum()
        if not total > 0:
            raise InputError(
                f"the {len(index)} points taken have total weight {total}, but a space needs a positive one"
            )
        return Space(
            self._cost[np.ix_(index, index)],
            weights / total,
            types=None if self._types is None else [self._types[i] for i in index],
            features=None if self._features is None else self._features[index],
            labels=None if self._labels is None else [self._labels[i] for i in index],
            area=self._area,
            geometry=None if self._geometry is None else self._geometry.take(index),
            origin=self._origin,
            copy=False,
        )

    def __repr__(self) -> str:
        kind = "uniform" if self.is_uniform else "weighted"
        types = "" if self._types is None else f", types={len(set(self._types))}"
        features = "" if self._features is None else f", features={self._features.shape[1]}"
        origin = "" if self._origin is None else f", from {printable(self._origin.name)}"
        known = f"{types}{features}{origin if len(origin) <= MAX_ORIGIN_LENGTH else ''}"
        return f"Space(n={self.n}, {kind}, {self._cost.dtype}{known})"

    def _repr_html_(self) -> str:
        facts = {
            "points": f"{self.n}, {'uniform' if self.is_uniform else 'weighted'}",
            "costs": f"{self._cost.dtype}, {self._cost.min():.4g} to {self._cost.max():.4g}",
            "types": None if self._types is None else f"{len(set(self._types))} types",
            "features": None if self._features is None else f"{self._features.shape[1]} features",
            "area": None if self._area is None else f"{self._area:.4g}",
            "from": None if self._origin is None else self._origin.name,
        }
        places = None if self._geometry is None else self._geometry.positions
        return card("Space", facts, sorted_line(self._cost) if places is None else dots(places))


def with_unit_costs(*spaces: Space) -> tuple[list[Space], float]:
    """Divide all costs by the unit of the largest, so that no power of them can overflow; return that unit too."""
    unit = unit_of(max(float(np.abs(space.cost).max()) for space in spaces))
    # in double precision: the common unit may be outside the range of a space's float32
    costs = [np.divide(s.cost, unit, dtype=np.float64).astype(s.cost.dtype, copy=False) for s in spaces]
    return [Space(cost, space.weights, copy=False) for cost, space in zip(costs, spaces, strict=True)], unit


def unit_spaces(x: Space, y: Space) -> tuple[list[Space], float]:
    """The points of positive weight, with costs in float64 less the least of them all, as multiples of a unit.

    The loss sees differences of costs only, but is computed from their squares, and annealed in float32.
    """
    heavy = [space.support() for space in (x, y)]
    costs, unit = in_unit_range([space.cost for space in heavy])
    return [Space(cost, space.weights, copy=False) for cost, space in zip(costs, heavy, strict=True)], unit


def _warn_about(cost: Floats) -> None:
    problem = suspicious_cost(cost)
    if problem is not None:
        note_input(f"got {problem}")


def as_space(x: Space | ArrayLike, *, robust: bool = False) -> Space:
    """Return x if it is a Space, else the uniform space of the cost matrix x (not copied); ranked if `robust`."""
    if isinstance(x, Space):
        space = x
    else:
        space = Space(x, copy=False)
        _warn_about(space.cost)
    return space.ranked() if robust else space


def strict_ranks(cost: Floats) -> Float64s:
    """Return, for every entry, the fraction of all entries that are smaller."""
    ordered, order = kernels.argsort(cost.ravel().astype(np.float64, copy=False), threads=1)
    first = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)  # strict rank of each distinct cost
    ranks = np.empty(ordered.size)
    ranks[order] = np.repeat(first / ordered.size, np.diff(first, append=ordered.size))
    return ranks.reshape(cost.shape)


def cost_scale(cost: Floats, weights: Float64s, by: str) -> float:
    """Return the mean, the median or the maximum ("max") of the costs, pairs weighted by the product of their weights.

    The median is the smallest cost such that at least half of the mass is at or below it.
    """
    kept = np.flatnonzero(weights)
    own, mass = cost[np.ix_(kept, kept)].astype(np.float64, copy=False), weights[kept]
    largest = float(own.max())
    if by == "max" or largest <= 0:
        scale = largest
    elif by == "mean":
        scale = largest * float(mass @ (own / largest) @ mass)  # of scaled costs: a sum of the costs may overflow
    else:
        order = np.argsort(own, axis=None, kind="stable")
        cumulative = np.cumsum(np.outer(mass, mass).ravel()[order])
        scale = float(own.ravel()[order[np.searchsorted(cumulative, cumulative[-1] / 2 * (1 - 1e-12))]])
    if not scale > 0:
        raise InputError(f"the {by} of the costs is {scale:g}, but a scale to divide by must be positive")
    return scale
