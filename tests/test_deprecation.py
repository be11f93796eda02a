"""Names that go away say so, where they are called, and work until then."""

import inspect
import warnings

import pytest

import anchorot as ao
from anchorot._deprecation import deprecated

pytestmark = pytest.mark.kernel_free


@deprecated("0.3", removed_in="0.5", use="anchor_energy")
def old_energy(x: float, *, p: int = 1) -> float:
    """Energy under its old name.

    Parameters
    ----------
    x : float
        A number.
    """
    return x * p


def test_a_deprecated_function_answers_as_before():
    with pytest.warns(DeprecationWarning, match="old_energy"):
        assert old_energy(2.0, p=3) == 6.0


def test_the_warning_names_the_function_the_versions_and_what_to_call():
    message = "old_energy is deprecated since 0.3 and goes away in anchorot 0.5: use anchor_energy instead"
    with pytest.warns(DeprecationWarning, match=f"^{message}$"):
        old_energy(1.0)


def test_the_warning_points_at_the_line_that_calls():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old_energy(1.0)
    assert [warning.filename for warning in caught] == [__file__]


def test_nothing_warns_before_the_call():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deprecated("0.3", removed_in="0.5", use="y")(lambda: None)


def test_name_signature_and_docstring_stay_with_a_note_after_the_summary():
    assert old_energy.__name__ == "old_energy"
    assert list(inspect.signature(old_energy).parameters) == ["x", "p"]
    lines = inspect.getdoc(old_energy).splitlines()
    assert lines[0] == "Energy under its old name."
    assert lines[2:4] == [".. deprecated:: 0.3", "   It goes away in anchorot 0.5: use anchor_energy instead."]
    assert "Parameters" in lines


@pytest.mark.parametrize("old", ["NearestSpaces", "SearchResult"])
def test_old_names_of_classes_are_the_new_ones_with_a_warning_and_are_not_listed(old):
    with pytest.warns(DeprecationWarning, match=f"^{old} is deprecated .*: use Neighbors instead$") as caught:
        assert getattr(ao, old) is ao.Neighbors
    assert [warning.filename for warning in caught] == [__file__]
    assert old not in dir(ao)
