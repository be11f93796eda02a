"""Anchor Energy with attributes and max_cost: types, features and local comparisons."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import anchorot as ao
from anchorot._kernels import numpy as numpy_kernels
from anchorot.anchors import attribute_features as attribute_features_module
from anchorot.anchors import features as features_module
from anchorot.anchors.attribute_features import SLICED_POWER, attribute_features, cost_profile
from anchorot.anchors.attributes import attribute_rule_of
from tests import reference
from tests.strategies import costs, scale_of, spaces, weight_vectors

FEW = settings(max_examples=25)
METHODS = st.sampled_from(["auto", "sweep"])


@st.composite
def typed_spaces(draw, n=None, uniform=False, kinds="abc"):
    n = draw(st.integers(1, 6)) if n is None else n
    weights = None if uniform else draw(weight_vectors(n))
    types = draw(st.lists(st.sampled_from(kinds), min_size=n, max_size=n))
    features = draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=2 * n, max_size=2 * n))
    return ao.Space(draw(costs(n)), weights, types=types, features=np.reshape(features, (n, 2)))


def alike(value, other, *spaces_, rtol=1e-9):
    assert value == pytest.approx(other, rel=rtol, abs=1e-9 * scale_of(*spaces_))


def largest(*spaces_):
    return max(float(x.cost[np.ix_(x.weights > 0, x.weights > 0)].max()) for x in spaces_)


def with_types(x, types):
    return ao.Space(x.cost, x.weights, types=types)


def with_costs(x, cost):
    return ao.Space(cost, x.weights, types=x.types, features=x.features)


def one_hot(types, alphabet):
    return np.array([[float(kind == other) for other in alphabet] for kind in types])


@FEW
@given(typed_spaces(), typed_spaces(), METHODS, st.floats(-3, 5))
def test_types_agree_with_the_formula(x, y, method, over):
    max_cost = largest(x, y) + over
    alphabet = sorted(set(x.types) | set(y.types))
    sides = [(side.cost, side.weights, one_hot(side.types, alphabet), side.types) for side in (x, y)]
    naive = reference.attribute_energy(*sides, max_cost)
    found = ao.anchor_energy(x, y, attributes="types", max_cost=max_cost, method=method)
    rounding = 1e-15 * abs(max_cost)  # of the reference, which adds up areas below max_cost
    assert found == pytest.approx(naive, rel=1e-9, abs=1e-9 * scale_of(x, y) + rounding)


@FEW
@given(typed_spaces(), typed_spaces(), METHODS, st.sampled_from(["linear", "fourier", "onehot"]))
def test_features_agree_with_the_formula(x, y, method, kind):
    phi = ao.anchors.feature_map([x, y], kind, size=6)
    max_cost = largest(x, y)
    sides = [(side.cost, side.weights, phi(side.features), ["any"] * side.n) for side in (x, y)]
    naive = reference.attribute_energy(*sides, max_cost)
    alike(ao.anchor_energy(x, y, attributes=phi, method=method), naive, x, y)


@FEW
@given(spaces(), spaces(), METHODS)
def test_one_type_everywhere_is_no_type(x, y, method):
    marked = [with_types(side, ["same"] * side.n) for side in (x, y)]
    alike(ao.anchor_energy(*marked, attributes="types", method=method), ao.anchor_energy(x, y, method=method), x, y)


@FEW
@given(spaces(), spaces(), st.sampled_from(["onehot", "fourier"]))
def test_equal_features_everywhere_are_no_features(x, y, kind):
    marked = [ao.Space(side.cost, side.weights, features=np.ones((side.n, 2))) for side in (x, y)]
    phi = ao.anchors.feature_map(marked, kind)
    alike(ao.anchor_energy(*marked, attributes=phi), ao.anchor_energy(x, y), x, y)


@given(typed_spaces(), typed_spaces(), st.sampled_from([1, 2, 3]), st.booleans())
@FEW
def test_types_and_features_count_only_if_they_are_asked_for(x, y, p, robust):
    bare = [ao.Space(side.cost, side.weights) for side in (x, y)]
    assert ao.anchor_energy(x, y, p, robust) == ao.anchor_energy(*bare, p, robust)


@FEW
@given(spaces(), spaces(), METHODS)
def test_a_reach_beyond_all_costs_changes_nothing(x, y, method):
    energy = ao.anchor_energy(x, y, method=method)
    assert ao.anchor_energy(x, y, method=method, max_cost=largest(x, y)) == energy
    assert ao.anchor_energy(x, y, method=method, max_cost=largest(x, y) + 7) == energy


FAR_BELOW_ZERO = [ao.Space([[-2.0]], types=[kind], features=[[size, 1.0]]) for kind, size in (("a", 0.0), ("b", 1.0))]


@FEW
@given(typed_spaces(), typed_spaces(), st.sampled_from([None, "types", "linear"]), st.booleans())
@example(*FAR_BELOW_ZERO, "types", False)
def test_energy_grows_with_max_cost(x, y, attributes, robust):
    attributes = ao.anchors.feature_map([x, y], attributes) if attributes == "linear" else attributes
    near, far = (0.0, 1.0) if robust else (min(float(x.cost.min()), float(y.cost.min())), largest(x, y))
    max_costs = np.linspace(near - 1.5, far, 6)
    energies = [ao.anchor_energy(x, y, robust=robust, attributes=attributes, max_cost=r) for r in max_costs]
    assert energies[0] >= 0
    assert (np.diff(energies) >= -1e-12 * scale_of(x, y)).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["auto", "sweep"])
def test_what_is_alike_beyond_all_costs_adds_nothing_however_far_one_looks(weighted, method):
    """Where all points have one vector, nothing is left beyond the largest cost for max_cost to multiply."""
    rng = np.random.default_rng(0)
    sides = []
    for n in (9, 20):
        weights = rng.dirichlet(np.ones(n)) if weighted else None
        sides.append(ao.Space(ao.from_points(rng.normal(size=(n, 2))).cost, weights, features=np.ones(n)))
    phi = ao.anchors.feature_map(sides, "linear")
    near, far = (
        ao.anchor_energy(*sides, attributes=phi, max_cost=max_cost, method=method)
        for max_cost in (largest(*sides), 1e14)
    )
    assert far == pytest.approx(near, rel=1e-9)


@FEW
@given(
    typed_spaces(),
    typed_spaces(),
    st.sampled_from([None, "types", "linear"]),
    METHODS,
    st.floats(-3, 5) | st.sampled_from([-1e-5, 1e-5, -1e-9]),
)
def test_single_precision_sees_exactly_as_far_as_double(x, y, attributes, method, over):
    """max_cost is one number for costs of any precision: rounded up, it would lie beyond the end of the integral."""
    attributes = ao.anchors.feature_map([x, y], attributes) if attributes == "linear" else attributes
    options = {"attributes": attributes, "max_cost": largest(x, y) + over, "method": method}
    single = [with_costs(side, side.cost.astype(np.float32)) for side in (x, y)]
    wanted = ao.anchor_energy(x, y, **options)
    for sides in (single, (single[0], y), (x, single[1])):
        energy = ao.anchor_energy(*sides, **options)
        assert energy >= 0
        assert energy == pytest.approx(wanted, rel=1e-12, abs=1e-15 * scale_of(x, y))


@FEW
@given(typed_spaces(), typed_spaces(), st.sampled_from([None, "types", "linear"]))
def test_all_reaches_at_once_are_each_by_itself(x, y, attributes):
    attributes = ao.anchors.feature_map([x, y], attributes) if attributes == "linear" else attributes
    max_costs = np.unique(np.linspace(-1.5, largest(x, y) + 1, 7))
    attribute_rule = attribute_rule_of((x, y), attributes, max_costs[-1])
    fx, fy = (attribute_features(side, attribute_rule, robust=False) for side in (x, y))
    profile = cost_profile(fx, fy, max_costs)
    for max_cost, energy in zip(max_costs, profile, strict=True):
        alike(energy, ao.anchor_energy(x, y, attributes=attributes, max_cost=max_cost), x, y)


def exactly_typed(space, types):
    """Costs, weights and types, with fractions for numbers."""
    weights = [Fraction(w).limit_denominator(100) for w in space.weights]
    return [[Fraction(float(c)) for c in row] for row in space.cost], weights, types


@FEW
@given(typed_spaces(), typed_spaces(), st.sampled_from([None, "types"]))
def test_the_profile_of_saw_is_the_integral_up_to_each_cost_by_either_set_of_kernels(x, y, attributes):
    max_costs = np.unique(np.linspace(-1.5, largest(x, y) + 1, 5))
    rule = attribute_rule_of((x, y), attributes, max_costs[-1])
    features = [attribute_features(side, rule, robust=False) for side in (x, y)]
    sides = [exactly_typed(side, side.types if attributes else "a" * side.n) for side in (x, y)]
    wanted = [float(reference.typed_sliced(*sides, Fraction(end))) for end in max_costs]
    close = pytest.approx(wanted, rel=1e-9, abs=1e-9 * scale_of(x, y))
    assert cost_profile(*features, max_costs, SLICED_POWER) == close
    with pytest.MonkeyPatch.context() as patch:
        for module in (attribute_features_module, features_module):
            patch.setattr(module, "kernels", numpy_kernels)
        assert cost_profile(*features, max_costs, SLICED_POWER) == close


@given(typed_spaces(), typed_spaces(), st.sampled_from([None, "types"]))
def test_the_profile_of_saw_rises_to_saw(x, y, attributes):
    ends = np.unique(np.linspace(min(x.cost.min(), y.cost.min()), largest(x, y) + 1, 9))
    rule = attribute_rule_of((x, y), attributes, ends[-1])
    fx, fy = (attribute_features(side, rule, robust=False) for side in (x, y))
    profile, slack = cost_profile(fx, fy, ends, SLICED_POWER), 1e-12 * scale_of(x, y)
    assert (np.diff(profile, prepend=0.0) >= -slack).all()
    whole = ao.sliced_anchor_wasserstein(x, y, attributes=attributes, max_cost=ends[-1])
    assert profile[-1] == pytest.approx(whole, rel=1e-11, abs=slack)
    if attributes is None:
        assert profile[-1] == pytest.approx(ao.sliced_anchor_wasserstein(x, y), rel=1e-11, abs=slack)


@FEW
@given(typed_spaces(), typed_spaces(), METHODS)
def test_other_names_for_types_on_both_sides_change_nothing(x, y, method):
    names = {"a": 7, "b": (1, 2), "c": "z"}
    renamed = [with_types(side, [names[kind] for kind in side.types]) for side in (x, y)]
    energy = ao.anchor_energy(x, y, attributes="types", method=method)
    assert ao.anchor_energy(*renamed, attributes="types", method=method) == energy


@FEW
@given(typed_spaces(), typed_spaces(), st.randoms())
def test_relabelling_points_changes_nothing(x, y, random):
    order = random.sample(range(x.n), x.n)
    alike(ao.anchor_energy(x.take(order), y, attributes="types"), ao.anchor_energy(x, y, attributes="types"), x, y)


@FEW
@given(typed_spaces(), typed_spaces(), st.sampled_from(["types", "features"]))
def test_splitting_a_point_changes_nothing(x, y, attributes):
    twice = np.append(np.arange(x.n), 0)
    weights = x.weights[twice]
    weights[[0, -1]] /= 2
    split = ao.Space(
        x.cost[np.ix_(twice, twice)],
        weights,
        types=[x.types[i] for i in twice],
        features=x.features[twice],
    )
    phi = attributes if attributes == "types" else ao.anchors.feature_map([x, y])
    alike(ao.anchor_energy(split, y, attributes=phi), ao.anchor_energy(x, y, attributes=phi), x, y)


@FEW
@given(st.lists(typed_spaces(uniform=True, kinds="abcd"), min_size=3, max_size=5))
def test_energies_of_a_collection_are_squared_distances(found):
    max_cost = largest(*found)
    d = np.array([[ao.anchor_energy(x, y, attributes="types", max_cost=max_cost) for y in found] for x in found])
    assert (np.diag(d) == 0).all()
    centre = np.eye(len(d)) - 1 / len(d)
    gram = -centre @ d @ centre / 2
    assert np.linalg.eigvalsh((gram + gram.T) / 2).min() >= -1e-9 * scale_of(*found)


@pytest.mark.parametrize("power", [-1030, -600, 600, 1020])
def test_the_scale_of_features_changes_nothing(power):
    rng = np.random.default_rng(0)
    cost, features = ao.from_points(rng.normal(size=(12, 2))).cost, rng.integers(-8, 8, (12, 2)) / 8
    x, y = (ao.Space(cost, features=f) for f in (features, features[::-1]))
    scaled = [ao.Space(cost, features=np.ldexp(f, power)) for f in (features, features[::-1])]
    energy = ao.anchor_energy(x, y, attributes="features")
    assert energy > 0.01
    assert ao.anchor_energy(*scaled, attributes="features") == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize("weights", [None, [0.3, 0.3, 0.2, 0.2]])
@pytest.mark.parametrize("types", ["aaaa", "aabb"])
def test_weighted_energies_beyond_floats_are_one_clear_line(weights, types):
    far = np.where(np.eye(4) == 1, -1.5e308, 1.5e308)
    x = ao.Space(far, weights, types=list(types), features=9 * np.eye(4))
    y = ao.Space(np.full((4, 4), -1.5e308), weights, types=list("cccc"), features=7 * np.eye(4))
    for attributes in ("types", ao.anchors.LinearMap(4)):
        with pytest.raises(ao.InputError, match="exceed the range of float64"):
            ao.anchor_energy(x, y, attributes=attributes, max_cost=1.7e308)


def test_position_of_an_atom_matters_only_to_energies_with_attributes():
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    middle, end = ao.Space(line, types=list("HOH")), ao.Space(line, types=list("OHH"))
    assert ao.anchor_energy(middle, end) == 0
    assert ao.anchor_energy(middle, end, attributes="types") > 0.1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda x, y: ao.anchor_energy(x, y, attributes="types"),
            "y has no types, but attributes='types' needs one for each",
        ),
        (lambda x, y: ao.anchor_energy(x, y, attributes="features"), r"spaces\[1\] has no features"),
        (
            lambda x, y: ao.anchor_energy(x, x, attributes="colour"),
            "attributes must be 'types', 'features', a feature map",
        ),
        (lambda x, y: ao.anchor_energy(x, x, 2, attributes="types"), "attributes and max_cost need p=1"),
        (lambda x, y: ao.anchor_energy(x, x, 2, max_cost=1), "attributes and max_cost need p=1"),
        (lambda x, y: ao.anchor_energy(x, x, max_cost=np.inf), "max_cost must be a finite number"),
        (lambda x, y: ao.AnchorFeatures.of(x, attributes="types"), "need a max_cost"),
        (
            lambda x, y: ao.anchor_energy(ao.AnchorFeatures.of(x, max_cost=1), x, max_cost=2),
            "the features were made for .*max_cost=1.*, but attributes=None, max_cost=2 is asked for",
        ),
        (lambda x, y: ao.anchors.feature_map([x], size=3), "size must be even"),
        (lambda x, y: ao.anchors.feature_map([x], width=-1), "width must be a positive number"),
    ],
)
def test_bad_attributes_raise_one_clear_line(call, said):
    x = ao.Space([[0, 1], [1, 0]], types=["a", "b"], features=[1, 2])
    with pytest.raises(ao.InputError, match=said):
        call(x, ao.Space([[0, 1], [1, 0]]))


@FEW
@given(typed_spaces(), typed_spaces(), st.sampled_from([None, "types"]))
def test_features_made_once_give_the_same_bits(x, y, attributes):
    fx, fy = (ao.AnchorFeatures.of(side, attributes=attributes, max_cost=2.0) for side in (x, y))
    energy = ao.anchor_energy(x, y, attributes=attributes, max_cost=2.0)
    assert ao.anchor_energy(fx, fy, attributes=attributes, max_cost=2.0) == energy
    assert ao.anchor_energy(fx, fy) == energy
    assert ao.anchor_energy(fx, y) == energy


def test_attribute_features_energies_beyond_floats_are_one_clear_line():
    far = [ao.Space([[0, big], [big, 0]], types=["a", "b"], features=[1, 2]) for big in (-1.7e308, 1.7e308)]
    for attributes in ("types", "features"):
        with pytest.raises(ao.InputError, match="exceed the range of float64"):
            ao.anchor_energy(*far, attributes=attributes)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    made = []
    for n, weights in ((70, None), (90, None), (40, rng.dirichlet(np.ones(40)))):
        points = rng.normal(size=(n, 2))
        made.append(ao.Space(ao.from_points(points).cost, weights, types=rng.integers(0, 3, n), features=points))
    for x in made:
        for y in made:
            for attributes in ("types", ao.anchors.LinearMap(2), None):
                one, two = (ao.anchor_energy(x, y, attributes=attributes, max_cost=2.0, threads=k) for k in (1, 2))
                assert one == two
