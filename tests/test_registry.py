"""The data of the experiments: registered, fetched from a server on this machine, and checked in any case."""

import functools
import gc
import hashlib
import http.server
import importlib
import re
import sys
import threading
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import anchorot as ao
from anchorot import datasets
from anchorot.datasets import Address, RegisteredSet, fetching

from command_line import anchorot, assert_one_line
from conftest import require_or_skip

pytestmark = [pytest.mark.kernel_free, pytest.mark.lengthy]

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
    entry = RegisteredSet("toy", "a toy", "its makers", "MIT", sums, addresses)
    monkeypatch.setattr("anchorot.datasets.sets.registry", lambda: {"toy": entry})
    return entry


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_has_an_address_is_fetched_and_what_has_none_is_named(toy, server, tmp_path):
    found = datasets.fetch("toy", tmp_path / "data")
    assert (found.changed, found.missing, found.complete) == ((), ("toy/lost.txt",), False)
    assert files_in(tmp_path / "data") == ["toy/a.txt", "toy/c.txt", "toy/deep/b.txt"]
    assert all((tmp_path / "data" / path).read_bytes() == CONTENT[path] for path in found.good)
    assert sorted(server.asked) == ["/c.txt", "/toy.zip"]  # the archive once, for both its files
    assert not list(tmp_path.rglob("escaped.txt"))


def test_what_is_there_is_not_fetched_again(toy, server, tmp_path):
    datasets.fetch("toy", tmp_path)
    server.asked.clear()
    (tmp_path / "toy" / "c.txt").unlink()
    datasets.fetch("toy", tmp_path)
    assert server.asked == ["/c.txt"]


def test_a_file_with_another_sum_is_not_kept(toy, server, tmp_path):
    (server.folder / "c.txt").write_bytes(b"something else")
    with pytest.raises(ao.InputError, match=r"/c.txt: what it gives for toy/c.txt differs from its SHA-256 sum"):
        datasets.fetch("toy", tmp_path / "data")
    assert "toy/c.txt" not in files_in(tmp_path / "data")


def test_a_file_that_was_changed_is_told_and_never_replaced(toy, tmp_path):
    datasets.fetch("toy", tmp_path)
    (tmp_path / "toy" / "a.txt").write_text("mine")
    assert datasets.check("toy", tmp_path).changed == ("toy/a.txt",)
    with pytest.raises(ao.InputError, match=r"1 differ from their SHA-256 sums, the first toy/a.txt"):
        datasets.fetch("toy", tmp_path)
    assert (tmp_path / "toy" / "a.txt").read_text() == "mine"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pooch leaves a refused answer open
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
        datasets.fetch("toy", tmp_path / "data")
    assert "\n" not in str(error.value)
    del error
    gc.collect()  # here, not in a later test, which would be blamed for it
    assert "toy/a.txt" not in files_in(tmp_path / "data")


def test_a_member_larger_than_any_file_can_be_is_not_unpacked(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "MOST_BYTES", 2)
    with pytest.raises(ao.InputError, match="differs from its SHA-256 sum"):
        datasets.fetch("toy", tmp_path / "data")


def test_a_missing_pooch_names_its_extra(toy, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ao.MissingExtraError, match=r"pip install 'anchorot\[datasets\]'"):
        datasets.fetch("toy", tmp_path)


def test_a_set_without_an_address_says_where_to_get_it(tmp_path):
    with pytest.raises(ao.InputError, match=r"tosca_nonrigid3d has no stable address: get it from the project TOSCA"):
        datasets.fetch("tosca_nonrigid3d", tmp_path)


def test_what_comes_with_the_package_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert datasets.fetch("fly_neurons", tmp_path).complete
    assert ao.read(tmp_path / "fly_neurons" / "722817260.swc").n > 400
    assert datasets.check("fly_neurons").complete


def test_names_and_folders_that_are_needed_are_asked_for(monkeypatch):
    monkeypatch.delenv("ANCHOROT_DATA", raising=False)
    with pytest.raises(ao.InputError, match=r"name must be among tosca_nonrigid3d, .* but got 'cats'"):
        datasets.check("cats")
    with pytest.raises(
        ao.InputError, match="say which folder tu is in, or is to be put into, or name it in ANCHOROT_DATA"
    ):
        datasets.check("tu")
    monkeypatch.setenv("ANCHOROT_DATA", "/no/such/folder")
    assert len(datasets.check("tu").missing) == 12


def test_every_registered_set_tells_what_it_is_and_has_sums():
    for name, entry in datasets.registry().items():
        assert name == entry.name
        assert entry.what
        assert entry.source
        assert entry.licence
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in entry.sums.values())
        assert all(path.split("/")[0] == name for path in entry.sums)
        assert set(entry.addresses) <= set(entry.sums)
        assert all(address.url.startswith("https://") for address in entry.addresses.values())
        assert name in entry._repr_html_()


def test_the_experiments_use_registered_sets():
    names = [path.parent.name for path in Path("experiments").glob("*/experiment.py")]
    used = {need for name in names for need in importlib.import_module(f"experiments.{name}.experiment").DATA}
    assert {"tosca_nonrigid3d", "tu"} <= used <= set(datasets.registry())


@pytest.mark.parametrize("name", datasets.registry())
def test_the_data_at_hand_are_those_of_the_registry(name, data):
    if name == "fly_neurons":
        return
    assert (data / name).exists()
    assert datasets.check(name, data).complete


@pytest.mark.lengthy
def test_a_set_that_is_not_as_it_should_be_is_one_line_of_the_command(tmp_path):
    (tmp_path / "fly_neurons").mkdir()
    result = anchorot("datasets", "check", "fly_neurons", tmp_path)
    assert_one_line(result, "0 of 5 files are right; 5 are missing, the first fly_neurons/1734350788.swc")
    assert_one_line(anchorot("datasets", "check", "cats"), "name must be among")
