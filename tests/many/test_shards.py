"""Several jobs that fill one checkpoint: no tile twice, nothing lost, one matrix, the bits of a single run."""

import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.many import shards
from anchorot.many.job import Job
from anchorot.many.spaces import Inputs
from tests.many import long_runs
from tests.many.long_runs import leave_behind, tiles_of, wait_until
from tests.strategies import clouds

MANY = clouds(24)
N_TILES = 21  # of side 4
quick, short_lease = long_runs.quick, long_runs.short_lease


@cache
def expected():
    return ao.pairwise(MANY, n_jobs=1)


@pytest.fixture
def computed(monkeypatch):
    """The names of tiles, as often as they are computed."""
    expected()
    names, real = [], Job.compute

    def compute(self, tile, *rest):
        names.append(tile.name)
        return real(self, tile, *rest)

    monkeypatch.setattr(Job, "compute", compute)
    return names


def run_shard(folder, i, n, **options):
    return ao.pairwise(MANY, checkpoint=folder, shard=(i, n), **{"tile": 4, "n_jobs": 1, **options})


def run_shards(folder, n, **options):
    """What the jobs return, each in a thread."""
    found, start = [None] * n, threading.Barrier(n)

    def run(i):
        start.wait()
        found[i] = run_shard(folder, i, n, **options)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def assert_assembled_once(found):
    matrices = [values for values in found if values is not None]
    assert len(matrices) == 1
    np.testing.assert_array_equal(matrices[0], expected())


# -- all pairs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "options"), [(2, {}), (5, {}), (3, {"n_jobs": 2}), (40, {"tile": 12})])
def test_jobs_share_tiles_and_one_returns_the_matrix_of_a_single_run(tmp_path, computed, n, options):
    found = run_shards(tmp_path / "run", n, **options)
    assert sorted(computed) == sorted(path.stem for path in tiles_of(tmp_path / "run"))
    assert_assembled_once(found)
    names = {path.name for path in (tmp_path / "run").iterdir() if path.suffix != ".npy"}
    assert names == {"manifest.json", "assembled"}


def test_one_job_alone_does_all_whatever_its_number(tmp_path, computed):
    assert_assembled_once([run_shard(tmp_path / "run", 3, 100)])
    assert len(computed) == N_TILES


def test_one_of_one_is_an_ordinary_run(tmp_path):
    for _ in range(2):
        assert_assembled_once([run_shard(tmp_path / "run", 0, 1)])
    assert not (tmp_path / "run" / "assembled").exists()


def test_a_job_begins_with_its_own_share(tmp_path, computed):
    run_shard(tmp_path / "a", 0, 3)
    order = computed.copy()
    computed.clear()
    run_shard(tmp_path / "b", 2, 3)
    assert computed == order[14:] + order[:14]


def test_a_matrix_is_returned_once_and_by_a_run_without_shard_at_any_time(tmp_path, computed):
    assert_assembled_once([run_shard(tmp_path / "run", i, 3) for i in range(3)])
    assert run_shard(tmp_path / "run", 0, 3) is None
    assert len(computed) == N_TILES
    for _ in range(2):
        assert_assembled_once([ao.pairwise(MANY, checkpoint=tmp_path / "run")])


def test_a_slow_job_is_not_robbed_and_not_waited_for(tmp_path, short_lease, monkeypatch):
    names, is_slow, go_on, real = [], threading.Event(), threading.Event(), Job.compute

    def compute(self, tile, *rest):
        names.append(tile.name)
        if len(names) == 1:
            is_slow.set()
            assert go_on.wait(20)
        return real(self, tile, *rest)

    monkeypatch.setattr(Job, "compute", compute)
    found = []
    slow = threading.Thread(target=lambda: found.append(run_shard(tmp_path / "run", 0, 2)))
    slow.start()
    assert is_slow.wait(20)
    time.sleep(1.2 * shards.LEASE_SECONDS)
    found.append(run_shard(tmp_path / "run", 1, 2))
    assert found == [None]  # before the slow one has ended
    go_on.set()
    slow.join()
    assert len(names) == len(set(names)) == N_TILES
    assert_assembled_once(found)


def test_tiles_of_a_killed_job_are_taken_over(tmp_path, computed, short_lease):
    ao.pairwise(MANY, checkpoint=tmp_path, tile=4, n_jobs=1)
    gone = tiles_of(tmp_path)[3:8]
    for path in gone:
        path.unlink()
    leave_behind(tmp_path, *(path.name for path in gone[:2]))
    leave_behind(tmp_path, gone[2].name, age=0)  # which is not known to be lost at first
    computed.clear()
    assert_assembled_once([run_shard(tmp_path, 1, 2)])
    assert sorted(computed[:5]) == [path.stem for path in gone]


def test_a_matrix_whose_assembler_was_killed_is_assembled_by_another(tmp_path, computed):
    ao.pairwise(MANY, checkpoint=tmp_path, tile=4, n_jobs=1)
    leave_behind(tmp_path, "assembled")
    assert_assembled_once(run_shards(tmp_path, 3))
    assert len(computed) == N_TILES


def test_a_run_without_shard_needs_no_lease_to_end(tmp_path):
    (tmp_path / "run").mkdir()
    leave_behind(tmp_path / "run", "000000-000000.npy", "assembled", age=0)
    assert_assembled_once([ao.pairwise(MANY, checkpoint=tmp_path / "run", tile=4)])


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_job_is_replaced_at_once(tmp_path, monkeypatch, error):
    names, real = [], Job.compute

    def compute(self, tile, *rest):
        names.append(tile.name)
        if len(names) == 4:
            raise error
        return real(self, tile, *rest)

    monkeypatch.setattr(Job, "compute", compute)
    with pytest.raises(error):
        run_shard(tmp_path / "run", 0, 2, n_jobs=2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("anchorot")]
    assert_assembled_once([run_shard(tmp_path / "run", 1, 2)])


def test_a_tile_that_two_jobs_compute_does_no_harm_and_is_noted(tmp_path, monkeypatch):
    real = Job.compute

    def compute(self, tile, *rest):
        found = real(self, tile, *rest)
        if tile.name == "000004-000008" and not (tmp_path / "run" / f"{tile.name}.npy").exists():
            with monkeypatch.context() as patch:  # while this job was suspended, another did all
                patch.setattr(Job, "compute", real)
                ao.pairwise(MANY, checkpoint=tmp_path / "run", n_jobs=1)
        return found

    monkeypatch.setattr(Job, "compute", compute)
    with pytest.warns(ao.InputWarning, match="1 tiles were computed by two jobs") as caught:
        found = run_shard(tmp_path / "run", 0, 2)
    assert caught[0].filename == __file__
    assert_assembled_once([found])


def test_a_damaged_tile_is_recomputed_by_the_job_that_assembles(tmp_path, computed):
    ao.pairwise(MANY, checkpoint=tmp_path, tile=4, n_jobs=1)
    tiles_of(tmp_path)[5].write_bytes(b"damaged")
    with pytest.warns(ao.InputWarning, match="the file is damaged"):
        assert_assembled_once([run_shard(tmp_path, 1, 2)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"shard": (2, 2)},
            r"shard must be \(i, n\) with i from 0 to n - 1, but got \(2, 2\); if jobs count from 1, subtract",
        ),
        ({"shard": (-1, 2)}, r"i of shard \(i, n\) must be an integer >= 0, but got -1"),
        ({"shard": (0, 0)}, r"n of shard \(i, n\) must be an integer >= 1, but got 0"),
        ({"shard": (0.5, 2)}, r"i of shard \(i, n\) must be an integer"),
        ({"shard": 3}, r"shard must be two integers \(i, n\), for job i of n, but got 3"),
        ({"shard": "0/2"}, r"shard must be two integers \(i, n\), for job i of n, but got '0/2'"),
        ({"checkpoint": None}, "shard 0 of 2 needs the folder that all jobs share; give it as checkpoint"),
        ({"client": object()}, "client and shard exclude each other"),
        ({"out": np.empty((24, 24))}, "an array as out and shard exclude each other"),
    ],
)
def test_bad_shards_are_refused_before_any_work(tmp_path, monkeypatch, change, message):
    monkeypatch.setattr(Inputs, "load", None)
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise(
            MANY, **{"checkpoint": tmp_path / "run", "shard": (0, 2), "max_cost": 1.0, "attributes": "types", **change}
        )
    assert not (tmp_path / "run").exists()


def test_a_file_system_without_links_is_one_line(tmp_path, monkeypatch):
    def no_links(*args):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(ao.InputError, match=f"^checkpoint {tmp_path}: the file system has no hard links, which"):
        run_shard(tmp_path, 0, 2)
    assert_assembled_once([ao.pairwise(MANY, checkpoint=tmp_path, tile=4)])  # which an ordinary run does not need


def test_a_full_disk_is_an_error_that_names_the_folder(tmp_path, monkeypatch):
    real = Path.write_text

    def write_text(self, text, *args, **options):
        if "process" in text:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, text, *args, **options)

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path}"):
        run_shard(tmp_path, 0, 2)


# -- processes -------------------------------------------------------------------------------------------------------

# A job in a process, which counts tiles in a file and is quick to find out who is lost.
JOB = """
import os, pickle, signal, sys, time
import numpy as np
import anchorot as ao
from anchorot.many import shards
from anchorot.many.job import Job

shards.BEAT_SECONDS, shards.LEASE_SECONDS = 0.02, 1.0
real = Job.compute

def compute(self, tile, *rest):
    with open("computed", "a") as log:
        log.write(tile.name + "\\n")
    {at_each_tile}
    return real(self, tile, *rest)

Job.compute = compute
i = {i}
found = ao.pairwise(pickle.load(sys.stdin.buffer), checkpoint="run", tile=4, n_jobs=1, shard=(i, 2))
if found is not None:
    np.save(f"found-{{i}}.npy", found)
"""


def start_job(folder, i, at_each_tile=""):
    job = subprocess.Popen(
        [sys.executable, "-c", JOB.format(i=i, at_each_tile=at_each_tile)], cwd=folder, stdin=subprocess.PIPE
    )
    with job.stdin:
        pickle.dump(MANY, job.stdin)
    return job


def log_of(folder):
    return (folder / "computed").read_text().split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_two_processes_compute_no_tile_twice(tmp_path):
    two = "(spaces := pickle.load(sys.stdin.buffer)) and int(os.fork() == 0)"
    program = JOB.replace("pickle.load(sys.stdin.buffer),", "spaces,").format(i=two, at_each_tile="time.sleep(0.005)")
    command = [sys.executable, "-c", f"{program}\nif i == 0: os.wait()"]
    subprocess.run(command, cwd=tmp_path, input=pickle.dumps(MANY), check=True)
    assert sorted(log_of(tmp_path)) == [path.stem for path in tiles_of(tmp_path / "run")]
    assert_assembled_once([np.load(path) for path in tmp_path.glob("found-*.npy")])


@pytest.mark.system
def test_a_process_that_is_killed_in_the_middle_of_a_tile_is_replaced(tmp_path):
    killed = start_job(tmp_path, 0, "len(open('computed').readlines()) > 5 and os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.wait() == -signal.SIGKILL
    begun = log_of(tmp_path)
    finished = {path.stem: path.stat().st_mtime_ns for path in tiles_of(tmp_path / "run")}
    assert begun[:-1] == sorted(finished, key=begun.index)
    assert start_job(tmp_path, 1).wait() == 0
    now = {path.stem: path.stat().st_mtime_ns for path in tiles_of(tmp_path / "run")}
    assert finished.items() <= now.items()
    assert sorted(log_of(tmp_path)) == sorted([*now, begun[-1]])
    assert_assembled_once([np.load(tmp_path / "found-1.npy")])


@pytest.mark.system
def test_a_process_is_killed_while_the_others_work(tmp_path):
    jobs = [start_job(tmp_path, i % 2, "time.sleep(0.2)") for i in range(3)]
    wait_until(lambda: (tmp_path / "computed").exists() and len(log_of(tmp_path)) > 4)
    jobs[0].kill()
    assert [job.wait() for job in jobs] == [-signal.SIGKILL, 0, 0]
    repeated = len(log_of(tmp_path)) - len(set(log_of(tmp_path)))
    assert len(set(log_of(tmp_path))) == N_TILES
    assert repeated <= 1  # that it was at
    assert_assembled_once([np.load(path) for path in tmp_path.glob("found-*.npy")])


@pytest.mark.system
def test_jobs_may_have_worker_processes(tmp_path):
    assert_assembled_once(run_shards(tmp_path / "run", 2, backend="processes", n_jobs=2, tile=12))


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_a_command_that_a_batch_system_ends_gives_up_its_tiles(tmp_path):
    for number, space in enumerate(MANY):
        ao.write(space, tmp_path / f"{number:02d}.npz")
    slow = "import time; from anchorot.many.job import Job; real = Job.compute; "
    slow += "Job.compute = lambda *args: time.sleep(0.2) or real(*args); from anchorot.cli import main; main()"
    words = ["pairwise", str(tmp_path), "--checkpoint", str(tmp_path / "run"), "-o", str(tmp_path / "D.npz")]
    job = subprocess.Popen([sys.executable, "-c", slow, *words, "--shard", "0/2"], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: list((tmp_path / "run").glob(".*.claim-0")))
    job.terminate()
    assert job.communicate()[1] == ""
    assert job.returncode == 128 + signal.SIGTERM
    left = list((tmp_path / "run").glob(".*.claim-0"))
    assert left
    assert {path.stat().st_mtime for path in left} == {0}
    assert not list((tmp_path / "run").glob(".job-*"))
