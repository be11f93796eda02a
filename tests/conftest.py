import ast
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of PyTorch and BLAS: what tests compute is too small for more
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")  # or POT imports it, in every process for seconds
os.environ["MPLBACKEND"] = "agg"  # no windows
os.environ["ANCHOROT_CACHE"] = tempfile.mkdtemp(prefix="anchorot-cache-")  # never the developer's own

import pytest
from hypothesis import HealthCheck, settings

from anchorot._kernels import kernels
from anchorot._parallel import Processes
from tests.many.long_runs import none_is_left_of
from tests.requirements import DATA, REQUIRE_ALL, DataFolder

# Examples differ from run to run on a developer's machine; where all is required they are more, and always the same.
settings.register_profile("default", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("all", parent=settings.get_profile("default"), max_examples=100, derandomize=True)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=3000)
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=8)
settings.load_profile("all" if REQUIRE_ALL else "default")

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes its background jobs ignore Ctrl-C


@pytest.fixture(autouse=True)
def no_open_figures():
    """Every test begins without figures of pyplot."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def data():
    """Folder of real data sets, which are not part of the project and cannot be installed."""
    if not DATA.is_dir():
        pytest.skip(f"there are no data sets in {DATA} (ANCHOROT_DATA)")
    return DataFolder(DATA)


@pytest.fixture
def pool():
    """Two processes, which must end with the test."""
    with Processes(2) as found:
        yield found
        pids = [process._popen.pid for process in found._all]
    assert none_is_left_of(pids)
    assert not found._all


@pytest.fixture
def native_only():
    if kernels.description() == "numpy":
        pytest.skip("the native kernels are not in use")


@pytest.fixture
def few_at_first(monkeypatch):
    """Let searches in small indexes need more than the first candidates."""
    monkeypatch.setattr("anchorot.search.query.FIRST_CANDIDATES", 1)
    monkeypatch.setattr("anchorot.search.query.CANDIDATES_PER_ROOT", 0.0)


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", default=REQUIRE_ALL, help="run the tests marked system as well")
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")


def pytest_xdist_auto_num_workers(config):
    """One more than cores: many tests wait for a process or a browser."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 16) + 1


def pytest_ignore_collect(collection_path, config):
    """Do not even import a file whose own marks leave all its tests out: imports take seconds, in every process."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and _marks_left_out(config) & _marks_of_all(collection_path) else None


def _marks_of_all(file):
    """Return the marks in `pytestmark`, which all tests of a file have."""
    lines = ast.parse(file.read_text(encoding="utf-8")).body
    marks = [line for line in lines if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "pytestmark"]
    return {node.attr for line in marks for node in ast.walk(line) if isinstance(node, ast.Attribute)}


def _marks_left_out(config):
    return {mark for mark, option in (("system", "--all"), ("slow", "--slow")) if not config.getoption(option)}


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if any(map(item.get_closest_marker, _marks_left_out(config)))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_unconfigure(config):
    shutil.rmtree(os.environ["ANCHOROT_CACHE"], ignore_errors=True)


def pytest_report_header(config):
    left_out = ", ".join(sorted(_marks_left_out(config))) or "nothing"
    return f"anchorot kernels: {kernels.description()}; left out: {left_out} (--all, --slow)"


def pytest_terminal_summary(terminalreporter):
    """Name what was skipped, and why, in one line."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.write_line(
            "skipped: " + "; ".join(f"{count} because {reason}" for reason, count in reasons.most_common())
        )
