"""Read triangle meshes: OFF, PLY, OBJ and STL with trimesh, and the .mat files of the TOSCA shapes."""

import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Int64s
from anchorot._validate import as_array, check_numbers
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.columns import Columns
from anchorot.io.names import ending_of
from anchorot.io.safe_open import check_no_underscore, content_of, read_guarded, reading, whole_number

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CUT_FACE = re.compile(rb"^f(?:[ \t]+[^\s]+){0,2}[ \t]*\r?$", re.MULTILINE)
UNDERSCORED = re.compile(rb"^[ \t]*(?:v|f|vertex)[ \t][^\n_]*_[^\n]*", re.MULTILINE)


class Mesh(NamedTuple):
    """A mesh that is not yet validated."""

    vertices: Any  # (N, 3)
    faces: Any  # (F, 3)
    columns: Columns = Columns("value of the vertices")  # for types and features
    name: str = "the mesh"  # in messages


def read_mesh(file: Path, limit: int) -> Mesh:
    """Read a mesh file, by its ending."""
    return MESH_READERS[ending_of(file)](file, limit)


def _read_by_trimesh(file: Path, limit: int) -> Mesh:
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError("trimesh", "mesh") from None
    ending = ending_of(file)
    content = content_of(file, limit).removeprefix(BYTE_ORDER_MARK)
    _check_counts(ending, content)
    with reading(f"a mesh in the format '{ending[1:]}'"):
        # From bytes and not by name, so that trimesh opens no other files (materials, textures).
        # STL repeats every corner in each of its triangles, so they are merged; other formats are not changed.
        mesh: Any = trimesh.load_mesh(
            io.BytesIO(content), file_type=ending[1:], process=False, merge_norm=True, merge_tex=True
        )
        if ending == ".stl":
            mesh.merge_vertices()
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
        return Mesh(vertices, faces, vertex_columns(mesh), file.name)


def vertex_columns(mesh: Any) -> Columns:
    """Return the per-vertex values of a trimesh: its attributes, the properties of a PLY file, and colours.

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
    """Return all vertex properties of a PLY file as trimesh read them; none if trimesh renumbered the vertices."""
    raw = (getattr(mesh, "metadata", None) or {}).get("_ply_raw", {}).get("vertex", {}).get("data")
    if raw is None:
        return {}
    names = raw.keys() if isinstance(raw, dict) else raw.dtype.names or ()
    found = {name: np.asarray(raw[name]) for name in names}
    found = {name: values.ravel() if values.shape[1:] == (1,) else values for name, values in found.items()}
    at = np.stack([found[axis] for axis in "xyz"], axis=1) if {*"xyz"} <= found.keys() else np.empty((0, 3))
    return found if np.array_equal(at.astype(np.float64), mesh.vertices) else {}


def _check_counts(ending: str, content: bytes) -> None:
    """Raise on truncated files, which trimesh reads silently, and on numbers with an underscore, such as "1_0"."""
    if ending in (".obj", ".stl"):
        wrong = UNDERSCORED.search(content) if ending == ".obj" or content.isascii() else None
        if wrong is not None:
            check_no_underscore(wrong[0].decode("ascii", "replace"))
        cut = CUT_FACE.search(content) if ending == ".obj" else None
        if cut is not None:
            raise InputError(f"a face of fewer than three corners: {cut[0].decode('ascii', 'replace').strip()!r}")
        return
    parse = {".off": _off_elements, ".ply": _ply_elements}[ending]
    elements, body = parse(content)
    promised = max((element.n_lines for element in elements), default=0)
    if promised > len(content):
        raise InputError(f"its header promises {promised} vertices or faces, but the file has {len(content)} bytes")
    if body is not None:
        check_no_underscore(body)
        _check_rows(elements, (words for line in body.splitlines() if (words := line.split())))


class _Element(NamedTuple):
    """An element of a header: a number of lines of numbers, some of them lists that start with their length."""

    name: str
    n_lines: int
    are_lists: list[bool]


def _off_elements(content: bytes) -> tuple[list[_Element], str | None]:
    """Return the elements of an OFF file's header, and the lines after it."""
    lines = [line.partition("#")[0] for line in content.decode("utf-8", "replace").splitlines()]
    head, _, body = "\n".join(line for line in lines if line.strip()).partition("OFF")[2].lstrip().partition("\n")
    counts = [whole_number(word) for word in head.split()[:2]]
    if len(counts) < 2 or None in counts:
        return [], None  # trimesh will report the error
    return [_Element("vertices", counts[0] or 0, [False] * 3), _Element("faces", counts[1] or 0, [True])], body


def _ply_elements(content: bytes) -> tuple[list[_Element], str | None]:
    """Return the elements of a PLY file's header, and the lines after it; None if binary (trimesh checks it)."""
    head, _, body = content.partition(b"end_header")
    elements: list[_Element] = []
    is_text = False
    for words in (line.split() for line in head.decode("utf-8", "replace").splitlines()):
        is_text = is_text or [word.lower() for word in words[:2]] == ["format", "ascii"]
        if words[:1] == ["element"] and len(words) == 3:
            count = whole_number(words[2])
            if count is None:
                raise InputError(f"its header promises {words[2][:40]} of {words[1][:40]!r}, but a number is needed")
            elements.append(_Element({"vertex": "vertices", "face": "faces"}.get(words[1], words[1]), count, []))
        elif words[:1] == ["property"] and elements:
            elements[-1].are_lists.append(words[1:2] == ["list"])
    return elements, body.decode("utf-8", "replace").partition("\n")[2] if is_text else None


def _check_rows(elements: list[_Element], rows: Iterator[list[str]]) -> None:
    """Raise on too few lines, and on lines with too few numbers."""
    for name, n_lines, are_lists in elements:
        number = 0
        for number, row in enumerate(islice(rows, n_lines), start=1):
            needed = 0
            for is_list in are_lists:
                needed += 1 + ((whole_number(row[needed]) or 0) if is_list and needed < len(row) else 0)
            if len(row) < needed:
                raise InputError(f"line {number} of its {name} has {len(row)} numbers, but {needed} are needed")
        if number < n_lines:
            raise InputError(f"its header promises {n_lines} {name}, but {number} follow; was the file cut off?")


def _read_mat(file: Path, limit: int) -> Mesh:
    """Read a MATLAB file with a struct `surface` of X, Y, Z and TRIV (counted from 1)."""
    surface = read_guarded("mat", file, limit)
    x, y, z = (check_numbers(surface[name], name).ravel() for name in "XYZ")
    if not len(x) == len(y) == len(z):
        raise InputError(f"X, Y and Z have {len(x)}, {len(y)} and {len(z)} numbers, but they need equal lengths")
    vertices = np.stack([x, y, z], axis=1).astype(np.float64)
    return Mesh(vertices, as_indices(surface["TRIV"]) - 1, name=file.name)


def as_indices(faces: Any) -> Int64s:
    """Convert integers of any dtype to int64."""
    array = as_array(faces, "faces")
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not (np.abs(array) < 2**53).all()):
        raise InputError("faces must be integers")
    if (array != np.floor(array)).any():
        raise InputError("faces must be integers")
    return array.astype(np.int64)


MESH_READERS = {
    ".mat": _read_mat,
    ".obj": _read_by_trimesh,
    ".off": _read_by_trimesh,
    ".ply": _read_by_trimesh,
    ".stl": _read_by_trimesh,
}
