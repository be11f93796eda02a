"""What commands print and how they end: one line and an exit status, and nothing remains."""

import json
import os
import pty
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import (
    AT_WORK,
    COMMANDS,
    MIDDLE,
    PROGRAM,
    RUNS,
    anchorot,
    anchorot_each,
    assert_one_line,
    need_extras,
    write_inputs,
)

pytestmark = pytest.mark.system


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
    ("number", "status", "printed"), [("SIGINT", 130, "anchorot: interrupted\n"), ("SIGTERM", 143, "")]
)
@pytest.mark.parametrize("name", AT_WORK)
def test_signals_end_a_command_tidily(inputs, name, number, status, printed):
    need_extras(name)
    before = sorted(inputs.iterdir())
    once = f"first.acquire(blocking=False) and os.kill(os.getpid(), signal.{number})"  # two threads may read spaces
    program = MIDDLE.format(once)
    result = anchorot(*name.split(), *RUNS[name].split(), cwd=inputs, program=program + PROGRAM)
    assert (result.returncode, result.stdout, result.stderr) == (status, "", printed)
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
    printed = "anchorot: interrupted; run the same command to resume\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", printed)
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


# What a shell does before the interpreter starts, done just after.
CLOSED = "import os, sys; [(os.close(number), setattr(sys, name, None)) for number, name in {}]; " + PROGRAM


FULL = "import os; full = os.open('/dev/full', os.O_WRONLY); [os.dup2(full, number) for number in {}]; " + PROGRAM


STDIN, STDOUT, STDERR = (0, "stdin"), (1, "stdout"), (2, "stderr")


HELP = [["--version"], ["--help"], *([*name.split(), "--help"] for name in COMMANDS)]


WORK = [[*name.split(), *RUNS[name].split()] for name in ("compare", "pairwise", "embed", "config")]


WORK += [[*words, "--json"] for words in WORK]


WRONG = [
    ["compare", "nowhere.npy", "b.npy"],
    ["compare"],
    ["compare", "a.npy", "b.npy", "--nonsense"],
    ["pairwise", "."],
]


@pytest.fixture(scope="module")
def shared_inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("streams"))


@pytest.mark.parametrize("name", RUNS)
def test_a_closed_standard_output_is_one_line_before_the_work(shared_inputs, name):
    need_extras(name)
    before = sorted(shared_inputs.iterdir())
    for more in ([], ["--json"]):
        words = [*name.split(), *RUNS[name].split(), *more]
        result = anchorot(*words, cwd=shared_inputs, program=CLOSED.format([STDOUT]))
        assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
        assert result.stderr.startswith("anchorot: standard output: is closed; ")
    assert sorted(shared_inputs.iterdir()) == before


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_that_cannot_be_printed_is_one_line(words):
    for program, printed in ((CLOSED.format([STDOUT]), "is closed; "), (FULL.format([1]), "No space left on device")):
        result = anchorot(*words, program=program)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
        assert result.stderr.startswith(f"anchorot: standard output: {printed}")


@pytest.mark.parametrize("words", WORK + WRONG, ids=" ".join)
def test_without_standard_error_or_input_a_command_does_the_same(shared_inputs, words):
    usual = anchorot(*words, cwd=shared_inputs)
    closed = ([STDIN], [STDERR], [STDIN, STDERR])
    for program in (*map(CLOSED.format, closed), FULL.format([2])):
        result = anchorot(*words, cwd=shared_inputs, program=program)
        assert result.returncode == usual.returncode
        assert (result.stdout == "") == (usual.stdout == "")  # errors go only to standard error


@pytest.mark.parametrize("words", WORK + WRONG + HELP[:2], ids=" ".join)
def test_without_any_stream_the_exit_status_is_right(shared_inputs, words):
    for program in (CLOSED.format([STDOUT, STDERR]), CLOSED.format([STDIN, STDOUT, STDERR]), FULL.format([1, 2])):
        assert anchorot(*words, cwd=shared_inputs, program=program).returncode == 2


def test_notes_that_cannot_be_printed_stop_nothing(shared_inputs):
    (shared_inputs / "apart.edgelist").write_text("0 1\n2 3\n3 4\n")
    words = ["compare", "apart.edgelist", "a.npy", "--disconnected", "largest", "--json"]
    assert "note:" in anchorot(*words, cwd=shared_inputs).stderr
    for program in (FULL.format([2]), CLOSED.format([STDERR])):
        result = anchorot(*words, cwd=shared_inputs, program=program)
        assert result.returncode == 0
        assert json.loads(result.stdout)["n"] == 3


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_shell_closes_streams_before_the_program_starts(shared_inputs, closed):
    command = f"{shlex.join([sys.executable, '-m', 'anchorot', 'compare', 'a.npy', 'b.npy', '--json'])} {closed}"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=shared_inputs, check=False)
    is_open = ">&-" not in closed.replace("2>&-", "")
    assert result.returncode == (0 if is_open else 2)
    assert "Traceback" not in result.stderr
    assert (result.stdout != "") == is_open


def test_without_a_terminal_a_line_now_and_then_says_what_is_under_way(monkeypatch, capsys):
    output = pytest.importorskip("anchorot.cli.output")
    monkeypatch.setattr(output, "LOG_SECONDS", 0.1)
    with output.Stopwatch()("plan", "computing the Alignment"):
        time.sleep(0.35)
    printed = capsys.readouterr().err
    assert printed.splitlines() == ["anchorot: computing the Alignment, 0 s so far"] * len(printed.splitlines())
    assert 2 <= len(printed.splitlines()) <= 3
    time.sleep(0.15)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(output, "LOG_SECONDS", 30.0)
    with output.Stopwatch()("plan", "computing the Alignment"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_lines_that_cannot_be_printed_stop_nothing(monkeypatch):
    output = pytest.importorskip("anchorot.cli.output")
    failed = []
    monkeypatch.setattr(output, "LOG_SECONDS", 0.05)
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)
        with output.Stopwatch()("plan", "computing the Alignment"):
            time.sleep(0.2)
    assert failed == []
