"""Runs that are killed, interrupted or spread over processes and clusters, and give the same bits."""

import io
import json
import os
import pickle
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from functools import partial
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.many import metrics
from anchorot.many.workers import Inputs

from strategies import clouds

PROGRAM = """
import sys
import numpy as np
import anchorot as ao

def spaces():
    rng = np.random.default_rng(0)
    n = 60 if ao.config.config()["kernels"] == "numpy" else 400  # about as long to compare
    return [rng.uniform(size=(n, n)) * rng.uniform(0.5, 2) for _ in range(60)]

if __name__ == "__main__":
    folder, backend = sys.argv[1:]
    np.save(folder + ".npy", ao.pairwise(spaces(), checkpoint=folder, backend=backend, n_jobs=2, tile=4))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def matrices(program):
    names = {"__name__": "imported"}
    exec(program.read_text(), names)
    return names["spaces"]()


@pytest.fixture(scope="module")
def unbroken(matrices):
    return ao.pairwise(matrices, n_jobs=1)


def tiles_of(folder):
    return sorted(path for path in folder.glob("*.npy") if not path.name.startswith("."))


def start(program, folder, backend="threads"):
    command = [sys.executable, str(program), str(folder), backend]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def no_process_is_left_of(process):
    def gone():
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(gone, 20)


# -- killed --------------------------------------------------------------------------------------------------------


def test_killed_at_any_moment_it_goes_on_to_the_same_bits(tmp_path, program, unbroken):
    folder, rng = tmp_path / "run", random.Random(time.time_ns())
    finished = {}
    for _ in range(3):
        goal = len(finished) + rng.randrange(20)
        process = start(program, folder)
        wait_until(lambda: process.poll() is not None or len(tiles_of(folder)) > goal)  # noqa: B023
        time.sleep(rng.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = {path.name: path.stat().st_mtime_ns for path in tiles_of(folder)}
        assert finished.items() <= now.items()  # nothing was computed twice
        finished = now
    assert 0 < len(finished) < 120
    process = start(program, folder)
    assert process.communicate()[1] == ""
    np.testing.assert_array_equal(np.load(tmp_path / "run.npy"), unbroken)
    now = {path.name: path.stat().st_mtime_ns for path in tiles_of(folder)}
    assert finished.items() <= now.items()
    assert len(now) == 120


def test_what_a_kill_leaves_half_written_harms_nobody(tmp_path):
    expected = ao.pairwise(clouds())
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".manifest-abc.json").write_text('{"format": ')  # killed before the manifest was there
    (folder / ".000000-000000-abc.npy").write_bytes(b"half")
    for old in (".000000-000004-abc.npy", ".manifest-old.json"):
        (folder / old).write_bytes(b"half")
        os.utime(folder / old, (0, 0))
    np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=folder, tile=4), expected)
    assert (folder / ".000000-000000-abc.npy").exists()  # somebody may be at it
    assert not (folder / ".000000-000004-abc.npy").exists()
    assert not (folder / ".manifest-old.json").exists()


def test_a_tile_that_is_half_written_is_not_there(tmp_path, monkeypatch):
    def half(path, content):
        with path.open("wb") as file:
            file.write(content[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", half)
        with pytest.raises(KeyboardInterrupt):
            ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["manifest.json"]
    np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), ao.pairwise(clouds()))


def test_processes_end_with_the_one_that_started_them(tmp_path, program):
    folder = tmp_path / "run"
    process = start(program, folder, "processes")
    wait_until(lambda: len(tiles_of(folder)) > 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    no_process_is_left_of(process)


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_interrupted_it_leaves_at_once_and_whole(tmp_path, program, unbroken, backend):
    folder = tmp_path / "run"
    process = start(program, folder, backend)
    wait_until(lambda: len(tiles_of(folder)) > 3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    told = process.communicate(timeout=20)[1]
    assert process.returncode != 0
    assert told.strip().endswith("KeyboardInterrupt")
    assert told.count("Traceback") == 1
    no_process_is_left_of(process)
    finished = {path.name: path.stat().st_mtime_ns for path in tiles_of(folder)}
    assert len(finished) < 120
    again = start(program, folder)
    assert again.communicate()[1] == ""
    np.testing.assert_array_equal(np.load(tmp_path / "run.npy"), unbroken)
    assert finished.items() <= {path.name: path.stat().st_mtime_ns for path in tiles_of(folder)}.items()


def test_interrupted_in_the_middle_of_a_tile_no_thread_goes_on(monkeypatch):
    monkeypatch.setattr(ao.AnchorFeatures, "energy_to", lambda *args, **options: time.sleep(0.02) or 1.0)
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ao.pairwise(clouds(60), n_jobs=2, tile=60)  # half a minute in one tile
    assert time.monotonic() - begin < 15
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("anchorot")]


# -- what is on disk -----------------------------------------------------------------------------------------------


def test_a_finished_run_computes_nothing(tmp_path, monkeypatch):
    expected = ao.pairwise(clouds(), clouds(5, seed=1), checkpoint=tmp_path / "run", tile=4)
    monkeypatch.setattr(ao.AnchorFeatures, "energy_to", None)
    np.testing.assert_array_equal(ao.pairwise(clouds(), clouds(5, seed=1), checkpoint=tmp_path / "run"), expected)


def test_another_number_of_workers_and_another_memory_go_on(tmp_path):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4, n_jobs=1)
    for path in tiles_of(tmp_path / "run")[::2]:
        path.unlink()
    found = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=2, n_jobs=2, memory=10_000)
    np.testing.assert_array_equal(found, expected)


def test_convergence_of_finished_tiles_is_remembered(tmp_path, monkeypatch):
    real = metrics.anchor_transport
    monkeypatch.setattr(metrics, "anchor_transport", lambda *args, **options: real(*args, **options, max_iter=1))
    for _ in range(2):
        with pytest.warns(ao.ConvergenceWarning, match="did not converge for 3 pairs"):
            ao.pairwise(clouds(3), metric="aw", checkpoint=tmp_path / "run")
        monkeypatch.setattr(metrics, "anchor_transport", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 2}, "p is 1 there and 2 here"),
        ({"robust": True}, "robust is False there and True here"),
        ({"metric": "slb", "p": 1}, "metric is 'ae' there and 'slb' here"),
        ({"spaces": clouds(8)}, "it has 9 spaces, and here are 8"),
        ({"spaces": [*clouds(8), clouds(1, seed=7)[0]]}, r"1 of the spaces have changed, the first spaces\[8\]"),
        ({"others": clouds(9)}, r"others is None there and \[.*\] here"),
    ],
)
def test_another_run_is_refused(tmp_path, change, message):
    ao.pairwise(clouds(), checkpoint=tmp_path / "run")
    arguments = {"spaces": clouds(), "checkpoint": tmp_path / "run", **change}
    with pytest.raises(ao.InputError, match=f"is of another run: {message}; take another folder, or delete it"):
        ao.pairwise(**arguments)


def test_weights_and_every_bit_of_a_cost_count(tmp_path):
    cost = np.random.default_rng(0).uniform(size=(4, 4))
    ao.pairwise([cost, cost + 1], checkpoint=tmp_path / "run")
    nudged = cost.copy()
    nudged[2, 3] = np.nextafter(cost[2, 3], 2)
    heavy = ao.Space(cost, [0.4, 0.2, 0.2, 0.2])
    for other in (nudged, heavy, cost.astype(np.float32)):
        with pytest.raises(ao.InputError, match=r"the first spaces\[0\]"):
            ao.pairwise([other, cost + 1], checkpoint=tmp_path / "run")


def test_a_file_rewritten_with_the_same_size_and_time_is_found_out(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.eye(3))
    stat = path.stat()
    ao.pairwise([path, np.ones((2, 2))], checkpoint=tmp_path / "run")
    np.save(path, 2 * np.eye(3))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ao.InputError, match=r"the first spaces\[0\]"):
        ao.pairwise([path, np.ones((2, 2))], checkpoint=tmp_path / "run")


def test_a_space_that_changes_during_the_run_is_found_out(tmp_path):
    class Restless(list):
        loads = 0

        def __getitem__(self, index):
            self.loads += 1
            return super().__getitem__(index).cost + (self.loads > 9)

    with pytest.raises(ao.InputError, match=r"spaces\[\d\] has changed since the run began"):
        ao.pairwise(Restless(clouds()), checkpoint=tmp_path / "run", memory=1, n_jobs=1)


def test_features_are_told_apart(tmp_path):
    def features(**options):
        return [ao.AnchorFeatures.of(x, **options) for x in clouds(3)]

    ao.pairwise(features(), p=2, checkpoint=tmp_path / "run")
    with pytest.raises(ao.InputError, match=r"3 of the spaces have changed"):
        ao.pairwise(features(mean_only=True), p=2, checkpoint=tmp_path / "run")
    reshaped = [ao.AnchorFeatures(levels=np.arange(16.0).reshape(shape)) for shape in ((2, 8), (4, 4))]
    ao.pairwise(reshaped[:1], checkpoint=tmp_path / "shape")
    with pytest.raises(ao.InputError, match=r"1 of the spaces have changed"):
        ao.pairwise(reshaped[1:], checkpoint=tmp_path / "shape")
    weighted = [ao.AnchorFeatures.of(ao.Space(np.eye(3), w)) for w in ([0.5, 0.3, 0.2], [0.5, 0.2, 0.3])]
    ao.pairwise(weighted, checkpoint=tmp_path / "weighted")
    with pytest.raises(ao.InputError, match=r"2 of the spaces have changed"):
        ao.pairwise(weighted[::-1], checkpoint=tmp_path / "weighted")


@pytest.mark.parametrize("place", [0, 60, 140, -41, -33, -1])
def test_a_damaged_tile_is_computed_again(tmp_path, place):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[2]
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.warns(ao.InputNote, match=f"{re.escape(str(path))}: the file is damaged") as told:
        found = ao.pairwise(clouds(), checkpoint=tmp_path / "run")
    assert told[0].filename == __file__
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)  # and is whole again


@pytest.mark.parametrize("length", [0, 10, 100, -1])
def test_a_tile_cut_short_is_computed_again(tmp_path, length):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[1]
    path.write_bytes(path.read_bytes()[:length])
    with pytest.warns(ao.InputNote, match="damaged"):
        np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)


def npy(values, count=0):
    """A tile's file but for its seal."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue() + struct.pack("<qq", count, 0)


def declared(shape):
    """An .npy file that promises more than it holds."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(8 * 16 + 16)


CRAFTED = {
    "another shape": npy(np.ones((2, 8))),
    "one number, to be spread": npy(np.ones((1, 1))),
    "float32": npy(np.ones((4, 4), np.float32)),
    "columns first": npy(np.asfortranarray(np.arange(16.0).reshape(4, 4))),
    "an object": npy(np.array({"a": 1}, dtype=object)),
    "infinity": npy(np.full((4, 4), np.inf)),
    "a negative count": npy(np.ones((4, 4)), -1),
    "too high a count": npy(np.ones((4, 4)), 17),
    "a promise of terabytes": declared((10**6, 10**6)),
    "no array": b"no array at all",
    "no count": b"123",
    "nothing": b"",
    "an endless file": npy(np.ones((4, 4))) + bytes(10_000),
}


@pytest.mark.parametrize("what", CRAFTED)
def test_a_tile_that_no_run_can_have_written_is_computed_again_though_its_seal_fits(tmp_path, what):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[1]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    key = blake2b(json.dumps(manifest, indent=0, sort_keys=True).encode(), digest_size=32).digest()

    def sealed(body):
        return body + blake2b(f"{path.stem} 4 x 4 ".encode() + body, key=key, digest_size=32).digest()

    assert sealed(path.read_bytes()[:-32]) == path.read_bytes()
    path.write_bytes(sealed(CRAFTED[what]))
    with pytest.warns(ao.InputNote, match="damaged"):
        np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)


def test_a_pipe_is_no_tile_and_is_not_replaced(tmp_path):
    ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[1]
    path.unlink()
    os.mkfifo(path)
    with pytest.warns(ao.InputNote, match="damaged"), pytest.raises(OSError, match=f"no regular file.*{path.name}"):
        ao.pairwise(clouds(), checkpoint=tmp_path / "run")


def test_tiles_of_other_runs_and_other_places_are_not_taken(tmp_path):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=3)
    ao.pairwise(clouds(seed=5), checkpoint=tmp_path / "other", tile=3)
    name = tiles_of(tmp_path / "run")[1].name
    for stranger in (tmp_path / "other" / name, tiles_of(tmp_path / "run")[2]):
        (tmp_path / "run" / name).write_bytes(stranger.read_bytes())
        with pytest.warns(ao.InputNote, match="damaged"):
            np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)


def test_tiles_are_arrays_that_numpy_reads(tmp_path):
    found = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    np.testing.assert_array_equal(np.load(tmp_path / "run" / "000000-000004.npy"), found[:4, 4:8])


def test_folders_that_are_something_else_are_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ao.InputError, match=r"the folder holds letter.txt but no manifest.json"):
        ao.pairwise(clouds(), checkpoint=tmp_path)
    with pytest.raises(ao.InputError, match="is a file, but a folder is needed"):
        ao.pairwise(clouds(), checkpoint=tmp_path / "letter.txt")
    ao.pairwise(clouds(2), checkpoint=tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "format": 99}))
    with pytest.raises(ao.InputError, match="not of this version of anchorot"):
        ao.pairwise(clouds(2), checkpoint=tmp_path / "run")
    manifest.write_text(json.dumps(content)[:-5])
    with pytest.raises(ao.InputError, match=r"manifest.json is damaged"):
        ao.pairwise(clouds(2), checkpoint=tmp_path / "run")
    manifest.write_text(json.dumps({**content, "software": {**content["software"], "anchorot": "0.0.1"}}))
    with pytest.raises(ao.InputError, match=r"anchorot is '0.0.1' there"):
        ao.pairwise(clouds(2), checkpoint=tmp_path / "run")


def test_skipped_spaces_are_part_of_the_run(tmp_path):
    many = [*clouds(4), tmp_path / "late.npy"]
    with pytest.warns(ao.InputNote, match="1 of 5 spaces"):
        found = ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run")
    with pytest.warns(ao.InputNote, match="1 of 5 spaces"):
        np.testing.assert_array_equal(ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run"), found)
    np.save(tmp_path / "late.npy", np.eye(3))
    with pytest.raises(ao.InputError, match=r"the first spaces\[4\]"):
        ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run")


def test_two_runs_at_once_share_a_folder(tmp_path):
    found = []

    def run():
        found.append(ao.pairwise(clouds(30), checkpoint=tmp_path / "run", tile=2, n_jobs=1))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = ao.pairwise(clouds(30))
    assert len(found) == 2
    for values in (*found, ao.pairwise(clouds(30), checkpoint=tmp_path / "run")):
        np.testing.assert_array_equal(values, expected)


# -- processes and clusters ----------------------------------------------------------------------------------------


def test_processes_give_the_same_bits(tmp_path):
    many = [*clouds(5), tmp_path / "missing.npy"]
    np.save(tmp_path / "there.npy", clouds(1, seed=3)[0].cost)
    many.append(tmp_path / "there.npy")
    with pytest.warns(ao.InputNote, match="1 of 7"):
        expected = ao.pairwise(many, metric="slb", errors="skip", n_jobs=1)
    with pytest.warns(ao.InputNote, match="1 of 7"):
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
    with pytest.raises(ao.AnchorotError, match="a worker process ended before its work was done"):
        ao.pairwise(Deadly(tmp_path / "note"), backend="processes", n_jobs=2)
    assert (tmp_path / "note").exists()


def test_errors_of_workers_can_be_sent_home():
    error = pickle.loads(pickle.dumps(ao.MissingExtraError("POT", "pot")))
    assert str(error) == "POT is not installed; get it with: pip install 'anchorot[pot]'"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
    distributed = pytest.importorskip("distributed")
    timeout = "distributed.comm.timeouts.connect"
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "silence_logs": 50}
    options |= {"local_directory": str(tmp_path_factory.mktemp("dask"))}
    options |= {"dashboard_address": ":0"}  # Dask's own port may be another cluster's: a warning, and here an error

    def hurry():
        dask.config.set({timeout: "10s"})  # how long workers knock at a lost one's door

    with (
        dask.config.set({timeout: "60s"}),  # a busy machine may take long to start processes and to let them in
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        client.run(hurry)
        yield client


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


# What Dask's own event loop leaves behind when a machine is busy or a worker lost is not ours to answer for.
on_a_cluster = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@on_a_cluster
def test_a_cluster_gives_the_same_bits(client, tmp_path):
    many = [*clouds(6), tmp_path / "missing.npy"]
    np.save(tmp_path / "there.npy", clouds(1, seed=3)[0].cost)
    many.append(tmp_path / "there.npy")
    for others in (None, clouds(3, seed=1)):
        with pytest.warns(ao.InputNote, match="1 of "):
            expected = ao.pairwise(many, others, errors="skip")
        with pytest.warns(ao.InputNote, match="1 of "):
            found = ao.pairwise(many, others, errors="skip", client=client, tile=2)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ao.InputError, match=r"spaces\[6\] \(.*missing.npy\): No such file"):
        ao.pairwise(many, client=client)


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
