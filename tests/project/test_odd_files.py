"""A link, a pipe or a folder where anchorot reads or writes a file: one line, no waiting, and nothing outside changed.

In its own folders (checkpoints, converted spaces, the cache) no link to a file is followed. A file that a user names
may be a link, as to any other program. Folders may be links everywhere.
"""

import os
import re
import shutil
import signal
from contextlib import contextmanager

import numpy as np
import pytest

import anchorot as ao
from anchorot.io.files import ENDINGS
from anchorot.many.tiles import Checkpoint
from anchorot.report import write_report
from tests.command_line import FOLDERS, OUTPUTS, anchorot_each, assert_one_line, need_extras, with_output, write_inputs
from tests.many.long_runs import leave_behind
from tests.strategies import clouds

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name")
SPACES = clouds(6)
PATIENCE_S = 60  # all of these take less than a second, but for imports on a busy machine


@contextmanager
def in_time():
    """Fail if a block waits for a pipe, or for a job that is not there."""

    def give_up(*_):
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def link_to_a_copy(path, outside):
    if path.exists():
        shutil.copy(path, outside / "mine")
    link_to_a_file(path, outside)


def link_to_a_file(path, outside):
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "mine")


def link_to_nothing(path, outside):
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "nothing")


def link_to_itself(path, _):
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def pipe(path, _):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def folder(path, _):
    path.unlink(missing_ok=True)
    path.mkdir()


LINKS = (link_to_a_copy, link_to_a_file, link_to_nothing, link_to_itself)
KINDS = (*LINKS, pipe, folder)


@pytest.fixture
def outside(tmp_path):
    """A folder of other files, which nothing may change."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "mine").write_text("mine")
    return place


def contents(place):
    return {path.name: path.read_bytes() for path in place.iterdir()}


def assert_refused(act, path, outside):
    """An act ends in one line that names a file, and leaves that and all others as they are."""
    before, mode = contents(outside), path.lstat().st_mode
    with in_time(), pytest.raises((ao.InputError, OSError), match=re.escape(path.name)) as refused:
        act()
    assert "\n" not in str(refused.value)
    assert contents(outside) == before
    assert path.lstat().st_mode == mode


# -- folders of anchorot -----------------------------------------------------------------------------------------------


def run(place, shard=None):
    return ao.pairwise(SPACES, checkpoint=place, tile=3, shard=shard, n_jobs=1)


def run_shard(place):
    return run(place, (0, 2))


def convert(place):
    np.save(place.parent / "a.npy", SPACES[0].cost)
    return ao.convert([place.parent / "a.npy"], place)


def run_with_a_lost_claim(place):
    leave_behind(place, "000000-000003.npy")
    return run_shard(place)


OURS = {
    "tile": (run, "000000-000003.npy", run),
    "tile of several jobs": (run, "000000-000003.npy", run_shard),
    "manifest": (run, "manifest.json", run),
    "manifest of several jobs": (run, "manifest.json", run_shard),
    "assembled": (run_shard, "assembled", run_shard),
    "converted space": (convert, "a.npz", convert),
}
CLAIMS = {
    "claim on a tile": (".000000-000003.npy.claim-0", run_shard),
    "second claim on a tile": (".000000-000003.npy.claim-1", run_with_a_lost_claim),
    "claim on the matrix": (".assembled.claim-0", run_shard),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", OURS)
def test_what_lies_in_the_place_of_a_file_of_ours_is_refused(tmp_path, outside, what, kind):
    make, name, act = OURS[what]
    place = tmp_path / "ours"
    make(place)
    kind(place / name, outside)
    assert_refused(lambda: act(place), place / name, outside)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", CLAIMS)
def test_what_lies_in_the_place_of_a_claim_is_refused(tmp_path, outside, what, kind):
    name, act = CLAIMS[what]
    run(tmp_path / "ours")
    (tmp_path / "ours" / "000000-000003.npy").unlink()
    kind(tmp_path / "ours" / name, outside)
    assert_refused(lambda: act(tmp_path / "ours"), tmp_path / "ours" / name, outside)


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_that_appears_during_a_run_is_not_followed(tmp_path, outside, monkeypatch, kind):
    place, real = tmp_path / "ours", Checkpoint.write
    before = contents(outside)

    def write(self, tile, found):
        kind(self.path(tile), outside)
        real(self, tile, found)

    monkeypatch.setattr(Checkpoint, "write", write)
    with pytest.raises(OSError, match=r"000000-000000\.npy"):
        run(place)
    assert contents(outside) == before


def test_folders_may_be_links(tmp_path):
    for name, act in (("checkpoint", run), ("jobs", run_shard), ("spaces", convert)):
        (tmp_path / f"real-{name}").mkdir()
        (tmp_path / name).symlink_to(f"real-{name}")
        act(tmp_path / name)
        assert len(list((tmp_path / f"real-{name}").iterdir())) > 0


# -- files that a user names -------------------------------------------------------------------------------------------

WRITE = {
    ".npz": lambda path: ao.write(SPACES[0], path),
    ".html": lambda path: write_report(path, *SPACES[:2], ao.align(*SPACES[:2])),
    ".txt": lambda path: ao.align(*SPACES[:2]).write(path),
    ".index": lambda path: ao.SearchIndex.build(SPACES, path=path),
    ".copy": lambda path: ao.SearchIndex.build(SPACES).save(path),
}


@pytest.mark.parametrize("ending", WRITE)
def test_a_file_that_a_user_names_may_be_a_link(tmp_path, outside, ending):
    WRITE[ending](tmp_path / f"plain{ending}")
    path = tmp_path / f"link{ending}"
    for kind, name in ((link_to_a_copy, "mine"), (link_to_nothing, "nothing")):
        kind(path, outside)
        if ending in (".index", ".copy") and name == "mine":
            shutil.copy(tmp_path / f"plain{ending}", outside / name)
        WRITE[ending](path)
        assert path.is_symlink()
        assert (outside / name).stat().st_size > len("mine")


@pytest.mark.parametrize("kind", [link_to_itself, pipe, folder])
@pytest.mark.parametrize("ending", WRITE)
def test_a_file_that_cannot_be_replaced_is_refused(tmp_path, outside, ending, kind):
    kind(tmp_path / f"x{ending}", outside)
    with in_time(), pytest.raises((ao.InputError, OSError)) as refused:
        WRITE[ending](tmp_path / f"x{ending}")
    assert f"x{ending}" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", [link_to_nothing, link_to_itself, pipe, folder])
@pytest.mark.parametrize("ending", [*ENDINGS, ".index"])
def test_only_files_are_read(tmp_path, outside, ending, kind):
    path = tmp_path / f"x{ending}"
    kind(path, outside)
    assert_refused(lambda: (ao.SearchIndex.load if ending == ".index" else ao.read)(path), path, outside)


@pytest.mark.system
def test_no_command_waits_for_a_pipe(tmp_path):
    inputs = write_inputs(tmp_path)
    outputs = [output for output in OUTPUTS if output[:2] not in FOLDERS]
    need_extras(*(name for name, _, _ in outputs))
    for ending in {ending for _, _, ending in outputs}:
        os.mkfifo(inputs / f"pipe{ending}")
    runs = [with_output(name, option, f"pipe{ending}") for name, option, ending in outputs]
    for words, result in zip(runs, anchorot_each(*runs, cwd=inputs), strict=True):
        assert_one_line(result, "anchorot: ", words[-1])
