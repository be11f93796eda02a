"""Numerically difficult spaces, and the properties that every distance has on them.

A `Distance` is a function of two spaces and a largest cost, which most ignore. Properties compare its results on spaces
that differ only in what should not matter: single precision, points without weight, an offset, a unit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import anchorot as ao

OFFSETS = (1e9, 1e15)  # costs are eighths, which both keep
LIGHT = (1e3, 1e300, -1e300)  # costs of a point that has no weight
REACH = 4.125  # inside the range of costs
UNEVEN_REACH = 4.1  # which single precision rounds up


@dataclass(frozen=True)
class Distance:
    """A function of two spaces and a largest cost, and which properties it has.

    The result has the unit of the costs to the power `degree`. It is 0 for equal spaces, and does not depend on an
    offset, unless stated otherwise.
    """

    of: Callable[[ao.Space, ao.Space, float], Any]
    degree: int = 1
    is_zero_for_equals: bool = True
    sees_offset: bool = False
    tolerance: float = 1e-9
    power: int = 500  # units go from 2**-power to 2**power, about 1e±150


def pairs():
    """Two spaces of points with types and features: uniform, weighted, and one of each."""
    for seed, weighted in enumerate(((False, False), (True, True), (False, True))):
        rng = np.random.default_rng(seed)
        yield tuple(_space(n, own, rng) for n, own in zip((5, 4), weighted, strict=True))


def _space(n, weighted, rng):
    masses = rng.integers(1, 6, n)
    return ao.Space(
        rng.integers(0, 64, (n, n)) / 8,
        masses / masses.sum() if weighted else None,
        types=[*"abc"[: min(n, 3)], *rng.choice([*"abc"], max(n - 3, 0)).tolist()],
        features=rng.integers(-4, 5, n) / 4,
    )


def with_costs(space, cost):
    weights = None if space.is_uniform else space.weights
    return ao.Space(cost, weights, types=space.types, features=space.features)


def with_a_point_of_no_weight(space, cost):
    """One more point, of its own type, in the midst of the others."""
    place = 1
    larger = np.insert(np.insert(space.cost, place, cost, axis=0), place, cost, axis=1)
    types = [*space.types[:place], "z", *space.types[place:]]
    return ao.Space(
        larger, np.insert(space.weights, place, 0.0), types=types, features=np.insert(space.features, place, 99.0)
    )


def assert_close(found, wanted, tolerance):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


def check_single_precision(distance):
    """Costs of float32 are the numbers that they are, and max_cost is one number for all precisions."""
    for x, y in pairs():
        single = [with_costs(side, (side.cost + 0.1).astype(np.float32)) for side in (x, y)]
        double = [with_costs(side, side.cost.astype(np.float64)) for side in single]
        wanted = distance.of(*double, UNEVEN_REACH)
        for sides in (single, (single[0], double[1])):
            assert_close(distance.of(*sides, UNEVEN_REACH), wanted, distance.tolerance)


def check_points_of_no_weight(distance):
    for x, y in pairs():
        wanted = distance.of(x, y, REACH)
        for cost in LIGHT:
            for sides in ((with_a_point_of_no_weight(x, cost), y), (x, with_a_point_of_no_weight(y, cost))):
                assert_close(distance.of(*sides, REACH), wanted, distance.tolerance)


def check_offset(distance):
    if distance.sees_offset:
        return
    for x, y in pairs():
        wanted = distance.of(x, y, REACH)
        for offset in OFFSETS:
            moved = [with_costs(side, side.cost + offset) for side in (x, y)]
            assert_close(distance.of(*moved, REACH + offset), wanted, distance.tolerance)


def check_unit(distance):
    """The result scales with the costs; beyond the range of floats it is an error, and below it is 0."""
    for x, y in pairs():
        value = distance.of(x, y, REACH)
        for power in (distance.power, -distance.power):
            scaled = [with_costs(side, np.ldexp(side.cost, power)) for side in (x, y)]
            max_cost, grown = float(np.ldexp(REACH, power)), distance.degree * power
            if grown > 1000:
                with pytest.raises(ao.InputError, match="range of float64"):
                    distance.of(*scaled, max_cost)
            else:
                assert_close(distance.of(*scaled, max_cost), np.ldexp(value, grown), distance.tolerance)


def check_equal_spaces(distance):
    """0, but for the rounding of what is at most of the size of the costs."""
    if not distance.is_zero_for_equals:
        return
    for x, y in pairs():
        for side in (x, y):
            order = np.arange(side.n)[::-1]
            for twin in (side, side.take(order)):
                assert np.abs(distance.of(side, twin, REACH)).max() <= 1e-14 * 8.0**distance.degree


def check_single_points(distance):
    """One point against one, or against many, gives a finite and symmetric result."""
    points = [ao.Space([[cost]], types=["a"], features=[1.0]) for cost in (2.0, 5.0)]
    for x, y in (points, (points[0], next(pairs())[0])):
        found, back = distance.of(x, y, REACH), distance.of(y, x, REACH)
        assert np.isfinite(found).all()
        assert_close(np.transpose(back), found, 1e-9)
