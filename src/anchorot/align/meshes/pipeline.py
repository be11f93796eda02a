"""Which point is which: two meshes in, a `MeshAlignment` out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._parallel import interruptible
from anchorot._progress import late_bar
from anchorot._typing import RngLike
from anchorot._validate import check_rng, check_threads
from anchorot.align.spaces.pipeline import check_mass
from anchorot.exceptions import ConvergenceWarning, InputError
from anchorot.space import Space

if TYPE_CHECKING:
    from anchorot.align.meshes.result import MeshAlignment

N_STEPS = 100  # about: candidates that are made and those that are sharpened


def align_meshes(
    x: Any,
    y: Any,
    *,
    mass: float | str | None = None,
    rng: RngLike = None,
    threads: int = 1,
    progress: bool = True,
) -> MeshAlignment:
    """Find which vertex of one mesh is which of another, and which way round.

    Landmarks are aligned by their distances along the surface, and by signatures that tell left from right; each answer
    is refined by eigenfunctions of the Laplacian, 20 to 150 of them, until it is a map of all vertices. Distances alone
    cannot tell a body's left from its right, and hardly its front from its back, so there are several candidates, also
    the images of each under the symmetries of either surface. What chooses looks at the surface from outside: where it
    bulges, which way one turns, and whether neighbourhoods are turned as a whole by a rotation that does not mirror.
    Such rotations sharpen the chosen map at last, unless `mass` is given.

    Parameters
    ----------
    x, y : path, trimesh.Trimesh, or pair of arrays
        Triangle meshes, as :func:`from_mesh` takes them. Of several components the largest is kept, with a note. Faces
        may run either way round; neighbours are made to agree. Sizes do not matter, unless `mass` is given.
    mass : float from 1e-9 to 1, or "free", optional
        Match only this share of the points, by their weights.
        For parts, such as a scan that lacks a limb: the share is that of the landmarks. "free" leaves out those that
        fit far worse than the rest. Both meshes must then be in the same units.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides between matches that symmetry makes equal.
    threads : int
        Threads of the kernels; the result does not depend on it.
        They align landmarks; matrix products use the threads of the BLAS library.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    MeshAlignment
        With `matches`, a `confidence` for every vertex, `reliable`, `candidates`, `orientation` and more. Where
        `reliable`, the estimated chance that the map is the right way round, is below 0.8, there is a
        `ConvergenceWarning`.

    Notes
    -----
    Two meshes of 5 000 vertices take some ten seconds on one core, and 0.5 GB; two of 52 000 take 90 seconds, and
    0.9 GB. Candidates are made and compared on samples of 1 000 vertices; the last step takes O(n m) products of rows
    of 150 numbers. Meshes of 10 000 vertices and more are smoothed first, by a round of averages over neighbours for
    every 5 000 vertices: otherwise noise as large as an edge crumples them, and areas and distances with them.

    Examples
    --------
    >>> import numpy as np
    >>> import trimesh
    >>> import anchorot as ao
    >>> ball = trimesh.creation.icosphere(2)
    >>> egg = ball.vertices * [1, 1.3, 1.9] + 0.2 * ball.vertices**2
    >>> order = np.random.default_rng(0).permutation(len(egg))
    >>> found = ao.align_meshes((egg, ball.faces), (egg[order], np.argsort(order)[ball.faces]))
    >>> bool((order[found.matches] == np.arange(len(egg))).all()), found.is_mirrored
    (True, False)
    """
    from anchorot.align.meshes.result import MIN_RELIABLE
    from anchorot.align.meshes.solve import solve

    share, threads = check_mass(mass), check_threads(threads)
    check_rng(rng)
    for thing in (x, y):
        _check_kind(thing)
    with late_bar(N_STEPS, "aligning", "steps", progress) as advance:
        found = interruptible(lambda: solve(x, y, share, rng, threads, advance))
    if found.reliable < MIN_RELIABLE:
        text = (
            f"the map may be the wrong way round: that it is right has an estimated chance of {found.reliable:.0%}; "
            "look at it, and at found.candidates"
        )
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return found


def _check_kind(thing: Any) -> None:
    """Refuse what has no faces, and say what takes it."""
    if isinstance(thing, Space):
        raise InputError("got a Space, but meshes are needed; align(x, y) takes spaces, with n_landmarks large ones")
    if isinstance(thing, np.ndarray) or (isinstance(thing, list) and len(thing) != 2):
        raise InputError("got points without faces, but meshes are needed; align(x, y, n_landmarks=300) takes points")
