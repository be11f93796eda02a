"""The tasks of this project. `nox` runs them all in the environment that nox itself is installed in."""

import os
import sys
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "imports", "tests", "tests_numpy", "no_compiler"]
PYTHON = sys.executable


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.run(PYTHON, "-m", "ruff", "check", ".")
    session.run(PYTHON, "-m", "ruff", "format", "--check", ".")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Static types."""
    session.run(PYTHON, "-m", "mypy", "src/anchorot", "experiments")


@nox.session(venv_backend="none")
def imports(session: nox.Session) -> None:
    """The arrows of the house: which module may import which."""
    session.run(PYTHON, "-c", "from importlinter.cli import lint_imports_command as run; run()")


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """The tests, with the kernels that were built."""
    session.run(PYTHON, "-m", "pytest", *session.posargs)


@nox.session(venv_backend="none")
def tests_numpy(session: nox.Session) -> None:
    """The tests in which kernels matter, with the NumPy kernels."""
    options = ("-m", "not kernel_free", *session.posargs)
    session.run(PYTHON, "-m", "pytest", *options, env={"ANCHOROT_KERNELS": "numpy"})


@nox.session(venv_backend="none")
def no_compiler(session: nox.Session) -> None:
    """Install where no C++ compiler works: the install succeeds, the NumPy kernels serve."""
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        session.run(PYTHON, "-m", "venv", str(venv))
        python = str(venv / ("Scripts" if os.name == "nt" else "bin") / "python")
        broken = {"CC": "no-such-compiler", "CXX": "no-such-compiler"}
        session.run(python, "-m", "pip", "install", "--quiet", ".", env=broken)
        check = "import anchorot; anchorot.show_config(); assert anchorot.config.config()['kernels'] == 'numpy'"
        session.run(python, "-c", check + "; print(anchorot.anchor_energy([[0, 1], [1, 0]], [[0, 2], [2, 0]]))")


@nox.session(venv_backend="none")
def fuzz(session: nox.Session) -> None:
    """Mutated files of every format, `-- --cases 100000` of each; not run by default (the tests run a few thousand)."""
    session.run(PYTHON, "tests/fuzz.py", *session.posargs)


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """The benchmarks; not run by default."""
    session.run(PYTHON, "benchmarks/run.py", *session.posargs)
