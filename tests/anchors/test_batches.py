"""Features of many spaces in one call: those of one by one, to the last bit, with the same errors and warnings."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import anchorot as ao
from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot.anchors import batches
from tests import reference
from tests.strategies import COSTS, examples, spaces

DTYPES = st.sampled_from([np.float64, np.float32, np.int64])


@st.composite
def entries(draw):
    """Spaces and arrays of every kind, good ones that warn among them; zeros of both signs."""
    n = draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["space", "array", "list", "fortran"]))
    if kind == "space":
        return draw(spaces())
    cost = draw(hnp.arrays(np.float64, (n, n), elements=st.one_of(COSTS, st.floats(0, 9, width=32), st.just(-0.0))))
    cost = cost.astype(draw(DTYPES))
    return {"array": cost, "list": cost.tolist(), "fortran": np.asfortranarray(cost)}[kind]


def noted(function):
    """What a function returns, or the error it raises, and what it warns about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function()
        except ao.InputError as error:
            found = str(error)
    return found, [str(warning.message) for warning in caught]


@given(st.lists(entries(), min_size=1, max_size=9), st.booleans(), st.integers(1, 3))
def test_features_of_many_are_those_of_each(many, robust, threads):
    found, warned = noted(lambda: ao.AnchorFeatures.of_many(many, robust=robust, threads=threads))
    expected, expected_warnings = noted(lambda: [ao.AnchorFeatures.of(x, robust=robust) for x in many])
    assert warned == expected_warnings
    for one, other in zip(found, expected, strict=True):
        assert (one.robust, one.has_levels) == (other.robust, other.has_levels)
        assert [each.tobytes() for each in one.arrays()] == [each.tobytes() for each in other.arrays()]
        assert [each.dtype for each in one.arrays()] == [each.dtype for each in other.arrays()]


BAD = {
    "NaN": np.array([[0.0, np.nan], [1.0, 0.0]]),
    "infinity": np.array([[0.0, np.inf], [1.0, 0.0]]),
    "minus infinity": np.array([[0.0, -np.inf], [1.0, 0.0]], np.float32),
    "not square": np.zeros((2, 3)),
    "empty": np.zeros((0, 0)),
    "vector": np.zeros(3),
    "text": np.array([["a"]]),
    "complex": np.zeros((2, 2), complex),
    "masked": np.ma.masked_equal(np.eye(2), 1.0),
    "path": "cost.npy",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_the_first_bad_space_is_named_with_the_error_of_its_own(bad):
    good = [np.ones((3, 3)) - np.eye(3)] * 3
    alone, _ = noted(lambda: ao.AnchorFeatures.of(bad))
    assert noted(lambda: ao.AnchorFeatures.of_many([*good, bad, np.full((2, 2), np.nan)])) == (
        f"spaces[3]: {alone}",
        [],
    )


SUSPICIOUS = {
    "similarities": np.array([[2.0, 1.0], [1.0, 2.0]]),
    "negative": np.array([[0.0, -1.0], [-1.0, 0.0]]),
    "a large diagonal, but no similarities": np.array([[9.0, 1.0], [8.0, 2.0]]),
}


@pytest.mark.parametrize("cost", SUSPICIOUS.values(), ids=SUSPICIOUS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_suspicious_costs_warn_as_they_do_alone(cost, dtype):
    _, alone = noted(lambda: ao.AnchorFeatures.of(cost.astype(dtype)))
    _, together = noted(lambda: ao.AnchorFeatures.of_many([np.ones((2, 2)), cost.astype(dtype)]))
    assert together == alone


def test_a_stack_is_a_list_of_matrices():
    stack = np.abs(np.random.default_rng(0).normal(size=(5, 4, 4)))
    together, alone = ao.AnchorFeatures.of_many(stack), [ao.AnchorFeatures.of(x) for x in stack]
    np.testing.assert_array_equal([x.levels for x in together], [x.levels for x in alone])


@pytest.mark.parametrize("wrong", [ao.Space([[0.0]]), {}, "x", 3])
def test_what_is_no_list_of_spaces_is_refused(wrong):
    with pytest.raises(ao.InputError, match=r"^spaces must be a list of spaces, but got "):
        ao.AnchorFeatures.of_many(wrong)


def test_large_spaces_are_left_to_their_own_threads(monkeypatch):
    monkeypatch.setattr(batches, "MOST_POINTS", 3)
    assert batches.plain_cost(np.ones((3, 3))) is not None
    assert batches.plain_cost(np.ones((4, 4))) is None
    assert batches.plain_cost(ao.Space(np.ones((4, 4)))) is None


# -- batches of what is loaded one by one -----------------------------------------------------------------------------


@given(st.lists(st.booleans(), max_size=20))
def test_batches_keep_the_order_and_hold_plain_spaces_together(plain):
    values = [np.full((2, 2), float(k)) if each else [[float(k)]] for k, each in enumerate(plain)]
    found = list(batches.in_batches(iter(values)))
    assert [id(x) for batch in found for x in batch] == [id(x) for x in values]
    assert all(len(batch) == 1 or all(type(x) is np.ndarray for x in batch) for batch in found)


def test_what_comes_before_an_error_is_seen_before_it():
    def loaded():
        yield from [np.ones((2, 2))] * 3
        raise ao.InputError("the fourth")

    seen = []
    with pytest.raises(ao.InputError, match="the fourth"):
        seen.extend(x for batch in batches.in_batches(loaded()) for x in batch)
    found = batches.in_batches(loaded())
    assert len(next(found)) == 3
    with pytest.raises(ao.InputError, match="the fourth"):
        next(found)


# -- kernels ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 80), max_size=4), st.integers(0, 2**32))
@examples(50)
def test_levels_of_many_spaces(sizes, seed):
    rng = np.random.default_rng(seed)
    many = [rng.integers(rng.integers(-1, 1), 9, size=(n, n)).astype(float) for n in sizes]
    levels, ordinary = kernels.space_levels(many, 2)
    for cost, found, is_ordinary in zip(many, levels, ordinary, strict=True):
        assert is_ordinary == ((cost >= 0).all() and len(cost) * np.trace(cost) <= cost.sum())
        if is_ordinary:
            assert found.tolist() == reference.levels(cost.tolist())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_in_numpy_agree_about_many_spaces(dtype):
    rng = np.random.default_rng(0)
    many = [np.abs(rng.normal(size=(n, n))).astype(dtype) for n in (1, 2, 9, 30, 70)] + [-np.eye(3, dtype=dtype)]
    for threads in (1, 3):
        levels, ordinary = kernels.space_levels(many, threads)
        expected, expected_ordinary = numpy_kernels.space_levels(many, threads)
        assert ordinary.tolist() == expected_ordinary.tolist()
        for found, wanted, good in zip(levels, expected, ordinary, strict=True):
            assert found.dtype == dtype
            assert not good or found.tobytes() == wanted.tobytes()
