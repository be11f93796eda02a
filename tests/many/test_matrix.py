"""The matrix of all pairs in an .npy file: the bits of the one in memory, whole or not there."""

import errno
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import anchorot as ao
from anchorot.many import matrix, shards
from tests.strategies import clouds

SIZES = (5, 8, 12, 9, 5, 8, 12)


@pytest.mark.parametrize(
    "options",
    [{}, {"tile": 2}, {"tile": 3, "n_jobs": 2}, {"metric": "aw", "epsilon": 1e-2}, {"metric": "saw", "p": 2}],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::anchorot.ConvergenceWarning")
def test_a_file_has_the_bits_of_the_matrix_in_memory(tmp_path, options):
    found = ao.pairwise(clouds(SIZES), out=tmp_path / "D.npy", **options)
    np.testing.assert_array_equal(found, ao.pairwise(clouds(SIZES), **options))
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable
    np.testing.assert_array_equal(np.load(tmp_path / "D.npy"), found)
    assert [path.name for path in tmp_path.iterdir()] == ["D.npy"]


def test_two_collections_fill_a_file_that_is_not_square(tmp_path):
    x, y = clouds(SIZES), clouds(4, seed=1)
    found = ao.pairwise(x, y, out=str(tmp_path / "D.npy"), tile=3)
    np.testing.assert_array_equal(found, ao.pairwise(x, y))


def test_bad_spaces_are_nan_in_the_file(tmp_path):
    many = [*clouds(4), tmp_path / "missing.npz"]
    with pytest.warns(ao.InputWarning):
        found = ao.pairwise(many, out=tmp_path / "D.npy", errors="skip", tile=2)
    assert np.isnan(found[4]).all()
    assert np.isnan(found[:, 4]).all()
    np.testing.assert_array_equal(found[:4, :4], ao.pairwise(clouds(4)))


def test_a_cohort_keeps_its_samples(tmp_path):
    table = {"slide": [0, 0, 1, 1, 2, 2], "dose": [0, 0, 0, 0, 5, 5], "x": [0, 1, 0, 2, 0, 4]}
    cohort = ao.from_cohort(table, sample="slide", points="x")
    found = ao.pairwise(cohort, out=tmp_path / "D.npy")
    assert found.samples == (0, 1, 2)
    np.testing.assert_array_equal(found, ao.pairwise(cohort))


class StopsAt:
    """Spaces, the last of which ends the run with an error when it is loaded for the second time."""

    def __init__(self, spaces, error):
        self._spaces, self._error, self._asked = spaces, error, 0

    def __len__(self):
        return len(self._spaces)

    def __getitem__(self, i):
        self._asked += i == len(self) - 1
        if self._asked > 1:
            raise self._error
        return self._spaces[i]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_run_leaves_what_was_there_and_goes_on_from_its_checkpoint(tmp_path, error):
    np.save(tmp_path / "D.npy", np.zeros(3))
    many = clouds(30)
    options = {"checkpoint": tmp_path / "run", "tile": 4, "n_jobs": 1, "out": tmp_path / "D.npy", "progress": False}
    with pytest.raises(error):
        ao.pairwise(StopsAt(many, error()), memory=1, **options)
    assert np.load(tmp_path / "D.npy").tolist() == [0, 0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["D.npy", "run"]
    finished = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("0*.npy")}
    assert finished
    np.testing.assert_array_equal(ao.pairwise(many, **options), ao.pairwise(many))
    assert finished.items() <= {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}.items()


def test_a_full_disk_is_known_before_the_work(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(matrix.os, "posix_fallocate", full)
    monkeypatch.setattr(ao.AnchorFeatures, "of", None)  # nothing is prepared
    with pytest.raises(OSError, match=r"No space left on device: '.*D\.npy'"):
        ao.pairwise(clouds(4), out=tmp_path / "D.npy")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_while_tiles_are_written_leaves_nothing(tmp_path, monkeypatch):
    """As on file systems that set no space aside."""
    monkeypatch.delattr(matrix.os, "posix_fallocate")
    real = matrix.MatrixFile.__setitem__

    def fill(self, place, block):
        if place[0].start > 0:
            raise OSError(errno.ENOSPC, "No space left on device", str(self._temporary))
        real(self, place, block)

    monkeypatch.setattr(matrix.MatrixFile, "__setitem__", fill)
    with pytest.raises(OSError, match="No space left on device"):
        ao.pairwise(clouds(9), out=tmp_path / "D.npy", tile=3)
    assert not list(tmp_path.iterdir())


def test_file_systems_that_set_no_space_aside_serve_too(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(matrix.os, "posix_fallocate", refused)
    found = ao.pairwise(clouds(SIZES), out=tmp_path / "D.npy")
    np.testing.assert_array_equal(found, ao.pairwise(clouds(SIZES)))


def test_errors_of_the_work_do_not_blame_the_file(tmp_path):
    def lost():
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")

    with pytest.raises(ao.InputError, match=r"spaces\[0\]: .*reset by peer"):
        ao.pairwise([lost, *clouds(2)], out=tmp_path / "D.npy")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_run_left_is_removed_after_an_hour(tmp_path):
    old, recent, other = (
        tmp_path / f".{name}.anchorot-new" for name in ("D.npy-0123abcd", "D.npy-0123abce", "E.npy-0")
    )
    for path in (old, recent, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (time.time() - 3601,) * 2)
    ao.pairwise(clouds(3), out=tmp_path / "D.npy")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["D.npy", recent.name, other.name])


def test_an_array_of_an_earlier_run_is_replaced_and_a_link_is_followed(tmp_path):
    np.save(tmp_path / "far.npy", np.zeros(3))
    (tmp_path / "D.npy").symlink_to(tmp_path / "far.npy")
    ao.pairwise(clouds(3), out=tmp_path / "D.npy")
    assert (tmp_path / "D.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "far.npy"), ao.pairwise(clouds(3)))


def make_foreign_files(folder):
    (folder / "letter.npy").write_text("Dear")
    (folder / "folder.npy").mkdir()
    os.mkfifo(folder / "pipe.npy")
    np.save(folder / "input.npy", np.ones((3, 3)))
    (folder / "same.npy").symlink_to(folder / "input.npy")


@pytest.mark.parametrize(
    ("out", "error", "said"),
    [
        ("D.npz", ao.InputError, r"D\.npz': the matrix is written as \.npy; choose a name that ends so"),
        ("none/D.npy", ao.InputError, r"there is no folder .*none"),
        ("letter.npy", ao.InputError, r"letter\.npy' exists and is not an \.npy file; choose another file"),
        ("folder.npy", IsADirectoryError, r"this is a folder, but a file is needed: '.*folder\.npy'"),
        ("pipe.npy", ao.InputError, "a regular file is needed"),
        ("input.npy", ao.InputError, r"input\.npy' would overwrite an input; choose another file"),
        ("same.npy", ao.InputError, r"same\.npy' would overwrite an input; choose another file"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_not_ours_is_not_overwritten(tmp_path, out, error, said):
    make_foreign_files(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(error, match=said):
        ao.pairwise([tmp_path / "input.npy", np.eye(3)], out=tmp_path / out)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "letter.npy").read_text() == "Dear"
    assert np.load(tmp_path / "input.npy").tolist() == np.ones((3, 3)).tolist()


@pytest.mark.parametrize(
    ("out", "said"), [([1.0], "out must be an array, or a path ending in .npy, but got list"), (3, "but got int")]
)
def test_other_kinds_of_out_are_one_clear_line(out, said):
    with pytest.raises(ao.InputError, match=said):
        ao.pairwise(clouds(2), out=out)


def test_neighbours_are_not_written_as_a_matrix(tmp_path):
    with pytest.raises(ao.InputError, match="out is for the matrix of all pairs, but k asks for neighbours"):
        ao.pairwise(clouds(4), k=1, out=tmp_path / "D.npy")


def test_a_matrix_beyond_the_free_memory_is_refused_with_a_way_out(monkeypatch, tmp_path):
    monkeypatch.setattr("anchorot._validate.free_memory", lambda: 1e6)
    monkeypatch.setattr("anchorot._validate.UNCHECKED_BYTES", 100)
    many = [np.ones((2, 2))] * 400
    with pytest.raises(ao.InputError, match=r"the distances of all pairs take .* GiB, .*out='D\.npy' \(-o D\.npy\)"):
        ao.pairwise(many, n_jobs=1)
    assert ao.pairwise(many, n_jobs=1, out=tmp_path / "D.npy").shape == (400, 400)


def test_the_job_that_assembles_the_matrix_writes_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "BEAT_SECONDS", 0.02)
    options = {"checkpoint": tmp_path / "run", "out": tmp_path / "D.npy", "tile": 4}
    found = ao.pairwise(clouds(12), shard=(1, 2), **options)
    np.testing.assert_array_equal(found, ao.pairwise(clouds(12)))
    (tmp_path / "D.npy").unlink()
    assert ao.pairwise(clouds(12), shard=(0, 2), **options) is None
    assert not (tmp_path / "D.npy").exists()


PROGRAM = """
import resource, sys
import numpy as np
import anchorot as ao
rng = np.random.default_rng(0)
many = [ao.from_points(rng.random((3, 2))) for _ in range(int(sys.argv[1]))]
ao.pairwise(many[:64], metric="saw", n_jobs=1, progress=False)  # all is imported
data = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) << 10
limit = data + (int(sys.argv[2]) << 20)  # of private memory; pages of a mapped file are not private
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
out = None if sys.argv[3] == "memory" else sys.argv[3]
print(ao.pairwise(many, metric="saw", n_jobs=1, out=out, progress=False)[-1, 0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and limits what Linux calls data")
def test_memory_does_not_grow_with_the_square_of_the_number_of_spaces(tmp_path):
    """5000 spaces make 191 MiB of distances; 64 MiB are enough for their file, and not for the matrix in memory."""

    def run(out):
        words = [sys.executable, "-c", PROGRAM, "5000", "64", str(out)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    done = run(tmp_path / "D.npy")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == np.load(tmp_path / "D.npy", mmap_mode="r")[-1, 0]
    assert run("memory").returncode != 0
