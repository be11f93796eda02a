"""Turn one thing so that it faces as another does: Procrustes through a plan."""

from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s


class Turn(NamedTuple):
    """How to put a thing where another is: turned, scaled and moved.

    `agreement` is the correlation, from -1 to 1, of where matched points are once it is turned, `before` as they are.
    """

    rotation: Float64s
    scale: float
    origin: Float64s
    target: Float64s
    before: float
    agreement: float

    @property
    def is_mirrored(self) -> bool:
        """Whether the thing becomes its mirror image."""
        return bool(np.linalg.det(self.rotation) < 0)

    def __call__(self, positions: Float64s) -> Float64s:
        """Move positions of the thing."""
        return self.scale * (positions - self.origin) @ self.rotation + self.target


def turn_onto(target: Float64s, points: Float64s, plan: Any, *, mirrored: bool) -> Turn:
    """Least mean square distance of `points` (m, d) from the points (n, d) that a plan (n, m) of some mass matches.

    The scale makes both equally wide: the one of least squares would shrink what a diffuse plan matches.
    """
    mass = plan / plan.sum()
    own, other = mass.sum(axis=0), mass.sum(axis=1)
    centre, aim = own @ points, other @ target
    inner, outer = points - centre, target - aim
    widths = np.sqrt([own @ (inner**2).sum(axis=1), other @ (outer**2).sum(axis=1)])
    together = inner.T @ mass.T @ outer
    left, strength, right = np.linalg.svd(together)
    if not mirrored and np.linalg.det(left @ right) < 0:
        left[:, -1] *= -1
        strength[-1] *= -1
    unit = float(widths.prod()) or np.inf
    scale = float(widths[1] / widths[0]) if widths.all() else 1.0
    return Turn(left @ right, scale, centre, aim, float(np.trace(together)) / unit, float(strength.sum()) / unit)
