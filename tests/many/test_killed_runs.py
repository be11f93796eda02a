"""Runs that are killed or interrupted at any moment, and go on to the same bits."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from tests.many import long_runs
from tests.many.long_runs import children_of, none_is_left_of, start, tiles_of, wait_until
from tests.strategies import clouds

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("long runs")]

program, matrices, unbroken = long_runs.program, long_runs.matrices, long_runs.unbroken


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


def test_half_written_files_of_a_killed_job_do_no_harm(tmp_path):
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
    workers = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(workers) == 2
    assert none_is_left_of(workers)


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_interrupted_it_leaves_at_once_and_whole(tmp_path, program, unbroken, backend):
    folder = tmp_path / "run"
    process = start(program, folder, backend)
    wait_until(lambda: len(tiles_of(folder)) > 3)
    workers = children_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    stderr = process.communicate(timeout=20)[1]
    assert process.returncode != 0
    assert stderr.strip().endswith("KeyboardInterrupt")
    assert stderr.count("Traceback") == 1
    assert len(workers) == (2 if backend == "processes" else 0)
    assert none_is_left_of(workers)
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
