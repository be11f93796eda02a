import os

import pytest
from hypothesis import HealthCheck, settings

from anchorot._kernels import kernels

# Examples differ from run to run on a developer's machine, and are the same in CI.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=3000)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_report_header(config):
    return f"anchorot kernels: {kernels.description()}"


@pytest.fixture
def native_only():
    if kernels.description() == "numpy":
        pytest.skip("the native kernels are not in use")
