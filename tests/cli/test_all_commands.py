"""Properties of every command; the list of commands is the program's own."""

import json
import re
import shlex

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import (
    AT_WORK,
    COMMANDS,
    RUNS,
    anchorot,
    anchorot_each,
    assert_one_line,
    need_extras,
    write_inputs,
)

pytestmark = pytest.mark.system

HOSTILE = "=e\x1b[31m\nx\udcff$\\foo$"  # a formula, an escape, a line end, no UTF-8, and what matplotlib cannot parse
ON_FILES = [name for name in AT_WORK if "a.npy" in RUNS[name]]
MANY = [name for name in ON_FILES if any(option.name == "files" for option in COMMANDS[name].params)]
# Let even the smallest files be worth a process, and record which process reads.
WHO_READS = """
from anchorot import _parallel
from anchorot.exceptions import AnchorotError
from anchorot.io import cache, files
cache.MIN_FILE_BYTES, files.MIN_SECONDS = 0, 0.0

class Process:
    def ask(self, *request):
        raise AnchorotError("read by another process")
    def end(self):
        pass

def read_here(*_):
    raise AnchorotError("read by the process of the command")

_parallel._Process = Process
files._read = files._edges_of = read_here
"""


def test_every_command_is_covered():
    assert set(RUNS) == set(COMMANDS)


def test_help_shows_an_example_that_the_command_understands():
    results = anchorot_each(*([*name.split(), "--help"] for name in RUNS))
    for name, result in zip(RUNS, results, strict=True):
        command = COMMANDS[name]
        example = re.search(r"Example: \[bold\](.*)\[/\]", command.epilog)[1]
        assert example.startswith(f"anchorot {name}")
        assert f"Example: {example}" in " ".join(result.stdout.split())
        command.make_context(name, shlex.split(example)[1 + len(name.split()) :])  # raises if it has no such option


def test_every_command_is_in_the_help():
    shown = anchorot("--help").stdout
    assert all(f"│ {name.split()[0]} " in shown for name in COMMANDS)


def test_wrong_usage_is_one_line_that_points_to_the_help():
    results = anchorot_each(*([*name.split(), "--no-such-option", "x\x1b[31m"] for name in RUNS))
    for name, result in zip(RUNS, results, strict=True):
        assert_one_line(result, f"anchorot {name}: ", "--no-such-option", f"(see: anchorot {name} --help)")
        assert "\x1b" not in result.stderr


def test_a_missing_argument_or_option_is_one_line_that_names_it():
    needy = [name for name in RUNS if any(option.required for option in COMMANDS[name].params)]
    assert "compare" in needy
    for name, result in zip(needy, anchorot_each(*(name.split() for name in needy)), strict=True):
        assert_one_line(result, f"anchorot {name}: Missing ", f"(see: anchorot {name} --help)")


@pytest.mark.parametrize("name", ON_FILES)
def test_input_that_is_not_a_space_is_one_line_that_names_it(tmp_path, name):
    need_extras(name)
    inputs = write_inputs(tmp_path)
    words = RUNS[name].split()
    (inputs / words[0]).unlink()
    (inputs / "empty").mkdir()
    np.save(inputs / "nothing.npy", np.zeros((0, 0)))
    (inputs / "text.npy").write_text("no numbers")
    wrong = [words[0], "empty", "nothing.npy", "text.npy", "mail.eml"]
    (inputs / "mail.eml").touch()
    results = anchorot_each(*([*name.split(), path, *words[1:]] for path in wrong), cwd=inputs)
    for path, result in zip(wrong, results, strict=True):
        assert_one_line(result, path)
    assert "No such file or directory" in results[0].stderr


def test_json_is_one_object_and_nothing_else(tmp_path):
    need_extras(*RUNS)
    runs = [[*name.split(), *words.split(), "--json"] for name, words in RUNS.items()]
    for result in anchorot_each(*runs, cwd=write_inputs(tmp_path)):
        assert (result.returncode, result.stderr) == (0, "")
        assert isinstance(json.loads(result.stdout, parse_constant=pytest.fail), dict)


@pytest.mark.parametrize("name", ON_FILES)
def test_untrusted_names_do_not_control_the_terminal(tmp_path, name):
    need_extras(name)
    write_inputs(tmp_path, f"{HOSTILE}1.npy", f"{HOSTILE}2.npy")
    extras = {
        "match": ["--report", f"{HOSTILE}.html", "-o", f"{HOSTILE}.csv"],
        "pairwise": ["--picture", f"{HOSTILE}.png", "-o", f"{HOSTILE}.csv", "--checkpoint", HOSTILE],
    }
    words = RUNS[name].replace("a.npy", "\0" + "1.npy").replace("b.npy", "\0" + "2.npy").split()
    words = [*name.split(), *(word.replace("\0", HOSTILE) for word in words), *extras.get(name, [])]
    first, second = anchorot_each(words, [*words, "--json"], cwd=tmp_path)
    assert first.stderr == ""
    assert ("a name belongs to several spaces" if name == "search add" else "") in second.stderr
    assert second.stderr.count("\n") == (name == "search add")
    assert second.stderr.replace("\n", "").isprintable()
    for result in (first, second):
        assert result.returncode == 0
        assert result.stdout.replace("\n", "").isprintable(), repr(result.stdout)


def test_errors_about_hostile_names_are_one_line(tmp_path):
    need_extras(*ON_FILES)
    runs = [[word.replace("a.npy", f"{HOSTILE}.npy") for word in f"{name} {RUNS[name]}".split()] for name in ON_FILES]
    for result in anchorot_each(*runs, cwd=write_inputs(tmp_path)):
        assert_one_line(result, "=e\\x1b[31m\\nx\\udcff$\\foo$.npy: ")
        assert result.stderr.rstrip("\n").isprintable()


def test_every_command_that_reads_takes_no_cache():
    flags = {
        name: {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
        for name, command in COMMANDS.items()
    }
    reading = [name for name in flags if "--max-bytes" in flags[name]]
    assert {"compare", "convert", "match", "pairwise", "search build", "search query"} <= set(reading)
    assert all("--no-cache" in flags[name] for name in reading)


def test_every_command_on_many_files_has_processes_read_them(tmp_path):
    need_extras(*MANY)
    for name in ("a", "b"):
        (tmp_path / f"{name}.edgelist").write_text("0 1\n1 2\n2 0\n")
    ao.SearchIndex.build([ao.from_points([[0.0], [1.0]])]).save(tmp_path / "x.index")
    commands = [f"{name} {RUNS[name].replace('.npy', '.edgelist')} --no-cache --jobs" for name in MANY]
    commands.append("test a.edgelist --against b.edgelist --statistic degree --resamples 9 --jobs")
    commands.append("pairwise a.edgelist b.edgelist --attributes types --no-cache --jobs")
    runs = [[*command.split(), jobs] for command in commands for jobs in (1, 2)]
    for words, result in zip(runs, anchorot_each(*runs, cwd=tmp_path, program=WHO_READS), strict=True):
        assert_one_line(result, "read by the process of the command" if words[-1] == 1 else "read by another process")
