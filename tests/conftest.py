import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from anchorot._kernels import kernels

# Examples differ from run to run on a developer's machine, and are the same in CI.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=3000)
settings.load_profile("ci" if os.environ.get("CI") else "default")


signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are told to ignore Ctrl-C

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def require_or_skip(condition, reason):
    """Skip a test whose means are missing; but where everything must be there, fail."""
    if condition:
        return
    if os.environ.get("ANCHOROT_REQUIRE_ALL"):
        pytest.fail(f"ANCHOROT_REQUIRE_ALL is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture
def data():
    """Folder of real data sets, which are not part of the project."""
    require_or_skip(DATA.is_dir(), "the folder of real data sets is not there (ANCHOROT_DATA)")
    return DATA


def pytest_report_header(config):
    return f"anchorot kernels: {kernels.description()}"


@pytest.fixture
def native_only():
    if kernels.description() == "numpy":
        pytest.skip("the native kernels are not in use")


@pytest.fixture
def few_at_first(monkeypatch):
    """So that small search indexes, too, must be asked for more."""
    monkeypatch.setattr("anchorot.search.query.FIRST_CANDIDATES", 1)
