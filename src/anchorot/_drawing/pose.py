"""How to look at a thing in space: upright, from its broad side, as large as fits."""

import numpy as np

from anchorot._typing import Float64s

AZIMUTH, ELEVATION = np.radians(28), np.radians(14)  # of the eye, from the broad side
HALF_FIELD = np.tan(np.pi / 8)  # plotly's camera sees 45 degrees


def unit_box(positions: Float64s) -> Float64s:
    """Move and scale, so that the longest side of the bounding box goes from -1/2 to 1/2."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    return (positions - (low + high) / 2) / (float((high - low).max()) or 1.0)


def upright(positions: Float64s) -> Float64s:
    """Turn by right angles, never mirrored: the third axis upwards, the second, to the back, the thinner of the others.

    Files have z upwards, or y. It is y where z is the thinnest axis, along which one looks, and for things that stand
    far better on their other side; those that jump or fly are left to z.
    """
    extent = np.ptp(positions, axis=0)
    thinnest = int(extent.argmin())
    stands_on_xz = _footing(positions, 1) > max(0.3, 2 * _footing(positions, 2))
    up = 1 if thinnest == 2 or (thinnest == 0 and stands_on_xz) else 2
    back, across = sorted({0, 1, 2} - {up}, key=lambda axis: extent[axis])
    mirrored = (across, back, up) not in {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    return positions[:, [across, back, up]] * np.array([1, -1 if mirrored else 1, 1])


def eye(positions: Float64s) -> Float64s:
    """Where the camera stands to see all of an upright thing in its unit box, looking at the origin."""
    direction = np.array([np.sin(AZIMUTH) * np.cos(ELEVATION), -np.cos(AZIMUTH) * np.cos(ELEVATION), np.sin(ELEVATION)])
    right = np.array([np.cos(AZIMUTH), np.sin(AZIMUTH), 0])
    above = np.cross(direction, right)
    aside = np.abs(positions @ np.column_stack([right, above])).max(axis=1)
    return direction * float(max(0.8, 1.1 * (positions @ direction + aside / HALF_FIELD).max()))


def _footing(positions: Float64s, up: int) -> float:
    """Share of the thing's ground plan that the bounding box of its lowest twentieth covers."""
    height = positions[:, up] - positions[:, up].min()
    ground = np.delete(positions, up, axis=1)
    lowest = ground[height <= 0.05 * height.max()]
    return float(np.ptp(lowest, axis=0).prod() / (np.ptp(ground, axis=0).prod() or 1.0))
