"""The data sets of the experiments: listed, fetched from a server on this machine, and checked in any case."""

import functools
import gc
import hashlib
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import anchorot as ao
from experiments import data as experiment_data
from experiments.data import Address, DataSet, check, data_sets, fetch
from tests.requirements import require_or_skip

pytestmark = pytest.mark.system

CONTENT = {"toy/a.txt": b"one\n", "toy/deep/b.txt": b"two\n", "toy/c.txt": b"three\n", "toy/lost.txt": b"four\n"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *message):
        self.server.asked.append(self.path)


@pytest.fixture
def server(tmp_path):
    """Serve files on this machine: c.txt, and an archive of the others that has more in it than is asked for."""
    require_or_skip(find_spec("pooch") is not None, "pooch is not installed")
    served = tmp_path / "served"
    served.mkdir()
    (served / "c.txt").write_bytes(CONTENT["toy/c.txt"])
    with zipfile.ZipFile(served / "toy.zip", "w") as archive:
        archive.writestr("TOY/a.txt", CONTENT["toy/a.txt"])
        archive.writestr("TOY/deep/b.txt", CONTENT["toy/deep/b.txt"])
        archive.writestr("../../escaped.txt", "not asked for")
    handler = functools.partial(Quiet, directory=served)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.asked, running.folder = [], served
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def toy(server, monkeypatch):
    """Register a set whose files are on the server, but for one that has no address."""
    monkeypatch.delenv("ANCHOROT_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url = f"http://127.0.0.1:{server.server_port}"
    addresses = {
        "toy/a.txt": Address(f"{url}/toy.zip", "TOY/a.txt"),
        "toy/deep/b.txt": Address(f"{url}/toy.zip", "TOY/deep/b.txt"),
        "toy/c.txt": Address(f"{url}/c.txt"),
    }
    sums = {path: hashlib.sha256(content).hexdigest() for path, content in CONTENT.items()}
    entry = DataSet("toy", "a toy", "its makers", "MIT", sums, addresses)
    monkeypatch.setattr(experiment_data, "data_sets", lambda: {"toy": entry})
    return entry


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_has_an_address_is_fetched_and_what_has_none_is_named(toy, server, tmp_path):
    found = fetch("toy", tmp_path / "data")
    assert (found.changed, found.missing, found.is_complete) == ([], ["toy/lost.txt"], False)
    assert files_in(tmp_path / "data") == ["toy/a.txt", "toy/c.txt", "toy/deep/b.txt"]
    assert all((tmp_path / "data" / path).read_bytes() == CONTENT[path] for path in found.right)
    assert sorted(server.asked) == ["/c.txt", "/toy.zip"]  # the archive once, for both its files
    assert not list(tmp_path.rglob("escaped.txt"))


def test_what_is_there_is_not_fetched_again(toy, server, tmp_path):
    fetch("toy", tmp_path)
    server.asked.clear()
    (tmp_path / "toy" / "c.txt").unlink()
    fetch("toy", tmp_path)
    assert server.asked == ["/c.txt"]


def test_a_file_with_another_sum_is_not_kept(toy, server, tmp_path):
    (server.folder / "c.txt").write_bytes(b"something else")
    with pytest.raises(ao.InputError, match=r"/c.txt: its toy/c.txt differs from its SHA-256 sum"):
        fetch("toy", tmp_path / "data")
    assert "toy/c.txt" not in files_in(tmp_path / "data")


def test_a_changed_file_is_reported_and_never_replaced(toy, tmp_path):
    fetch("toy", tmp_path)
    (tmp_path / "toy" / "a.txt").write_text("mine")
    assert check("toy", tmp_path).changed == ["toy/a.txt"]
    with pytest.raises(ao.InputError, match=r"1 differ from their SHA-256 sums, the first toy/a.txt"):
        fetch("toy", tmp_path)
    assert (tmp_path / "toy" / "a.txt").read_text() == "mine"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pooch leaves a refused response open
@pytest.mark.parametrize("damage", ["missing", "no archive", "without the member"])
def test_an_address_that_does_not_give_it_is_one_line(toy, server, tmp_path, damage):
    archive = server.folder / "toy.zip"
    archive.unlink()
    if damage == "no archive":
        archive.write_bytes(b"<html>moved</html>")
    if damage == "without the member":
        with zipfile.ZipFile(archive, "w") as empty:
            empty.writestr("other.txt", "")
    with pytest.raises(
        ao.AnchorotError, match=r"http://127.0.0.1:\d+/toy.zip (cannot be fetched|is no archive)"
    ) as error:
        fetch("toy", tmp_path / "data")
    assert "\n" not in str(error.value)
    del error
    gc.collect()  # here, not in a later test, which would be blamed for it
    assert "toy/a.txt" not in files_in(tmp_path / "data")


def test_a_member_larger_than_any_file_can_be_is_not_unpacked(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(experiment_data, "MAX_FILE_BYTES", 2)
    with pytest.raises(ao.InputError, match="differs from its SHA-256 sum"):
        fetch("toy", tmp_path / "data")


def test_a_set_without_an_address_says_where_to_get_it(tmp_path):
    with pytest.raises(ao.InputError, match=r"tosca_nonrigid3d has no stable address: get it from the project TOSCA"):
        fetch("tosca_nonrigid3d", tmp_path)


def test_an_unknown_name_gets_the_known_ones(tmp_path):
    with pytest.raises(ao.InputError, match=r"name must be one of tosca_nonrigid3d, .* but got 'cats'"):
        check("cats", tmp_path)
    assert len(check("tu", tmp_path).missing) == 12


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name")
def test_what_is_no_file_differs_from_the_file_that_is_wanted(toy, tmp_path):
    for path, make in (("a.txt", os.mkfifo), ("c.txt", os.mkdir), ("lost.txt", lambda own: own.symlink_to(own.name))):
        (tmp_path / "toy").mkdir(exist_ok=True)
        make(tmp_path / "toy" / path)
    (tmp_path / "toy" / "deep").touch()
    found = check("toy", tmp_path)
    assert (found.changed, found.missing) == (["toy/a.txt", "toy/c.txt", "toy/lost.txt"], ["toy/deep/b.txt"])
    with pytest.raises(ao.InputError, match=r"3 differ from their SHA-256 sums, the first toy/a\.txt"):
        fetch("toy", tmp_path)
    assert check("toy", tmp_path / "toy" / "deep").missing == list(CONTENT)


def test_every_set_says_what_it_is_and_has_sums():
    for name, entry in data_sets().items():
        assert name == entry.name
        assert entry.what
        assert entry.source
        assert entry.licence
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in entry.sums.values())
        assert all(path.split("/")[0] == name for path in entry.sums)
        assert set(entry.addresses) <= set(entry.sums)
        assert all(address.url.startswith("https://") for address in entry.addresses.values())


def test_the_experiments_use_listed_sets():
    names = [path.parent.name for path in Path("experiments").glob("*/experiment.py")]
    used = {need for name in names for need in importlib.import_module(f"experiments.{name}.experiment").DATA}
    assert {"tosca_nonrigid3d", "tu"} <= used <= set(data_sets())


@pytest.mark.parametrize("name", data_sets())
def test_the_data_at_hand_have_the_sums_of_the_list(name, data):
    assert (data / name).exists()
    assert check(name, Path(data)).is_complete


def test_the_command_says_what_is_missing_and_refuses_other_names_in_one_line(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "experiments.data", *arguments, "--data", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    missing = run("check", "tu")
    assert (missing.returncode, missing.stderr) == (1, "")
    assert "0 of 12 files are right; 12 are missing, the first tu/" in missing.stdout
    wrong = run("fetch", "cats")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
