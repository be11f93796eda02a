"""Spaces from cells: AnnData objects and .h5ad files; and columns of cells and data frames."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Disconnected, Float64s, RngLike
from anchorot._validate import as_array, check_numbers, equals_itself
from anchorot.exceptions import InputError, MissingExtraError, type_of
from anchorot.io.attributes import PointAttributes, attributes_of, draw_points
from anchorot.io.columns import Columns
from anchorot.io.points import MAX_COORDINATES, check_points, field_area, from_neighbors, from_points
from anchorot.io.safe_open import check_limit, read_guarded, reading
from anchorot.space import Space

OF_CELLS = "column of obs or array of obsm"


def from_cells(
    adata: Any,
    obsm: str | None = None,
    metric: str = "euclidean",
    *,
    n_neighbors: int | None = None,
    disconnected: Disconnected | Literal["split"] = "error",
    types: str | Iterable[Hashable] | None = None,
    features: str | Sequence[str] | ArrayLike | None = None,
    n_points: int | None = None,
    rng: RngLike = None,
) -> Space | list[Space]:
    """Make the space of the cells of an AnnData object.

    Parameters
    ----------
    adata : anndata.AnnData
    obsm : str, optional
        Key of an array in ``adata.obsm``, such as ``"X_pca"``; ``adata.X`` by default.
    metric : str
        Distance between cells: "euclidean", "correlation" or any other metric of SciPy.
    n_neighbors : int, optional
        If given, costs are shortest paths on the graph of this many nearest neighbours, see :func:`from_neighbors`.
    disconnected : {"error", "largest", "split"} or float
        What to do if that graph has several components, see :func:`from_graph`.
    types : str or iterable of hashable objects, optional
        The type of each cell: the name of a column of ``adata.obs``, such as ``"cell_type"``; or the types themselves.
    features : str, list of str, or array_like, optional
        Features of the cells: columns of ``adata.obs`` or arrays of ``adata.obsm``, by name; or a row for each cell.
    n_points, rng
        Sample at most this many cells, see :func:`from_points`.

    Returns
    -------
    Space, or list of Space if ``disconnected="split"``
        The labels are the names of the cells. Of an array with at most three columns, such as ``"spatial"``, the area
        of the field of view is estimated (:attr:`Space.area`).

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import anchorot as ao
    >>> cells = AnnData(np.array([[0.0, 1.0], [3.0, 5.0], [0.0, 0.0]]))
    >>> cells.obs["kind"] = ["B", "T", "T"]
    >>> ao.from_cells(cells, types="kind")
    Space(n=3, uniform, float64, types=2)
    """
    if not (hasattr(adata, "obsm") and hasattr(adata, "obs_names")):
        hint = "; anchorot.read reads .h5ad files" if isinstance(adata, str | os.PathLike) else ""
        raise InputError(f"got {type_of(adata)}, but an AnnData object is needed{hint}")
    listed = ", ".join(adata.obsm) or "nothing"
    if obsm is not None and obsm not in adata.obsm:
        raise InputError(f"there is no {obsm!r} in obsm; it has: {listed}")
    if obsm is None and adata.X is None:
        raise InputError(f"there is no X; name an array of obsm, which has: {listed}")
    values = adata.X if obsm is None else adata.obsm[obsm]
    names = [str(name) for name in adata.obs_names]
    attributes = attributes_of(types, features, names, columns_of_cells(adata), "adata")
    return cell_space(values, names, attributes, metric, n_neighbors, disconnected, n_points, rng)


class Cells(NamedTuple):
    """The cells of an .h5ad file."""

    values: Any  # (n, d), dense or sparse
    names: list[str]
    columns: Columns


def read_h5ad(file: Path, obsm: str | None, wanted: Sequence[str], limit: int) -> Cells:
    """Read one array of an .h5ad file, the names of its cells and the requested columns of obs and obsm only."""
    found = h5ad_arrays("h5ad", file, limit, key=obsm or "", wanted=json.dumps(list(wanted)))
    return Cells(_assembled(found), found["names"].tolist(), stored_columns(found))


def h5ad_arrays(reader: str, file: Path, limit: int, **options: str) -> dict[str, Any]:
    """Read arrays of an .h5ad file with one of the sandboxed readers."""
    if find_spec("h5py") is None:
        raise MissingExtraError("h5py", "cells")
    return read_guarded(reader, file, limit, **options)


def stored_columns(found: dict[str, Any]) -> Columns:
    """Return the columns among the arrays of an .h5ad file: values or category codes, and masks of missing values."""
    columns: dict[str, Any] = {}
    for place, name in enumerate(found["columns"].tolist()):
        values, missing = found[f"column{place}"], found.get(f"missing{place}")
        if f"categories{place}" in found:
            categories = [*found[f"categories{place}"].tolist(), None]  # the code -1 means missing
            columns[name] = [categories[code] for code in values.tolist()]
        elif missing is not None and missing.any():
            pairs = zip(missing.tolist(), values.tolist(), strict=True)
            columns[name] = [None if is_missing else value for is_missing, value in pairs]
        else:
            columns[name] = plain(values)
    return Columns(OF_CELLS, columns)


def _assembled(found: dict[str, Any]) -> Any:
    if "values" in found:
        return found["values"]
    from scipy.sparse import csc_array, csr_array

    make = csr_array if found["kind"] == "csr_matrix" else csc_array
    if found["shape"].shape != (2,) or (found["shape"] < 0).any():
        raise InputError(f"a sparse array of shape {found['shape'].tolist()}, but rows and columns are needed")
    with reading("an .h5ad file"):
        sparse = make(
            (check_numbers(found["data"], "the data of a sparse array"), found["indices"], found["indptr"]),
            shape=tuple(found["shape"]),
        )
        sparse.check_format(full_check=True)  # indices out of range would crash SciPy
    return sparse


def cell_space(
    values: Any,
    names: list[str],
    attributes: PointAttributes,
    metric: str,
    n_neighbors: int | None,
    disconnected: Disconnected | Literal["split"],
    n_points: int | None,
    rng: RngLike,
    limit: int | None = None,
) -> Space | list[Space]:
    """Make the space of cells from a dense or sparse array or a data frame; `limit` bounds the dense array's bytes."""
    if len(values.shape) != 2:
        raise InputError(f"the values have shape {values.shape}, but a row for every cell is needed")
    if len(names) != values.shape[0]:
        raise InputError(f"there are {len(names)} names of cells, but {values.shape[0]} rows of values")
    own: dict[str, Any]
    if n_neighbors is not None:
        own = {"types": attributes.types, "features": attributes.features, "labels": names}
        dense = _dense(values, limit)
        return from_neighbors(dense, n_neighbors, metric, disconnected, **own, n_points=n_points, rng=rng)
    kept = draw_points(np.arange(len(names)), n_points, rng)  # before a sparse array becomes dense
    rows = values
    if len(kept) < len(names):
        order = np.argsort(kept)  # in backed mode HDF5 accepts indices in increasing order only
        rows = values.iloc[kept] if hasattr(values, "iloc") else values[kept[order]][np.argsort(order)]
    area = field_area(_dense(values, limit), metric) if values.shape[1] <= MAX_COORDINATES else None
    own = {**attributes.of(kept), "labels": [names[i] for i in kept], "area": area}
    return from_points(_dense(rows, limit), metric, **own)


def _dense(values: Any, limit: int | None) -> Float64s:
    if limit is not None:  # a sparse array of a small file may have any number of columns
        size = 8 * math.prod(int(side) for side in values.shape)
        check_limit(size, f"an array of {' x '.join(map(str, values.shape))} numbers", limit)
    loaded = values.to_memory() if hasattr(values, "to_memory") else values  # sparse, in backed mode
    return check_points(loaded.toarray() if hasattr(loaded, "toarray") else np.asarray(loaded))


class LazyColumns(Mapping[str, Any]):
    """Columns that are converted to plain values on access."""

    def __init__(self, names: list[str], get: Callable[[str], Any]) -> None:
        self._names, self._get = names, get

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        return plain(self._get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def plain(column: Any) -> Any:
    """Return a column as an array of numbers or a list with None for missing values; a matrix as a dense array."""
    if hasattr(column, "toarray"):
        return column.toarray()
    if hasattr(column, "to_list") and not hasattr(column, "isna"):  # polars
        return column.to_list()
    values = column.to_numpy() if hasattr(column, "to_numpy") else as_array(column, "a column")
    if values.ndim != 1:
        return values
    missing = np.asarray(column.isna()) if hasattr(column, "isna") else np.zeros(len(values), bool)
    if not missing.any() and values.dtype.kind in "biuf":
        return values
    listed = values.tolist() if isinstance(column, np.ndarray) or hasattr(column, "isna") else list(column)
    pairs = zip(missing.tolist(), listed, strict=True)  # NumPy would turn NaN among texts into a text
    return [None if is_missing or not equals_itself(value) else value for is_missing, value in pairs]


def columns_of_cells(adata: Any) -> Columns:
    """Return the columns of obs, then the arrays of obsm, of an AnnData object."""
    of_obs = list(adata.obs.columns)
    arrays = [name for name in adata.obsm if name not in of_obs]
    names = LazyColumns([*of_obs, *arrays], lambda name: (adata.obs if name in of_obs else adata.obsm)[name])
    return Columns(OF_CELLS, names)


def columns_of_frame(frame: Any) -> Columns:
    """Return the columns of a data frame, or of a mapping from names to arrays."""
    names = frame.columns if hasattr(frame, "columns") else frame
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise InputError(f"got {type_of(frame)}, but an AnnData object, a data frame or a file is needed")
    return Columns("column", LazyColumns(list(names), lambda name: frame[name]))
