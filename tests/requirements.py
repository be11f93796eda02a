"""What tests need that may be missing: the checkout, real data, and what has to be installed."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
DATA = Path(os.environ.get("ANCHOROT_DATA", ROOT.parent / "shared" / "data"))
REQUIRE_ALL = bool(os.environ.get("ANCHOROT_REQUIRE_ALL"))


def require_or_skip(condition, reason):
    """Skip a test whose means are missing; but where everything that can be installed must be there, fail."""
    if condition:
        return
    if REQUIRE_ALL:
        pytest.fail(f"ANCHOROT_REQUIRE_ALL is set, but {reason}")
    pytest.skip(reason)


HAS_RESULTS = any((ROOT / "experiments" / "results").glob("*/summary.json"))
needs_results = pytest.mark.skipif(not HAS_RESULTS, reason="source archives lack the raw results of experiments")


class DataFolder:
    """A folder of data sets: a test that asks for one that is not there is skipped."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)

    def __truediv__(self, name):
        if not (self.path / name).exists():
            pytest.skip(f"there is no {name} in {self.path} (ANCHOROT_DATA)")
        return self.path / name

    @property
    def parent(self):
        return DataFolder(self.path.parent)
