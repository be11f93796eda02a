"""The command line: help, usage and bad input; properties of all commands are in test_all_commands.py."""

import signal
import subprocess
import sys
import time

import pytest

import anchorot as ao
from tests.command_line import PAIR, PROGRAM, anchorot, assert_one_line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "missing.npz", PAIR[0]], "anchorot: missing.npz: No such file or directory"),
        (["compare", __file__, PAIR[0]], "anchorot: test_cli.py: unknown ending '.py'"),
        (["pairwise", PAIR[0], __file__], "anchorot: test_cli.py: unknown ending '.py'"),
        (["pairwise", PAIR[0], "missing.npz"], "/missing.npz: No such file or directory"),
        (
            ["compare", PAIR[0], PAIR[1], "--point-metric", "x", "--kind", "points"],
            "anchorot: authors_1.txt: metric 'x'",
        ),
        (["demo", "-o", "no/such/folder/x.png"], "there is no folder"),
        (["match", *PAIR, "--report", "no/such/folder/x.html"], "there is no folder"),
        (["match", *PAIR, "--report", "x.pdf"], "x.pdf: the file must end in .html or .htm"),
        (["match", *PAIR, "-o", "x.md"], "x.md: the file must end in .csv or .tsv or .txt or .npz"),
        (["compare", *PAIR, "--epsilon", "1"], "metric 'ae' has no epsilon"),
        (["compare", *PAIR, "--metric", "gw", "--p", "1"], "metric 'gw' has the square loss, p=2, but got p=1"),
        (["compare", *PAIR, "--estimate", "--metric", "aw"], "--estimate works with --metric ae and --p 1 only"),
        (["compare", *PAIR, "--estimate", "--p", "2"], "--estimate works with --metric ae and --p 1 only"),
        (
            ["compare", *PAIR, "--estimate", "--max-cost", "2"],
            "--estimate works with --metric ae and --p 1 only, and not with --ground",
        ),
        (["compare", *PAIR, "--attributes", "types"], "has no types, but attributes='types' needs one for each point"),
        (["match", *PAIR, "--plan", "aep", "--p", "2"], "the Anchor Energy Plan is the same for every p, but got p=2"),
        (["match", *PAIR, "--p", "2"], "--p cannot be combined with --plan align"),
        (["match", *PAIR, "--epsilon", "0.1"], "--epsilon cannot be combined with --plan align"),
        (["match", *PAIR, "--plan", "gw", "--mass", "0.5"], "--mass is for --plan align, but got --mass 0.5 with"),
        (["match", *PAIR, "--plan", "aw", "--start", "aep"], "has no start, but got start='aep'; leave start out"),
        (["pairwise", *PAIR, "-o", "D.txt"], "D.txt: the file must end in .npz or .csv"),
        (["pairwise", *PAIR, "--picture", "D.gif"], "D.gif: the file must end in .png or .svg or .pdf"),
        (["pairwise", *PAIR * 7], "a matrix of 14 spaces is too large to print; write it to a file: -o D.npz"),
        (["pairwise", "."], "this folder has no file with a known ending"),
        (["pairwise", *PAIR, "--epsilon", "1"], "metric 'ae' has no epsilon"),
        (
            ["pairwise", *PAIR, "--device", "gpu,cuda"],
            "device must be 'cpu', 'cuda' or a device such as 'cuda:0', but got 'gpu'",
        ),
        (
            ["compare", PAIR[0], "."],
            "anchorot: .: this is a folder, but a file is needed; to compare all",
        ),
        (["match", ".", PAIR[0]], "to compare all files in it: anchorot pairwise ."),
        (["compare", *PAIR, "--disconnected", "x", "--kind", "graph"], "authors_1.txt: "),
    ],
)
def test_bad_input_is_one_line_and_status_two(tmp_path, arguments, message):
    result = anchorot(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_scheduler_is_one_line():
    impatient = (
        "import distributed; start = distributed.Client.__init__\n"
        "distributed.Client.__init__ = lambda self, address, timeout: start(self, address, timeout=timeout / 20)\n"
    )
    result = anchorot("pairwise", *PAIR, "--dask", "tcp://127.0.0.1:1", program=impatient + PROGRAM)
    assert_one_line(result, "no Dask scheduler responds at tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    "arguments", [["compare"], ["compare", "a", "b", "--p", "0"], ["nonsense"], ["match", "a", "b", "--metric", "slb"]]
)
def test_wrong_usage_is_status_two(arguments):
    result = anchorot(*arguments)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)


def test_without_arguments_the_help_is_shown():
    for words in ((), ("search",)):
        shown = anchorot(*words)
        assert "Usage: anchorot" in shown.stdout + shown.stderr
        assert "Example: anchorot" in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("matplotlib", "plot", ["demo"]),
        ("matplotlib", "plot", ["pairwise", "missing.npy", "--picture", "D.png"]),
        ("plotly", "report", ["match", "missing.npy", "missing.npy", "--report", "r.html"]),
        ("torch", "torch", ["barycenter", "missing.npy", "-o", "mean.csv"]),
    ],
)
def test_a_missing_package_is_named_before_the_work(tmp_path, package, extra, arguments):
    parts = f"[name for name in sys.modules if name.partition('.')[0] == {package!r}]"
    forget = f"import sys; sys.modules.update(dict.fromkeys([{package!r}, *{parts}]))\n"
    result = anchorot(*arguments, cwd=tmp_path, program=forget + PROGRAM, fresh=package == "torch")
    assert result.returncode == 2
    assert result.stderr == f"anchorot: {package} is not installed; get it with: pip install 'anchorot[{extra}]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.system
def test_ctrl_c_leaves_nothing_behind(tmp_path):
    pytest.importorskip("matplotlib")
    program = "from anchorot.cli import main; print('ready', flush=True); main()"
    command = [sys.executable, "-c", program, "demo", "--n-points", "1000"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    time.sleep(1)  # of the many that it takes
    running.send_signal(signal.SIGINT)
    _, reported = running.communicate(timeout=60)
    assert (running.returncode, reported) == (130, "anchorot: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_version():
    assert anchorot("--version").stdout.strip() == ao.__version__


def test_shell_completion():
    words = {"_ANCHOROT_COMPLETE": "complete_bash", "COMP_WORDS": "anchorot co", "COMP_CWORD": "1"}
    assert set(anchorot(**words).stdout.split()) == {"compare", "config", "convert"}
    words = {"_ANCHOROT_COMPLETE": "complete_bash", "COMP_WORDS": "anchorot compare --metric ", "COMP_CWORD": "3"}
    assert {"ae", "aw", "gw"} <= set(anchorot(**words).stdout.split())
