"""Dask clusters of other software, in other folders, or that fail: the same bits or one line."""

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest

import anchorot as ao

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

pytestmark = [
    pytest.mark.kernel_free,
    pytest.mark.lengthy,
    # what Dask's own event loop leaves behind when a machine is busy or a worker lost is not ours to answer for
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PROGRAM = """
import asyncio, sys
kind, address, trick = sys.argv[1:]
if trick == "without anchorot":
    sys.modules["anchorot"] = None
if trick == "of another version":
    import anchorot.config
    anchorot.config.__version__ = "0.0.1"
import distributed

async def main():
    if kind == "scheduler":
        server = distributed.Scheduler(host="127.0.0.1", port=0, dashboard_address=":0")
    else:
        server = distributed.Worker(address, nthreads=1, host="127.0.0.1")
    async with server:
        print(server.address, flush=True)
        await server.finished()

asyncio.run(main())
"""


class Cluster:
    """A scheduler and workers, each a process of its own in a folder that holds nothing."""

    def __init__(self, folder, stack):
        self.folder = folder
        self.stack = stack
        self.scheduler, self.address = self.start("scheduler")

    def start(self, kind, address="", trick="", **environment):
        command = [sys.executable, "-c", PROGRAM, kind, address, trick]
        environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s", **environment}
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.stack.callback(process.communicate)
        self.stack.callback(process.kill)
        return process, process.stdout.readline().strip()

    def add_worker(self, trick="", **environment):
        return self.start("worker", self.address, trick, **environment)[1]

    def client(self):
        return self.stack.enter_context(distributed.Client(self.address, timeout=60))


@pytest.fixture
def cluster(tmp_path_factory):
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("elsewhere"), stack)


def clouds(count=9, n=10, seed=0):
    rng = np.random.default_rng(seed)
    return [ao.from_points(rng.normal(size=(n + i % 3, 3))) for i in range(count)]


def one_line_of(client, begin=None, **options):
    """What `pairwise` on the client says when it gives up, within seconds."""
    if begin is not None:
        threading.Timer(1, begin).start()
    start = time.monotonic()
    with pytest.raises(ao.AnchorotError) as caught:
        ao.pairwise(clouds(), client=client, tile=2, **options)
    assert time.monotonic() - start < 30
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- software ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("native_only")
def test_a_worker_with_other_kernels_is_refused(cluster, tmp_path):
    cluster.add_worker()
    stranger = cluster.add_worker(ANCHOROT_KERNELS="numpy")
    said = one_line_of(cluster.client(), checkpoint=tmp_path / "run")
    assert said.startswith(f"worker {stranger}: kernels is 'numpy' there and 'native' here")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("trick", "problem"),
    [
        ("of another version", f"anchorot is '0.0.1' there and '{ao.__version__}' here"),
        ("without anchorot", "No module named 'anchorot"),
    ],
)
@pytest.mark.parametrize("joins", ["at first", "later"])
def test_a_worker_that_would_compute_something_else_is_named_within_seconds(cluster, trick, problem, joins):
    strangers, client = [], cluster.client()

    def join():
        strangers.append(cluster.add_worker(trick))

    if joins == "at first":
        join()
    said = one_line_of(client, join if joins == "later" else None)
    assert said.startswith(f"worker {strangers[0]}: ")
    assert problem in said


def test_the_scheduler_needs_no_anchorot(tmp_path):
    class Bare(Cluster):
        def start(self, kind, address="", trick="", **environment):
            return super().start(kind, address, "without anchorot" if kind == "scheduler" else trick, **environment)

    with ExitStack() as stack:
        cluster = Bare(tmp_path, stack)
        cluster.add_worker()
        found = ao.pairwise(clouds(), clouds(5, seed=1), client=cluster.client(), tile=2)
    np.testing.assert_array_equal(found, ao.pairwise(clouds(), clouds(5, seed=1)))


# -- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_killed_scheduler_is_one_line(cluster, n_workers):
    for _ in range(n_workers):
        cluster.add_worker()
    client = cluster.client()
    threading.Timer(2, cluster.scheduler.kill).start()
    start = time.monotonic()
    with pytest.raises(ao.AnchorotError, match=f"the Dask scheduler at {cluster.address} was lost") as caught:
        ao.pairwise([np.random.default_rng(i).uniform(size=(400, 400)) for i in range(80)], client=client, tile=2)
    assert time.monotonic() - start < 30
    assert "\n" not in str(caught.value)


# -- other folders -------------------------------------------------------------------------------------------------


def anchorot(folder, *arguments):
    command = [sys.executable, "-c", "from anchorot.cli import main; main()", "pairwise", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_relative_paths_mean_the_same_to_workers_in_another_folder(cluster, tmp_path, monkeypatch):
    cluster.add_worker()
    for number, space in enumerate(clouds(4)):
        ao.write(space, tmp_path / f"{number}.npz")
    monkeypatch.chdir(tmp_path)
    names = [f"{number}.npz" for number in range(4)]
    found = ao.pairwise(names, client=cluster.client(), tile=2)
    np.testing.assert_array_equal(found, ao.pairwise(names))


def test_options_of_reading_and_relative_paths_of_functions_travel_to_workers(cluster, tmp_path, monkeypatch):
    cluster.add_worker()
    for number in range(4):
        np.savetxt(tmp_path / f"{number}.csv", np.random.default_rng(number).normal(size=(20, 2)), delimiter=",")
    monkeypatch.chdir(tmp_path)
    names = [f"{number}.csv" for number in range(4)]
    how = {"kind": "points", "n_points": 7, "rng": 3, "point_metric": "cityblock"}
    found = ao.pairwise([lambda name=name: name for name in names], client=cluster.client(), tile=2, **how)
    np.testing.assert_array_equal(found, ao.pairwise(names, **how))


def test_the_command_line_computes_relative_paths_on_a_cluster(cluster, tmp_path):
    cluster.add_worker()
    (tmp_path / "shapes").mkdir()
    for number, space in enumerate(clouds(4)):
        ao.write(space, tmp_path / "shapes" / f"{number}.npz")
    done = anchorot(tmp_path, "shapes", "shapes/0.npz", "-o", "D.npz", "--dask", cluster.address)
    assert (done.returncode, done.stderr) == (0, "")
    many = clouds(4)
    np.testing.assert_array_equal(np.load(tmp_path / "D.npz")["distances"], ao.pairwise([*many, many[0]]))


def kill_when_busy(cluster, client):
    while not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        time.sleep(0.1)
    cluster.scheduler.kill()


@pytest.mark.parametrize("trick", ["killed scheduler", "without anchorot"])
def test_the_command_line_says_in_one_line_what_became_of_the_cluster(cluster, tmp_path, trick):
    for number, space in enumerate(clouds(4)):
        ao.write(space, tmp_path / f"{number}.npz")
    if trick == "without anchorot":
        cluster.add_worker(trick)
    else:  # nobody works, so it stays busy
        threading.Thread(target=kill_when_busy, args=(cluster, cluster.client())).start()
    done = anchorot(tmp_path, ".", "-o", "D.npz", "--dask", cluster.address)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert ("was lost" if trick == "killed scheduler" else "No module named 'anchorot") in done.stderr
