"""Clouds to fit estimators to."""

import numpy as np

import anchorot as ao


def flat_and_round(count=24, seed=0):
    """Flat and round clouds of points in turns, of many sizes."""
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(rng.integers(15, 30), 2)) * (1, 0.05 if k % 2 else 1) for k in range(count)]
    return [ao.from_points(x / x.std()) for x in points], np.where(np.arange(count) % 2, "flat", "round")


X, Y = flat_and_round()
MORE, MORE_Y = flat_and_round(10, seed=1)
ENERGIES = ao.pairwise(X, progress=False)
