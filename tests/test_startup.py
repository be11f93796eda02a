"""Importing the package: nothing heavy, and Ctrl-C during it is one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import anchorot as ao


def test_start_up_loads_nothing_heavy():
    program = (
        "import sys, anchorot.cli as cli\n"
        "for words in ('--version', '--help', 'compare --help', 'match --help'):\n"
        "    sys.argv = ['anchorot', *words.split()]\n"
        "    try: cli.main()\n"
        "    except SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr.split()
    )
    assert "typer" in loaded
    assert not loaded & (HEAVY - {"typer", "rich", "click"})


SCRIPT = "from anchorot.cli import main\nmain()\n"  # what pip writes into bin/anchorot


@pytest.mark.system
@pytest.mark.parametrize("imported", ["numpy", "typer"])  # by the package, and by its command line
@pytest.mark.parametrize("words", [["-m", "anchorot"], ["bin/anchorot"]])
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path, words, imported):
    result = interrupt_import(tmp_path, imported, SCRIPT, *words, "config")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "anchorot: interrupted\n")


@pytest.mark.system
@pytest.mark.parametrize("words", [["-m", "other"], ["bin/other"]])
def test_ctrl_c_while_other_programs_import_anchorot_is_theirs(tmp_path, words):
    script = "try:\n    import anchorot\nexcept KeyboardInterrupt:\n    raise SystemExit('theirs') from None\n"
    result = interrupt_import(tmp_path, "numpy", script, *words)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "theirs\n")


def interrupt_import(folder, imported, script, *words):
    """Run Python with these words, and send it Ctrl-C while it imports a package."""
    stand_in = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    for name, text in {
        f"{imported}.py": stand_in,
        "bin/anchorot": script,
        "bin/other": script,
        "other/__init__.py": script,
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    found = os.pathsep.join([str(folder), str(Path(ao.__file__).parents[1])])
    command, environment = [sys.executable, *words], os.environ | {"PYTHONPATH": found}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


HEAVY = {
    "scipy",
    "matplotlib",
    "typer",
    "rich",
    "click",
    "torch",
    "sklearn",
    "ot",
    "networkx",
    "dask",
    "pandas",
    "trimesh",
    "rustworkx",
    "igraph",
    "anndata",
    "h5py",
    "plotly",
    "faiss",
    "distributed",
}


def modules_after(statement):
    program = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_import_loads_nothing_heavy():
    loaded = modules_after("import anchorot")
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_anchor_energy_needs_numpy_alone():
    assert not modules_after("import anchorot; anchorot.anchor_energy([[0.0]], [[1.0]])") & HEAVY
