"""The command line, run as a user runs it; and what is true of all its commands."""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
from typer.main import get_command

import anchorot as ao
from anchorot.cli import app
from tests.fork_server import fork_server
from tests.requirements import GOLDEN, require_or_skip

PAIR = [str(GOLDEN / "authors_1.txt"), str(GOLDEN / "authors_2.txt")]
PROGRAM = "from anchorot.cli import main; main()"
# Let meshes of few vertices be aligned as large ones are.
FEW = "import anchorot.cli.match; from anchorot.cli import main; import sys; "
FEW += "sys.modules['anchorot.cli.match'].LARGE_MESH = 50; "
EACH = """
import io, json, sys
from anchorot.cli import main
stdout, results = sys.stdout, []
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    try:
        main()
    except SystemExit as end:
        output = {}
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            stream.flush()
            output[name] = stream.buffer.getvalue().decode("utf-8", "surrogateescape")
        results.append({"returncode": end.code, **output})
stdout.write(json.dumps(results))
"""


def anchorot(*arguments, cwd=None, program=PROGRAM, fresh=False, **environment):
    """Run a command in its own process; `program` may change something before it calls main().

    The process has imported the command line already, unless it is to be a fresh one.
    """
    words, environment = [*map(str, arguments)], os.environ | {"COLUMNS": "100"} | environment
    if fresh or sys.platform != "linux":
        command = [sys.executable, "-c", program, *words]
        return subprocess.run(
            command, capture_output=True, text=True, errors="surrogateescape", cwd=cwd, check=False, env=environment
        )
    is_command = "cli import main" in program and "-h" not in "".join(words)
    works_on_tensors = is_command and "barycenter" in "".join(words[:1])
    ahead = ["torch", "torch._dynamo"] if works_on_tensors else []  # which take seconds to import
    status, said, errors = fork_server(*ahead).run(program, words, os.fspath(cwd or os.getcwd()), environment)
    return SimpleNamespace(returncode=status, stdout=said, stderr=errors)


def anchorot_each(*runs, cwd=None, program=""):
    """Run several commands one after the other in one process, which saves the time to start; a result for each."""
    done = anchorot(json.dumps([[*map(str, words)] for words in runs]), cwd=cwd, program=program + EACH)
    assert done.returncode == 0, done.stderr
    return [SimpleNamespace(**result) for result in json.loads(done.stdout)]


def find_commands(command=None, words=()):
    """All commands that do something, with the words that call them: what the program has, not what a list says."""
    command = get_command(app) if command is None else command
    below = getattr(command, "commands", None)
    if below is None:
        return {" ".join(words): command}
    return {name: c for word, sub in below.items() for name, c in find_commands(sub, (*words, word)).items()}


COMMANDS = find_commands()
# Words that make each command work in a folder that `write_inputs` has filled.
RUNS = {
    "compare": "a.npy b.npy",
    "match": "a.npy b.npy",
    "pairwise": "a.npy b.npy",
    "convert": "a.npy b.npy -o spaces",
    "duplicates": "a.npy b.npy --threshold 0.1",
    "embed": "a.npy b.npy -o E.npz",
    "search build": "a.npy b.npy -o new.index",
    "search query": "x.index a.npy",
    "search add": "x.index a.npy",
    "search remove": "x.index b.npy",
    "search compact": "x.index",
    "test": "a.npy a.npy a.npy a.npy --against b.npy b.npy b.npy b.npy --statistic anchors --resamples 40",
    "barycenter": "a.npy b.npy -o mean.csv --support 3 --max-iter 2",
    "demo": "--n-points 6 -o demo.png",
    "cache info": "",
    "cache clear": "",
    "config": "",
}


INPUTS = {("match", "--seeds")}  # options that name a file to read


def output_options():
    """Every option of every command that names a file or a folder to write, with an ending that it takes."""
    for name in RUNS:
        hints = get_type_hints(inspect.unwrap(COMMANDS[name].callback), include_extras=True)
        for option in COMMANDS[name].params:
            kind = get_args(hints.get(option.name, None) or int)
            is_input = (name, option.opts[0]) in INPUTS
            if option.param_type_name == "option" and not is_input and kind and kind[0] in (Path, Path | None):
                ending = re.search(r"\.[a-z]+", option.help)
                yield name, option.opts[0], ending[0] if ending else ""


OUTPUTS = list(output_options())
FOLDERS = {("pairwise", "--checkpoint"), ("convert", "--output")}  # which are made


def with_output(name, option, value):
    """Words of a command with an output option set, in place of the one it may have."""
    words = RUNS[name].split()
    if option == "--output" and "-o" in words:
        at = words.index("-o")
        del words[at : at + 2]
    return [*name.split(), *words, option, value]


MAKE_NO_SPACES = ("search remove", "search compact")
AT_WORK = [name for name in RUNS if name not in MAKE_NO_SPACES and name.split()[0] not in ("cache", "config")]
# Do something at the moment when a command has made a space.
MIDDLE = """
import os, signal, threading, anchorot.space
made, first = anchorot.space.Space.__init__, threading.Lock()
def middle(self, *arguments, **options):
    made(self, *arguments, **options)
    {}
anchorot.space.Space.__init__ = middle
"""


def need_extras(*names):
    """Skip a test if a package that these commands need is not there."""
    for name in names:
        package = {"barycenter": "torch", "demo": "matplotlib"}.get(name, "numpy")
        require_or_skip(find_spec(package) is not None, f"{package} is not installed")


def write_inputs(folder, a="a.npy", b="b.npy"):
    """Write what the words of `RUNS` speak of, and return the folder."""
    rng = np.random.default_rng(0)
    spaces = [ao.from_points(rng.normal(size=(n, 2))) for n in (5, 4)]
    for name, space in zip((a, b), spaces, strict=True):
        np.save(folder / name, space.cost)
    ao.SearchIndex.build(spaces, ["old.npy", b]).save(folder / "x.index")
    return folder


def assert_one_line(result, *parts, status=2):
    assert result.returncode == status, result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("anchorot")
    assert all(part in result.stderr for part in parts), result.stderr


def write_lines(folder):
    """Three small spaces in files: a, a moved copy of it, and another."""
    np.savetxt(folder / "line1.csv", ao.from_points([[0.0], [1.0], [3.0]]).cost, delimiter=",")
    np.savetxt(folder / "line2.csv", ao.from_points([[5.0], [2.0], [6.0]]).cost, delimiter=",")
    np.savetxt(folder / "dots10.csv", ao.from_points([[0.0], [9.0]]).cost, delimiter=",")
    return [folder / name for name in ("line1.csv", "line2.csv", "dots10.csv")]
