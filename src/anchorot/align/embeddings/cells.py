"""Cells of two assays, as AnnData objects: aligned by what scanpy and its kin leave in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, RngLike
from anchorot._validate import shown
from anchorot.align.correspondence import warn_if_unreliable
from anchorot.align.embeddings.pipeline import solve
from anchorot.align.embeddings.result import check_embedding
from anchorot.align.embeddings.sides import unit_rows
from anchorot.exceptions import InputError
from anchorot.io.cells import plain

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from anchorot.align.embeddings.result import EmbeddingAlignment

PLACES = ("X_pca", "X_lsi", "X_spectral")  # arrays of obsm, the first that is there
NAMES = ("x", "y")
GRAPH = "connectivities"  # of obsp, where there is no such array
DIRECTIONS = 20  # of diffusion on a graph of neighbours
MIN_CELLS = 3  # of such a graph


def align_cells(
    x: Any,
    y: Any,
    *,
    labels: str | None = None,
    obsm: str | tuple[str, str] | None = None,
    metric: str = "auto",
    seeds: Iterable[tuple[int, int]] | Mapping[int, int] | None = None,
    n_landmarks: int | None = None,
    rng: RngLike = None,
    device: str | None = None,
    progress: bool = True,
) -> EmbeddingAlignment:
    """Align the cells of two assays, and write aligned coordinates and transferred labels into both.

    Each side is taken from ``obsm["X_pca"]``, ``obsm["X_lsi"]`` or ``obsm["X_spectral"]``, or else from the diffusion
    coordinates of the graph of neighbours in ``obsp["connectivities"]``; :func:`align_embeddings` does the rest. Both
    sides then have coordinates of one space in ``obsm["X_aligned"]``, the chance that a cell's match is right in
    ``obs["match_confidence"]``, and the chance that the map as a whole is right in ``uns["reliable"]``. With `labels`,
    ``obs["transferred"]`` holds the label that each cell gets from the other side, and
    ``obs["transferred_confidence"]`` the chance that it is right. Nothing else is changed.

    Parameters
    ----------
    x, y : anndata.AnnData
        Expression and accessibility, say. Not views of objects in backed mode, into which nothing can be written.
    labels : str, optional
        Column of ``obs`` to carry over, such as ``"cell_type"``: from the side that has it to the other, or both ways.
    obsm : str or (str, str), optional
        The array of ``obsm`` to use, for both sides or for each.
    metric : {"auto", "cosine", "euclidean"}
        Whether directions alone count ("cosine": rows are brought to length 1), or positions do, up to a common scale
        ("euclidean"). "auto" keeps what more cells agree on.
    seeds : iterable of pairs (i, j) or mapping, optional
        Pairs of points that are known to match.
        Row i of `x` and row j of `y`.
    n_landmarks : int, optional
        Points of each side that are aligned first, by their distances.
        400 by default.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides which cells are drawn.
    device : str, optional
        Where PyTorch (extra ``torch``) does the heavy work, "cuda", say.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    EmbeddingAlignment

    Warns
    -----
    ConvergenceWarning
        If `reliable` is below 0.5: no map was found that can be trusted, so do not trust the labels either.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1, 2], [40, 30, 20])
    >>> state = rng.normal(size=(3, 5))[kind] * 4 + rng.normal(size=(90, 5)) * (4, 3, 2, 1, 1)
    >>> rna, atac = AnnData(np.zeros((90, 1))), AnnData(np.zeros((90, 1)))
    >>> rna.obsm["X_pca"] = state
    >>> atac.obsm["X_lsi"] = state @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    >>> rna.obs["cell_type"] = np.array(["B", "T", "NK"])[kind]
    >>> found = ao.align_cells(rna, atac, labels="cell_type", rng=0)
    >>> float((atac.obs["transferred"] == rna.obs["cell_type"]).mean()) > 0.95, atac.obsm["X_aligned"].shape
    (True, (90, 5))
    """
    sides = (x, y)
    for side, name in zip(sides, NAMES, strict=True):
        if not (hasattr(side, "obsm") and hasattr(side, "obs")):
            raise InputError(f"{name} is a {type(side).__name__}, but an AnnData object is needed")
        if getattr(side, "isbacked", False) and side.is_view:
            raise InputError(
                f"{name} is a view of an AnnData object in backed mode, which cannot hold results; "
                "pass its copy in memory: .to_memory()"
            )
    keys = tuple(obsm) if isinstance(obsm, tuple | list) else (obsm, obsm)
    if len(keys) != 2 or not all(key is None or isinstance(key, str) for key in keys):
        raise InputError(f"obsm must be a name or a pair of names, but got {shown(obsm)}")
    if labels is not None and not isinstance(labels, str):
        raise InputError(f"labels must be the name of a column of obs, but got {shown(labels)}")
    has_labels = [labels is not None and labels in side.obs for side in sides]
    if labels is not None and not any(has_labels):
        raise InputError(f"neither side has {labels!r} in obs; they have: {_listed(x.obs)}; {_listed(y.obs)}")
    rows, others = (_coordinates(side, key, name) for side, key, name in zip(sides, keys, NAMES, strict=True))
    found = solve(rows, others, metric, seeds, n_landmarks, rng, device, progress)
    warn_if_unreliable(found.reliable, found.remedies, stacklevel=2)
    x.obsm["X_aligned"] = found.transform(rows)
    y.obsm["X_aligned"] = unit_rows(others, NAMES[1], metric)
    back = found.backward()
    x.obs["match_confidence"] = found.confidence
    y.obs["match_confidence"] = np.where(back >= 0, found.confidence[back], 0.0)
    for side in sides:
        side.uns["reliable"] = found.reliable
    for source, goal, onto, is_known in (
        (x, y, "second", has_labels[0]),
        (y, x, "first", has_labels[1]),
    ):
        if is_known:
            given, share = found.transfer(plain(source.obs[labels]), onto=onto)
            goal.obs["transferred"], goal.obs["transferred_confidence"] = given, share
    return found


def _coordinates(adata: Any, key: str | None, name: str) -> Float64s:
    """Coordinates of the cells of one side, from the array that is named or the usual places."""
    if key is not None and key not in adata.obsm:
        raise InputError(f"{name} has no {key!r} in obsm; it has: {_listed(adata.obsm)}")
    place = key or next((one for one in PLACES if one in adata.obsm), None)
    if place is not None:
        return check_embedding(plain(adata.obsm[place]), f"obsm[{place!r}] of {name}")
    if GRAPH in adata.obsp:
        return diffusion_coordinates(_check_graph(adata.obsp[GRAPH], f"obsp[{GRAPH!r}] of {name}"))
    raise InputError(
        f"{name} has none of {', '.join(PLACES)} in obsm and no {GRAPH!r} in obsp; compute one of them, or name an "
        f"array with obsm=...; it has: {_listed(adata.obsm)}"
    )


def _check_graph(graph: Any, name: str) -> csr_array:
    """Check that a graph of neighbours allows a random walk, and bring its largest weight to between 1 and 2."""
    from scipy.sparse import csr_array

    matrix = csr_array(graph).astype(np.float64)
    if not (np.isfinite(matrix.data).all() and (matrix.data >= 0).all()):
        raise InputError(f"{name} must be finite and not negative; compute the neighbours again")
    if matrix.shape[0] < MIN_CELLS:
        raise InputError(f"{name} is of {matrix.shape[0]} cells, but at least {MIN_CELLS} are needed")
    matrix.data /= unit_of(float(matrix.data.max(initial=0)))  # only shares of a cell's weight count, in any unit
    lonely = np.flatnonzero(matrix.sum(axis=0) + matrix.sum(axis=1) == 0)
    if len(lonely):
        raise InputError(f"{name} has no neighbours for cell {lonely[0]}; leave it out, or compute more neighbours")
    return matrix


def diffusion_coordinates(graph: csr_array) -> Float64s:
    """Main directions of a random walk on a graph of neighbours, each as long as the walk remembers it."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    matrix = (graph + graph.T) / 2
    degree = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), np.finfo(np.float64).tiny)
    half = diags_array(1 / np.sqrt(degree))
    count = min(DIRECTIONS + 1, matrix.shape[0] - 1)
    values, vectors = eigsh(half @ matrix @ half, k=count, which="LA", v0=np.sqrt(degree))
    order = np.argsort(-values)[1:]
    return (vectors[:, order] / np.sqrt(degree)[:, None]) * (values[order] / (1.0 + 1e-3 - values[order]))


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "nothing"
