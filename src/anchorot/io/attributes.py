"""Types and features of points, given as values, by point name or by column name; and random samples of points."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import as_array, at_hand, check_features, check_integer, check_rng, check_types
from anchorot.exceptions import InputError
from anchorot.io.columns import Columns

Types = str | Iterable[Hashable] | Mapping[Any, Hashable]
Features = str | Sequence[str] | ArrayLike | Mapping[Any, ArrayLike]


@dataclass(frozen=True, eq=False)
class PointAttributes:
    """Types and features of all points, before a sample is taken."""

    types: tuple[Hashable, ...] | None = None
    features: Float64s | None = None

    def of(self, points: Int64s) -> dict[str, Any]:
        """Return the types and features of some points, as arguments of `Space`."""
        return {
            "types": None if self.types is None else [self.types[point] for point in points],
            "features": None if self.features is None else self.features[points],
        }


NO_POINT_ATTRIBUTES = PointAttributes()


def given_attributes(types: Iterable[Hashable] | None, features: ArrayLike | None, n: int, of: str) -> PointAttributes:
    """Validate types and features given as values, for n points of an object that messages call `of`."""
    return PointAttributes(
        None if types is None else check_types(types, n, of),
        None if features is None else check_features(features, n),
    )


def attributes_of(
    types: Types | None, features: Features | None, names: Sequence[Any], columns: Columns, of: str
) -> PointAttributes:
    """Validate types and features of named points: values, mappings from names, or names of columns."""
    features = at_hand(features)
    if isinstance(types, str):
        types = _rows(_whole(columns.ids(types), types, names))
    elif isinstance(types, Mapping):
        types = _looked_up(types, names, "types")
    if isinstance(features, Mapping):
        features = _looked_up(features, names, "features")
    elif wanted := column_names(features):
        features = np.column_stack([numbers_of(columns, name, names) for name in wanted])
    return given_attributes(types, features, len(names), of)


def column_names(features: Any) -> tuple[str, ...]:
    """Return the names of the requested columns; none if the values themselves are given."""
    if isinstance(features, str):
        return (features,)
    is_named = isinstance(features, list | tuple) and len(features) > 0 and all(isinstance(f, str) for f in features)
    return tuple(features) if is_named else ()


def numbers_of(columns: Columns, name: str, names: Sequence[Any]) -> Float64s:
    """Return a column as numbers, one or a vector for each point."""
    values = _whole(columns[name], name, names)
    try:
        array = as_array(values, name)
        array = np.array(array.tolist()) if array.dtype.hasobject else array
    except ValueError:  # vectors of several lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        shown = next((value for value in values if isinstance(value, str)), None)
        what = "vectors of several lengths, or no numbers" if shown is None else f"texts, such as {shown[:40]!r}"
        raise InputError(f"{name!r} holds {what}, but numbers are needed")
    return array.astype(np.float64)


def _whole(values: Any, name: str, names: Sequence[Any]) -> Any:
    """Return a column, checked to have a value for every point."""
    check_length(values, name, len(names))
    has_objects = not isinstance(values, np.ndarray) or values.dtype.hasobject
    for point, value in zip(names, values, strict=True) if has_objects else ():
        if value is None:
            raise InputError(f"{name!r} has no value at {point!r}; give it one, or leave that point out")
    return values


def check_length(values: Any, name: str, n: int) -> None:
    """Raise unless a column has one value for each of n points."""
    count = 1 if getattr(values, "ndim", 1) == 0 else len(values)
    if count != n or getattr(values, "ndim", 1) == 0:
        raise InputError(f"{name!r} has {count} values, but there are {n} points")


def _rows(values: Any) -> Iterable[Hashable]:
    """Return values as Python objects; the rows of a matrix become tuples."""
    if isinstance(values, np.ndarray):
        return [tuple(row) if isinstance(row, list) else row for row in values.tolist()]
    return values


def _looked_up(values: Mapping[Any, Any], names: Sequence[Any], what: str) -> list[Any]:
    for name in names:
        if name not in values:
            raise InputError(f"{what} has no entry for {name!r}, but every point needs one")
    return [values[name] for name in names]


def draw_points(candidates: Int64s, n_points: int | None, rng: RngLike, weights: Float64s | None = None) -> Int64s:
    """Draw at most `n_points` of the candidates uniformly without replacement; all, in order, if there are no more.

    Points of weight zero are drawn only if all weights are zero.
    """
    if n_points is None or check_integer(n_points, "n_points", 1) >= len(candidates):
        return candidates
    if weights is not None and weights[candidates].any():
        candidates = candidates[weights[candidates] > 0]
        if n_points >= len(candidates):
            return candidates
    return check_rng(rng).choice(candidates, size=int(n_points), replace=False)
