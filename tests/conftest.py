import ast
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of PyTorch and BLAS: what tests compute is too small for more
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")  # or POT imports it, in every process for seconds
os.environ["ANCHOROT_CACHE"] = tempfile.mkdtemp(prefix="anchorot-cache-")  # never the developer's own

import pytest
from hypothesis import HealthCheck, settings

from anchorot._kernels import kernels

# Examples differ from run to run on a developer's machine; where all is required they are more, and always the same.
REQUIRE_ALL = bool(os.environ.get("ANCHOROT_REQUIRE_ALL"))
settings.register_profile("default", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("all", parent=settings.get_profile("default"), max_examples=100, derandomize=True)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=3000)
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=8)
settings.load_profile("all" if REQUIRE_ALL else "default")


signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are told to ignore Ctrl-C

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def require_or_skip(condition, reason):
    """Skip a test whose means are missing; but where everything that can be installed must be there, fail."""
    if condition:
        return
    if REQUIRE_ALL:
        pytest.fail(f"ANCHOROT_REQUIRE_ALL is set, but {reason}")
    pytest.skip(reason)


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


@pytest.fixture
def data():
    """Folder of real data sets, which are not part of the project and cannot be installed."""
    if not DATA.is_dir():
        pytest.skip(f"there are no data sets in {DATA} (ANCHOROT_DATA)")
    return DataFolder(DATA)


@pytest.fixture
def native_only():
    if kernels.description() == "numpy":
        pytest.skip("the native kernels are not in use")


@pytest.fixture
def few_at_first(monkeypatch):
    """So that small search indexes, too, must be asked for more."""
    monkeypatch.setattr("anchorot.search.query.FIRST_CANDIDATES", 1)
    monkeypatch.setattr("anchorot.search.query.CANDIDATES_PER_ROOT", 0.0)


# Files whose tests share what takes long to set up, or would get in each other's way: one process has all of a group.
GROUPS = {
    "test_report_by_hand": "browser",
    "test_report_in_browser": "browser",
    "test_cluster": "cluster",
    "test_search_cluster": "cluster",
    "test_worker_processes": "cluster",
    "test_killed_runs": "long runs",
    "test_torch_kernels": "compiler",
    "test_device_pairs": "devices",
}


WITHOUT_KERNEL_FREE = "not kernel_free"  # the -m of the run with the NumPy kernels


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", default=REQUIRE_ALL, help="run the tests marked system as well")
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption("--quick", action="store_true", help="few examples of each law, and no tests marked lengthy")


def pytest_xdist_auto_num_workers(config):
    """One more than cores, but where no test waits for a process or a browser, as lengthy and kernel_free ones do."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = config.getoption("--quick") or config.getoption("markexpr") == WITHOUT_KERNEL_FREE
    return min(cores, 16) + (not busy)


def pytest_configure(config):
    if config.getoption("--quick"):
        settings.load_profile("quick")
        sys.addaudithook(_leave_out_processes)
        # a test that is left out in the middle leaves open files behind, which a later one would be blamed for
        config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
        config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")


def pytest_xdist_make_scheduler(config, log):
    """Give each test of no group to the next process that is free; groups, which are long, come first."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return GROUPS.get(Path(nodeid.partition("::")[0]).stem, nodeid)

    return GroupScheduling(config, log)


def pytest_ignore_collect(collection_path, config):
    """Do not even import a file whose own marks leave all its tests out: imports take seconds, in every process."""
    without = _marks_left_out(config)
    if config.getoption("markexpr") == WITHOUT_KERNEL_FREE:
        without.add("kernel_free")
    named_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if without and named_test and without & _marks_of_all(collection_path) else None


def _marks_of_all(file):
    """The marks in `pytestmark`, which all tests of a file have."""
    lines = ast.parse(file.read_text(encoding="utf-8")).body
    marks = [line for line in lines if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "pytestmark"]
    return {node.attr for line in marks for node in ast.walk(line) if isinstance(node, ast.Attribute)}


def _marks_left_out(config):
    quick, system, slow = (config.getoption(name) for name in ("--quick", "--all", "--slow"))
    return {mark for mark, out in (("lengthy", quick), ("system", quick or not system), ("slow", not slow)) if out}


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if any(map(item.get_closest_marker, _marks_left_out(config)))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _leave_out_processes(event, arguments):
    """Skip a test, for --quick, at the moment when it would start a process."""
    starts = event in ("subprocess.Popen", "os.fork", "os.posix_spawn")
    if starts and "(call)" in os.environ.get("PYTEST_CURRENT_TEST", ""):
        raise pytest.skip.Exception("they start processes, which --quick leaves out")


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
