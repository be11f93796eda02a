"""Columns of data frames and annotated arrays, by name: pandas, polars, AnnData, or a mapping of arrays."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from anchorot._validate import as_array, equals_itself
from anchorot.exceptions import InputError
from anchorot.io.marks import Columns

OF_CELLS = "column of obs or array of obsm"


class LazyColumns(Mapping[str, Any]):
    """Columns that are turned into plain values when they are asked for."""

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
    """Return values as an array of numbers, or as a list with None where one is missing; matrices as dense arrays."""
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
    pairs = zip(missing.tolist(), listed, strict=True)  # NumPy would make a text of NaN among texts
    return [None if lost or not equals_itself(value) else value for lost, value in pairs]


def columns_of_cells(adata: Any) -> Columns:
    """Return what the cells of an AnnData object have: columns of obs, then arrays of obsm."""
    of_obs = list(adata.obs.columns)
    arrays = [name for name in adata.obsm if name not in of_obs]
    names = LazyColumns([*of_obs, *arrays], lambda name: (adata.obs if name in of_obs else adata.obsm)[name])
    return Columns(OF_CELLS, names)


def columns_of_frame(frame: Any) -> Columns:
    """Return the columns of a data frame, or of a mapping from names to arrays."""
    names = frame.columns if hasattr(frame, "columns") else frame
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise InputError(f"got a {type(frame).__name__}, but an AnnData object, a data frame or a file is needed")
    return Columns("column", LazyColumns(list(names), lambda name: frame[name]))
