"""The shapes of the database, and the queries made from them: scaled, and scaled with noise."""

import tarfile
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import anchorot as ao

SCALES = {1: 0.9, 2: 1.2, 3: 0.7, 4: 1.75, 5: 0.5}  # of SHREC's levels, measured on its official files
LEVELS = tuple(sorted(SCALES, key=lambda level: SCALES[level]))  # by size
NOISE = 3.43e-4  # at level k, times 3k + 1: deviation of a coordinate as a share of the bounding box's diagonal
KINDS = ("scale", "scale + noise")


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices (N, 3) and faces (F, 3)."""

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]

    @property
    def diagonal(self) -> float:
        """Length of the diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    def scaled(self, factor: float) -> "Mesh":
        """Return the mesh in another size."""
        return Mesh(self.vertices * factor, self.faces)

    def noisy(self, share: float, rng: np.random.Generator) -> "Mesh":
        """Move every vertex along its normal by Gaussian noise, of deviation sqrt(3) shares of the diagonal.

        So a share is the deviation of a coordinate, where normals point in all directions alike.
        """
        sigma = np.sqrt(3) * share * self.diagonal
        moves = rng.normal(scale=sigma, size=(len(self.vertices), 1))
        return Mesh(self.vertices + moves * self.normals(), self.faces)

    def normals(self) -> NDArray[np.float64]:
        """Return the unit normal of every vertex: the mean of its faces' ones, by area."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        total = np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(total, self.faces[:, k], np.cross(b - a, c - a))
        lengths = np.linalg.norm(total, axis=1, keepdims=True)
        return np.divide(total, lengths, out=total, where=lengths > 0)

    def space(self, points: NDArray[np.int64]) -> ao.Space:
        """Return these vertices with distances along the surface."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.InputWarning)  # small loose parts are left out
            return ao.from_mesh((self.vertices, self.faces), points=points)

    def draw(self, n_points: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw vertices of the largest component uniformly, none of them twice."""
        edges = np.concatenate([self.faces[:, [0, 1]], self.faces[:, [1, 2]]])
        n = len(self.vertices)
        _, part = connected_components(coo_array((np.ones(len(edges)), tuple(edges.T)), (n, n)), directed=False)
        return rng.choice(np.flatnonzero(part == np.bincount(part).argmax()), n_points, replace=False)


def noise_share(level: int) -> float:
    """Return the deviation of a coordinate by SHREC's noise, as a share of the diagonal of the bounding box."""
    return NOISE * (3 * level + 1)


def query(mesh: Mesh, level: int, kind: str, rng: np.random.Generator) -> Mesh:
    """Transform a shape of the database as SHREC does at this level."""
    scaled = mesh.scaled(SCALES[level])
    return scaled if kind == "scale" else scaled.noisy(noise_share(level), rng)


def with_outliers(space: ao.Space, share: float, rng: np.random.Generator) -> ao.Space:
    """Put a share of the points, at least one unless it is 0, at the ends of spikes twice as long as the shape is wide.

    What a scanner or a broken mesh does: all costs of such a point grow by that length, those of others stay.
    """
    n_outliers = int(np.ceil(share * space.n))
    spikes = np.zeros(space.n)
    spikes[rng.choice(space.n, n_outliers, replace=False)] = 2 * space.cost.max()
    longer = space.cost + spikes[:, None] + spikes
    np.fill_diagonal(longer, 0)
    return ao.Space(longer)


def tosca(folder: Path) -> dict[str, list[Path]]:
    """Return the TOSCA files of every class."""
    classes = defaultdict(list)
    for file in sorted(folder.glob("*.mat")):
        classes[file.stem.rstrip("0123456789")].append(file)
    return dict(classes)


def shrec11(archive: Path) -> dict[str, list[str]]:
    """Return the members of the SHREC'11 archive of every class."""
    classes = defaultdict(list)
    with tarfile.open(archive) as tar:
        for name in sorted(member.name for member in tar.getmembers() if member.name.endswith(".obj")):
            classes[name.split("/")[1]].append(name)
    return dict(classes)


def read_tosca(files: list[Path]) -> list[Mesh]:
    """Read TOSCA shapes."""
    return [_read(file) for file in files]


def read_shrec11(archive: Path, members: list[str]) -> list[Mesh]:
    """Read shapes out of the SHREC'11 archive."""
    with TemporaryDirectory() as folder, tarfile.open(archive) as tar:
        for member in members:
            tar.extract(member, folder, filter="data")
        return [_read(Path(folder) / member) for member in members]


def read_official(file: Path) -> Mesh:
    """Read an official SHREC mesh."""
    with np.load(file) as arrays:
        return Mesh(arrays["V"].astype(np.float64), arrays["F"].astype(np.int64))


def _read(file: Path) -> Mesh:
    """Read a mesh file by anchorot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.InputWarning)  # some TOSCA shapes have small loose parts
        geometry = ao.read(file, n_points=2, sampling="uniform", rng=0).geometry
    if geometry is None or geometry.positions is None or geometry.faces is None:
        raise ao.InputError(f"{file}: got no triangles, but a mesh is needed")
    return Mesh(geometry.positions, geometry.faces)
