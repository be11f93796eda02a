"""How badly points fit, by which mass that is free leaves some out."""

import numpy as np
import pytest

from anchorot.distances.free_mass import distortions
from anchorot.distances.quadratic import Quadratic


def test_how_badly_a_point_fits_does_not_depend_on_how_much_else_is_matched():
    rng = np.random.default_rng(0)
    first, second = (rng.uniform(size=(n, n)) for n in (6, 5))
    problem = Quadratic(first + first.T, second + second.T, rng.uniform(size=(6, 5)), 0.4)
    plan = rng.uniform(size=(6, 5)) / 30
    whole, half = (distortions(problem, share * plan) for share in (1.0, 0.5))
    for (mass, own), (less, same) in zip(whole, half, strict=True):
        np.testing.assert_allclose(less, mass / 2)
        np.testing.assert_allclose(same, own)
        assert (mass * own**2).sum() / plan.sum() == pytest.approx(problem.value(plan / plan.sum()), rel=1e-12)
