"""The hash that a result carries: of what its figures depend on, and of nothing else."""

import shutil

import pytest

from experiments.common import code
from experiments.common.code import code_hash, dependencies
from experiments.common.rules import NAMES, RULES
from tests.requirements import ROOT


@pytest.fixture
def checkout(tmp_path):
    """A small project: an experiment, what it imports, and what it does not."""
    files = {
        "experiments/power/experiment.py": "import anchorot as ao\nfrom experiments.common.pot import solve\n"
        "ao.align(solve)\n",
        "experiments/power/drawing.py": "COLOUR = 1\n",
        "experiments/common/pot.py": "def solve():\n    return 1\n",
        "src/anchorot/__init__.py": "from anchorot.aligning import align\nfrom anchorot.reading import read\n",
        "src/anchorot/aligning.py": "from anchorot.helping import help_it\n\ndef align(x):\n    return help_it(x)\n",
        "src/anchorot/helping.py": "def help_it(x):\n    return x\n",
        "src/anchorot/reading.py": "def read(x):\n    return x\n",
        "native/sweep.cpp": "int main() {}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def changed(checkout, name, old, new):
    """Return whether the hash is another after a change to a file."""
    before = hashed(checkout)
    path = checkout / name
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return hashed(checkout) != before


def hashed(checkout):
    for kept in (code.imported, code._tree, code._public, code._content):
        kept.cache_clear()
    return code_hash("power", checkout)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("experiments/power/experiment.py", "solve)", "solve, 1)"),
        ("experiments/common/pot.py", "return 1", "return 2"),
        ("src/anchorot/aligning.py", "help_it(x)\n", "help_it(x + 1)\n"),
        ("src/anchorot/helping.py", "return x", "return x + 1"),
        ("native/sweep.cpp", "{}", "{ return 1; }"),
    ],
)
def test_what_figures_depend_on_changes_the_hash(name, old, new, checkout):
    assert changed(checkout, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("src/anchorot/reading.py", "return x", "return x + 1"),  # which the experiment does not name
        ("src/anchorot/helping.py", "def help_it(x):\n", 'def help_it(x):\n    """Help."""\n    # so\n'),
        ("experiments/power/drawing.py", "1", "2"),
    ],
)
def test_prose_plots_and_other_packages_do_not_change_the_hash(name, old, new, checkout):
    assert not changed(checkout, name, old, new)


def test_rules_of_the_experiment_count_and_those_of_others_do_not(checkout, monkeypatch):
    before = hashed(checkout)
    monkeypatch.setitem(RULES, "trade_off.aw", RULES["power.level"])
    assert hashed(checkout) == before
    monkeypatch.setitem(RULES, "power.level", RULES["power.ae_blind"])
    assert hashed(checkout) != before


def test_benchmarks_that_an_experiment_calls_count():
    found = {path.relative_to(ROOT).as_posix() for path in dependencies("networks")}
    assert {"benchmarks/networks.py", "benchmarks/measure.py", "src/anchorot/align/graphs/pipeline.py"} <= found
    assert "benchmarks/surfaces.py" not in found


def test_every_experiment_depends_on_its_own_folder():
    for name in NAMES:
        assert ROOT / "experiments" / name / "experiment.py" in dependencies(name)


def test_a_copy_of_the_checkout_has_the_same_hash(checkout, tmp_path_factory):
    other = tmp_path_factory.mktemp("copy") / "checkout"
    shutil.copytree(checkout, other)
    assert code_hash("power", other) == hashed(checkout)
