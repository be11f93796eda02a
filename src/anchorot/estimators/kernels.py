"""Positive definite kernels from distances between spaces, for kernel machines and Gaussian processes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.gaussian_process.kernels import GenericKernelMixin, Hyperparameter, Kernel, StationaryKernelMixin

from anchorot._typing import Float64s
from anchorot._validate import check_choice, check_integer, check_nonnegative
from anchorot.anchors.attributes import AttributesLike
from anchorot.estimators.training import ComparesToTraining, check_energy_power, compare, squared_distances
from anchorot.exceptions import InputError
from anchorot.many.metrics import WITH_KERNEL
from anchorot.many.spaces import check_collection

ASYMMETRY = 1e-6  # of a matrix of energies, relative to the largest; allows float32


class AnchorKernel(ClassNamePrefixFeaturesOutMixin, ComparesToTraining, TransformerMixin, BaseEstimator):
    r"""Turn spaces into rows of a positive definite kernel matrix, as for ``SVC(kernel="precomputed")``.

    For p = 1 and 2 the Anchor Energy is a squared distance in a Hilbert space. So (Schoenberg) both of

    - "rbf": :math:`k(x, y) = \exp(-\gamma\,AE(x, y))`, the Gaussian kernel of that space,
    - "distance": :math:`k(x, y) = (AE(x, o) + AE(y, o) - AE(x, y)) / 2`, its inner product with origin o,

    are positive definite for all spaces. So they are with :math:`SAW_1` or :math:`SAW_2^2`
    (:func:`~anchorot.sliced_anchor_wasserstein`) in place of AE: ``metric="saw"`` with p = 1 or 2.

    Parameters
    ----------
    kind : {"rbf", "distance"}
    gamma : float or "scale"
        For "rbf". "scale" is 1 / median of the AE between different training spaces (1 / mean if the median is 0, and 1
        if all are 0). The kernel "distance" has no gamma.
    reference : "mean" or int
        For "distance": o is the mean of the training spaces in the Hilbert space, which centres the training matrix, or
        the training space with this index.
    metric : {"ae", "saw", "precomputed"}
        With "precomputed" X is a matrix of squared distances, such as Anchor Energies, SAW_1 or SAW_2 squared: (N, N)
        between the training spaces in `fit`, (M, N) from other spaces to them in `transform`. Cross-validation indexes
        its rows and its columns.
    robust : bool
        Compare ranks of costs.
    p : {1, 2}
        Power of the costs. For p >= 3 the Anchor Energy is not a squared distance, so there is no kernel.
    ground : {"w1", "w2"}
        For "ae": the distance between anchors, see :func:`~anchorot.anchor_energy`; "w2" needs p = 1 and no attributes.
    attributes : {"types", "features"}, FeatureMap, optional
        Compare points by their types or features too, see :func:`~anchorot.anchor_energy`. `max_cost` and the map of
        features are learnt from the training spaces, and kept in `attribute_rule_`.
    max_cost : float, optional
        Compare costs up to this value; with attributes the default is the largest cost of the training spaces.
    n_jobs : int, optional
        Number of threads; -1 for one per core (inside joblib's workers for 1), None for 1.

    Attributes
    ----------
    spaces_ : list of AnchorFeatures, or None
        The training spaces, sorted; None if precomputed.
    gamma_ : float
        The gamma in use, for "rbf".
    to_reference_ : ndarray of shape (training spaces,)
        AE from each training space to the reference, for "distance".
    n_features_in_ : int
        The number of training spaces, if precomputed; lists of spaces have no features.

    Notes
    -----
    Fitting compares all N (N - 1) / 2 pairs of training spaces. A parameter search over a pipeline repeats that for
    every candidate and fold: give the pipeline a ``memory``, or compute ``pairwise(spaces)`` once and use
    ``metric="precomputed"``.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot.estimators import AnchorKernel
    >>> import anchorot as ao
    >>> rings = [ao.from_points([[np.cos(t), np.sin(t)] for t in np.arange(n) / n * 2 * np.pi]) for n in (20, 30)]
    >>> lines = [ao.from_points([[t] for t in np.linspace(0, 2, n)]) for n in (20, 30)]
    >>> AnchorKernel(gamma=1.0).fit_transform(rings + lines).round(1).tolist()
    [[1.0, 0.9, 0.4, 0.4], [0.9, 1.0, 0.4, 0.4], [0.4, 0.4, 1.0, 1.0], [0.4, 0.4, 1.0, 1.0]]
    """

    _metrics = WITH_KERNEL

    def __init__(
        self,
        kind: str = "rbf",
        gamma: float | str = "scale",
        *,
        reference: int | str = "mean",
        metric: str = "ae",
        robust: bool = False,
        p: int = 1,
        ground: str = "w1",
        attributes: AttributesLike = None,
        max_cost: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.kind = kind
        self.gamma = gamma
        self.reference = reference
        self.metric = metric
        self.robust = robust
        self.p = p
        self.ground = ground
        self.attributes = attributes
        self.max_cost = max_cost
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training spaces and learn gamma or the energies to the reference.

        Parameters
        ----------
        X : sequence of N Space, AnchorFeatures, cost matrices or paths; or ndarray (N, N) if precomputed
        y : None
            Not used.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float64s:
        """Fit, and return the symmetric kernel matrix (N, N) of the training spaces, each pair compared once."""
        return self._kernel(self._fit(X))

    def transform(self, X: Any) -> Float64s:
        """Return the kernel between spaces and the training spaces.

        Parameters
        ----------
        X : sequence of M Space, AnchorFeatures, cost matrices or paths; or ndarray (M, N) if precomputed

        Returns
        -------
        ndarray of shape (M, N)
        """
        return self._kernel(self._squared(self._to_training(X)))

    def _squared(self, values: Float64s) -> Float64s:
        return squared_distances(values, self.metric, self.p)

    def _fit(self, X: Any) -> Float64s:
        check_choice(self.kind, "kind", ("rbf", "distance"))
        given = self._keep(X)
        energies = self._squared(self._among_training()) if given is None else _check_energies(given)
        self._n_features_out = len(energies)
        if self.kind == "rbf":
            self.gamma_ = _scale(energies) if self.gamma == "scale" else check_nonnegative(self.gamma, "gamma")
        else:
            self._reference, self._spread = self._checked_reference(), energies.mean() / 2
            self.to_reference_ = self._energies_to_reference(energies)
        self._fitted_kind = self.kind
        return energies

    def _checked_reference(self) -> int | None:
        if self.reference == "mean":
            return None
        number = check_integer(self.reference, "reference, unless it is 'mean',", 0)
        if number >= self._n_features_out:
            raise InputError(f"reference is {number}, but there are {self._n_features_out} training spaces, from 0 on")
        return number

    def _energies_to_reference(self, energies: Float64s) -> Float64s:
        """AE to the reference. For a mean: the mean AE to its members, minus their mean AE to it (Huygens)."""
        if self._reference is None:
            return energies.mean(axis=1) - self._spread
        return energies[:, self._reference]

    def _kernel(self, energies: Float64s) -> Float64s:
        if self._fitted_kind == "rbf":
            return np.exp(-self.gamma_ * energies)
        return (self._energies_to_reference(energies)[:, None] + self.to_reference_ - energies) / 2


def _scale(energies: Float64s) -> float:
    """One over the median (or mean) AE between two training spaces."""
    pairs = energies[np.triu_indices(len(energies), k=1)]
    usual = (float(np.median(pairs)) or float(pairs.mean())) if len(pairs) else 0.0
    return 1 / usual if usual > 0 else 1.0


def _check_energies(energies: Float64s) -> Float64s:
    """Return a matrix if it can be Anchor Energies between training spaces; refuse others, such as kernels."""
    tolerance = ASYMMETRY * float(energies.max())
    if (np.abs(energies - energies.T) > tolerance).any() or (energies.diagonal() > tolerance).any():
        raise InputError(
            "the matrix of the training spaces must be Anchor Energies, as from pairwise(spaces), but it is not "
            "symmetric with a diagonal of zeros"
        )
    return energies


class AnchorProcessKernel(StationaryKernelMixin, GenericKernelMixin, Kernel):
    r"""The kernel :math:`\exp(-\gamma\,AE(x, y))` for scikit-learn's Gaussian processes, whose X is a list of spaces.

    Gamma is learnt with the other hyperparameters, and kernels add and multiply as scikit-learn's own do. The spaces
    are compared only once while gamma is learnt.

    Parameters
    ----------
    gamma : float
        Initial value; a good choice is 1 / the median AE, which is the `gamma_` of :class:`AnchorKernel`.
    gamma_bounds : (float, float) or "fixed"
        Bounds of gamma.
    metric : {"ae", "saw"}
        With "saw" the kernel is :math:`\exp(-\gamma\,SAW_1)`, or :math:`\exp(-\gamma\,SAW_2^2)` for p = 2.
    robust : bool
        Compare ranks of costs.
    p : {1, 2}
        Power of the costs.
    ground : {"w1", "w2"}
        The distance between anchors, see :func:`~anchorot.anchor_energy`; "w2" needs p = 1 and no attributes.
    attributes : {"types"} or FeatureMap, optional
        Compare points by their types or features too, see :func:`~anchorot.anchor_energy`; since a kernel is called
        with different spaces, `max_cost` and the map of features must be given.
    max_cost : float, optional
        Compare costs up to this value.
    n_jobs : int, optional
        Number of threads; -1 for one per core (inside joblib's workers for 1), None for 1.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot.estimators import AnchorProcessKernel
    >>> import anchorot as ao
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> lengths = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
    >>> lines = [ao.from_points(np.linspace(0, length, 20)[:, None]) for length in lengths]
    >>> model = GaussianProcessRegressor(AnchorProcessKernel(), normalize_y=True).fit(lines, lengths)
    >>> model.predict([ao.from_points(np.linspace(0, 1.8, 30)[:, None])]).round(1).tolist()
    [1.8]
    """

    def __init__(
        self,
        gamma: float = 1.0,
        gamma_bounds: tuple[float, float] | str = (1e-5, 1e5),
        *,
        metric: str = "ae",
        robust: bool = False,
        p: int = 1,
        ground: str = "w1",
        attributes: AttributesLike = None,
        max_cost: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds
        self.metric = metric
        self.robust = robust
        self.p = p
        self.ground = ground
        self.attributes = attributes
        self.max_cost = max_cost
        self.n_jobs = n_jobs

    @property
    def hyperparameter_gamma(self) -> Any:
        """The hyperparameter that scikit-learn learns."""
        return Hyperparameter("gamma", "numeric", self.gamma_bounds)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the kernel matrix of X and Y (or of X), and if asked its derivative in log(gamma), (N, N, 1)."""
        energies = self._energies(X) if Y is None else self._squared(compare(X, Y, **self._options()))
        values = np.exp(-self.gamma * energies)
        if not eval_gradient:
            return values
        if self.hyperparameter_gamma.fixed:
            return values, np.empty((*values.shape, 0))
        return values, (-self.gamma * energies * values)[:, :, None]

    def diag(self, X: Any) -> Float64s:
        """Return the kernel of each space and itself."""
        check_collection(X, "X")
        return np.ones(len(X))

    def __repr__(self) -> str:
        return f"AnchorProcessKernel(gamma={self.gamma:.3g})"

    def _energies(self, X: Any) -> Float64s:
        """AE between all pairs of X, cached, since learning repeats the same spaces."""
        spaces, options = list(X), self._options()
        known_spaces, known_options, known = getattr(self, "_known", ([], {}, None))
        same = len(spaces) == len(known_spaces) and all(x is y for x, y in zip(spaces, known_spaces, strict=True))
        if known is None or not same or options != known_options:
            known = self._squared(compare(spaces, **options))
            self._known = spaces, options, known
        return known

    def _squared(self, values: Float64s) -> Float64s:
        return squared_distances(values, self.metric, self.p)

    def _options(self) -> dict[str, Any]:
        check_choice(self.metric, "metric", WITH_KERNEL)
        if self.attributes == "features" or (self.attributes is not None and self.max_cost is None):
            raise InputError(
                "a kernel with attributes needs a fixed max_cost and, for features, a fixed feature_map(...), "
                f"but got attributes={self.attributes!r}, max_cost={self.max_cost!r}"
            )
        compared = {"ground": self.ground, "attributes": self.attributes, "max_cost": self.max_cost}
        return {
            "metric": self.metric,
            "p": check_energy_power(self.p),
            "robust": self.robust,
            "n_jobs": self.n_jobs,
            **compared,
        }
