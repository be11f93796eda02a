"""Classification by the nearest spaces."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from anchorot._typing import Float64s, Int64s
from anchorot._validate import at_hand
from anchorot.anchors.attributes import AttributesLike
from anchorot.estimators.training import PRECOMPUTED, ComparesToTraining
from anchorot.many.metrics import METRICS


class AnchorNeighborsClassifier(ClassifierMixin, ComparesToTraining, BaseEstimator):
    """Classify spaces by their nearest training spaces.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours that vote.
    weights : {"uniform", "distance"} or callable
        Weights of the votes, as in scikit-learn's `KNeighborsClassifier`; "distance" is one over the value of the
        metric, which for "ae" is the square of a distance.
    metric : {"ae", "aw", "gw", "slb", "tlb", "precomputed"}
        The metric between spaces, see :func:`~anchorot.pairwise`. With "precomputed" X is a matrix of values: (N, N)
        between the training spaces in `fit`, (M, N) from other spaces to them afterwards. Cross-validation indexes its
        rows and its columns.
    robust, p, epsilon
        Options of the metric, see :func:`~anchorot.pairwise`.
    ground : {"w1", "w2"}
        For "ae": the distance between anchors, see :func:`~anchorot.anchor_energy`.
    attributes : {"types", "features"}, FeatureMap, optional
        For "ae": compare points by their types or features too, see :func:`~anchorot.anchor_energy`. `max_cost` and the
        map of features are learnt from the training spaces, and kept in `attribute_rule_`.
    max_cost : float, optional
        For "ae": compare costs up to this value; with attributes the default is the largest cost of the training
        spaces.
    n_jobs : int, optional
        Number of workers; -1 for one per core (inside joblib's workers for 1), None for 1.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    spaces_ : list, or None
        The training spaces, as `AnchorFeatures` for "ae"; None if precomputed.
    neighbors_ : KNeighborsClassifier
        The classifier on precomputed values.
    n_features_in_ : int
        The number of training spaces, if precomputed; lists of spaces have no features.

    Notes
    -----
    Fitting compares no spaces. Predicting compares each space with all training spaces; with very many of them use
    `SearchIndex`, which finds the nearest by AE with fewer comparisons.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot.estimators import AnchorNeighborsClassifier
    >>> import anchorot as ao
    >>> rings = [ao.from_points([[np.cos(t), np.sin(t)] for t in np.arange(n) / n * 2 * np.pi]) for n in (20, 30)]
    >>> lines = [ao.from_points([[t] for t in np.linspace(0, 2, n)]) for n in (20, 30)]
    >>> model = AnchorNeighborsClassifier().fit([rings[0], lines[0]], ["ring", "line"])
    >>> model.predict([rings[1], lines[1]]).tolist()
    ['ring', 'line']
    """

    _metrics = tuple(METRICS)

    def __init__(
        self,
        n_neighbors: int = 1,
        weights: Any = "uniform",
        metric: str = "ae",
        *,
        robust: bool = False,
        p: int | None = None,
        epsilon: float | None = None,
        ground: str = "w1",
        attributes: AttributesLike = None,
        max_cost: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.robust = robust
        self.p = p
        self.epsilon = epsilon
        self.ground = ground
        self.attributes = attributes
        self.max_cost = max_cost
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the training spaces and their labels.

        Parameters
        ----------
        X : sequence of N Space, cost matrices or paths (for "ae" AnchorFeatures too); or ndarray (N, N) if precomputed
        y : sequence of N labels
        """
        values = self._keep(X)
        if self.spaces_ is not None:  # only the number of training spaces is needed
            values = np.zeros(2 * (len(self.spaces_),))
        voters = KNeighborsClassifier(self.n_neighbors, weights=self.weights, metric=PRECOMPUTED)
        self.neighbors_ = voters.fit(values, at_hand(y))
        self.classes_ = self.neighbors_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each space."""
        values = self._to_training(X)
        return self.neighbors_.predict(values)

    def predict_proba(self, X: Any) -> Float64s:
        """Return each class's share of the votes, in the order of `classes_`."""
        values = self._to_training(X)
        return self.neighbors_.predict_proba(values)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> tuple[Float64s, Int64s]:
        """Return the values of the metric to the nearest training spaces, and the indices of these.

        Parameters
        ----------
        X : as in `predict`, optional
            By default, the neighbours of each training space among the others (all pairs are compared).
        n_neighbors : int, optional
            By default the classifier's.

        Returns
        -------
        values, numbers : ndarrays of shape (M, n_neighbors)
            By increasing value.
        """
        if X is not None:
            values = self._to_training(X)
            return self.neighbors_.kneighbors(values, n_neighbors)
        check_is_fitted(self)
        if self.spaces_ is None:
            return self.neighbors_.kneighbors(n_neighbors=n_neighbors)
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        return NearestNeighbors(metric=PRECOMPUTED).fit(self._among_training()).kneighbors(n_neighbors=count)
