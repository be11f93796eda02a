"""Windows and macOS by construction: nothing needs what only POSIX, or only Linux, has."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import anchorot

pytestmark = pytest.mark.system

HERE = Path(__file__).parent
SOURCES = sorted(Path(anchorot.__file__).parent.rglob("*.py"))


def run_without_posix(folder, *command, **options):
    environment = os.environ | {"PYTHONPATH": str(HERE / "without_posix"), "ANCHOROT_CACHE": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, env=environment, cwd=folder, **options
    )


def head(node):
    return ast.unparse(node.items[0]) if isinstance(node, ast.With) else ""


def test_modules_of_posix_are_imported_only_where_others_may_lack_them():
    lacking = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios"}
    for file in SOURCES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        guards = [part for part in ast.walk(tree) if isinstance(part, ast.Try) or "suppress(ImportError)" in head(part)]
        tried = {id(node) for part in guards for node in ast.walk(part)}
        for node in ast.walk(tree):
            named = {each.name for each in node.names} if isinstance(node, ast.Import) else set()
            named |= {node.module} if isinstance(node, ast.ImportFrom) else set()
            assert not named & lacking or id(node) in tried, f"{file.name} imports {named & lacking}"


@pytest.mark.parametrize("part", ["import", "compare", "guarded", "search"])
def test_what_only_posix_has_is_not_needed(tmp_path, part):
    if part == "search":
        pytest.importorskip("faiss")
    done = run_without_posix(tmp_path, HERE / "portable_calls.py", part, tmp_path)
    assert done.returncode == 0, done.stderr


def test_commands_end_as_elsewhere_without_posix(tmp_path):
    (tmp_path / "a.csv").write_text("0,1\n1,0\n")
    (tmp_path / "bad.csv").write_text("0,1\n1\n")
    good = run_without_posix(tmp_path, "-m", "anchorot", "compare", "a.csv", "a.csv", "--json")
    assert (good.returncode, good.stderr) == (0, "")
    bad = run_without_posix(tmp_path, "-m", "anchorot", "compare", "a.csv", "bad.csv")
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
