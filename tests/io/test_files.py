"""Reading and writing files: errors, and nothing is half-written."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
import anchorot.io.points
from anchorot import _parallel
from anchorot._parallel import Threads
from anchorot.io import cache, files, safe_open
from anchorot.io.atomic import replacing
from anchorot.io.files import Readers, Unread
from anchorot.io.options import ReadOptions
from anchorot.many.spaces import Inputs
from tests.io.test_cache import grid_mesh, two_components
from tests.many.long_runs import wait_until
from tests.strategies import assert_same

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


def saved(path, text):
    path.write_text(text)
    return path


def test_missing_files_are_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ao.read(tmp_path / "nothing.npz")


def test_only_npz_is_written(tmp_path):
    with pytest.raises(ao.InputError, match=r"written as \.npz files only"):
        ao.write(ao.Space(COST), tmp_path / "x.csv")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = saved(tmp_path / "x.txt", "old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


EDGE = ReadOptions(geodesic="edge")


KEPT = ReadOptions(geodesic="edge", cache=True)


@pytest.fixture
def in_processes(tmp_path, monkeypatch):
    """Let processes read even the smallest files, with a new empty cache."""
    monkeypatch.setattr(cache, "MIN_FILE_BYTES", 0)
    monkeypatch.setattr(files, "MIN_SECONDS", 0.0)
    monkeypatch.setenv("ANCHOROT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def pool(in_processes):
    with Readers(2, 10) as found:
        yield found


@pytest.fixture
def meshes(tmp_path):
    return [grid_mesh(tmp_path / f"{k}.off", bump=k) for k in range(4)]


@pytest.mark.system
@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
def test_a_process_reads_what_is_read_here(pool, tmp_path, monkeypatch):
    paths = [grid_mesh(tmp_path / "x.off"), two_components(tmp_path / "y.off")]
    wanted = [ao.read(path, geodesic="edge") for path in paths]
    monkeypatch.setattr(files, "_read", lambda *_: pytest.fail("it was read here"))
    for path, space in zip(paths, wanted, strict=True):
        found = pool.read(Unread(path, EDGE))
        assert_same(found, space)
        assert found.origin == space.origin
        assert not found.cost.flags.writeable
        assert not found.weights.flags.writeable
    assert len(pool._all) == 1  # two at a time are not requested


@pytest.mark.system
def test_a_space_from_the_cache_has_its_own_origin(pool, tmp_path):
    x, y = grid_mesh(tmp_path / "x.off"), grid_mesh(tmp_path / "y.off")
    assert [pool.read(Unread(path, KEPT)).origin.name for path in (x, x, y)] == ["x.off", "x.off", "y.off"]
    assert len(pool._all) == 1


@pytest.mark.system
def test_notes_and_errors_of_a_process_are_those_of_reading_here(pool, tmp_path):
    path = two_components(tmp_path / "y.off")
    path.write_text(path.read_text() + "#\n" * 5000)
    for options in (EDGE, KEPT, KEPT):  # read, read and kept, taken from the cache
        with pytest.warns(ao.InputWarning, match=r"^y\.off has 2 components"):
            pool.read(Unread(path, options))
    assert cache.cache_info().n_spaces == 1
    (tmp_path / "bad.off").write_text("OFF\n1 1 0\n0 0 0\n3 0 1 2\n")
    with pytest.raises(ao.InputError) as here:
        ao.read(tmp_path / "bad.off")
    with pytest.raises(ao.InputError) as there:
        pool.read(Unread(tmp_path / "bad.off", EDGE))
    assert str(there.value) == str(here.value)
    assert pool.read(Unread(grid_mesh(tmp_path / "x.off"), EDGE)).n == 64  # and the next file is read


@pytest.mark.system
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="there is no SIGSTOP")
def test_a_process_that_is_killed_costs_one_file(pool, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    pool.read(Unread(path, EDGE))
    process = pool._idle[0]._popen
    process.send_signal(signal.SIGSTOP)  # as good as a file that takes for ever
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(pool.read, Unread(path, EDGE))
        wait_until(lambda: not pool._idle)
        process.kill()
        with pytest.raises(ao.InputError, match=r"^x\.off: the process that read it was killed, crashed or ran out"):
            reading.result()
    assert pool.read(Unread(path, EDGE)).n == 64


@pytest.mark.system
def test_a_process_killed_while_idle_is_replaced(pool, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    pool.read(Unread(path, EDGE))
    pool._idle[0]._popen.kill()
    pool._idle[0]._popen.wait()
    assert pool.read(Unread(path, EDGE)).n == 64


@pytest.mark.system
@pytest.mark.parametrize("executable", ["/bin/false", "/no/such/program", None])
def test_threads_read_if_no_process_can_start(pool, tmp_path, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    assert pool.read(Unread(grid_mesh(tmp_path / "x.off"), EDGE)).n == 64


def test_few_small_files_start_no_process(meshes, monkeypatch):
    monkeypatch.setattr(_parallel, "_Process", lambda: pytest.fail("a process was started"))
    assert ao.pairwise(meshes, geodesic="edge", n_jobs=2, cache=False).shape == (4, 4)


@pytest.mark.system
def test_what_is_in_the_cache_starts_no_process(in_processes, meshes, monkeypatch):
    wanted = ao.pairwise(meshes, geodesic="edge", n_jobs=1)
    monkeypatch.setattr(_parallel, "_Process", lambda: pytest.fail("a process was started"))
    np.testing.assert_array_equal(ao.pairwise(meshes, geodesic="edge", n_jobs=2), wanted)


@pytest.mark.system
@pytest.mark.parametrize("options", [{"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 2, "memory": 1, "cache": False}])
def test_options_of_reading_are_those_of_read(in_processes, meshes, options):
    reading = {"n_points": 9, "rng": 4, "geodesic": "edge", "sampling": "farthest"}
    wanted = ao.pairwise([ao.read(path, **reading) for path in meshes])
    np.testing.assert_array_equal(ao.pairwise(meshes, **reading, **options, tile=2), wanted)
    assert not processes_left()


def processes_left():
    """Readers that this process has started and that still run."""
    command = ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    watched = {str(process._popen.pid) for process in safe_open._processes._all}  # kept for the next .mat or .h5ad
    return [line for line in lines if "_worker.py" in line and line.split()[0] not in watched]


@pytest.mark.system
def test_calls_of_read_are_read_in_processes_too(in_processes, meshes, monkeypatch):
    wanted = ao.pairwise([ao.read(path, geodesic="edge") for path in meshes])
    monkeypatch.setattr(files, "_read", lambda *_: pytest.fail("it was read here"))
    entries = [partial(ao.read, str(path), geodesic="edge") for path in meshes]
    np.testing.assert_array_equal(ao.pairwise(entries, n_jobs=2), wanted)


def test_the_metric_of_points_has_its_own_name(tmp_path):
    np.savetxt(tmp_path / "x.csv", np.random.default_rng(0).normal(size=(5, 2)), delimiter=",")
    np.savetxt(tmp_path / "y.csv", np.random.default_rng(1).normal(size=(5, 2)), delimiter=",")
    paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
    wanted = ao.pairwise([ao.read(path, kind="points", point_metric="cityblock") for path in paths])
    np.testing.assert_array_equal(ao.pairwise(paths, kind="points", point_metric="cityblock"), wanted)


@pytest.mark.system
def test_draws_without_a_seed_are_the_same_whenever_a_file_is_read_again(meshes, in_processes):
    found = ao.pairwise(meshes[:1] * 3, n_points=9, geodesic="edge", rng=None, n_jobs=1, memory=1)
    assert not found.any()
    assert not (meshes[0].parent / "cache").exists()


def test_reading_options_are_refused_if_no_file_is_read():
    with pytest.raises(ao.InputError, match=r"spaces\[0\]: n_points is an option of reading, for paths, but this is"):
        ao.pairwise([np.zeros((2, 2))], n_points=1)
    with pytest.raises(ao.InputError, match=r"spaces\[0\]: rng is an option of reading, .* of type function"):
        ao.pairwise([partial(ao.read, "x.off", n_points=3)], rng=1)
    assert ao.pairwise([np.zeros((2, 2))], cache=False).shape == (1, 1)
    with pytest.raises(TypeError, match=r"pairwise\(\) got an unexpected keyword argument 'seed'"):
        ao.pairwise([np.zeros((2, 2))], seed=1)


class Relative:
    """A sequence that makes its entries on access."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return ["x.off", Path("x.off"), Unread(Path("x.off"), EDGE)][index]


def test_relative_paths_begin_where_they_were_given(tmp_path, monkeypatch):
    grid_mesh(tmp_path / "x.off")
    monkeypatch.chdir(tmp_path)
    inputs = Inputs.of(Relative(), [lambda: "x.off"]).only(range(4))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [inputs.load(index).n for index in range(4)] == [64] * 4


def test_a_missing_file_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ao.InputError) as raised:
        ao.pairwise(["x.off"])
    assert str(raised.value) == "spaces[0] (x.off): No such file or directory"


def test_a_file_that_a_function_misses_is_named():
    def entry():
        raise FileNotFoundError(2, "No such file or directory", "elsewhere.bin")

    with pytest.raises(ao.InputError) as raised:
        ao.pairwise([entry])
    assert str(raised.value) == "spaces[0]: elsewhere.bin: No such file or directory"


SCRIPT = """
import sys
import anchorot as ao
from anchorot.io import cache, files
cache.MIN_FILE_BYTES, files.MIN_SECONDS = 0, 0.0
print("here")
print(ao.pairwise(sys.argv[1:], geodesic="edge", n_jobs=2, cache=False).shape)
"""


@pytest.mark.system
def test_a_script_needs_no_guard(meshes, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", *meshes], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("here\n(4, 4)\n", "")


INTERRUPTED = """
import os, signal, sys, threading, time
import anchorot as ao
from anchorot._parallel import _Process
from anchorot.io import cache, files
cache.MIN_FILE_BYTES, files.MIN_SECONDS = 0, 0.0
usual = _Process.ask
def ask(process, *request):
    print(f" {process._popen.pid} ", end="", flush=True)
    os.kill(process._popen.pid, signal.SIGSTOP)  # as good as a file that takes for ever
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    return usual(process, *request)
_Process.ask = ask
ao.pairwise(sys.argv[1:], geodesic="edge", n_jobs=2, cache=False)
"""


@pytest.mark.system
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="there is no SIGSTOP")
def test_ctrl_c_ends_the_processes(meshes):
    program = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{INTERRUPTED}"
    command = [sys.executable, "-c", program, *meshes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "KeyboardInterrupt" in done.stderr
    assert done.stdout
    for line in done.stdout.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(line), 0)


@pytest.mark.system
def test_all_files_are_read_in_order_and_errors_are_raised(in_processes, meshes, tmp_path):
    wanted = [Unread(path, EDGE) for path in (*meshes, tmp_path / "missing.off")]
    with Threads(2) as threads, Readers(2, len(wanted)) as pool:
        found = threads.map(pool.read, wanted, in_order=True)
        for path in meshes:
            assert_same(next(found)[1], ao.read(path, geodesic="edge"))
        with pytest.raises(FileNotFoundError):
            next(found)
    assert not processes_left()
    with Threads(2) as threads, Readers(2, len(wanted)) as pool:
        next(threads.map(pool.read, wanted, in_order=True))  # and no more
    assert not processes_left()


def test_spaces_of_one_tile_are_loaded_in_parallel():
    both = threading.Barrier(2, timeout=5)  # broken, which is an error, unless two are at work at a time

    def load(size):
        both.wait()
        return np.eye(size)

    assert ao.pairwise([partial(load, size) for size in (2, 3, 4, 5)], n_jobs=2).shape == (4, 4)
