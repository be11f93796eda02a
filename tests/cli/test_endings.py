"""However a command ends, it is one line, a status that scripts know, and nothing lost or left behind."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import (
    AT_WORK,
    FOLDERS,
    MIDDLE,
    OUTPUTS,
    PROGRAM,
    RUNS,
    anchorot,
    anchorot_each,
    assert_one_line,
    need_extras,
    with_output,
    write_inputs,
)

pytestmark = pytest.mark.system


@pytest.fixture
def inputs(tmp_path):
    return write_inputs(tmp_path)


def test_no_output_is_left_out():
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
        f"/proc/x{ending}",  # nobody may write there, not even root
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
    assert result.stdout != ""  # what was found is told all the same
    assert "written: wanted" not in result.stdout
    (rescued,) = spare.glob("anchorot-*/*")
    message = f"anchorot: {wanted}: No space left on device; it is saved as {rescued} instead\n"
    assert result.stderr == message
    assert rescued.suffix == ending
    assert rescued.stat().st_size > 0
    assert sorted(inputs.iterdir()) == before


def test_an_index_that_cannot_come_into_its_place_is_one_line(inputs):
    need_extras("search build")
    before = sorted(inputs.iterdir())
    command = with_output("search build", "--output", "wanted")
    result = anchorot(*command, cwd=inputs, program=unable_to_write("wanted"))
    assert_one_line(result, "/wanted: No space left on device")
    assert sorted(inputs.iterdir()) == before


def test_a_result_that_can_be_saved_nowhere_is_told(inputs):
    program = (
        "import resource; from anchorot.cli import main\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); main()"
    )
    result = anchorot("pairwise", "a.npy", "b.npy", "-o", "D.npz", cwd=inputs, program=program)
    assert result.returncode == 2
    assert "1 pairs in" in result.stdout
    assert "anchorot: D.npz: File too large; nor could it be saved in" in result.stderr
    assert not (inputs / "D.npz").exists()


@pytest.mark.parametrize("name", RUNS)
def test_a_full_standard_output_is_one_line(inputs, name):
    need_extras(name)
    program = "import os, sys; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); from anchorot.cli import main; main()"
    result = anchorot(*name.split(), *RUNS[name].split(), cwd=inputs, program=program)
    assert_one_line(result, "anchorot: standard output: No space left on device")


@pytest.mark.parametrize("error", ["MemoryError('Unable to allocate 7 GiB')", "OSError(12, os.strerror(12))"])
def test_a_shortage_of_memory_is_one_line_that_says_what_helps(inputs, error):
    for name in AT_WORK:
        need_extras(name)
    before = sorted(inputs.iterdir())
    runs = [[*name.split(), *RUNS[name].split()] for name in AT_WORK]
    results = anchorot_each(*runs, cwd=inputs, program=MIDDLE.format(f"raise {error}"))
    for result in results:
        assert_one_line(result, "anchorot: out of memory while ", "; keep fewer points of each space with --n-points")
    assert sorted(inputs.iterdir()) == before


def test_a_real_shortage_of_memory_is_one_line(tmp_path):
    np.save(tmp_path / "big.npy", np.zeros((3000, 3000), np.float32))
    program = (
        "import resource, anchorot as ao; from anchorot.cli import main\n"
        "ao.read('small.npy'); ao.anchor_energy([[0.0]], [[0.0]])\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 2**25, size + 2**25)); main()"
    )
    np.save(tmp_path / "small.npy", np.zeros((2, 2)))
    result = anchorot("compare", "big.npy", "big.npy", cwd=tmp_path, program=program)
    assert_one_line(result, "anchorot: out of memory while reading big.npy (", "--n-points")


def test_a_shortage_of_torch_is_one_line_too(inputs):
    need_extras("barycenter")
    result = anchorot("barycenter", "a.npy", "-o", "mean.csv", "--support", 5_000_000, cwd=inputs)
    assert_one_line(result, "out of memory while looking for the barycenter of 1 spaces (", "--support")
    assert not (inputs / "mean.csv").exists()


@pytest.mark.parametrize(
    ("number", "status", "said"), [("SIGINT", 130, "anchorot: interrupted\n"), ("SIGTERM", 143, "")]
)
@pytest.mark.parametrize("name", AT_WORK)
def test_signals_end_a_command_tidily(inputs, name, number, status, said):
    need_extras(name)
    before = sorted(inputs.iterdir())
    once = f"first.acquire(blocking=False) and os.kill(os.getpid(), signal.{number})"  # two threads may read spaces
    program = MIDDLE.format(once)
    result = anchorot(*name.split(), *RUNS[name].split(), cwd=inputs, program=program + PROGRAM)
    assert (result.returncode, result.stdout, result.stderr) == (status, "", said)
    for path in inputs.glob("spaces/*"):  # of `convert`: what is there is whole
        ao.read(path)
    assert sorted(path for path in inputs.iterdir() if path.name != "spaces") == before


def test_ctrl_c_with_a_checkpoint_says_how_to_resume(inputs):
    words = ("pairwise", "a.npy", "b.npy", "--checkpoint", "run", "-o", "D.npz", "--jobs", 1)
    program = (
        "import os, signal; from anchorot.many.tiles import Checkpoint\n"
        "Checkpoint.write = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = anchorot(*words, cwd=inputs, program=program + PROGRAM)
    said = "anchorot: interrupted; run the same command to resume\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)
    assert anchorot(*words, cwd=inputs).returncode == 0


def test_ctrl_c_while_worker_processes_start_is_one_line(inputs):
    pytest.importorskip("ot")
    program = (
        "import os, signal, time; from anchorot._parallel import _Process; from anchorot.cli import main\n"
        "os.setsid()\n"
        "start = _Process.__init__\n"
        "def start_and_interrupt(self):\n"
        "    start(self)\n"
        "    _Process.__init__ = start\n"
        "    time.sleep(0.04)  # it is importing\n"
        "    os.killpg(0, signal.SIGINT)  # as a terminal does, which tells all its processes\n"
        "_Process.__init__ = start_and_interrupt\n"
        "if __name__ == '__main__': main()"
    )
    result = anchorot("pairwise", "a.npy", "b.npy", "--metric", "gw", "--jobs", 2, cwd=inputs, program=program)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "anchorot: interrupted\n")


SCRIPT = "from anchorot.cli import main\nmain()\n"  # what pip writes into bin/anchorot


@pytest.mark.parametrize("imported", ["numpy", "typer"])  # by the package, and by its command line
@pytest.mark.parametrize("words", [["-m", "anchorot"], ["bin/anchorot"]])
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path, words, imported):
    result = interrupt_import(tmp_path, imported, SCRIPT, *words, "config")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "anchorot: interrupted\n")


@pytest.mark.parametrize("words", [["-m", "other"], ["bin/other"]])
def test_ctrl_c_while_other_programs_import_anchorot_is_theirs(tmp_path, words):
    script = "try:\n    import anchorot\nexcept KeyboardInterrupt:\n    raise SystemExit('theirs') from None\n"
    result = interrupt_import(tmp_path, "numpy", script, *words)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "theirs\n")


def interrupt_import(folder, imported, script, *words):
    """Run Python with these words, and send it Ctrl-C while it imports a package."""
    stand_in = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    for name, text in {
        f"{imported}.py": stand_in,
        "bin/anchorot": script,
        "bin/other": script,
        "other/__init__.py": script,
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    found = os.pathsep.join([str(folder), str(Path(ao.__file__).parents[1])])
    command, environment = [sys.executable, *words], os.environ | {"PYTHONPATH": found}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_signals_leave_the_cursor_visible(inputs, number):
    program = MIDDLE.format(f"import time; time.sleep(0.3); os.kill(os.getpid(), signal.{number})")
    seen = run_on_a_terminal(inputs, program + PROGRAM, "compare", "a.npy", "b.npy")
    assert b"reading a.npy" in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


def run_on_a_terminal(folder, program, *words):
    """Run a command with a terminal for its standard error, and return what that has shown."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", program, *words]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, cwd=folder, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as running:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # the other end is closed
            pass
        running.wait()
    os.close(ours)
    return seen
