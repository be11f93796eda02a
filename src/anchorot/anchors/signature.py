"""Signatures: a space's sorted anchors, averaged over cells, as a matrix of fixed shape."""

from __future__ import annotations

from numpy.typing import ArrayLike

from anchorot._typing import Float64s
from anchorot._validate import check_threads
from anchorot.anchors.attribute_features import attribute_features, settle_attributes
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import check_shape, signature_of
from anchorot.exceptions import InputError
from anchorot.space import Space

SHAPE = 64, 64  # levels and shares: 32 kB for each space; not tuned


def signature(
    x: Space | AnchorFeatures | ArrayLike,
    shape: tuple[int, int] = SHAPE,
    *,
    robust: bool = False,
    max_cost: float | None = None,
    threads: int = 1,
) -> Float64s:
    r"""Signature of a space: its sorted anchors as a matrix of fixed shape, for spaces of any size and weights.

    Let :math:`G(s, t)` be the s-quantile over the points of the t-quantiles of their costs; for a uniform space, the
    cost matrix with sorted rows, then sorted columns. A signature holds the averages of G over equal cells of t (rows)
    and s (columns), divided by the root of their number. So for two spaces

    .. math:: \|e_x - e_y\|_2 \le SAW_2(x, y)

    with :func:`sliced_anchor_wasserstein` on the right, and equality for uniform spaces of n points at shape (n, n) or
    a multiple of it. The mean absolute difference, times the root of the number of cells, bounds SAW_1 in the same way.

    Signatures are vectors in a Euclidean space: means, principal components, k-means and ridge regression work on them
    as they are. The mean of signatures increases along rows and columns as each of them does, so it is a signature too,
    at least in shape: the barycenter under their distance.

    Parameters
    ----------
    x : Space, AnchorFeatures or array_like of shape (n, n)
    shape : (int, int)
        Numbers of levels t and of shares s.
    robust : bool
        Use ranks of costs, see :meth:`Space.ranked`.
    max_cost : float, optional
        Costs above this value count as this value.
    threads : int
        Threads to sort with; the result is the same to the last bit.

    Returns
    -------
    ndarray of the given shape
        In units of the costs. ``signature(x).ravel()`` is a plain vector.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> ao.signature(line, (3, 3)) * 3
    array([[0., 0., 0.],
           [1., 1., 1.],
           [1., 2., 2.]])
    >>> gap = np.linalg.norm(ao.signature(line, (3, 3)) - ao.signature(triangle, (3, 3)))
    >>> round(float(gap), 6), round(ao.sliced_anchor_wasserstein(line, triangle, p=2), 6)
    (0.471405, 0.471405)
    """
    shape = check_signature_shape(shape)
    rule = settle_attributes((x,), None, max_cost, robust=robust)
    if rule is not None and rule.attributes is not None:
        raise InputError(f"signatures see costs alone, but the features have attributes={rule.attributes!r}")
    features = attribute_features(x, rule, robust=robust, threads=check_threads(threads))
    return signature_of(features, shape)


def check_signature_shape(shape: object) -> tuple[int, int]:
    """Return the numbers of levels and of shares as two ints."""
    return check_shape(shape, "shape", "two numbers, of levels and of shares")
