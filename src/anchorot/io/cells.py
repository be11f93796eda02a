"""Spaces from cells: AnnData objects and .h5ad files."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from anchorot._typing import Float64s, RngLike
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.foreign import check_claim, reading
from anchorot.io.graphs import Disconnected
from anchorot.io.neighbors import from_neighbors
from anchorot.io.points import check_points, from_points
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
        If given, costs are shortest paths on the graph of so many nearest neighbours, see :func:`from_neighbors`.
    disconnected : {"error", "largest", "split"} or float
        What to do if that graph has several components, see :func:`from_graph`.
    n_points : int, optional
        Keep at most so many cells, drawn uniformly.
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


def read_h5ad(file: Path, obsm: str | None) -> tuple[Any, list[Any]]:
    """Read one array of an .h5ad file, and the names of its cells; nothing else of the file is read."""
    try:
        import h5py
        from anndata.io import read_elem
    except ImportError:
        raise MissingExtraError("anndata", "cells") from None

    def element(handle: Any, name: str) -> Any:
        part = handle[name]
        arrays = [part] if hasattr(part, "shape") else [item for item in part.values() if hasattr(item, "shape")]
        check_claim(sum(int(array.size) * array.dtype.itemsize for array in arrays), file, name)
        return read_elem(part)

    file.open("rb").close()  # what the system has to say about the file is raised as it is
    with reading("an .h5ad file"), h5py.File(file, "r") as handle:
        _check_key(obsm, list(handle["obsm"]) if "obsm" in handle else [], "X" in handle)
        values = element(handle, "X" if obsm is None else f"obsm/{obsm}")
        names = element(handle, f"obs/{handle['obs'].attrs.get('_index', '_index')}")
    return values, list(names)


def cell_space(
    values: Any,
    names: list[Any],
    metric: str,
    n_neighbors: int | None,
    disconnected: Disconnected | Literal["split"],
    n_points: int | None,
    rng: RngLike,
) -> Space | list[Space]:
    """Make the space of cells whose values are a dense or sparse array or a data frame."""
    labels = [str(name) for name in names]
    if len(labels) != values.shape[0]:
        raise InputError(f"there are {len(labels)} names of cells, but {values.shape[0]} rows of values")
    if n_neighbors is not None:
        return from_neighbors(
            _dense(values), n_neighbors, metric, disconnected, labels=labels, n_points=n_points, rng=rng
        )
    kept = sampled(np.arange(len(labels)), n_points, rng)  # before a sparse array is made dense
    rows = values.iloc[kept] if hasattr(values, "iloc") else values[kept]
    return from_points(_dense(rows), metric, labels=[labels[i] for i in kept])


def _check_key(obsm: str | None, known: list[str], has_values: bool) -> None:
    listed = ", ".join(known) or "nothing"
    if obsm is not None and obsm not in known:
        raise InputError(f"there is no {obsm!r} in obsm; it has: {listed}")
    if obsm is None and not has_values:
        raise InputError(f"there is no X; name an array of obsm, which has: {listed}")


def _dense(values: Any) -> Float64s:
    return check_points(values.toarray() if hasattr(values, "toarray") else np.asarray(values))
