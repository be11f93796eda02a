"""Which point is which: two meshes in, a `MeshAlignment` out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anchorot._parallel import interruptible
from anchorot._typing import RngLike
from anchorot._validate import check_threads

if TYPE_CHECKING:
    from anchorot.surfaces.result import MeshAlignment


def align_meshes(
    first: Any, second: Any, *, mass: float | str | None = None, rng: RngLike = None, threads: int = 1
) -> MeshAlignment:
    """Find which vertex of one mesh is which of another.

    Parameters
    ----------
    first, second : path, trimesh.Trimesh, or pair of arrays
        Triangle meshes, as :func:`from_mesh` takes them. Of several components the largest is kept, with a note.
    mass : float from 1e-9 to 1, or "free", optional
        Match only this share of the first surface, for missing parts. "free" finds the share.
    rng : None, int or numpy.random.Generator
        Decides between matches that symmetry makes equal.
    threads : int
        Threads for the alignment of landmarks.

    Returns
    -------
    MeshAlignment
        With `matches`, `confidence`, `reliable`, `candidates` and more.

    Examples
    --------
    >>> import numpy as np
    >>> import trimesh
    >>> import anchorot as ao
    >>> ball = trimesh.creation.icosphere(3)
    >>> egg = ball.vertices * [1, 1.3, 1.9] + 0.2 * ball.vertices**2
    >>> order = np.random.default_rng(0).permutation(len(egg))
    >>> found = ao.align_meshes((egg, ball.faces), (egg[order], np.argsort(order)[ball.faces]))
    >>> bool((order[found.matches] == np.arange(len(egg))).mean() > 0.99)
    True
    """
    from anchorot.surfaces.answer import answer

    return interruptible(lambda: answer(first, second, mass, rng, check_threads(threads)))
