"""Import every module, and read, compare, search and write a little; `test_portable.py` runs it without POSIX."""

import importlib
import os
import pkgutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import anchorot as ao
from anchorot._parallel import Processes
from anchorot.io.files import Readers, Unread
from anchorot.io.options import ReadOptions


def import_all() -> None:
    """Import every module of anchorot whose packages are installed."""
    assert not hasattr(os, "fork")
    for module in pkgutil.walk_packages(ao.__path__, "anchorot."):
        package = module.name.split(".")[1]
        needed = {"torch": "torch", "estimators": "sklearn"}.get(package)
        if module.name != "anchorot.__main__" and (needed is None or find_spec(needed) is not None):
            importlib.import_module(module.name)


def compare_and_write(folder: Path) -> None:
    """Compare spaces of files, by threads and by processes, and write them."""
    rng = np.random.default_rng(0)
    spaces = [ao.from_points(rng.normal(size=(12, 2))) for _ in range(4)]
    paths = [folder / f"{k}.npz" for k in range(4)]
    for path, space in zip(paths, spaces, strict=True):
        ao.write(space, path)
    wanted = ao.pairwise(spaces)
    for how in ({"n_jobs": 2}, {"n_jobs": 2, "backend": "processes"}, {"checkpoint": folder / "tiles"}):
        np.testing.assert_array_equal(ao.pairwise(paths, **how), wanted)
    with Readers(2, 10**9) as readers:
        mesh = folder / "square.off"
        mesh.write_text("OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n" + "# \n" * 5000)
        if find_spec("trimesh") is not None:
            assert readers.read(Unread(mesh, ReadOptions(geodesic="edge", cache=True))).n == 4
    with Processes(2) as processes:
        assert dict(processes.map(abs, [-1, -2])) == {-1: 1, -2: 2}
    assert ao.align(spaces[0], spaces[0]).matches.tolist() == list(range(12))


def read_guarded(folder: Path) -> None:
    """Read a file by a library that has its own process, and keep it in the cache."""
    from scipy.io import savemat

    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    corner = np.arange(400).reshape(20, 20)[:-1, :-1].ravel()
    faces = np.concatenate([[corner, corner + 1, corner + 20], [corner + 21, corner + 20, corner + 1]], axis=1).T + 1
    surface = {"X": x.ravel(), "Y": y.ravel(), "Z": 0 * x.ravel(), "TRIV": faces}
    savemat(folder / "grid.mat", {"surface": surface})
    first, again = (ao.read(folder / "grid.mat", geodesic="edge", n_points=9, rng=0, cache=True) for _ in range(2))
    np.testing.assert_array_equal(first.cost, again.cost)


def search(folder: Path) -> None:
    """Build, save, load, change and ask an index."""
    rng = np.random.default_rng(0)
    spaces = [ao.from_points(rng.normal(size=(8, 2))) for _ in range(20)]
    ao.SearchIndex.build(spaces).save(folder / "x.index")
    index = ao.SearchIndex.load(folder / "x.index")
    index.add(spaces[:1])
    assert index.query(spaces[3], k=1).index.tolist() == [3]


def main(part: str, folder: str) -> None:
    """Run one of the parts above."""
    if part == "import":
        import_all()
    else:
        {"compare": compare_and_write, "guarded": read_guarded, "search": search}[part](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
