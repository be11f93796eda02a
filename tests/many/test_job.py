"""Runs spread over processes and a cluster's workers, some of which are lost: the same bits, or one line."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest

import anchorot as ao
from anchorot.many.spaces import Inputs
from tests.many import long_runs
from tests.many.long_runs import tiles_of, wait_until
from tests.strategies import clouds

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("cluster")]


program, matrices, unbroken = long_runs.program, long_runs.matrices, long_runs.unbroken


def test_processes_give_the_same_bits(tmp_path):
    many = [*clouds(5), tmp_path / "missing.npy"]
    np.save(tmp_path / "there.npy", clouds(1, seed=3)[0].cost)
    many.append(tmp_path / "there.npy")
    with pytest.warns(ao.InputWarning, match="1 of 7"):
        expected = ao.pairwise(many, metric="slb", errors="skip", n_jobs=1)
    with pytest.warns(ao.InputWarning, match="1 of 7"):
        found = ao.pairwise(many, metric="slb", errors="skip", n_jobs=2, backend="processes", tile=2)
    np.testing.assert_array_equal(found, expected)


def test_a_worker_of_another_pool_starts_no_processes():
    with get_context("spawn").Pool(1) as pool:  # of daemons, which may have no children
        found = pool.apply(ao.pairwise, (clouds(),), {"backend": "processes", "n_jobs": 2})
    np.testing.assert_array_equal(found, ao.pairwise(clouds()))


@pytest.mark.usefixtures("native_only")
def test_processes_with_other_kernels_are_refused(monkeypatch):
    monkeypatch.setenv("ANCHOROT_KERNELS", "numpy")  # too late for this process, but not for those it starts
    with pytest.raises(ao.AnchorotError, match=r"worker process \d+: kernels is 'numpy' there and 'native' here"):
        ao.pairwise(clouds(), n_jobs=2, backend="processes")


SCRIPT = """
import numpy as np
import anchorot as ao

class Halves:
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return (1 - np.eye(index + 2)) / 2

print("here")
print(ao.pairwise(Halves(), metric="slb", backend="processes", n_jobs=2).tolist())
"""


def test_a_script_that_uses_processes_needs_no_guard_and_may_define_what_they_need(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    expected = ao.pairwise([(1 - np.eye(n)) / 2 for n in (2, 3, 4)], metric="slb").tolist()
    assert (done.stdout, done.stderr) == (f"here\n{expected}\n", "")


class Deadly:
    """Spaces that end any process but the one they are made in, leaving a note."""

    def __init__(self, note):
        self.home = os.getpid()
        self.note = note

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if os.getpid() != self.home:
            self.note.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.eye(3)


def test_a_process_that_dies_is_an_error_and_no_hang(tmp_path):
    with pytest.raises(
        ao.AnchorotError, match=r"^a worker process ended .* -9 .*, at the pairs of rows 0 to 3 and col"
    ):
        ao.pairwise(Deadly(tmp_path / "note"), backend="processes", n_jobs=2)
    assert (tmp_path / "note").exists()


def test_what_is_sent_away_is_little_and_means_the_same_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("here.npy", np.eye(3))
    large = [partial(np.full, (100, 100), float(i)) for i in range(3)] + [partial(np.copy, np.ones((100, 100)))]
    inputs = Inputs.of([np.eye(2), "here.npy", *large], clouds(3))
    sent = pickle.dumps(inputs.only([1, 3, 7]))
    assert len(sent) < 10_000  # all but what is asked for stays at home
    sent = pickle.loads(sent)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(sent.load(1).cost, np.eye(3))
    assert (sent.load(3).cost == 1).all()
    np.testing.assert_array_equal(sent.load(7).cost, clouds(3)[1].cost)
    with pytest.raises(ao.InputError, match=r"spaces\[0\]: KeyError"):
        sent.load(0)


# -- a cluster -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
    distributed = pytest.importorskip("distributed")
    timeout = "distributed.comm.timeouts.connect"
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "silence_logs": 50}
    options |= {"local_directory": str(tmp_path_factory.mktemp("dask"))}
    options |= {"dashboard_address": ":0"}  # Dask's own port may be another cluster's: a warning, and here an error

    def hurry():
        dask.config.set({timeout: "10s"})  # how long workers try to reach a lost one

    with (
        dask.config.set({timeout: "60s"}),  # a busy machine may take long to start processes and to let them in
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        client.run(hurry)
        yield client


# What Dask's own event loop leaves behind when a machine is busy or a worker lost is not our concern.
on_a_cluster = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@on_a_cluster
def test_a_cluster_gives_the_same_bits(client, tmp_path):
    many = [*clouds(6), tmp_path / "missing.npy"]
    np.save(tmp_path / "there.npy", clouds(1, seed=3)[0].cost)
    many.append(tmp_path / "there.npy")
    for others in (None, clouds(3, seed=1)):
        with pytest.warns(ao.InputWarning, match="1 of "):
            expected = ao.pairwise(many, others, errors="skip")
        with pytest.warns(ao.InputWarning, match="1 of "):
            found = ao.pairwise(many, others, errors="skip", client=client, tile=2)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ao.InputError, match=r"spaces\[6\] \(.*missing.npy\): No such file"):
        ao.pairwise(many, client=client)


@on_a_cluster
def test_notes_about_files_appear_once_on_a_cluster_too(client, tmp_path):
    paths = [tmp_path / f"{k}.edgelist" for k in range(3)]
    for path in paths:
        path.write_text("0 1\n1 2\n3 4\n")
    for others in (None, client):
        with pytest.warns(ao.InputWarning) as notes:
            ao.pairwise(paths, disconnected="largest", client=others, tile=2)
        messages = sorted(str(note.message) for note in notes)
        assert [text.split()[0] for text in messages] == ["0.edgelist", "1.edgelist", "2.edgelist"]


@on_a_cluster
def test_a_cluster_survives_the_loss_of_a_worker(client, tmp_path, unbroken, matrices):
    folder = tmp_path / "run"
    pids = list(client.run(os.getpid).values())
    left = []

    def kill():
        wait_until(lambda: len(tiles_of(folder)) > 20)
        os.kill(pids[0], signal.SIGKILL)
        left.append(120 - len(tiles_of(folder)))

    killer = threading.Thread(target=kill)
    killer.start()
    found = ao.pairwise(matrices, client=client, checkpoint=folder, tile=4)
    killer.join()
    assert left[0] > 0  # it was in the middle
    np.testing.assert_array_equal(found, unbroken)


@on_a_cluster
def test_a_space_that_ends_every_worker_is_one_line(client):
    with pytest.raises(ao.AnchorotError, match=r"^4 Dask workers ended over one task, the last tcp://\S+: .*$"):
        ao.pairwise([np.eye(2), partial(os._exit, 1)], client=client)
