"""Convert a space to the arrays that `write` and the cache store, and back, exactly."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from anchorot.config import __version__
from anchorot.exceptions import InputError
from anchorot.geometry import Geometry
from anchorot.provenance import unpack_origin
from anchorot.space import Space

GEOMETRY: dict[str, tuple[int, tuple[int, ...], type]] = {
    "geometry_index": (1, (), np.int64),  # dimensions, allowed numbers of columns, and dtype
    "geometry_n_sites": (0, (), np.int64),
    "geometry_positions": (2, (2, 3), np.float64),
    "geometry_faces": (2, (3,), np.int64),
    "geometry_edges": (2, (2,), np.int64),
}
ORIGIN = "origin"
AREA = "area"
STORED = {*GEOMETRY, ORIGIN, AREA}  # arrays that belong to a stored cost matrix
MAX_SITES = 1 << 31  # indices of sites then fit into 32 bits


def arrays_of(space: Space) -> dict[str, Any]:
    """Return the data of a space; labels that are neither all integers nor all texts become texts."""
    arrays: dict[str, Any] = {"cost": space.cost, "weights": space.weights}
    if space.types is not None:
        arrays["types"] = _plain_types(space.types)
        if arrays["types"] is None:
            shown = ", ".join(sorted({type(kind).__name__ for kind in space.types}))
            raise InputError(f"types that are {shown} cannot be written; make all of them texts, or all integers")
    if space.features is not None:
        arrays["features"] = space.features
    if space.area is not None:
        arrays[AREA] = np.array(space.area)
    if space.labels is not None:
        arrays["labels"] = _label_array(space.labels)
    for name, (_, _, kind) in GEOMETRY.items() if space.geometry is not None else ():
        part = getattr(space.geometry, name.removeprefix("geometry_"))
        if part is not None:
            arrays[name] = np.asarray(part, kind)
    if space.origin is not None:
        arrays[ORIGIN] = np.array(space.origin.packed(__version__))
    return arrays


def keeps_all(space: Space) -> bool:
    """Whether `arrays_of` keeps all labels and types: NumPy texts cannot end in NUL, and its integers have 64 bits."""
    has_labels = space.labels is None or tuple(_label_array(space.labels).tolist()) == space.labels
    return has_labels and (space.types is None or _plain_types(space.types) is not None)


def space_of(found: Mapping[str, Any]) -> Space:
    """Make a space from untrusted arrays."""
    rest = {name: part for name, part in found.items() if name not in {*GEOMETRY, ORIGIN}}
    origin = unpack_origin(found[ORIGIN]) if ORIGIN in found else None
    return Space(**rest, geometry=_geometry_of(found), origin=origin, copy=False)


def _label_array(labels: Sequence[object]) -> Any:
    if all(type(label) is int and -(2**63) <= label < 2**63 for label in labels):
        return np.array(labels, np.int64)
    return np.array([str(label) for label in labels])


def _plain_types(types: tuple[Hashable, ...]) -> Any | None:
    """Return types as an array that converts back to equal types, or None."""
    kinds = {type(kind) for kind in types}
    if len(kinds) != 1 or not kinds <= {str, int, bool, float}:
        return None
    array = np.array(types)
    return None if array.dtype.hasobject or array.tolist() != list(types) else array


def _geometry_of(found: Mapping[str, Any]) -> Geometry | None:
    """Return the geometry in the arrays, if any; all indices of sites are checked."""
    parts = {name.removeprefix("geometry_"): _checked(name, found[name]) for name in GEOMETRY if name in found}
    if not {"index", "n_sites"} <= set(parts):
        return None
    n_sites, positions = int(parts.pop("n_sites")), parts.get("positions")
    if not 0 < n_sites < MAX_SITES or (positions is not None and len(positions) != n_sites):
        raise InputError(f"geometry_n_sites is {n_sites}, which does not fit the other arrays of the geometry")
    for name in ("index", "faces", "edges"):
        sites = parts.get(name)
        if sites is not None and sites.size and (sites.min() < 0 or sites.max() >= n_sites):
            raise InputError(f"geometry_{name} names sites {sites.min()} to {sites.max()}, but there are {n_sites}")
    return Geometry(n_sites=n_sites, **parts)


def _checked(name: str, part: Any) -> Any:
    """Return an array of the geometry after checking its shape, dtype and values."""
    dimensions, columns, kind = GEOMETRY[name]
    fits = part.ndim == dimensions and (not columns or part.shape[-1] in columns)
    if part.dtype != kind or not fits or not np.isfinite(part).all():
        raise InputError(f"{name} has shape {part.shape} and dtype {part.dtype}, or numbers that are not finite")
    return part
