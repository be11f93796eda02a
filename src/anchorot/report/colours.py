"""Colours that say where a point is."""

import numpy as np

from anchorot._typing import Float64s

FIRST_HUE, LAST_HUE = 285.0, 15.0  # degrees: violet, blue, green, amber, rose
NO_COLOUR = (154, 160, 170)  # of a point that gets no mass


def place_colours(positions: Float64s) -> np.ndarray:
    """Smooth colours (n, 3), uint8, of places: hue from left to right, lightness upwards, chroma to the back.

    Places count by rank, so that all colours are used about equally often.
    """
    ranks = np.column_stack([_ranks(axis) for axis in positions.T])
    across, up = ranks[:, 0], ranks[:, -1]
    depth = ranks[:, 1] if ranks.shape[1] == 3 else np.full(len(ranks), 0.5)
    hue = np.radians(FIRST_HUE + (LAST_HUE - FIRST_HUE) * across)
    chroma = 0.115 + 0.03 * depth
    return _srgb(0.63 + 0.19 * up, chroma * np.cos(hue), chroma * np.sin(hue))


def _ranks(values: Float64s) -> Float64s:
    """Mid-ranks in (0, 1); equal values share theirs."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / (2 * len(values))


def _srgb(lightness: Float64s, a: Float64s, b: Float64s) -> np.ndarray:
    """From Oklab (Ottosson, 2020) to sRGB bytes."""
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s
    green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s
    blue = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s
    linear = np.clip(np.column_stack([red, green, blue]), 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * encoded).astype(np.uint8)
