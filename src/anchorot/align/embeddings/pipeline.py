"""Two embeddings in, a map and matches out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from anchorot._parallel import interruptible
from anchorot._progress import late_bar
from anchorot._typing import RngLike
from anchorot._validate import check_choice, check_device, check_integer, check_rng
from anchorot.align.embeddings.result import check_embedding, unit_rows

if TYPE_CHECKING:
    from anchorot.align.embeddings.result import EmbeddingAlignment

METRICS = ("cosine", "euclidean")
N_STEPS = 10  # about: draws, and rounds on all points


def align_embeddings(
    x: ArrayLike,
    y: ArrayLike,
    *,
    metric: str = "cosine",
    n_landmarks: int | None = None,
    rng: RngLike = None,
    device: str | None = None,
    progress: bool = True,
) -> EmbeddingAlignment:
    """Find the rotation that brings one embedding onto another, and which point is which, without known pairs.

    A few hundred points of each side are aligned by the distances within each; the map that follows from that grows
    from the main directions to all; several draws of points are tried, until two agree; rounds of assignment and
    rotation on all points end it. The two sides need not have the same dimension or number of points, nor be the same
    objects: the map is found from the shapes of the two clouds.

    Parameters
    ----------
    x, y : array_like of shape (n, d) and (m, e)
        One row for each point.
    metric : {"cosine", "euclidean"}
        Whether directions alone count (rows are brought to length 1), or positions do, up to a common scale.
    n_landmarks : int, optional
        Points of each side that are aligned first, by their distances.
        400 by default. More take longer, and help where the two clouds are hardly alike.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides which points are drawn.
    device : str, optional
        Where PyTorch (extra ``torch``) does the heavy work, "cuda", say.
        That is the search for nearest points, of 10 000 points and more.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    EmbeddingAlignment
        With `matches`, `rotation`, `scale`, `offset`, ``transform(X_new)``, ``inverse_transform(Y_new)``, ``top_k(k)``,
        a `confidence` for each point, `candidates`, `runner_up` and more.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> points, order = rng.normal(size=(60, 4)) * (4, 3, 2, 1), rng.permutation(60)
    >>> turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    >>> found = ao.align_embeddings(points, 7 * points[order] @ turn, rng=0)
    >>> bool((order[found.matches] == np.arange(60)).all()), bool(np.allclose(found.rotation, turn))
    (True, True)
    """
    check_choice(metric, "metric", METRICS)
    first, second = (unit_rows(check_embedding(side, name), name, metric) for side, name in ((x, "x"), (y, "y")))
    count = None if n_landmarks is None else check_integer(n_landmarks, "n_landmarks", 2)
    where, generator = check_device(device), check_rng(rng)
    from anchorot.align.embeddings.solve import solve  # which loads SciPy

    with late_bar(N_STEPS, "aligning", "steps", progress) as advance:
        return interruptible(
            lambda: solve(first, second, metric, count, generator, where, advance), max(len(first), len(second))
        )
