"""The Anchor Energy in Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import GenericKernelMixin, Hyperparameter, Kernel, StationaryKernelMixin

from anchorot._typing import Float64s
from anchorot.anchors.marking import MarksLike
from anchorot.estimators.training import check_energy_power, compare
from anchorot.exceptions import InputError


class AnchorProcessKernel(StationaryKernelMixin, GenericKernelMixin, Kernel):
    r"""The kernel :math:`\exp(-\gamma\,AE(x, y))` for scikit-learn's Gaussian processes, whose X is a list of spaces.

    Gamma is learnt with the other hyperparameters, and kernels add and multiply as scikit-learn's own do. While gamma
    is learnt the spaces are compared once only.

    Parameters
    ----------
    gamma : float
        Where learning starts; 1 / the median AE is a good place, which is the `gamma_` of :class:`AnchorKernel`.
    gamma_bounds : (float, float) or "fixed"
        Where it may go.
    robust : bool
        Compare ranks of costs.
    p : {1, 2}
        Power of the costs.
    ground : {"w1", "w2"}
        The distance between anchors, see :func:`~anchorot.anchor_energy`; "w2" goes with p = 1 and without marks.
    marks : {"types"} or FeatureMap, optional
        Tell points apart by their types or features too, see :func:`~anchorot.anchor_energy`; a kernel is called with
        ever other spaces, so that `reach` and the map of features must be given.
    reach : float, optional
        Compare costs up to here.
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
        robust: bool = False,
        p: int = 1,
        ground: str = "w1",
        marks: MarksLike = None,
        reach: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds
        self.robust = robust
        self.p = p
        self.ground = ground
        self.marks = marks
        self.reach = reach
        self.n_jobs = n_jobs

    @property
    def hyperparameter_gamma(self) -> Any:
        """What scikit-learn learns."""
        return Hyperparameter("gamma", "numeric", self.gamma_bounds)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the kernel matrix of X and Y (or of X), and if asked its derivative in log(gamma), (N, N, 1)."""
        energies = self._energies(X) if Y is None else compare(X, Y, **self._options())
        values = np.exp(-self.gamma * energies)
        if not eval_gradient:
            return values
        if self.hyperparameter_gamma.fixed:
            return values, np.empty((*values.shape, 0))
        return values, (-self.gamma * energies * values)[:, :, None]

    def diag(self, X: Any) -> Float64s:
        """Return the kernel of each space and itself."""
        return np.ones(len(X))

    def __repr__(self) -> str:
        return f"AnchorProcessKernel(gamma={self.gamma:.3g})"

    def _energies(self, X: Any) -> Float64s:
        """AE between all pairs of X, remembered: learning asks for the same spaces again and again."""
        spaces, options = list(X), self._options()
        known_spaces, known_options, known = getattr(self, "_known", ([], {}, None))
        same = len(spaces) == len(known_spaces) and all(x is y for x, y in zip(spaces, known_spaces, strict=True))
        if known is None or not same or options != known_options:
            known = compare(spaces, **options)
            self._known = spaces, options, known
        return known

    def _options(self) -> dict[str, Any]:
        if self.marks == "features" or (self.marks is not None and self.reach is None):
            raise InputError(
                "a kernel of marks needs a reach and, for features, a feature_map(...) that stay the same; "
                f"but got marks={self.marks!r}, reach={self.reach!r}"
            )
        marked = {"ground": self.ground, "marks": self.marks, "reach": self.reach}
        return {"p": check_energy_power(self.p), "robust": self.robust, "n_jobs": self.n_jobs, **marked}
