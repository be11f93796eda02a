"""Files appear whole or not at all, with the permissions of any new file."""

import errno
import os
import stat

import pytest

from anchorot.io.atomic import check_writable, replacing


def write(path, text="new"):
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_permissions_are_those_of_a_new_file_and_the_umask_is_unchanged(tmp_path, monkeypatch):
    mask = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("threads share the umask"))
        write(tmp_path / "a.txt")
    finally:
        monkeypatch.undo()
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["x" * 251 + ".csv", "x." + "y" * 250, "é" * 125 + ".csv", "." + "x" * 250])
def test_every_name_the_system_takes_can_be_written(tmp_path, name):
    check_writable(tmp_path / name)
    write(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("old.txt", "new.txt"):
        (tmp_path / name).symlink_to(tmp_path / "there" / name)
    (tmp_path / "there" / "old.txt").write_text("old")
    for name in ("old.txt", "new.txt"):
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_text() == "new"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_only_regular_files_are_replaced(tmp_path, make):
    path = tmp_path / "x.csv"
    make(path)
    before = path.stat().st_mode
    for attempt in (check_writable, write):
        with pytest.raises(OSError, match=r"this is (a folder|not a regular file)") as reported:
            attempt(path)
        assert reported.value.filename == os.fspath(path)
    assert path.stat().st_mode == before
    assert os.listdir(tmp_path) == ["x.csv"]


def test_errors_name_the_file_that_the_caller_knows(tmp_path):
    path = tmp_path / "D.npz"
    for filename in ((), ("temporary",)):
        with pytest.raises(OSError, match="No space left on device") as reported, replacing(path) as temporary:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *(str(temporary) for _ in filename))
        assert reported.value.filename == os.fspath(path)
        assert reported.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="10 requested and 3 written") as reported, replacing(path):
        raise OSError("10 requested and 3 written")  # NumPy's tofile has no number to tell
    assert reported.value.filename == os.fspath(path)
    with pytest.raises(FileNotFoundError) as reported, replacing(path):
        (tmp_path / "other").read_text()
    assert reported.value.filename == os.fspath(tmp_path / "other")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["no/such/folder/x.csv", "x" * 256 + ".csv", "file/x.csv"])
def test_an_unwritable_path_is_reported_before_the_work(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r".") as reported:
        check_writable(tmp_path / name)
    assert reported.value.filename == os.fspath(tmp_path / name)
    assert os.listdir(tmp_path) == ["file"]


def test_a_check_changes_nothing(tmp_path):
    (tmp_path / "x.csv").write_text("old")
    check_writable(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["x.csv"]
