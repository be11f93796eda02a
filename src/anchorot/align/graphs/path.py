"""A path from a convex problem to the concave one: few wrong turns first, then a sharp plan.

max <A, P B P^T> is not concave in P; -|A P - P B|², which has the same value at matchings but for a constant, is. For
l = 0, …, 1 the gradient of their mixture, G = 2 A P B - (1 - l) (A² P + P B²) for symmetric matrices, tilts the plan,
P <- P exp(G / (2 std G)), scaled to its marginals: O(edges · nodes) a step.
"""

from typing import Any

import numpy as np

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float32s
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.problem import Problem

STAGES = 80  # values of l
STEPS = 3  # at each
TEMPERATURE = 2.0  # in standard deviations of the gradient
SCALINGS = 8  # of a plan after a step
BARRED = 20.0  # standard deviations of the gradient that forbidden pairs lose at every step


def follow_path(problem: Problem, start: Float32s, backend: Backend, advance: Advance = no_progress) -> Float32s:
    """Where the path from exp(start), a (rows, m) matrix, leads: a plan, nearly a matching."""
    slope = Slope(problem, backend)
    copies = backend.dense(problem.copies)
    barred = None
    if problem.forbidden is not None:
        barred = backend.dense(problem.padded_rows(problem.forbidden).astype(np.float32))
    plan = backend.tilt(backend.dense(np.ones_like(start)), backend.dense(start), 1.0, copies, 10 * SCALINGS)
    for share in np.linspace(0, 1, STAGES):
        for _ in range(STEPS):
            gradient = slope(plan, float(share))
            spread = backend.spread(gradient)
            if spread == 0:  # nothing to go by: networks without edges
                return backend.host(plan)
            if barred is not None:
                gradient = gradient - BARRED * spread * barred
            plan = backend.tilt(plan, gradient, 1 / (TEMPERATURE * spread), copies, SCALINGS)
            advance(1)
    return backend.host(plan)


class Slope:
    """Gradient of (1 - l) times the convex and l times the concave problem, on plans with all rows."""

    def __init__(self, problem: Problem, backend: Backend) -> None:
        self._backend = backend
        turned = problem.padded.T.tocsr() if problem.is_directed else problem.padded
        first = [backend.sparse(matrix) for matrix in (problem.padded, turned)]
        second = [backend.sparse(matrix) for matrix in (problem.second, problem.transposed[1])]
        # <A, P B P^T> is <A^T, P B^T P^T> too: of a symmetric pair one view is both.
        self._views = [(*first, *second)]
        if problem.is_directed:
            self._views.append((*first[::-1], *second[::-1]))
        self._linear = None
        if problem.linear is not None:
            self._linear = backend.dense(problem.padded_rows(problem.linear))

    def __call__(self, plan: Any, share: float) -> Any:
        """The gradient at l = share."""
        backend, half = self._backend, (1 - share) / 2
        total: Any = None
        for a, turned_a, b, turned_b in self._views:  # A^T (P B - h A P) - h (P B) B^T
            moved = backend.right(plan, turned_b)
            inner = moved - half * backend.left(a, plan) if half > 0 else moved
            found = backend.left(turned_a, inner)
            if half > 0:
                found -= half * backend.right(moved, b)
            total = found if total is None else total + found
        if len(self._views) == 1:
            total *= 2
        return total if self._linear is None else total + self._linear
