"""Annealed entropic Gromov-Wasserstein: mirror descent while a temperature falls, on NumPy arrays or on tensors.

A step takes the gradient L of the objective at the plan T (two products of matrices) and replaces T by the entropic
plan of the costs L at epsilon = tau · std(L). Relative to the spread of the costs no scale is left to choose: at
tau = 1 the problem is all but convex and every start ends in the same plan; as tau falls to 0.03 the plan sharpens step
by step instead of falling into the nearest hole. Potentials are kept from step to step, so few iterations are needed.

Sinkhorn's iteration runs on scalings u, v of a fixed kernel exp((f + g - L) / epsilon), a matrix-vector product each;
the kernel's rows are made right in the log domain first, and scalings that grow large are absorbed into f and g.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anchorot.distances.quadratic import SMALLEST, Objective, is_on_host, library_of

WARM = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)  # temperatures from where all starts are alike
COOL = (0.12, 0.06, 0.03)  # for a start that is nearly right
STEPS = 12  # at one temperature
STILL = 1e-3  # of the mass moves in a step: go on to the next temperature
MARGINAL_GOAL = 1e-3  # of a step's plan, in sum; the last one is brought nearer by whoever uses it
MOST_ITERATIONS = 60  # of Sinkhorn in a step
LARGEST_LOG_SCALING = 25.0  # of u and v in float32, before they are absorbed
LOOK_EVERY = 5  # iterations on a device, whose work must be waited for to see whether it is done


class Annealed(NamedTuple):
    """Where annealing ended."""

    plan: Any
    f: Any
    g: Any
    n_steps: int


@np.errstate(invalid="ignore")  # BLAS raises that flag now and then, of lanes that it does not use
def anneal(problem: Objective, plan: Any, a: Any, b: Any, temperatures: Sequence[float]) -> Annealed:
    """Lower the objective from a plan of marginals a, b > 0, at one temperature after the other."""
    f, g = 0 * a, 0 * b
    n_steps = 0
    for temperature in temperatures:
        for _ in range(STEPS):
            slope = problem.slope(plan)
            epsilon = temperature * problem.spread(slope)
            found, f, g = entropic_step(slope, epsilon, a, b, f, g)
            moved = float(abs(found - plan).sum((-1, -2)).max())
            plan = found
            n_steps += 1
            if moved < STILL:
                break
    return Annealed(plan, f, g, n_steps)


def entropic_step(cost: Any, epsilon: Any, a: Any, b: Any, f: Any, g: Any) -> tuple[Any, Any, Any]:
    """Entropic plan of the costs, loosely, from potentials that are nearly right; the new potentials too."""
    xp = library_of(cost)
    n_iter = 0
    while True:
        exponent = (f[..., :, None] + g[..., None, :] - cost) / epsilon
        top = xp.amax(exponent, -1)
        kernel = xp.exp(exponent - top[..., :, None])
        rows = kernel.sum(-1)
        kernel *= (a / rows)[..., :, None]
        f = f + epsilon[..., 0] * (xp.log(a / rows) - top)
        u, v, n_iter, done = _scale(xp, kernel, a, b, n_iter)
        f, g = f + epsilon[..., 0] * xp.log(u), g + epsilon[..., 0, :] * xp.log(v)
        if done or n_iter >= MOST_ITERATIONS:
            return kernel * u[..., :, None] * v[..., None, :], f, g


def _scale(xp: Any, kernel: Any, a: Any, b: Any, n_iter: int) -> tuple[Any, Any, int, bool]:
    """Sinkhorn's iteration on the scalings of a kernel whose row sums are a, until it is done or they grow large."""
    u, v = xp.ones_like(a), xp.ones_like(b)
    flipped = kernel.swapaxes(-1, -2)
    floor = SMALLEST + 0 * b
    every = 1 if is_on_host(kernel) else LOOK_EVERY
    while n_iter < MOST_ITERATIONS:
        v = b / xp.maximum((flipped @ u[..., None])[..., 0], floor)
        rows = (kernel @ v[..., None])[..., 0]
        n_iter += 1
        is_look = n_iter % every == 0
        if is_look and float(abs(u * rows - a).sum(-1).max()) < MARGINAL_GOAL:
            return u, v, n_iter, True
        u = a / rows
        if is_look and float(xp.maximum(abs(xp.log(u)).max(), abs(xp.log(v)).max())) > LARGEST_LOG_SCALING:
            return u, v, n_iter, False
    return u, v, n_iter, True
