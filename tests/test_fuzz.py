"""Mutated files of every format; `nox -s fuzz -- --cases 100000` tries more."""

import pytest

from fuzz import FORMATS, SLOW, fuzz

pytestmark = [pytest.mark.kernel_free, pytest.mark.lengthy]

CASES = 160  # the same each time; `nox -s fuzz` looks at others


@pytest.mark.parametrize("ending", FORMATS)
def test_mutated_files_raise_only_our_errors(ending):
    assert fuzz(ending, CASES // 4 if ending in SLOW else CASES) == []
