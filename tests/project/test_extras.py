"""Every optional package that is missing is named in one line, by the extra that brings it."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest

import anchorot as ao
from tests.command_line import anchorot
from tests.requirements import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"docs", "experiments", "test"}
# The extra, a package of it, and something that needs this one.
NEEDS = [
    ("cells", "h5py", "ao.read('cells.h5ad')"),
    ("crystal", "gemmi", "ao.read('salt.cif')"),
    ("dask", "distributed", "main(['pairwise', 'x.npz', 'x.npz', '--dask', 'tcp://127.0.0.1:1'])"),
    ("exact", "pygeodesic", "ao.from_mesh('box.off', geodesic='exact')"),
    ("graph", "networkx", "ao.read('graph.graphml')"),
    ("learn", "sklearn", "ao.estimators"),
    ("learn", "sklearn", "from anchorot.estimators import AnchorKernel"),
    ("mesh", "trimesh", "ao.read('box.stl')"),
    ("plot", "matplotlib", "ao.plot.distance_map([[0.0]])"),
    ("plot", "matplotlib", "ao.plot.new_figure(1, 1)"),
    ("plot", "matplotlib", "from anchorot.plot import shape; shape(x)"),
    ("pot", "ot", "ao.gromov_wasserstein(x, x, start='product')"),
    ("pot", "ot", "ao.anchor_wasserstein(x, x.take([0, 1]), epsilon=0)"),
    ("pot", "ot", "ao.align(x, x.take([0, 1]))"),
    ("report", "plotly", "import anchorot.report; anchorot.report.write_report('r.html', x, x, ao.align(x, x))"),
    ("search", "faiss", "ao.SearchIndex.build([x])"),
    ("torch", "torch", "ao.torch"),
    ("torch", "torch", "import anchorot.torch"),
    ("torch", "torch", "ao.barycenter([x], n_points=3)"),
    ("torch", "torch", "ao.align(x, x, device='cpu')"),
]
# Modules that would have noticed when they were imported are forgotten as well.
PROGRAM = """
import json, os, sys
import anchorot as ao
from anchorot.cli import app
def main(words):
    app(words, standalone_mode=False)
found, modules = [], ("anchorot.estimators", "anchorot.torch", "anchorot.plot")
x = ao.from_points([[0, 0], [0, 1], [2, 0]])
for extra, package, need in json.loads(sys.argv[1]):
    def hidden(name):
        return name.partition(".")[0] == package or name.startswith(modules)
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if hidden(name)}
    sys.modules[package] = None
    try:
        exec(need)
        found.append("nothing")
    except ao.MissingExtraError as error:
        found.append(str(error))
    except BaseException as error:
        found.append(repr(error))
    del sys.modules[package]
    sys.modules.update(kept)
print(json.dumps(found))
"""
BOX = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("cells.h5ad", "graph.graphml", "box.stl", "salt.cif"):
        (tmp_path / name).write_text("x")
    (tmp_path / "box.off").write_text(BOX)
    ao.write(ao.from_points([[0.0], [1.0]]), tmp_path / "x.npz")
    return tmp_path


def test_every_extra_that_is_missing_names_itself_in_one_line(folder):
    done = anchorot(json.dumps(NEEDS), cwd=folder, program=PROGRAM)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    unlike = {
        need: said
        for (extra, _, need), said in zip(NEEDS, found, strict=True)
        if not said.endswith(f" is not installed; get it with: pip install 'anchorot[{extra}]'") or "\n" in said
    }
    assert not unlike


@pytest.mark.system
def test_the_line_that_the_error_names_works_where_no_index_has_anchorot(tmp_path):
    line = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "anchorot[learn]"]
    subprocess.run(line, cwd=tmp_path, check=True)  # no folder with a clone in it


def test_every_extra_is_covered():
    assert {extra for extra, *_ in NEEDS} == EXTRAS.keys() - {"all"} - FOR_DEVELOPERS


def test_all_brings_every_extra_but_torch_as_the_readme_says():
    (everything,) = EXTRAS["all"]
    named = everything.removeprefix("anchorot[").removesuffix("]").split(",")
    assert set(named) == EXTRAS.keys() - {"all", "torch"} - FOR_DEVELOPERS
    for page in (ROOT / "README.md", ROOT / "docs" / "formats.md"):
        paragraphs = [part for part in page.read_text().split("\n\n") if "[all]'" in part]
        assert any("PyTorch" in part for part in paragraphs), page.name


def imported(page):
    """Packages that the code on a page imports."""
    blocks = re.findall(r"^```(?:python|pycon)$(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    words = re.findall(r"^(?:>>> )?(?:import|from) (\w+)", "\n".join(blocks), re.MULTILINE)
    return {word for word in words if word not in sys.stdlib_module_names and word not in ("anchorot", "experiments")}


def test_extras_bring_all_that_pages_import():
    packages = metadata.packages_distributions()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    users = [line for extra, lines in EXTRAS.items() if extra not in FOR_DEVELOPERS for line in lines]
    brought = {re.match(r"[\w-]+", line)[0].lower() for line in project["dependencies"] + users}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    wanted = {(page.name, name) for page in pages for name in imported(page)}
    assert ("cells.md", "anndata") in wanted
    lacking = {(page, name) for page, name in wanted if not {d.lower() for d in packages.get(name, [name])} & brought}
    assert not lacking
