"""Dask clusters of other software, in other folders, or that fail: the same bits or one line."""

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.many.convert import convert_all
from tests.strategies import assert_same

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.system,
    # what Dask's own event loop leaves behind when a machine is busy or a worker lost is not our concern
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
if trick == "with another trimesh":
    from importlib import metadata
    version = metadata.version
    metadata.version = lambda name: "0.0.1" if name == "trimesh" else version(name)
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
    """A scheduler and workers, each its own process in a folder that holds nothing."""

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
    command = [sys.executable, "-c", "from anchorot.cli import main; main()", *arguments]
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
    done = anchorot(tmp_path, "pairwise", "shapes", "shapes/0.npz", "-o", "D.npz", "--dask", cluster.address)
    assert (done.returncode, done.stderr) == (0, "")
    many = clouds(4)
    np.testing.assert_array_equal(np.load(tmp_path / "D.npz")["distances"], ao.pairwise([*many, many[0]]))


def write_points(folder, count=4):
    """Files of points, whose names mean nothing to a worker in another folder."""
    for number in range(count):
        points = np.random.default_rng(number).normal(size=(20 + number, 2))
        np.savetxt(folder / f"{number}.csv", points, delimiter=",")
    return [f"{number}.csv" for number in range(count)]


READING = {"kind": "points", "n_points": 15, "point_metric": "cityblock"}


@pytest.mark.parametrize("grid", [(4, 5), ao.anchors.Grid((4, 5), 0.0, 3.0)])
def test_files_are_embedded_elsewhere_as_here(cluster, tmp_path, monkeypatch, grid):
    cluster.add_worker()
    names = write_points(tmp_path)
    monkeypatch.chdir(tmp_path)
    wanted = ao.embed([ao.read(name, **READING, rng=3) for name in names], grid)
    np.testing.assert_array_equal(ao.embed(names, grid, rng=3, n_jobs=2, **READING), wanted)
    np.testing.assert_array_equal(ao.embed(names, grid, rng=3, client=cluster.client(), **READING), wanted)


@pytest.mark.parametrize("attributes", ["types", "features"])
@pytest.mark.parametrize("robust", [False, True])
def test_attributes_are_embedded_alike_on_workers_and_here(cluster, attributes, robust):
    cluster.add_worker()
    rng = np.random.default_rng(0)
    many = [
        ao.Space(x.cost, types=rng.choice(["a", "b", "c"], x.n).tolist(), features=rng.normal(size=(x.n, 2)))
        for x in clouds(5)
    ]
    how = {"attributes": attributes, "robust": robust, "rng": 2}
    np.testing.assert_array_equal(ao.embed(many, (3, 4), client=cluster.client(), **how), ao.embed(many, (3, 4), **how))


def test_files_are_converted_elsewhere_as_here(cluster, tmp_path, monkeypatch):
    cluster.add_worker()
    names = [*write_points(tmp_path), "bad.csv", "missing.csv", "split.edgelist"]
    (tmp_path / "bad.csv").write_text("no numbers")
    (tmp_path / "split.edgelist").write_text("0 1\n1 2\n3 4\n")
    monkeypatch.chdir(tmp_path)
    how = {**READING, "rng": 3, "disconnected": "largest", "errors": "skip"}
    messages = {}
    for folder, client in (("here", None), ("there", cluster.client())):
        with pytest.warns(ao.InputWarning) as notes:
            written = ao.convert(names, folder, client=client, **how)
        messages[folder] = sorted(str(note.message) for note in notes)
        assert [None if file is None else file.parent.name for file in written] == [folder] * 4 + [None] * 2 + [folder]
    assert messages["here"] == messages["there"]
    assert [text for text in messages["here"] if text.startswith("split.edgelist")]
    assert [text for text in messages["here"] if text.startswith("2 of 7 files were not converted: bad.csv")]
    files = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == files
    for name in files:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.parametrize("what", ["embed", "convert"])
def test_losing_a_worker_costs_time_only(cluster, tmp_path, what):
    first, _ = cluster.start("worker", cluster.address)
    gate = tmp_path / "open"  # what a worker waits for, so that it is lost in the middle
    many = clouds(8)

    def slow(number):
        (tmp_path / f"begun{number}").touch()
        while number == 5 and not gate.exists():
            time.sleep(0.02)
        return many[number]

    def lose():
        while not (tmp_path / "begun5").exists():
            time.sleep(0.02)
        first.kill()
        first.wait()
        gate.touch()
        cluster.add_worker()

    entries = [partial(slow, number) for number in range(8)]
    thread = threading.Thread(target=lose, daemon=True)
    thread.start()
    if what == "embed":
        found = ao.embed(entries, (3, 4), client=cluster.client())
        np.testing.assert_array_equal(found, ao.embed(many, (3, 4)))
    else:
        sources = [Path(f"{number}.csv") for number in range(8)]
        how = {"n_jobs": 1, "progress": False, "errors": "raise"}
        written = convert_all(entries, sources, tmp_path / "spaces", client=cluster.client(), **how)
        for file, space in zip(written, many, strict=True):
            assert_same(ao.read(file), space)
    thread.join()


def test_a_worker_with_other_readers_is_refused_where_files_are_read(cluster, tmp_path):
    stranger = cluster.add_worker("with another trimesh")
    client = cluster.client()
    paths = [tmp_path / name for name in write_points(tmp_path)]
    for run in (
        lambda: ao.pairwise(paths, kind="points", client=client),
        lambda: ao.embed(paths, kind="points", client=client),
        lambda: ao.convert(paths, tmp_path / "spaces", kind="points", client=client),
    ):
        with pytest.raises(ao.AnchorotError, match=f"^worker {stranger}: trimesh is '0.0.1' there and"):
            run()
    assert not (tmp_path / "spaces").exists()
    np.testing.assert_array_equal(ao.pairwise(clouds(3), client=client), ao.pairwise(clouds(3)))


def test_the_command_line_embeds_and_converts_relative_paths_on_a_cluster(cluster, tmp_path):
    cluster.add_worker()
    names = write_points(tmp_path)
    how = ("--kind", "points", "--n-points", "15", "--point-metric", "cityblock", "--seed", "3")
    for words in (("embed", "-o", "E.npz", "--cells", "4"), ("convert", "-o", "spaces")):
        done = anchorot(tmp_path, *words, *names, *how, "--dask", cluster.address)
        assert (done.returncode, done.stderr) == (0, "")
    wanted = [ao.read(tmp_path / name, **READING, rng=3) for name in names]
    np.testing.assert_array_equal(np.load(tmp_path / "E.npz")["vectors"], ao.embed(wanted, (4, 4)))
    for name, space in zip(names, wanted, strict=True):
        assert_same(ao.read((tmp_path / "spaces" / name).with_suffix(".npz")), space)


def kill_when_busy(cluster, client):
    while not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        time.sleep(0.1)
    cluster.scheduler.kill()


@pytest.mark.parametrize("trick", ["killed scheduler", "without anchorot"])
def test_the_command_line_reports_cluster_failures_in_one_line(cluster, tmp_path, trick):
    for number, space in enumerate(clouds(4)):
        ao.write(space, tmp_path / f"{number}.npz")
    if trick == "without anchorot":
        cluster.add_worker(trick)
    else:  # nobody works, so it stays busy
        threading.Thread(target=kill_when_busy, args=(cluster, cluster.client())).start()
    done = anchorot(tmp_path, "pairwise", ".", "-o", "D.npz", "--dask", cluster.address)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert ("was lost" if trick == "killed scheduler" else "No module named 'anchorot") in done.stderr
