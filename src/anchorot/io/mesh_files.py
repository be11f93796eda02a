"""Triangle meshes from files: OFF, PLY, OBJ and STL by trimesh, the .mat files of the TOSCA shapes, .npz."""

from pathlib import Path
from typing import Any

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_numbers
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.foreign import reading
from anchorot.io.matlab import read_matlab

HEADER_BYTES = 1 << 16  # more than the header of any mesh file


def read_mesh(file: Path) -> tuple[Float64s, Int64s]:
    """Vertices (N, 3) and faces (F, 3) of a file, by its ending."""
    return MESH_READERS[file.suffix.lower()](file)


def _read_by_trimesh(file: Path) -> tuple[Float64s, Int64s]:
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError("trimesh", "mesh") from None
    _check_counts(file)
    with reading(f"a mesh in the format '{file.suffix.lower()[1:]}'"):
        # STL repeats every corner in each of its triangles: they are merged. Others are taken as they are.
        mesh: Any = trimesh.load_mesh(file, process=False, merge_norm=True, merge_tex=True)
        if file.suffix.lower() == ".stl":
            mesh.merge_vertices()
        return np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)


def _check_counts(file: Path) -> None:
    """Refuse a header that promises more vertices or faces than the file has bytes."""
    with file.open("rb") as handle:
        head = handle.read(HEADER_BYTES)
    if file.suffix.lower() == ".ply":
        lines = head.partition(b"end_header")[0].split(b"\n")
        counts = [words[2] for words in map(bytes.split, lines) if len(words) == 3 and words[0] == b"element"]
    elif file.suffix.lower() == ".off":
        words = [word for line in head.splitlines() for word in line.partition(b"#")[0].split()]
        counts = [word for word in words[:3] if word.isdigit()]
    else:
        return
    most = max((int(count) for count in counts if count.isdigit() and len(count) < 19), default=0)
    if most > file.stat().st_size or any(len(count) >= 19 for count in counts):
        raise InputError(
            f"its header promises {max(counts, key=len).decode('ascii', 'replace')} vertices or faces, but the file "
            f"has {file.stat().st_size} bytes"
        )


def _read_mat(file: Path) -> tuple[Float64s, Int64s]:
    """Vertices and faces of a MATLAB file with a struct `surface` of X, Y, Z and TRIV (counted from 1)."""
    found = read_matlab(file)
    surface = found.get("surface")
    if not isinstance(surface, dict) or any(surface.get(name) is None for name in ("X", "Y", "Z", "TRIV")):
        known = ", ".join(found) or "nothing"
        raise InputError(f"a struct 'surface' of X, Y, Z and TRIV is needed, but the file holds {known}")
    x, y, z = (check_numbers(surface[name], name).ravel() for name in "XYZ")
    faces = check_numbers(surface["TRIV"], "TRIV")
    if not len(x) == len(y) == len(z):
        raise InputError(f"X, Y and Z have {len(x)}, {len(y)} and {len(z)} numbers, but as many of each are needed")
    return np.stack([x, y, z], axis=1).astype(np.float64), as_indices(faces) - 1


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
