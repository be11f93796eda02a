r"""Features of spaces whose points have features: every anchor weighs a vector.

With phi(i) the vector of point i (see `feature_maps`), F(x, t) = Σ_i a_i phi(i) [Q_i(t) <= x] is vector-valued, and
marked Anchor Energy is 2 ∬_{x <= reach} |F - G|² dx dt: the squared distance of the kernel
<phi, phi'> ∫ (reach - max(Q(t), Q'(t))) dt, which couples what a point is with what it sees.
"""

from functools import cached_property
from typing import Self

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import Events, VectorLevels, to_heights
from anchorot._typing import Float64s
from anchorot._validate import check_memory, uniform_weights
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.marked_base import MarkedFeatures, check_alike, completed, summed
from anchorot.anchors.marking import Marking
from anchorot.space import Space


class VectorFeatures(MarkedFeatures):
    """The anchors of a space, each with a vector; see the module.

    Attributes
    ----------
    vector_levels : VectorLevels or None
        Levels with the anchor of every number, if all points weigh the same.
    vectors : ndarray of shape (anchors, size)
        Of every anchor, times its weight.
    """

    def __init__(
        self,
        vectors: Float64s,
        marking: Marking,
        *,
        vector_levels: VectorLevels | None = None,
        events: Events | None = None,
        robust: bool = False,
    ) -> None:
        super().__init__(marking, events=events, robust=robust)
        self.vectors = vectors
        self.vector_levels = vector_levels

    @classmethod
    def of_space(cls, space: Space, marking: Marking, *, robust: bool, threads: int) -> Self:
        """Features of a space that `marking` has looked at."""
        check_memory(space.n, 40, "features of")
        vectors = np.ascontiguousarray(space.weights[:, None] * marking.vectors(space))
        if not space.is_uniform:
            plain = AnchorFeatures.of(space, threads=threads)
            return cls(vectors, marking, events=plain.events, robust=robust)
        quantiles = kernels.quantiles(space.cost, threads).astype(np.float64, copy=False)
        order = np.argsort(quantiles, axis=1, kind="stable")
        levels = np.take_along_axis(quantiles, order, axis=1)
        found = VectorLevels(levels, order.astype(np.uint32), vectors)
        return cls(vectors, marking, vector_levels=found, robust=robust)

    @cached_property
    def events(self) -> Events:
        """Every jump of every anchor's CDF, by position; masses are those without vectors."""
        assert self.vector_levels is not None
        levels, anchor, _ = self.vector_levels
        position, order = kernels.argsort(levels.ravel(), threads=1)
        jump = np.broadcast_to(to_heights(np.array(1 / len(levels))), order.shape).copy()
        return Events(position, anchor.ravel()[order], jump, uniform_weights(levels.shape[1]))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest cost, and the reach."""
        first = self.events.position if self.vector_levels is None else self.vector_levels.levels[0]
        return float(first[0]), self.reach

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Marked Anchor Energy between two features of the same marking."""
        y = self._checked(other, p)
        if self.vector_levels is None or y.vector_levels is None:
            return self.sweep_energy_to(other, p, threads=threads)
        return summed(self.profile_to(other, np.array([self.reach]), threads=threads).tolist())

    def sweep_energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """The same by a sweep for every coordinate of the vectors."""
        y = self._checked(other, p)
        pairs = zip(self.coordinates(), y.coordinates(), strict=True)
        return summed(kernels.sweep_energy(*events, threads) for events in pairs)

    def profile_to(self, other: AnchorFeatures, reaches: Float64s, *, threads: int = 1) -> Float64s:
        """Marked Anchor Energy up to each of the ascending reaches, none above that of the features."""
        y = self._checked(other, 1)
        if self.vector_levels is not None and y.vector_levels is not None:
            return kernels.vector_profile(self.vector_levels, y.vector_levels, reaches, threads)
        pairs = zip(self.coordinates(), y.coordinates(), strict=True)
        return np.sum([kernels.sweep_profile(*events, reaches, threads) for events in pairs], axis=0)

    def coordinates(self) -> list[Events]:
        """Events with the masses of each coordinate, which sum to 0: what they lack stands at the reach."""
        reach = self.reach
        return [completed(self.events._replace(mass=np.ascontiguousarray(mass)), reach, 0.0) for mass in self.vectors.T]

    def _checked(self, other: AnchorFeatures, p: int) -> "VectorFeatures":
        check_alike(self, other, p)
        assert isinstance(other, VectorFeatures)
        return other

    def arrays(self) -> list[np.ndarray]:
        """All that is kept of the space."""
        return list(self.vector_levels) if self.vector_levels is not None else [*self.events, self.vectors]

    def __repr__(self) -> str:
        return f"VectorFeatures({len(self.vectors)} anchors, {self.marking}, robust={self.robust})"
