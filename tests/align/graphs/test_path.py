"""The path from a convex to a concave problem."""

import itertools

import numpy as np
import pytest

from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.path import Slope
from tests.align.graphs.networks import problem


@pytest.mark.parametrize("directed", [False, True])
def test_the_gradient_is_that_of_finite_differences(directed):
    task = problem(1, (6, 6), directed=directed, weighted=True)
    a, b = task.first.toarray().astype(float), task.second.toarray().astype(float)
    rng = np.random.default_rng(0)
    plan = rng.random((6, 6))

    def mixture(p, share):
        concave = np.sum(a * (p @ b @ p.T))
        convex = -np.sum((a @ p - p @ b) ** 2) / 2 - np.sum((a.T @ p - p @ b.T) ** 2) / 2
        return share * concave + (1 - share) * convex / 2

    slope = Slope(task, Backend())
    for share in (0.0, 0.4, 1.0):
        found = slope(plan.astype(np.float32), share)
        step = 1e-5
        for i, j in itertools.product(range(6), range(6)):
            moved = [plan + sign * step * (np.arange(36) == 6 * i + j).reshape(6, 6) for sign in (1, -1)]
            rise = (mixture(moved[0], share) - mixture(moved[1], share)) / (2 * step)
            assert found[i, j] == pytest.approx(rise, rel=1e-3, abs=1e-3)
