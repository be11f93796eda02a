"""Every distance between spaces on numbers that are hard on arithmetic; for tensors see `test_torch_hostile`."""

import numpy as np
import pytest

import anchorot as ao
from tests.io import hostile
from tests.io.hostile import Distance


def options(**given):
    return {"n_jobs": 1, "progress": False, **given}


def energy(p=1, **given):
    return lambda x, y, _: ao.anchor_energy(x, y, p, **given)


def local(**given):
    return lambda x, y, max_cost: ao.anchor_energy(x, y, max_cost=max_cost, **given)


def transport(p, epsilon=None, robust=False):
    return lambda x, y, _: ao.anchor_wasserstein(x, y, p, epsilon, robust).cost


def bound(name, p):
    return lambda x, y, _: getattr(ao.lower_bounds(x, y, p), name)


def embedded(max_costs=False, **given):
    """Twice the squared distance of vectors."""

    def of(x, y, max_cost):
        vectors = ao.embed([x, y], (8, 8), **options(**given, **({"max_cost": max_cost} if max_costs else {})))
        return 2 * float(np.sum(np.subtract(*vectors, dtype=np.float64) ** 2))

    return of


def all_pairs(max_costs=False, **given):
    def of(x, y, max_cost):
        return ao.pairwise([x, y, x], **options(**given, **({"max_cost": max_cost} if max_costs else {})))[0, 1]

    return of


def shares(**given):
    """Of the dispersion at every distance, what lies between two groups."""

    def of(x, y, max_cost):
        test = ao.scale_test([x, y, x, y], "abab", rng=0, n_resamples=9, progress=False, **given)
        return test.share

    return of


LINEAR = ao.anchors.LinearMap(1)
ENTROPIC = {"is_zero_for_equals": False, "tolerance": 1e-5}
SINGLE = {"tolerance": 1e-5, "power": 200}  # vectors are of float32
DISTANCES = {
    **{f"AE_{p}": Distance(energy(p), p) for p in (1, 2, 3, 64)},
    **{f"AE_{p} by a sweep": Distance(energy(p, method="sweep"), p) for p in (1, 2, 3)},
    "AE of ranks": Distance(energy(robust=True), 0),
    "AE of ranks by W2": Distance(energy(robust=True, ground="w2"), 0),
    "AE of types and ranks": Distance(energy(robust=True, attributes="types"), 0),
    "AE by W2": Distance(energy(ground="w2")),
    "AE of types": Distance(energy(attributes="types")),
    "AE of features": Distance(energy(attributes="features")),
    "local AE": Distance(local()),
    "local AE by a sweep": Distance(local(method="sweep")),
    "local AE of types": Distance(local(attributes="types")),
    "local AE of types by a sweep": Distance(local(attributes="types", method="sweep")),
    "local AE of features": Distance(local(attributes=LINEAR)),
    "local AE of features by a sweep": Distance(local(attributes=LINEAR, method="sweep")),
    "AE, projected": Distance(lambda x, y, _: ao.distances.projected_energy(x, y, rng=0).value),
    **{
        f"expected cost, p={p}": Distance(
            lambda x, y, _, p=p: ao.distances.expected_cost(x, y, p), p, is_zero_for_equals=False, sees_offset=p > 1
        )
        for p in (1, 2, 3)
    },
    **{f"AW_{p}": Distance(transport(p), p, **ENTROPIC) for p in (1, 2, 3, 64)},
    **{f"AW_{p}, exact": Distance(transport(p, 0), p) for p in (1, 2, 3)},
    "AW of ranks": Distance(transport(1, robust=True), 0, **ENTROPIC),
    "GW": Distance(lambda x, y, _: ao.gromov_wasserstein(x, y, start="quick").value, 2),
    "GW from the product": Distance(lambda x, y, _: ao.gromov_wasserstein(x, y, start="product").value, 2),
    **{
        f"{name}, p={p}": Distance(bound(name, p), sees_offset=(name, p) == ("flb", 2))
        for name in ("flb", "slb", "tlb")
        for p in (1, 2)
    },
    "plan": Distance(lambda x, y, _: heavy_rows(ao.anchor_energy_plan(x, y), x, y), 0, is_zero_for_equals=False),
    "energy distance": Distance(lambda x, y, _: ao.energy_distance([x], [y], pooled=True)),
    "energy distance by W2": Distance(lambda x, y, _: ao.energy_distance([x], [y], ground="w2", pooled=True)),
    "all pairs": Distance(all_pairs()),
    "all local pairs": Distance(all_pairs(max_costs=True)),
    "all local pairs of types": Distance(all_pairs(max_costs=True, attributes="types")),
    "all pairs of features": Distance(all_pairs(attributes=LINEAR)),
    "all pairs by AW": Distance(all_pairs(metric="aw", p=2), 2, **ENTROPIC),
    "all pairs by TLB": Distance(all_pairs(metric="tlb")),
    "shares by distance": Distance(shares(), 0),
    "shares of types by distance": Distance(shares(attributes="types"), 0),
    "vectors": Distance(embedded(), **SINGLE),
    "local vectors": Distance(embedded(max_costs=True), **SINGLE),
    "local vectors of types": Distance(embedded(max_costs=True, attributes="types"), **SINGLE),
}
EVERY = pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES.keys())


def heavy_rows(plan, x, y):
    """A plan between the points that have a weight."""
    return plan[np.ix_(x.weights > 0, y.weights > 0)]


@EVERY
def test_single_precision_costs_are_the_numbers_that_they_are(distance):
    hostile.check_single_precision(distance)


@EVERY
def test_a_point_of_no_weight_changes_nothing(distance):
    hostile.check_points_of_no_weight(distance)


@EVERY
def test_an_offset_of_all_costs_changes_nothing(distance):
    hostile.check_offset(distance)


@EVERY
def test_the_result_has_the_unit_of_the_costs(distance):
    hostile.check_unit(distance)


@EVERY
def test_equal_spaces_are_not_apart(distance):
    hostile.check_equal_spaces(distance)


@EVERY
def test_single_points_are_spaces(distance):
    hostile.check_single_points(distance)
