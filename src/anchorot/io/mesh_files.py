"""Triangle meshes from files: OFF, PLY, OBJ and STL by trimesh, and the .mat files of the TOSCA shapes."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Int64s
from anchorot._validate import check_numbers
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.foreign import reading
from anchorot.io.gate import content_of
from anchorot.io.marks import Columns
from anchorot.io.quarantine import quarantined

HEADER_BYTES = 1 << 16  # more than the header of any mesh file
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Mesh(NamedTuple):
    """A mesh as it is given, not yet checked."""

    vertices: Any  # (N, 3)
    faces: Any  # (F, 3)
    columns: Columns = Columns("value of the vertices")  # that types and features can be made of
    name: str = "the mesh"  # what to call it


def read_mesh(file: Path, limit: int) -> Mesh:
    """Read a mesh from a file, by its ending."""
    return MESH_READERS[file.suffix.lower()](file, limit)


def _read_by_trimesh(file: Path, limit: int) -> Mesh:
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError("trimesh", "mesh") from None
    ending = file.suffix.lower()
    content = content_of(file, limit).removeprefix(BYTE_ORDER_MARK)
    _check_counts(ending, content)
    with reading(f"a mesh in the format '{ending[1:]}'"):
        # From bytes and not by name: materials and textures, which are files of their own, are never looked for.
        # STL repeats every corner in each of its triangles: they are merged. Others are taken as they are.
        mesh: Any = trimesh.load_mesh(
            io.BytesIO(content), file_type=ending[1:], process=False, merge_norm=True, merge_tex=True
        )
        if ending == ".stl":
            mesh.merge_vertices()
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
        return Mesh(vertices, faces, vertex_columns(mesh), file.name)


def vertex_columns(mesh: Any) -> Columns:
    """Return the values that the vertices of a trimesh have: its attributes, those of a PLY file, and colours.

    ``color`` is red, green and blue from 0 to 255.
    """
    n = len(mesh.vertices)
    found = {**_of_ply(mesh), **getattr(mesh, "vertex_attributes", {})}
    visual: Any = getattr(mesh, "visual", None)
    if getattr(visual, "kind", None) == "vertex":
        found.setdefault("color", np.asarray(visual.vertex_colors)[:, :3])
    kept = {str(name): values for name, values in found.items() if np.ndim(values) in (1, 2) and len(values) == n}
    return Columns("value of the vertices", kept)


def _of_ply(mesh: Any) -> dict[str, Any]:
    """Return all properties of a PLY file's vertices, as trimesh read them; none if it has numbered vertices anew."""
    raw = (getattr(mesh, "metadata", None) or {}).get("_ply_raw", {}).get("vertex", {}).get("data")
    if raw is None:
        return {}
    names = raw.keys() if isinstance(raw, dict) else raw.dtype.names or ()
    found = {name: np.asarray(raw[name]) for name in names}
    found = {name: values.ravel() if values.shape[1:] == (1,) else values for name, values in found.items()}
    at = np.stack([found[axis] for axis in "xyz"], axis=1) if {*"xyz"} <= found.keys() else np.empty((0, 3))
    return found if np.array_equal(at.astype(np.float64), mesh.vertices) else {}


def _check_counts(ending: str, content: bytes) -> None:
    """Refuse a header that promises more vertices or faces than the file has bytes."""
    head = content[:HEADER_BYTES]
    if ending == ".ply":
        lines = head.partition(b"end_header")[0].split(b"\n")
        counts = [words[2] for words in map(bytes.split, lines) if len(words) == 3 and words[0] == b"element"]
    elif ending == ".off":
        words = [word for line in head.splitlines() for word in line.partition(b"#")[0].split()]
        counts = [word for word in words[:3] if word.isdigit()]
    else:
        return
    most = max((int(count) for count in counts if count.isdigit() and len(count) < 19), default=0)
    if most > len(content) or any(len(count) >= 19 for count in counts):
        promised = max(counts, key=len).decode("ascii", "replace")[:40]
        raise InputError(f"its header promises {promised} vertices or faces, but the file has {len(content)} bytes")


def _read_mat(file: Path, limit: int) -> Mesh:
    """Vertices and faces of a MATLAB file with a struct `surface` of X, Y, Z and TRIV (counted from 1)."""
    surface = quarantined("mat", file, limit)
    x, y, z = (check_numbers(surface[name], name).ravel() for name in "XYZ")
    if not len(x) == len(y) == len(z):
        raise InputError(f"X, Y and Z have {len(x)}, {len(y)} and {len(z)} numbers, but as many of each are needed")
    vertices = np.stack([x, y, z], axis=1).astype(np.float64)
    return Mesh(vertices, as_indices(surface["TRIV"]) - 1, name=file.name)


def as_indices(faces: Any) -> Int64s:
    """Turn whole numbers of any type into int64."""
    array = np.asarray(faces)
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not (np.abs(array) < 2**53).all()):
        raise InputError("faces must be whole numbers")
    if (array != np.floor(array)).any():
        raise InputError("faces must be whole numbers")
    return array.astype(np.int64)


MESH_READERS = {
    ".mat": _read_mat,
    ".obj": _read_by_trimesh,
    ".off": _read_by_trimesh,
    ".ply": _read_by_trimesh,
    ".stl": _read_by_trimesh,
}
