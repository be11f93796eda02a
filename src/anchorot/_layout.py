"""Positions of points and order of categories for figures and reports."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._rescale import in_unit_range
from anchorot._typing import Float64s, Int64s
from anchorot._validate import uniform_weights
from anchorot.align.embeddings.result import EmbeddingAlignment, check_embedding
from anchorot.align.embeddings.sides import unit_rows
from anchorot.align.plans import encode_labels
from anchorot.distances.landmarks import SpaceDistances
from anchorot.distances.lazy_distances import MeshDistances, PointDistances, distances_of, is_mesh
from anchorot.exceptions import InputError
from anchorot.geometry import Geometry
from anchorot.io.files import read
from anchorot.io.mesh_files import MESH_READERS
from anchorot.io.meshes import about_file, check_mesh, open_mesh
from anchorot.io.names import ending_of
from anchorot.provenance import Origin
from anchorot.space import Space

LARGEST_UNIT = 2.0**900  # largest unit of costs that keep their scale; larger costs are drawn smaller
MAX_RATIO = 100.0  # times the median distance; larger distances are cut to this
MAX_JOINT_POINTS = 600  # points laid out together; each further point is placed by its distances to these
PLACEMENT_STEPS = 30  # of majorisation, each of which lowers the stress; not tuned
TIE_BREAK = 1e-3  # of the largest distance: keeps categories without common matches in their given order
MAX_ORDERED = 300  # categories up to which the order of the clusters is optimised


@dataclass(frozen=True, eq=False)
class Whole:
    """A mesh or cloud that is drawn with all its points, without costs between them."""

    geometry: Geometry
    labels: tuple[object, ...] | None = None
    origin: Origin | None = None
    is_common: NDArray[np.bool_] | None = None  # (E,): which edges the aligned network also has

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.geometry.index)

    @property
    def weights(self) -> Float64s:
        """Uniform weights."""
        return uniform_weights(self.n)


Drawable = Space | Whole


def drawable(data: Any) -> Drawable:
    """Turn any input of `align` into a drawable: spaces, cost matrices, meshes, clouds, and files of these."""
    if isinstance(data, Space | Whole):
        return data
    if isinstance(data, str | os.PathLike) and ending_of(Path(data)) not in MESH_READERS:
        return read(data)
    if isinstance(data, str | os.PathLike) or is_mesh(data):
        mesh = open_mesh(data)
        with about_file(data):
            vertices, faces = check_mesh(mesh.vertices, mesh.faces)
        return Whole(Geometry(np.arange(len(vertices)), len(vertices), vertices, faces=faces))
    source = distances_of(data)
    if isinstance(source, MeshDistances | PointDistances):
        return Whole(source.geometry)
    assert isinstance(source, SpaceDistances)
    return source.whole


@dataclass(frozen=True, eq=False)
class Scene:
    """The drawing of a space: N sites in 2-D or 3-D, with faces or edges."""

    positions: Float64s  # (N, 2) or (N, 3)
    index: Int64s  # (n,): the site of each of the space's points
    faces: Int64s | None  # (F, 3)
    edges: Int64s | None  # (E, 2)
    is_free: bool  # whether the orientation is arbitrary: a layout, or a cloud


def scene(space: Drawable) -> Scene:
    """Use the positions of a space, or lay it out in the plane by its costs.

    A space without positions is laid out from its costs, shifted so that the smallest is 0. If its points are a sample
    of a graph's nodes, the positions of the others are unknown, and no edges are drawn.
    """
    geometry = space.geometry
    if geometry is not None and geometry.positions is not None:
        is_cloud = geometry.faces is None and geometry.edges is None
        return Scene(geometry.positions, geometry.index, geometry.faces, geometry.edges, is_cloud)
    assert isinstance(space, Space)
    (costs,), unit = in_unit_range([space.cost])
    placed = stress_layout(costs) * min(unit, LARGEST_UNIT)
    if geometry is None or geometry.n_sites != space.n:
        return Scene(placed, np.arange(space.n), None, None, is_free=True)
    positions = np.empty_like(placed)
    positions[geometry.index] = placed
    return Scene(positions, geometry.index, None, geometry.edges, is_free=True)


def classical_mds(squared_distances: Float64s, dim: int = 2) -> Float64s:
    """Coordinates (N, dim) that best reproduce squared distances, by the leading eigenvectors of the Gram matrix.

    Anchor Energy (p = 1, 2) is the square of a Euclidean distance, so for all N - 1 dimensions this is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot._layout import classical_mds
    >>> classical_mds(np.array([[0.0, 4.0], [4.0, 0.0]]), dim=1).round(6).tolist()
    [[1.0], [-1.0]]
    """
    from scipy.linalg import eigh

    centred = squared_distances - squared_distances.mean(axis=0)
    gram = -0.5 * (centred - centred.mean(axis=1, keepdims=True))
    values, vectors = eigh(gram, subset_by_index=(max(0, len(gram) - dim), len(gram) - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    coordinates = _with_signs(vectors) * np.sqrt(np.maximum(values, 0))
    return np.pad(coordinates, ((0, 0), (0, dim - coordinates.shape[1])))


def _with_signs(vectors: Float64s) -> Float64s:
    """Flip column vectors so that the largest entry of each is positive."""
    return vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])] < 0, -1, 1)


def stress_layout(distances: Float64s, dim: int = 2, *, max_iter: int = 100, tol: float = 1e-3) -> Float64s:
    r"""Coordinates (N, dim) of least stress, the usual drawing of a graph from its shortest paths.

    Stress is :math:`\sum_{i<j} d_{ij}^{-2} (|x_i - x_j| - d_{ij})^2`, the energy of Kamada and Kawai; it is lowered by
    majorisation (Gansner, Koren and North, 2004), starting from classical scaling. O(N³) once, then O(N²) per step, for
    up to 600 points; of more, a random 600 are laid out, and each of the others is placed where its own stress against
    these is smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot._layout import stress_layout
    >>> path = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> x = stress_layout(path)
    >>> bool(abs(np.linalg.norm(x[0] - x[2]) - 2) < 1e-3)
    True
    """
    n = len(distances)
    order = np.random.default_rng(0).permutation(n) if n > MAX_JOINT_POINTS else np.arange(n)
    chosen, others = np.sort(order[:MAX_JOINT_POINTS]), np.sort(order[MAX_JOINT_POINTS:])
    among = (distances[np.ix_(chosen, chosen)] + distances[np.ix_(chosen, chosen)].T) / 2
    np.fill_diagonal(among, 0.0)
    if not among.any():
        return np.zeros((n, dim))
    middle = float(np.median(among[among > 0]))  # as unit, so that squares do not overflow
    positions = np.empty((n, dim))
    positions[chosen] = _joint_layout(np.minimum(among / middle, MAX_RATIO), dim, max_iter, tol)
    if len(others):
        rest = (distances[np.ix_(others, chosen)] + distances[np.ix_(chosen, others)].T) / (2 * middle)
        positions[others] = _place(np.minimum(rest, MAX_RATIO), positions[chosen])
    return middle * positions


def _joint_layout(distances: Float64s, dim: int, max_iter: int, tol: float) -> Float64s:
    from scipy.linalg import cho_factor, cho_solve

    start = classical_mds(distances**2, dim)
    near = np.where(distances > 0, np.maximum(distances, 1 / MAX_RATIO), np.inf)
    weights = near**-2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    factor = cho_factor(laplacian + weights.mean())  # translations are its null space; this makes it invertible
    wanted = weights * distances
    # Points that classical scaling puts at the same position could never separate again.
    positions = start + 1e-3 * np.random.default_rng(0).normal(size=start.shape)
    for _ in range(max_iter):
        apart = np.sqrt(np.maximum(_squared_distances(positions, positions), 0))
        pull = np.divide(wanted, apart, out=apart, where=apart > 0)
        moved = cho_solve(factor, pull.sum(axis=1)[:, None] * positions - pull @ positions)
        change = np.linalg.norm(moved - positions) / np.linalg.norm(moved)
        positions = moved
        if change < tol:
            break
    return positions


def _place(distances: Float64s, landmarks: Float64s) -> Float64s:
    """Minimise each point's stress against fixed landmarks, starting near the closest; distances are (points, l)."""
    weights = np.maximum(distances, 1 / MAX_RATIO) ** -2
    weights /= weights.sum(axis=1, keepdims=True)
    nearest = np.argsort(distances, axis=1)[:, :3]
    positions = landmarks[nearest].mean(axis=1)
    centre = weights @ landmarks
    for _ in range(PLACEMENT_STEPS):
        apart = np.sqrt(np.maximum(_squared_distances(positions, landmarks), 0))
        pull = np.divide(weights * distances, apart, out=np.zeros_like(apart), where=apart > 0)
        positions = centre + pull.sum(axis=1)[:, None] * positions - pull @ landmarks
    return positions


def _squared_distances(x: Float64s, y: Float64s) -> Float64s:
    found = x @ (-2 * y.T)
    found += (y**2).sum(axis=1)
    found += (x**2).sum(axis=1)[:, None]
    return found


def unit(vectors: Float64s) -> Float64s:
    """Vectors of length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def face_normals(corners: Float64s) -> Float64s:
    """Normals (F, 3) of triangles given by their corners (F, 3, 3), each twice as long as its triangle's area."""
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def vertex_normals(vertices: Float64s, faces: Int64s) -> Float64s:
    """Unit normals at the vertices, outwards if the triangles enclose a volume."""
    corners = vertices[faces]
    areas = face_normals(corners)
    inside_out = np.einsum("fi,fi->", corners[:, 0], areas) < 0
    normals = np.zeros_like(vertices)
    for corner in faces.T:
        np.add.at(normals, corner, -areas if inside_out else areas)
    return unit(normals)


class Plane(NamedTuple):
    """Both sides of two aligned embeddings, in the plane in which they vary most together."""

    first: Float64s  # (n, 2), after the map
    second: Float64s  # (m, 2)
    shares: Float64s  # (2,): fraction of the variance along each axis


def common_plane(found: EmbeddingAlignment, x: Any, y: Any) -> Plane:
    """Map the first side onto the second, and find the two main directions of both together."""
    moved = found.transform(x)
    other = unit_rows(check_embedding(y, "Y", found.rotation.shape[1]), "Y", found.metric)
    if (len(moved), len(other)) != found.shape:
        n, m = found.shape
        raise InputError(f"X and Y have {len(moved)} and {len(other)} rows, but {n} and {m} points were aligned")
    (both,), unit = in_unit_range([np.concatenate([moved, other])], axis=0)
    both -= both.mean(axis=0)
    values, axes = np.linalg.eigh(both.T @ both)
    axes = _with_signs(axes[:, ::-1][:, :2])
    placed = np.pad(both @ axes * unit, ((0, 0), (0, 2 - axes.shape[1])))
    shares = np.pad(values[::-1][:2], (0, 2 - axes.shape[1])) / (values.sum() or 1.0)
    return Plane(placed[: len(moved)], placed[len(moved) :], shares)


class CategoryTable(NamedTuple):
    """How many points of each category are matched to each category, with confused categories next to each other."""

    counts: Float64s  # (k, l): points of the first side's category whose match is in the second side's
    rows: list[str]
    columns: list[str]
    sizes: Int64s  # (k,): number of points in each category of the first side

    @property
    def shares(self) -> Float64s:
        """Counts as fractions of the points in the first side's categories."""
        return self.counts / self.sizes[:, None]


def category_table(matches: Int64s, first: Sequence[Any], second: Sequence[Any]) -> CategoryTable:
    """Count matches between categories, and order the categories for display."""
    rows, columns = ([str(label) for label in side] for side in (first, second))
    kinds, codes = encode_labels(rows + columns, len(rows) + len(columns))
    own, other = codes[: len(rows)], codes[len(rows) :]
    table = np.zeros((len(kinds), len(kinds)))
    np.add.at(table, (own[matches >= 0], other[matches[matches >= 0]]), 1.0)
    used = [np.flatnonzero(np.bincount(side, minlength=len(kinds))) for side in (own, other)]
    if len(np.intersect1d(used[0], used[1])):
        order = _leaf_order(table + table.T)
        orders = [order[np.isin(order, side)] for side in used]
    else:
        inner = table[np.ix_(*used)]
        down = used[0][_leaf_order(inner @ inner.T)]
        best = table[np.ix_(down, used[1])].argmax(axis=0)
        orders = [down, used[1][np.argsort(best, kind="stable")]]
    names = [kinds[order].tolist() for order in orders]
    return CategoryTable(table[np.ix_(*orders)], names[0], names[1], np.bincount(own, minlength=len(kinds))[orders[0]])


def _leaf_order(similarity: Float64s) -> Int64s:
    """Order categories so that similar ones are neighbours: the leaves of a hierarchical clustering."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    count = len(similarity)
    if count < 3:
        return np.arange(count)
    sizes = np.sqrt(np.maximum(similarity.sum(axis=1), 1.0))
    steps = np.abs(np.subtract.outer(np.arange(count), np.arange(count))) / count
    apart = np.maximum(1.0 - similarity / np.outer(sizes, sizes) / 2, 0.0) + TIE_BREAK * steps
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart), "average", optimal_ordering=count <= MAX_ORDERED)
    return np.asarray(leaves_list(tree), np.int64)
