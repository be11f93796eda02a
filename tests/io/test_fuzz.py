"""Mutated files of every format; `nox -s fuzz -- --cases 100000` tries more."""

import os
import sys

import pytest

from tests.fork_server import fork_server
from tests.io.fuzz import FORMATS, fuzz, run_anew

pytestmark = pytest.mark.system

CASES = 160  # the same each time; `nox -s fuzz` looks at others


def run_forked(*words):
    """The same in a process that has imported already, which takes longer than the cases do."""
    server = fork_server("networkx", "scipy.io", "trimesh")
    return server.run("from tests.io.fuzz import main; main()", words, os.getcwd(), dict(os.environ))[::2]


@pytest.mark.parametrize("ending", FORMATS)
def test_mutated_files_raise_only_our_errors(ending):
    run = run_forked if sys.platform == "linux" else run_anew
    assert fuzz(ending, CASES, run=run) == []
