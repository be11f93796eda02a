"""Embeddings and signatures of spaces as plain feature vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from anchorot._typing import Float64s, RngLike
from anchorot.anchors.attribute_features import settle_attributes
from anchorot.anchors.attributes import AttributesLike
from anchorot.anchors.cell_averages import parts_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid, check_shape
from anchorot.anchors.signature import SHAPE, check_signature_shape, signature
from anchorot.distances.w2_energy import is_w2
from anchorot.estimators.training import load_spaces
from anchorot.search.embedding import Embedding
from anchorot.search.projections import Projections


class _Vectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turns a list of spaces, which is no matrix, into vectors."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class AnchorEmbedding(_Vectors):
    """Turn spaces into vectors, with twice the squared distance of two a lower bound of their Anchor Energy.

    The same as :func:`~anchorot.embed`, over a range of costs learnt from the training spaces.

    Parameters
    ----------
    grid : (int, int)
        Numbers of cells along the costs x and along the levels t.
    robust : bool
        Embed the ranks of the costs, whose range is [0, 1].
    ground : {"w1", "w2"}
        The distance between anchors. With "w2" twice the squared distance of two vectors is an estimate of that energy,
        from `grid` projections and positions, see :func:`~anchorot.embed`.
    rng : None, int or numpy.random.Generator
        For the projections of "w2", which are drawn in `fit`; by default always the same, as in
        :func:`~anchorot.embed`, so that vectors of separate fits are comparable.
    attributes : {"types", "features"}, FeatureMap, optional
        Compare points by their types or features too, see :func:`~anchorot.anchor_energy`. `max_cost` and the map of
        features are learnt from the training spaces, and kept in `attribute_rule_`; types that no training space has
        are ignored.
    max_cost : float, optional
        Compare costs up to this value; with attributes the default is the largest cost of the training spaces.
    low, high : float, optional
        Ends of the range of costs; by default the smallest and the largest cost of the training spaces (0 and 1 for
        ranks). Later costs may lie outside: cells then cover less of a space, and bounds remain bounds.

    Attributes
    ----------
    grid_ : Grid
        The cells in use. A row of the result reshaped to ``grid_.shape`` has x along its first axis.
    attribute_rule_, parts_
        The rule for attributes, and the parts of a vector.
    projections_
        The projections of "w2", else None.

    Examples
    --------
    >>> from anchorot.estimators import AnchorEmbedding
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> embedding = AnchorEmbedding(grid=(2, 3)).fit([line, triangle])
    >>> embedding.grid_
    Grid(shape=(2, 3), low=0.0, high=2.0)
    >>> embedding.transform([line]).shape
    (1, 6)
    """

    def __init__(
        self,
        grid: tuple[int, int] = (32, 32),
        *,
        robust: bool = False,
        low: float | None = None,
        high: float | None = None,
        ground: str = "w1",
        rng: RngLike = 0,
        attributes: AttributesLike = None,
        max_cost: float | None = None,
    ) -> None:
        self.grid = grid
        self.robust = robust
        self.low = low
        self.high = high
        self.ground = ground
        self.rng = rng
        self.attributes = attributes
        self.max_cost = max_cost

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the range of costs.

        Parameters
        ----------
        X : sequence of Space, AnchorFeatures, cost matrices or paths
        y : None
            Not used.
        """
        shape = check_shape(self.grid)
        projected = is_w2(self.ground, alone=self.attributes is None and self.max_cost is None)
        spaces = load_spaces(X)
        self.attribute_rule_ = settle_attributes(spaces, self.attributes, self.max_cost, robust=self.robust)
        self.parts_ = parts_of(spaces, self.attribute_rule_)
        max_cost = None if self.attribute_rule_ is None else self.attribute_rule_.max_cost
        learnt = Grid.around(spaces, shape, robust=self.robust, max_cost=max_cost)
        low = learnt.low if self.low is None else self.low
        high = learnt.high if self.high is None else self.high
        self.grid_ = Grid(shape, low, high)
        self.projections_ = Projections(shape, low, high, self.robust, self.rng) if projected else None
        self._n_features_out = self.parts_.count * shape[0] * shape[1]
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors of N spaces, float32 of shape (N, cells)."""
        check_is_fitted(self)
        embedding = self.projections_ or Embedding(self.grid_, self.robust, self.attribute_rule_, self.parts_)
        spaces = load_spaces(X)
        if self.projections_ is None and self.attribute_rule_ is None:
            spaces = AnchorFeatures.of_many(spaces, robust=self.robust)
        return np.stack([embedding(x, k) for k, x in enumerate(spaces)])


class AnchorSignature(_Vectors):
    """Turn spaces into signatures, whose Euclidean distance is a lower bound of Sliced Anchor Wasserstein, SAW_2.

    The same as :func:`~anchorot.signature`, flattened. Nothing is learnt: vectors of all fits can be compared.

    Parameters
    ----------
    shape : (int, int)
        Numbers of levels and of shares. For uniform spaces of n points, (n, n) makes the distance SAW_2 itself.
    robust : bool
        Use the ranks of the costs.
    max_cost : float, optional
        Costs above this value count as this value.

    Attributes
    ----------
    shape_ : (int, int)
        The shape in use; a row of the result reshaped to it is a signature.

    Examples
    --------
    >>> from anchorot.estimators import AnchorSignature
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> AnchorSignature(shape=(3, 3)).fit_transform([line, triangle]).shape
    (2, 9)
    """

    def __init__(self, shape: tuple[int, int] = SHAPE, *, robust: bool = False, max_cost: float | None = None) -> None:
        self.shape = shape
        self.robust = robust
        self.max_cost = max_cost

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the options.

        Parameters
        ----------
        X : sequence of Space, AnchorFeatures, cost matrices or paths
        y : None
            Not used.
        """
        load_spaces(X)
        self.shape_ = check_signature_shape(self.shape)
        self._n_features_out = self.shape_[0] * self.shape_[1]
        return self

    def transform(self, X: Any) -> Float64s:
        """Return the signatures of N spaces, of shape (N, levels * shares)."""
        check_is_fitted(self)
        options: dict[str, Any] = {"robust": self.robust, "max_cost": self.max_cost}
        return np.stack([signature(x, self.shape_, **options).ravel() for x in load_spaces(X)])
