"""Standard streams that are closed or full: one line where a line can be said, never a traceback, and nothing lost."""

import json
import shlex
import subprocess
import sys

import pytest

from tests.command_line import COMMANDS, PROGRAM, RUNS, anchorot, need_extras, write_inputs

pytestmark = pytest.mark.system

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
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("streams"))


@pytest.mark.parametrize("name", RUNS)
def test_a_closed_standard_output_is_one_line_before_the_work(inputs, name):
    need_extras(name)
    before = sorted(inputs.iterdir())
    for more in ([], ["--json"]):
        words = [*name.split(), *RUNS[name].split(), *more]
        result = anchorot(*words, cwd=inputs, program=CLOSED.format([STDOUT]))
        assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
        assert result.stderr.startswith("anchorot: standard output: is closed; ")
    assert sorted(inputs.iterdir()) == before


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_that_nobody_can_read_is_one_line(words):
    for program, said in ((CLOSED.format([STDOUT]), "is closed; "), (FULL.format([1]), "No space left on device")):
        result = anchorot(*words, program=program)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
        assert result.stderr.startswith(f"anchorot: standard output: {said}")


@pytest.mark.parametrize("words", WORK + WRONG, ids=" ".join)
def test_without_standard_error_or_input_a_command_does_the_same(inputs, words):
    usual = anchorot(*words, cwd=inputs)
    closed = ([STDIN], [STDERR], [STDIN, STDERR])
    for program in (*map(CLOSED.format, closed), FULL.format([2])):
        result = anchorot(*words, cwd=inputs, program=program)
        assert result.returncode == usual.returncode
        assert (result.stdout == "") == (usual.stdout == "")  # what is said of errors goes nowhere else


@pytest.mark.parametrize("words", WORK + WRONG + HELP[:2], ids=" ".join)
def test_with_no_stream_left_the_status_still_tells(inputs, words):
    for program in (CLOSED.format([STDOUT, STDERR]), CLOSED.format([STDIN, STDOUT, STDERR]), FULL.format([1, 2])):
        assert anchorot(*words, cwd=inputs, program=program).returncode == 2


def test_notes_that_cannot_be_said_stop_nothing(inputs):
    (inputs / "apart.edgelist").write_text("0 1\n2 3\n3 4\n")
    words = ["compare", "apart.edgelist", "a.npy", "--disconnected", "largest", "--json"]
    assert "note:" in anchorot(*words, cwd=inputs).stderr
    for program in (FULL.format([2]), CLOSED.format([STDERR])):
        result = anchorot(*words, cwd=inputs, program=program)
        assert result.returncode == 0
        assert json.loads(result.stdout)["n"] == 3


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_shell_closes_streams_before_the_program_starts(inputs, closed):
    command = f"{shlex.join([sys.executable, '-m', 'anchorot', 'compare', 'a.npy', 'b.npy', '--json'])} {closed}"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=inputs, check=False)
    is_open = ">&-" not in closed.replace("2>&-", "")
    assert result.returncode == (0 if is_open else 2)
    assert "Traceback" not in result.stderr
    assert (result.stdout != "") == is_open
