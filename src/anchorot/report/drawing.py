"""Drawings of two spaces for the page: upright and scaled to fit, the second rotated onto its matches."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from anchorot._layout import Drawable, Scene, Whole, scene, stress_layout, vertex_normals
from anchorot._typing import Float64s, Int64s
from anchorot.align.graphs.result import GraphAlignment
from anchorot.geometry import Geometry
from anchorot.report.payload import pack, pack_indices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

AZIMUTH, ELEVATION = np.radians(28), np.radians(14)  # of the camera, from the broad side
HALF_FIELD = np.tan(np.pi / 8)  # plotly's camera sees 45 degrees
MIN_AGREEMENT = 0.5  # correlation of matched positions: above it, two drawings face the same way
MIN_GAIN = 0.1  # of correlation: least improvement for rotating an object that has an upright position
MAX_FACES, MAX_EDGES, MAX_DOTS = 60_000, 30_000, 20_000  # of a side; by hand, for small and quick pages
NEIGHBOURS = 3  # points from which the colour of a site on a surface is interpolated
COMPONENT_GAP = 2.0  # steps more than the longest path: distance between connected components of a graph
LIFT = 0.003  # of the unit box: offset of points from their surface


class Turn(NamedTuple):
    """A similarity transform that moves an object onto another.

    `agreement` is the correlation, from -1 to 1, of matched points' positions after it, `before` without it.
    """

    rotation: Float64s
    scale: float
    origin: Float64s
    target: Float64s
    before: float
    agreement: float

    @property
    def is_mirrored(self) -> bool:
        """Whether it includes a reflection."""
        return bool(np.linalg.det(self.rotation) < 0)

    def __call__(self, positions: Float64s) -> Float64s:
        """Apply it to positions."""
        return self.scale * (positions - self.origin) @ self.rotation + self.target


def turn_onto(target: Float64s, points: Float64s, plan: Any, *, mirrored: bool) -> Turn:
    """Similarity with the least mean square distance of `points` (m, d) to their matches (n, d) by a plan (n, m).

    The scale makes both equally wide: that of least squares would shrink the points of a diffuse plan.
    """
    mass = plan / plan.sum()
    own, other = mass.sum(axis=0), mass.sum(axis=1)
    centre, aim = own @ points, other @ target
    inner, outer = points - centre, target - aim
    widths = np.sqrt([own @ (inner**2).sum(axis=1), other @ (outer**2).sum(axis=1)])
    covariance = inner.T @ mass.T @ outer
    left, strength, right = np.linalg.svd(covariance)
    if not mirrored and np.linalg.det(left @ right) < 0:
        left[:, -1] *= -1
        strength[-1] *= -1
    unit = float(widths.prod()) or np.inf
    scale = float(widths[1] / widths[0]) if widths.all() else 1.0
    return Turn(left @ right, scale, centre, aim, float(np.trace(covariance)) / unit, float(strength.sum()) / unit)


def unit_box(positions: Float64s) -> Float64s:
    """Shift and scale so that the longest side of the bounding box goes from -1/2 to 1/2."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    return (positions - (low + high) / 2) / (float((high - low).max()) or 1.0)


def upright(positions: Float64s) -> Float64s:
    """Rotate by right angles, without reflection: the third axis points up, the second, to the back, is the thinner.

    The up axis of a file is z or y. It is taken as y if z is the thinnest axis, along which one looks, or if the object
    stands far better that way; otherwise, as for objects in mid-air, it is z.
    """
    extent = np.ptp(positions, axis=0)
    thinnest = int(extent.argmin())
    stands_on_xz = _footing(positions, 1) > max(0.3, 2 * _footing(positions, 2))
    up = 1 if thinnest == 2 or (thinnest == 0 and stands_on_xz) else 2
    back, across = sorted({0, 1, 2} - {up}, key=lambda axis: extent[axis])
    mirrored = (across, back, up) not in {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    return positions[:, [across, back, up]] * np.array([1, -1 if mirrored else 1, 1])


def eye(positions: Float64s) -> Float64s | None:
    """Camera position from which all of an upright object in its unit box is visible; None in the plane."""
    if positions.shape[1] != 3:
        return None
    direction = np.array([np.sin(AZIMUTH) * np.cos(ELEVATION), -np.cos(AZIMUTH) * np.cos(ELEVATION), np.sin(ELEVATION)])
    right = np.array([np.cos(AZIMUTH), np.sin(AZIMUTH), 0])
    above = np.cross(direction, right)
    aside = np.abs(positions @ np.column_stack([right, above])).max(axis=1)
    return direction * float(max(0.8, 1.1 * (positions @ direction + aside / HALF_FIELD).max()))


def _footing(positions: Float64s, up: int) -> float:
    """Share of the object's footprint that the bounding box of its lowest twentieth covers."""
    height = positions[:, up] - positions[:, up].min()
    ground = np.delete(positions, up, axis=1)
    lowest = ground[height <= 0.05 * height.max()]
    return float(np.ptp(lowest, axis=0).prod() / (np.ptp(ground, axis=0).prod() or 1.0))


class Place(NamedTuple):
    """Positions at which one space is drawn."""

    scene: Scene
    sites: Float64s  # (N, 2) or (N, 3), within the unit box
    eye: Float64s | None  # of the camera, in 3-D


class Places(NamedTuple):
    """Positions at which both spaces are drawn."""

    first: Place
    second: Place
    notes: list[str]  # how the second was moved
    agree: bool  # whether both face the same way


def place(x: Drawable, y: Drawable, plan: Any, *, is_common: bool = False) -> Places:
    """Place both, and rotate the second so that points matched by a plan, sparse or not, are at the same positions.

    Layouts and point clouds have no upright position and may be rotated and reflected freely. Surfaces, graphs with
    coordinates and neurons are only rotated, and only if that improves agreement. If both already have positions in a
    common plane, nothing is rotated.
    """
    first, second = scene(x), scene(y)
    if is_common:
        both = unit_box(np.concatenate([first.positions, second.positions]))
        cut = len(first.positions)
        return Places(Place(first, both[:cut], None), Place(second, both[cut:], None), notes=[], agree=True)
    boxes = unit_box(first.positions), unit_box(second.positions)
    sites_x, sites_y = (upright(box) if box.shape[1] == 3 else box for box in boxes)
    apart = Place(first, sites_x, eye(sites_x)), Place(second, sites_y, eye(sites_y))
    if sites_x.shape[1] != sites_y.shape[1] or not plan.sum() > 0:
        return Places(*apart, notes=[], agree=False)
    turn = turn_onto(sites_x[first.index], sites_y[second.index], plan, mirrored=second.is_free)
    if not second.is_free and turn.agreement < max(MIN_AGREEMENT, turn.before + MIN_GAIN):
        return Places(*apart, notes=[], agree=turn.before >= MIN_AGREEMENT)
    both = unit_box(np.concatenate([sites_x, turn(sites_y)]))
    seen = eye(both)
    note = f"rotated{' and mirrored' if turn.is_mirrored else ''} so that matched points are at the same positions"
    cut = len(sites_x)
    return Places(Place(first, both[:cut], seen), Place(second, both[cut:], seen), [note], agree=True)


class Drawing:
    """One side of the page: the points of a space, in a unit box, and their surface, edges or other points.

    Attributes
    ----------
    points : ndarray of shape (n, 2) or (n, 3)
    notes : list of str
        What is not drawn in full.
    """

    def __init__(self, space: Drawable, place: Place) -> None:
        placed, sites, self._eye = place
        self.space = space
        self.notes: list[str] = []
        self.points = sites[placed.index]
        self._body = self._mesh(placed, sites) or self._lines(placed, sites) or self._dots(placed, sites)

    def packed(self, name: str) -> dict[str, Any]:
        """The side as data for the page's script."""
        labels = self.space.labels
        return {
            "name": name,
            "count": self.space.n,
            "dim": self.points.shape[1],
            "eye": None if self._eye is None else self._eye.round(4).tolist(),
            "labels": None if labels is None else [str(label) for label in labels],
            "points": pack(self.points, "f4"),
            "body": self._body,
        }

    def _mesh(self, placed: Scene, sites: Float64s) -> dict[str, Any] | None:
        if placed.faces is None or not len(placed.faces) or sites.shape[1] != 3:
            return None
        normals = vertex_normals(sites, placed.faces)
        vertices, faces = _coarser(sites, placed.faces)
        if len(faces) < len(placed.faces):
            self.notes.append(f"the surface is drawn with {len(faces)} of {len(placed.faces)} triangles")
        body = {"kind": "mesh", "faces": pack_indices(faces, len(vertices)), **self._blended(vertices)}
        self.points = self.points + LIFT * normals[placed.index]
        return body

    def _lines(self, placed: Scene, sites: Float64s) -> dict[str, Any] | None:
        edges = placed.edges
        if edges is None or not len(edges):
            return None
        is_common = self.space.is_common if isinstance(self.space, Whole) else None
        if len(edges) > MAX_EDGES:
            self.notes.append(f"{MAX_EDGES} of {len(edges)} edges are drawn")
            drawn = np.linspace(0, len(edges) - 1, MAX_EDGES).astype(np.int64)
            edges, is_common = edges[drawn], None if is_common is None else is_common[drawn]
        body = {"kind": "lines", "edges": pack_indices(edges, len(sites)), **self._blended(sites)}
        return body if is_common is None else {**body, "common": pack(is_common, "u1")}

    def _dots(self, placed: Scene, sites: Float64s) -> dict[str, Any] | None:
        others = np.delete(sites, placed.index, axis=0)
        if not len(others):
            return None
        if len(others) > MAX_DOTS:
            self.notes.append(f"{MAX_DOTS} of {len(others)} other points are drawn, as dots")
            others = others[np.linspace(0, len(others) - 1, MAX_DOTS).astype(np.int64)]
        return {"kind": "dots", "sites": pack(others, "f4")}

    def _blended(self, sites: Float64s) -> dict[str, Any]:
        """Sites, and the nearby points from which each colour is interpolated, with weights of sum 255."""
        k = min(NEIGHBOURS, self.space.n)
        apart, near = (found.reshape(len(sites), k) for found in cKDTree(self.points).query(sites, k=k))
        closeness = 1 / np.maximum(apart, 1e-6) ** 2
        shares = np.rint(255 * closeness / closeness.sum(axis=1, keepdims=True))
        return {
            "sites": pack(sites, "f4"),
            "near": pack_indices(near, self.space.n),
            "shares": pack(shares, "u1"),
            "neighbours": k,
        }


def _coarser(vertices: Float64s, faces: Int64s) -> tuple[Float64s, Int64s]:
    """Merge the vertices in each cell of a grid, as fine as MAX_FACES triangles allow."""
    cells, merged, kept = 400.0, vertices, faces
    while len(kept) > MAX_FACES:
        _, cell, count = np.unique(np.rint(vertices * cells), axis=0, return_inverse=True, return_counts=True)
        cell = cell.reshape(-1)
        merged = np.column_stack([np.bincount(cell, axis) for axis in vertices.T]) / count[:, None]
        kept = cell[faces]
        kept = kept[(kept != np.roll(kept, 1, axis=1)).all(axis=1)]
        cells *= 0.8
    return merged, kept


# -- two graphs -------------------------------------------------------------------------------------------------------


def lay_out_alike(found: GraphAlignment) -> tuple[Whole, Whole]:
    """Both graphs as drawables in one layout by the edges of both, with matched nodes at the same positions."""
    n, m = found.shape
    place = found.matches.copy()  # of the first graph's nodes, in the layout of the second's
    alone = np.flatnonzero(place < 0)
    place[alone] = m + np.arange(len(alone))
    own, other = (_edges((graph + graph.T).tocsr()) for graph in found.graphs)
    positions = _layout(np.concatenate([place[own], other]), m + len(alone))
    common = (found.common + found.common.T).tocoo()
    shared = {tuple(sorted(pair)) for pair in place[np.stack(common.coords, axis=1)].tolist()}
    is_common = [
        np.array([tuple(sorted(pair)) in shared for pair in edges.tolist()], bool) for edges in (place[own], other)
    ]
    names = [tuple(map(str, side)) for side in found.names]
    return (
        Whole(Geometry(np.arange(n), n, positions[place], edges=own), names[0], is_common=is_common[0]),
        Whole(Geometry(np.arange(m), m, positions[:m], edges=other), names[1], is_common=is_common[1]),
    )


def _edges(graph: "csr_array") -> Int64s:
    """(E, 2): each edge once, without loops."""
    pairs = np.stack(graph.nonzero(), axis=1).astype(np.int64)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def _layout(edges: Int64s, n: int) -> Float64s:
    """Positions in the plane for the nodes of a graph with any number of components."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    joined = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    steps: Float64s = shortest_path(joined, directed=False, unweighted=True)
    longest = float(steps[np.isfinite(steps)].max(initial=0))
    steps[np.isinf(steps)] = longest + COMPONENT_GAP
    return stress_layout(steps)
