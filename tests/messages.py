"""What our own errors and warnings say."""

import sys
import warnings

import pytest

import anchorot as ao


def said(attempt, *arguments, **options):
    """What our own error says, in one line; whatever else is raised comes out."""
    with pytest.raises(ao.InputError) as caught:
        attempt(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def noted(attempt, *arguments, **options):
    """What is noted of an input, once or not at all, and where the caller called."""
    here = __file__, sys._getframe(1).f_code.co_filename  # what is called here, or in a lambda of the test
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ao.ConvergenceWarning)  # an alignment that cannot be trusted is not the input's
        attempt(*arguments, **options)
    assert len(found) <= 1
    assert all(each.category is ao.InputWarning and each.filename in here for each in found)
    return str(found[0].message) if found else None
