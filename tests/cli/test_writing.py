"""Output files: checked before the work, and saved elsewhere if they cannot be written after it."""

from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import (
    FOLDERS,
    OUTPUTS,
    RUNS,
    anchorot,
    anchorot_each,
    assert_one_line,
    need_extras,
    with_output,
    write_inputs,
)

pytestmark = pytest.mark.system


def test_every_output_is_written():
    options = {f"{name} {option}" for name, option, _ in OUTPUTS}
    assert {name for name in RUNS if "-o" in RUNS[name].split()} <= {name.rpartition(" ")[0] for name in options}
    assert {"match --report", "pairwise --picture", "pairwise --checkpoint", "test --picture"} <= options


@pytest.mark.parametrize(("name", "option", "ending"), OUTPUTS)
def test_outputs_are_checked_before_any_work(tmp_path, name, option, ending):
    need_extras(name)
    (tmp_path / "file").touch()
    (tmp_path / f"folder{ending}").mkdir()
    missing, instead = f"no/such/folder/x{ending}", f"folder{ending}"
    if (name, option) in FOLDERS:
        missing, instead = "file/no/such/folder", "file"
    wrong = [
        missing,
        instead,
        f"/proc/x{ending}",  # no one may write there, not even root
        f"{'x' * 256}{ending}",
        f"file/x{ending}",
    ]
    before = sorted(tmp_path.iterdir())
    results = anchorot_each(*(with_output(name, option, path) for path in wrong), cwd=tmp_path)
    for path, result in zip(wrong, results, strict=True):
        assert_one_line(result, f"anchorot: {path}: ")  # and not of a.npy, which is not there either
    assert sorted(tmp_path.iterdir()) == before


def unable_to_write(wanted):
    """A program in which a file of that name cannot come into its place."""
    return (
        "import errno, os, pathlib; from anchorot.cli import main\n"
        "replace = pathlib.Path.replace\n"
        "def full(self, target):\n"
        f"    if target.name == {wanted!r}: raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))\n"
        "    return replace(self, target)\n"
        "pathlib.Path.replace = full; main()"
    )


AS_THEY_COME = {*FOLDERS, ("search build", "--output")}  # written while it is computed: nothing to save at the end


@pytest.mark.parametrize(("name", "option", "ending"), [out for out in OUTPUTS if out[:2] not in AS_THEY_COME])
def test_a_result_that_cannot_be_written_is_saved_elsewhere(inputs, name, option, ending):
    need_extras(name)
    spare = inputs / "spare"
    spare.mkdir()
    wanted = f"wanted{ending}"
    program = unable_to_write(wanted)
    before = sorted(inputs.iterdir())
    result = anchorot(*with_output(name, option, wanted), cwd=inputs, program=program, TMPDIR=str(spare))
    assert result.returncode == 2
    assert result.stdout != ""  # the result is printed anyway
    assert "written: wanted" not in result.stdout
    (rescued,) = spare.glob("anchorot-*/*")
    message = f"anchorot: {wanted}: No space left on device; it is saved as {rescued} instead\n"
    assert result.stderr == message
    assert rescued.suffix == ending
    assert rescued.stat().st_size > 0
    assert sorted(path for path in inputs.iterdir() if path.name != "demo.png") == before  # another output of the demo


def test_an_index_that_cannot_be_moved_to_its_path_is_one_line(inputs):
    need_extras("search build")
    before = sorted(inputs.iterdir())
    command = with_output("search build", "--output", "wanted")
    result = anchorot(*command, cwd=inputs, program=unable_to_write("wanted"))
    assert_one_line(result, "/wanted: No space left on device")
    assert sorted(inputs.iterdir()) == before


def test_a_result_that_cannot_be_saved_anywhere_is_reported(inputs):
    program = (
        "import resource; from anchorot.cli import main\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); main()"
    )
    result = anchorot("pairwise", "a.npy", "b.npy", "-o", "D.npz", cwd=inputs, program=program)
    assert result.returncode == 2
    assert "1 pairs in" in result.stdout
    assert "anchorot: D.npz: File too large; it could not be saved in" in result.stderr
    assert not (inputs / "D.npz").exists()


WRITE_FILES = [output for output in OUTPUTS if output[:2] not in FOLDERS and "a.npy" in RUNS[output[0]]]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(folder, runs):
    """Each of the runs, whose last word is where to write, is refused in one line, and no file has changed."""
    before = contents(folder)
    for words, result in zip(runs, anchorot_each(*runs, cwd=folder), strict=True):
        assert_one_line(result, f"anchorot: {Path(words[-1])}: would overwrite ", ", which is an input")
    assert contents(folder) == before


def test_no_output_goes_through_a_link_to_an_input(tmp_path):
    inputs = write_inputs(tmp_path)
    need_extras(*(name for name, _, _ in WRITE_FILES))
    runs = []
    for name, option, ending in WRITE_FILES:
        for read in "ab":
            links = [inputs / f"{read}-{kind}{ending}" for kind in ("soft", "twice", "hard")]
            if not links[0].is_symlink():
                links[0].symlink_to(f"{read}.npy")
                links[1].symlink_to(links[0].name)
                links[2].hardlink_to(inputs / f"{read}.npy")
            runs += [with_output(name, option, link.name) for link in links]
    assert_refused(inputs, runs)


@pytest.mark.parametrize("ending", [".csv", ".npz"])
def test_no_output_is_an_input_by_another_path(tmp_path, ending):
    names = ("match", "pairwise", "embed", "barycenter", "search build")
    need_extras(*names)
    (tmp_path / "folder").mkdir()
    for place in ("a", "folder/b"):
        if ending == ".npz":
            ao.write(ao.Space([[0.0, 1.0], [1.0, 0.0]]), tmp_path / f"{place}.npz")
        else:
            np.savetxt(tmp_path / f"{place}.csv", [[0.0, 1.0], [1.0, 0.0]], delimiter=",")
    one, two = f"a{ending}", f"folder/b{ending}"
    paths = [one, f"./{one}", f"folder/../{one}", str(tmp_path / one), two]
    if (tmp_path / one.upper()).exists():  # where names are the same in capitals
        paths.append(one.upper())
    runs = [[*name.split(), one, two, "-o", path] for name in names for path in paths]
    runs += [[*name.split(), "folder", "-o", two] for name in names if name != "match"]
    assert_refused(tmp_path, runs)


def test_convert_writes_over_no_file_that_it_reads(tmp_path):
    inputs = write_inputs(tmp_path)
    spaces = inputs / "spaces"
    spaces.mkdir()
    (spaces / "a.npz").symlink_to("../a.npy")
    (spaces / "b.npz").hardlink_to(inputs / "b.npy")
    before = {name: (inputs / name).read_bytes() for name in ("a.npy", "b.npy")}
    for folder in (".", "spaces"):
        result = anchorot("convert", "a.npy", "b.npy", "-o", folder, cwd=inputs)
        assert result.returncode == 0, result.stderr
    assert {name: (inputs / name).read_bytes() for name in before} == before
    assert sorted(path.name for path in spaces.iterdir()) == ["a.npy.npz", "a.npz", "b.npy.npz", "b.npz"]


def test_an_output_may_lie_among_files_that_are_read(tmp_path):
    inputs = write_inputs(tmp_path)
    result = anchorot("pairwise", "a.npy", "b.npy", "-o", "D.csv", cwd=inputs)
    assert result.returncode == 0, result.stderr
    again = anchorot("pairwise", "a.npy", "b.npy", "-o", "D.csv", cwd=inputs)  # which has become the command's own
    assert again.returncode == 0, again.stderr


def test_a_link_to_a_file_of_another_kind_is_refused(tmp_path):
    inputs = write_inputs(tmp_path)
    (inputs / "D.npz").symlink_to("D.txt")
    result = anchorot("pairwise", "a.npy", "b.npy", "-o", "D.npz", cwd=inputs)
    assert_one_line(result, "anchorot: D.npz: a link to D.txt, but the file must end in .npz or .csv")


def test_a_loop_of_links_is_one_line(tmp_path):
    inputs = write_inputs(tmp_path)
    need_extras(*RUNS)
    runs = []
    for name, option, ending in OUTPUTS:
        for first, second in (("x", "y"), ("y", "x")):
            if not (inputs / f"{first}{ending}").is_symlink():
                (inputs / f"{first}{ending}").symlink_to(f"{second}{ending}")
        runs.append(with_output(name, option, f"x{ending}"))
    before = sorted(inputs.iterdir())
    for words, result in zip(runs, anchorot_each(*runs, cwd=inputs), strict=True):
        assert_one_line(result, f"anchorot: {words[-1]}: ")
    assert sorted(inputs.iterdir()) == before
