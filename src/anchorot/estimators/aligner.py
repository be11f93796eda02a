"""A map between two embeddings as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from anchorot._typing import Float64s, RngLike
from anchorot._validate import at_hand
from anchorot.align.embeddings.pipeline import align_embeddings


class EmbeddingAligner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map points of one embedding to another, by a rotation learnt without known pairs.

    The two embeddings may differ in rows and in their number: see :func:`~anchorot.align_embeddings`.

    Parameters
    ----------
    metric : {"auto", "cosine", "euclidean"}
        Whether points are compared by direction or by position; "auto" keeps what more points agree on.
    seeds : iterable of pairs (i, j) or mapping, optional
        Rows of `X` and of `Y` that are known to match.
    n_landmarks : int, optional
        Number of points of each side that are aligned by their distances.
    rng : None, int or numpy.random.Generator
        Source of randomness for the landmarks.
    device : str, optional
        Device on which PyTorch searches nearest points, such as "cuda".

    Attributes
    ----------
    alignment_ : EmbeddingAlignment
        The full result: `matches`, `rotation`, `confidence` and more.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot.estimators import EmbeddingAligner
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 3)) * (3, 2, 1)
    >>> Y = X[rng.permutation(80)] @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> aligner = EmbeddingAligner("euclidean", rng=0).fit(X, Y)
    >>> bool(np.allclose(aligner.transform(X), Y[aligner.alignment_.matches]))
    True
    """

    def __init__(
        self,
        metric: str = "auto",
        *,
        seeds: Any = None,
        n_landmarks: int | None = None,
        rng: RngLike = 0,
        device: str | None = None,
    ) -> None:
        self.metric = metric
        self.seeds = seeds
        self.n_landmarks = n_landmarks
        self.rng = rng
        self.device = device

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array_like of shape (n, d)
        Y : array_like of shape (m, e)
            The other embedding, in any order.
        """
        points = validate_data(self, at_hand(X), dtype=np.float64)
        self.alignment_ = align_embeddings(
            points,
            Y,
            metric=self.metric,
            seeds=self.seeds,
            n_landmarks=self.n_landmarks,
            rng=self.rng,
            device=self.device,
            progress=False,
        )
        self._n_features_out = self.alignment_.rotation.shape[1]
        return self

    def transform(self, X: Any) -> Float64s:
        """Map points (k, d) to the target, (k, e)."""
        check_is_fitted(self)
        return self.alignment_.transform(validate_data(self, at_hand(X), dtype=np.float64, reset=False))

    def inverse_transform(self, Y: Any) -> Float64s:
        """Map points (k, e) of the target back, (k, d)."""
        check_is_fitted(self)
        return self.alignment_.inverse_transform(Y)
