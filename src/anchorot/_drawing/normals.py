"""Which way the triangles of a mesh face."""

import numpy as np

from anchorot._typing import Float64s, Int64s


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
