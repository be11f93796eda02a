"""Readers that may crash or hang run in a separate process: one line, and nothing remains."""

import os
import subprocess
import sys
import threading
import time
import zlib
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import anndata
import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import anchorot as ao
from anchorot.io import safe_open
from tests.io.expected import refused
from tests.io.fuzz import seeds
from tests.io.mutations import mutate

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


READERS = Path(safe_open.READ[0])


def cells(path, values=COST):
    anndata.AnnData(np.asarray(values, np.float32), obsm={"X_pca": COST}).write_h5ad(path)
    return path


def element(kind, data):
    return np.array([kind, len(data)], "<u4").tobytes() + data + bytes(-len(data) % 8)


def test_a_matlab_file_of_empty_elements(tmp_path, patience):
    empty = zlib.compress(bytes(400_000_000), 6)
    path = tmp_path / "bomb.mat"
    path.write_bytes(b"MATLAB".ljust(124) + b"\x00\x01IM" + np.array([15, len(empty)], "<u4").tobytes() + empty)
    assert path.stat().st_size < 4e6
    refused(path, "bomb.mat: ")


def test_a_matlab_struct_of_a_billion_cells(tmp_path, patience):
    flags, name = element(6, np.array([1, 0], "<u4").tobytes()), element(1, b"surface")
    shape = element(5, np.array([1 << 15, 1 << 15], "<i4").tobytes())
    (tmp_path / "x.mat").write_bytes(b"MATLAB".ljust(124) + b"\x00\x01IM" + element(14, flags + shape + name))
    refused(tmp_path / "x.mat", "not a MATLAB file that can be read")


def test_a_sparse_array_of_more_columns_than_fit_anywhere(tmp_path):
    path = tmp_path / "wide.h5ad"
    anndata.AnnData(sp.csr_matrix(COST)).write_h5ad(path)
    with h5py.File(path, "a") as handle:
        handle["X"].attrs["shape"] = (3, 10**12)
    refused(path, r"an array of 3 x 1000000000000 numbers takes 2\.4e\+04 GB")
    refused(path, r"an array of 3 x 1000000000000 numbers takes 2\.4e\+04 GB", n_neighbors=1)


@pytest.mark.parametrize("shape", [(3,), (3, 3, 3), (-3, 3), (2, 3), (3, 1)])
def test_a_sparse_array_of_a_wrong_shape(tmp_path, shape):
    anndata.AnnData(sp.csr_matrix(COST)).write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        handle["X"].attrs["shape"] = shape
    refused(tmp_path / "x.h5ad", "x.h5ad: ")


@pytest.mark.parametrize(("part", "value"), [("indices", 10**9), ("indices", -1), ("indptr", 10**6), ("indptr", -5)])
def test_a_sparse_array_with_indices_out_of_range(tmp_path, part, value):
    anndata.AnnData(sp.csr_matrix(COST)).write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        handle["X"][part][1] = value
    refused(tmp_path / "x.h5ad", "not an .h5ad file that can be read")


def external_link(handle, path):
    del handle["X"]
    handle["X"] = h5py.ExternalLink(str(path), "/X")


def external_obsm(handle, path):
    del handle["obsm"]
    handle["obsm"] = h5py.ExternalLink(str(path), "/obsm")


def soft_link(handle, path):
    handle["away"] = h5py.ExternalLink(str(path), "/")
    del handle["X"]
    handle["X"] = h5py.SoftLink("/away/X")


def external_storage(handle, path):
    del handle["X"]
    handle.create_dataset("X", (3, 3), "f4", external=[(str(path), 0, h5py.h5f.UNLIMITED)])


def virtual(handle, path):
    del handle["X"]
    layout = h5py.VirtualLayout((3, 3), "f4")
    layout[...] = h5py.VirtualSource(str(path), "X", (3, 3))
    handle.create_virtual_dataset("X", layout)


def path_as_name(handle, path):
    handle["away"] = h5py.ExternalLink(str(path), "/")
    handle["obs"].attrs["_index"] = "/away/obs/_index"


@pytest.mark.parametrize("way", [external_link, external_obsm, soft_link, external_storage, virtual, path_as_name])
def test_links_out_of_an_hdf5_file_are_not_followed(tmp_path, way):
    secret = cells(tmp_path / "secret.h5ad", 77 * COST)
    with h5py.File(cells(tmp_path / "x.h5ad"), "a") as handle:
        way(handle, secret)
    refused(
        tmp_path / "x.h5ad",
        "only what is in the file itself is read",
        obsm="X_pca" if way is external_obsm else None,
    )


def misreading(monkeypatch, tmp_path, code):
    """Have readers do something else with a file, where they are watched."""
    program, line = tmp_path / "program.py", '            return reader.read(request["path"]'
    source = READERS.read_text()
    assert source.count(line) == 1
    program.write_text(source.replace(line, f"            {code}\n{line}"))
    monkeypatch.setattr(safe_open, "READ", (str(program), "read"))


@pytest.mark.system
@pytest.mark.parametrize("ending", ["h5ad", "mat"])
@pytest.mark.parametrize("hang", ["import time; time.sleep(60)", "import ctypes; ctypes.PyDLL(None).sleep(60)"])
def test_a_crash_or_a_hang_of_a_reader_is_an_error_like_any_other(tmp_path, monkeypatch, ending, hang):
    path = tmp_path / f"x.{ending}"
    path.write_bytes(b"anything")
    misreading(monkeypatch, tmp_path, "import os; os.kill(os.getpid(), 11)")
    refused(path, rf"the reader of \.{ending} ended with status -11 on it")
    monkeypatch.setattr(safe_open, "MIN_SECONDS", 0.6)
    misreading(monkeypatch, tmp_path, hang)  # the second one with Python's lock
    refused(path, "it took more than 1 s")


def test_the_time_limit_applies_only_while_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_open, "MIN_SECONDS", 1.0)
    path = cells(tmp_path / "x.h5ad")
    expected = ao.read(path).cost
    process = safe_open._processes._idle[-1]
    refused(path, "promises 3.6e-08 GB of X, but no more than 1e-09 GB", max_bytes=1)
    time.sleep(1.5)
    np.testing.assert_array_equal(ao.read(path).cost, expected)
    assert safe_open._processes._idle[-1] is process
    assert process.is_alive()


@pytest.mark.parametrize("ending", ["h5ad", "mat"])
def test_damaged_files_do_not_affect_later_ones(tmp_path, ending):
    sound, rng = seeds(ending, tmp_path), np.random.default_rng(0)
    good, bad = tmp_path / f"good.{ending}", tmp_path / f"bad.{ending}"
    good.write_bytes(sound[0])
    expected = ao.read(good, n_points=5, rng=0, geodesic="edge").cost
    for _ in range(20):
        bad.write_bytes(mutate(ending, sound[0], rng, tmp_path))
        with suppress(ao.InputError):
            ao.read(bad, n_points=5, rng=0, geodesic="edge")
        np.testing.assert_array_equal(ao.read(good, n_points=5, rng=0, geodesic="edge").cost, expected)


def test_a_reader_that_was_ended_while_idle_is_replaced(tmp_path):
    path = cells(tmp_path / "x.h5ad")
    expected = ao.read(path).cost
    for process in safe_open._processes._idle:
        process._popen.kill()
        process._popen.wait()
    np.testing.assert_array_equal(ao.read(path).cost, expected)


def test_readers_serve_many_threads_and_forked_children(tmp_path):
    path = cells(tmp_path / "x.h5ad")
    expected = ao.read(path).cost.tolist()
    found = []
    threads = [threading.Thread(target=lambda: found.append(ao.read(path).cost.tolist())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        os._exit(0 if ao.read(path).cost.tolist() == expected and len(safe_open._processes._idle) == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert found == [expected] * 6
    assert ao.read(path).cost.tolist() == expected


def test_no_reader_process_remains(tmp_path):
    path = cells(tmp_path / "x.h5ad")
    code = (
        f"import anchorot as ao; from anchorot.io import safe_open; ao.read({str(path)!r}); "
        "print(safe_open._processes._idle[0]._popen.pid)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_a_daemon_reads_too(tmp_path):
    path = cells(tmp_path / "x.h5ad")
    with get_context("spawn").Pool(1) as pool:  # of daemons, which may start no process of multiprocessing
        found = pool.apply(ao.read, (path,))
    np.testing.assert_array_equal(found.cost, ao.read(path).cost)


def test_matlab_files_of_other_things(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"surface": np.zeros(3), "other": 1})
    refused(tmp_path / "x.mat", "a struct 'surface' of X, Y, Z and TRIV is needed, but the file holds surface, other")
