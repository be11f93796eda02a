"""Collections of real spaces with labels, from the folder of the data sets of the experiments."""

import tarfile
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

import anchorot as ao
from crystals import Carbon
from learning import neurons

Spaces = list[ao.Space] | list[ao.Rows]
CRYSTAL_NEIGHBORS = 50  # atoms that each atom sees, as in benchmarks/crystals.py


class Collection(NamedTuple):
    """Spaces, and what each is."""

    spaces: Spaces
    labels: np.ndarray


def tosca(folder: Path, n_points: int = 100) -> Collection:
    """147 shapes in 11 classes, geodesic distances between points that cover them; the only shark is left out."""
    files = [file for file in sorted((folder / "tosca_nonrigid3d").glob("*.mat")) if not file.stem.startswith("shark")]
    return _meshes(files, [file.stem.rstrip("0123456789") for file in files], n_points)


def shrec11(folder: Path, n_points: int = 100, per_class: int = 5) -> Collection:
    """Five of each of 30 classes of meshes."""
    with tempfile.TemporaryDirectory() as where:
        with tarfile.open(folder / "shrec11_meshcnn" / "shrec_16.tar.gz") as packed:
            packed.extractall(where, filter="data")
        files = sorted(Path(where).glob("*/*/*/*.obj"))  # .../class/train or test/name
        kinds = [file.parent.parent.name for file in files]
        chosen = [k for k, kind in enumerate(kinds) if kinds[:k].count(kind) < per_class]
        return _meshes([files[k] for k in chosen], [kinds[k] for k in chosen], n_points)


def _meshes(files: list[Path], kinds: list[str], n_points: int) -> Collection:
    return Collection([ao.from_mesh(file, n_points, rng=0) for file in files], np.array(kinds))


def digits(folder: Path, per_class: int = 15, n_points: int = 60) -> Collection:
    """MNIST: of each digit some images, as points drawn from their ink."""
    rng = np.random.default_rng(0)
    with np.load(folder / "mnist_100_per_class.npz") as file:
        images, kinds = file["x"], file["y"]
    chosen = np.concatenate([np.flatnonzero(kinds == kind)[:per_class] for kind in range(10)])
    spaces = []
    for image in images[chosen].astype(float):
        ink = image.ravel() / image.sum()
        size = min(n_points, np.count_nonzero(ink))
        places = rng.choice(image.size, size, replace=False, p=ink)
        spaces.append(ao.from_points(np.column_stack(np.divmod(places, image.shape[1]))))
    return Collection(spaces, kinds[chosen])


def trees(folder: Path) -> Collection:
    """97 neurons, distances along their trees between 50 points of each; spiny or aspiny."""
    return Collection(*neurons(folder / "neurons"))


def enzymes(folder: Path, per_class: int = 25) -> Collection:
    """Graphs of enzymes in six classes, all of one component: lengths of shortest paths, of 2 to 126 nodes."""
    graphs = ao.io.read_tu(folder / "tu" / "ENZYMES")
    kinds = np.asarray(graphs.labels)
    chosen: list[int] = []
    for kind in np.unique(kinds):
        chosen += [k for k in np.flatnonzero(kinds == kind) if _is_connected(graphs.graphs[k])][:per_class]
    return Collection([ao.from_graph(graphs.graphs[k]) for k in chosen], kinds[chosen])


def _is_connected(graph: object) -> bool:
    return bool(connected_components(graph, directed=False)[0] == 1)


def carbon(folder: Path) -> Collection:
    """4 062 crystals of 6 to 24 atoms, distances to their 50 nearest; no classes."""
    structures = Carbon(folder / "crystals")
    count = len(structures.cells)
    return Collection([structures.rows(k, CRYSTAL_NEIGHBORS) for k in range(count)], np.zeros(count, int))


def tissues(folder: Path, n_cells: int = 100, per_image: int = 1) -> Collection:
    """120 images of pancreas, distances between 100 of the cells of each; three stages of diabetes."""
    rng = np.random.default_rng(0)
    with np.load(folder / "tissue" / "pancreas_imc.npz") as file:
        points, image, stage = np.column_stack([file["x"], file["y"]]), file["imageID"], file["stage"]
    spaces, kinds = [], []
    for each in np.unique(image):
        cells = np.flatnonzero(image == each)
        chosen = rng.choice(cells, n_cells * min(per_image, len(cells) // n_cells), replace=False)
        for some in chosen.reshape(-1, n_cells):  # no cell is in two of them
            spaces.append(ao.from_points(points[some].astype(float)))
            kinds.append(stage[cells[0]])
    return Collection(spaces, np.array(kinds))


COLLECTIONS: dict[str, Callable[[Path], Collection]] = {
    "TOSCA": tosca,
    "SHREC'11": shrec11,
    "MNIST": digits,
    "neurons": trees,
    "ENZYMES": enzymes,
    "tissue": tissues,
}


LARGE_COLLECTIONS: dict[str, Callable[[Path], Collection]] = {
    "carbon_24": carbon,
    "SHREC'11, all": partial(shrec11, per_class=20),
    "MNIST, all": partial(digits, per_class=100),
    "ENZYMES, all": partial(enzymes, per_class=100),
    "neurons, all": trees,
    "tissue, ten samples of each": partial(tissues, per_image=10),
}


def collection(name: str, folder: Path) -> Collection:
    """Read a collection."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.InputWarning)  # some shapes have small loose parts
        return (COLLECTIONS | LARGE_COLLECTIONS)[name](folder)
