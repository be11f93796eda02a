"""Shared by estimators that compare spaces with their training spaces."""

from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.utils.validation import check_is_fitted, validate_data

from anchorot._typing import Float64s
from anchorot._validate import check_choice
from anchorot.anchors.attribute_features import settle_attributes
from anchorot.anchors.attributes import AttributesLike
from anchorot.exceptions import InputError
from anchorot.many.job import Preparation
from anchorot.many.metric import Metric
from anchorot.many.metrics import METRICS, WITH_ATTRIBUTES, metric_of
from anchorot.many.pairwise import pairwise
from anchorot.many.spaces import Inputs, each_space, open_spaces

PRECOMPUTED = "precomputed"


def check_energy_power(p: Any) -> Any:
    """Return p if values are then powers of distances in a Hilbert space; p may be None."""
    if p not in (None, 1, 2):
        raise InputError(f"got p={p!r}, but values are squared distances, as kernels need, only for p=1 and p=2")
    return p


def squared_distances(values: Float64s, metric: str, p: int | None) -> Float64s:
    """Values of a metric to the power that makes them squared distances in a Hilbert space; others as they are."""
    kind = METRICS.get(metric)
    power = 1 if kind is None or kind.kernel_power is None else kind.kernel_power(kind.power if p is None else p)
    return values if power == 1 else values**power


def load_spaces(spaces: Any) -> list[Any]:
    """Return a list of `Space` or `AnchorFeatures` from a sequence of spaces, features, cost matrices or paths."""
    inputs = Inputs.of(spaces, None)
    return [inputs.load(index) for index in range(inputs.n)]


def prepared_by(metric: Metric, spaces: list[Any], *, n_jobs: int | None) -> list[Any]:
    """Return spaces as a metric compares them."""
    inputs = Preparation(metric, with_digests=False).apply_to(Inputs.of(spaces, None))
    with open_spaces(inputs, _own_jobs(n_jobs)) as opened:
        found = dict(each_space(opened, lambda prepared, _: prepared.item, "preparing", progress=False))
    return [found[index] for index in range(inputs.n)]


def compare(spaces: Any, others: Any = None, metric: str = "ae", *, n_jobs: int | None, **options: Any) -> Float64s:
    """Compare all pairs without a progress bar."""
    return pairwise(spaces, others, metric, **options, n_jobs=_own_jobs(n_jobs), progress=False)


def _own_jobs(n_jobs: int | None) -> int:
    """Return 1 for None, as scikit-learn does, and for -1 inside joblib's workers, which already use all cores."""
    is_nested = get_active_backend()[0].nesting_level > 0
    return 1 if n_jobs is None or (n_jobs == -1 and is_nested) else n_jobs


class ComparesToTraining:
    """Keeps the training spaces, and computes the values of a metric from other spaces to them.

    With ``metric="precomputed"`` X is a matrix of such values, with a column for each training space.
    """

    metric: str
    robust: bool
    p: int | None
    epsilon: float | None = None
    ground: str = "w1"
    attributes: AttributesLike = None
    max_cost: float | None = None
    n_jobs: int | None
    _metrics: tuple[str, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        is_matrix = self.metric == PRECOMPUTED
        tags.input_tags.two_d_array = is_matrix
        tags.input_tags.pairwise = is_matrix  # cross-validation then indexes rows and columns
        tags.input_tags.positive_only = is_matrix
        return tags

    def _keep(self, X: Any) -> Float64s | None:
        """Keep the training spaces in `spaces_`; or return the checked matrix of their values, if precomputed."""
        metric = check_choice(self.metric, "metric", (*self._metrics, PRECOMPUTED))
        if metric == PRECOMPUTED:
            matrix = self._checked(X, reset=True)
            if matrix.shape[0] != matrix.shape[1]:
                raise InputError(
                    f"the matrix of the training spaces has shape {matrix.shape}, but metric='precomputed' needs "
                    "values between all pairs of them; to pass a list of spaces, use another metric"
                )
            self.spaces_: list[Any] | None = None
            return matrix
        if isinstance(X, np.ndarray) and X.ndim == 2:
            raise InputError(
                f"got a matrix of shape {X.shape}, but metric={metric!r} compares a list of spaces; "
                "for a matrix of values use metric='precomputed'"
            )
        self.spaces_ = load_spaces(X)
        self.attribute_rule_ = settle_attributes(self.spaces_, self.attributes, self.max_cost, robust=self.robust)
        chosen = metric_of(
            metric, self.p, self.robust, self.epsilon, ground=self.ground, attribute_rule=self.attribute_rule_
        )
        if metric == "ae":
            check_energy_power(self.p)
        if metric in WITH_ATTRIBUTES and self.ground == "w1":  # sort once
            self.spaces_ = prepared_by(chosen, self.spaces_, n_jobs=self.n_jobs)
        return None

    def _among_training(self) -> Float64s:
        """Values between the kept training spaces."""
        return compare(self.spaces_, metric=self.metric, n_jobs=self.n_jobs, **self._options())

    def _to_training(self, X: Any) -> Float64s:
        """Values from X to the training spaces, a column for each of these."""
        check_is_fitted(self)
        if self.spaces_ is None:
            return self._checked(X, reset=False)
        return compare(X, self.spaces_, self.metric, n_jobs=self.n_jobs, **self._options())

    def _options(self) -> dict[str, Any]:
        shared = {"p": self.p, "robust": self.robust, "epsilon": self.epsilon}
        return shared | {"ground": self.ground, "attributes": self.attribute_rule_}

    def _checked(self, X: Any, reset: bool) -> Float64s:
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_non_negative=True)
