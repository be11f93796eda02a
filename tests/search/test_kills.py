"""Processes that are killed while they change an index leave the old one or the new one."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import anchorot as ao
from tests.requirements import ROOT, require_or_skip
from tests.search.expected import brute_force, pairs
from tests.strategies import clouds

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are preloaded in other ways there"),
]


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    """A library that ends a process at its k-th write."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    require_or_skip(compiler, "there is no C compiler")
    library = tmp_path_factory.mktemp("killer") / "killed_writes.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, ROOT / "tests/search/killed_writes.c", "-ldl"], check=True
    )
    return library


@pytest.mark.parametrize("act", ["add", "remove", "compact", "build", "build another", "save"])
def test_a_process_that_is_killed_at_any_write_leaves_the_old_or_the_new_index(act, tmp_path, killer):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.search.killed_writes", str(tmp_path), act],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(killer)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert all(int(calls) > 5 for calls in done.stdout.split())


FOREVER = """
import sys
import anchorot as ao
from tests.strategies import clouds

many, index = clouds(30), ao.SearchIndex.load(sys.argv[1])
print("begun", flush=True)
while True:
    ids = index.add(many[10:])
    index.remove(ids)
    index.compact()
"""


def test_processes_that_are_killed_at_any_moment_disturb_no_reader(tmp_path):
    many, rng = clouds(10), random.Random(time.time_ns())
    reader = ao.SearchIndex.build(many, path=tmp_path / "x")
    right = brute_force(many[3], many, 10)
    for _ in range(4):
        command = [sys.executable, "-W", "ignore", "-c", FOREVER, str(tmp_path / "x")]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for each in (reader, ao.SearchIndex.load(tmp_path / "x")):
            assert len(each) in (10, 30)
            found = pairs(each.query(many[3], len(each)))
            assert [pair for pair in found if pair[1] < 10] == right
        reader.remove([i for i in reader.ids.tolist() if i >= 10])
    reader.remove([0])  # tidies up whatever the last one left
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
