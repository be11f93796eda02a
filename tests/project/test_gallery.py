"""The examples of the gallery use the public API only, and run."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.requirements import ROOT, require_or_skip

EXAMPLES = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))
PUBLIC = {"anchorot", "anchorot.estimators", "anchorot.plot", "anchorot.torch"}
# Warnings are errors, as in the tests; every figure must have something drawn on it.
RUN = """
import runpy, sys, warnings
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
warnings.simplefilter("error")
shown = []
def show():
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        shown.append(any(ax.has_data() for ax in figure.axes))
    plt.close("all")
plt.show = show
runpy.run_path(sys.argv[1], run_name="__main__")
assert shown and all(shown), shown
"""


def imported(tree):
    """Names of the modules that an example imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_uses_public_names_only(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own = {name for name in imported(tree) if name.split(".")[0] == "anchorot"}
    assert own
    assert own <= PUBLIC
    private = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    assert private == []


@pytest.mark.system
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_shows_a_picture(path):
    for name in set(imported(ast.parse(path.read_text(encoding="utf-8")))):
        require_or_skip(find_spec(name.split(".")[0]) is not None, f"{name} is not installed")
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | one)
    assert done.returncode == 0, done.stderr


def test_the_gallery_has_a_place_for_every_example():
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (listed,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GALLERY"
    )
    assert sorted(ast.literal_eval(listed)) == [example.stem.removeprefix("plot_") for example in EXAMPLES]
