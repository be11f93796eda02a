"""How much of an Anchor Energy is the draw of the points: what every experiment that draws points should say."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

import anchorot as ao

N_DRAWS = 50  # random halves of an estimate


@dataclass(frozen=True)
class NoiseFloor:
    """Anchor Energies between pairs of draws of one shape each.

    Attributes
    ----------
    plain, plain_error : float
        Mean of the plain AE over the pairs, and its standard error.
    value, value_error : float
        The same of the estimates, which have 0 to find.
    covered : float
        Share of the 95 % intervals that hold 0.
    pairs : int
    """

    plain: float
    plain_error: float
    value: float
    value_error: float
    covered: float
    pairs: int


def noise_floor(
    pairs: Iterable[tuple[ao.Space, ao.Space]], rng: np.random.Generator, *, robust: bool = False
) -> NoiseFloor:
    """Compare two draws of each shape, which must share no point, by the plain AE and by its estimate."""
    pairs = list(pairs)
    found = [
        ao.anchor_energy_estimate(x, y, robust=robust, n_draws=N_DRAWS, rng=child)
        for (x, y), child in zip(pairs, rng.spawn(len(pairs)), strict=True)
    ]
    plain, value = (np.array([getattr(one, name) for one in found]) for name in ("plain", "value"))
    held = [low <= 0 <= high for low, high in (one.interval() for one in found)]
    root = np.sqrt(len(found))
    return NoiseFloor(
        float(plain.mean()),
        float(plain.std(ddof=1) / root),
        float(value.mean()),
        float(value.std(ddof=1) / root),
        float(np.mean(held)),
        len(found),
    )
