"""Spaces from cells: AnnData objects and .h5ad files."""

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_numbers
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.foreign import reading
from anchorot.io.gate import check_limit
from anchorot.io.graphs import Disconnected
from anchorot.io.neighbors import from_neighbors
from anchorot.io.points import check_points, from_points
from anchorot.io.quarantine import quarantined
from anchorot.io.sampling import sampled
from anchorot.space import Space


def from_cells(
    adata: Any,
    obsm: str | None = None,
    metric: str = "euclidean",
    *,
    n_neighbors: int | None = None,
    disconnected: Disconnected | Literal["split"] = "error",
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
        Between cells: "euclidean", "correlation" or any other metric of SciPy.
    n_neighbors : int, optional
        If given, costs are shortest paths on the graph of this many nearest neighbours, see :func:`from_neighbors`.
    disconnected : {"error", "largest", "split"} or float
        What to do if that graph has several components, see :func:`from_graph`.
    n_points : int, optional
        Keep at most this many cells, drawn uniformly.
    rng : None, int or numpy.random.Generator
        Source of randomness for the draw.

    Returns
    -------
    Space, or list of Space if ``disconnected="split"``
        The labels are the names of the cells.
    """
    _check_key(obsm, list(adata.obsm), adata.X is not None)
    values = adata.X if obsm is None else adata.obsm[obsm]
    return cell_space(values, list(adata.obs_names), metric, n_neighbors, disconnected, n_points, rng)


def read_h5ad(file: Path, obsm: str | None, limit: int) -> tuple[Any, list[Any]]:
    """Read one array of an .h5ad file, and the names of its cells; nothing else of the file is read."""
    if find_spec("h5py") is None:
        raise MissingExtraError("h5py", "cells")
    found = quarantined("h5ad", file, limit, key=obsm or "")
    return _assembled(found), found["names"].tolist()


def _assembled(found: dict[str, Any]) -> Any:
    if "values" in found:
        return found["values"]
    from scipy.sparse import csc_array, csr_array

    make = csr_array if found["kind"] == "csr_matrix" else csc_array
    if found["shape"].shape != (2,) or (found["shape"] < 0).any():
        raise InputError(f"a sparse array of shape {found['shape'].tolist()}, but one of rows and columns is needed")
    with reading("an .h5ad file"):
        sparse = make(
            (check_numbers(found["data"], "the data of a sparse array"), found["indices"], found["indptr"]),
            shape=tuple(found["shape"]),
        )
        sparse.check_format(full_check=True)  # indices out of range would crash SciPy
    return sparse


def cell_space(
    values: Any,
    names: list[Any],
    metric: str,
    n_neighbors: int | None,
    disconnected: Disconnected | Literal["split"],
    n_points: int | None,
    rng: RngLike,
    limit: int | None = None,
) -> Space | list[Space]:
    """Make the space of cells whose values are a dense or sparse array or a data frame; `limit` is for dense ones."""
    labels = [str(name) for name in names]
    if values.ndim != 2:
        raise InputError(f"the values have shape {values.shape}, but a row for every cell is needed")
    if len(labels) != values.shape[0]:
        raise InputError(f"there are {len(labels)} names of cells, but {values.shape[0]} rows of values")
    if n_neighbors is not None:
        dense = _dense(values, limit)
        return from_neighbors(dense, n_neighbors, metric, disconnected, labels=labels, n_points=n_points, rng=rng)
    kept = sampled(np.arange(len(labels)), n_points, rng)  # before a sparse array is made dense
    rows = values.iloc[kept] if hasattr(values, "iloc") else values[kept]
    return from_points(_dense(rows, limit), metric, labels=[labels[i] for i in kept])


def _check_key(obsm: str | None, known: list[str], has_values: bool) -> None:
    listed = ", ".join(known) or "nothing"
    if obsm is not None and obsm not in known:
        raise InputError(f"there is no {obsm!r} in obsm; it has: {listed}")
    if obsm is None and not has_values:
        raise InputError(f"there is no X; name an array of obsm, which has: {listed}")


def _dense(values: Any, limit: int | None) -> Float64s:
    if limit is not None:  # a sparse array of a small file may have any number of columns
        size = 8 * math.prod(int(side) for side in values.shape)
        check_limit(size, f"an array of {' x '.join(map(str, values.shape))} numbers", limit)
    return check_points(values.toarray() if hasattr(values, "toarray") else np.asarray(values))
