"""Numbers at the vertices of a mesh: areas, eigenfunctions of its Laplacian, curvatures.

The Laplacian is that of linear finite elements (cotangents). As a sum over faces it needs no manifold, and it is never
indefinite, however bad the faces are: the part of a face is E Eᵀ / 4 A, with its edges in the rows of E, and only the
area A is bounded from below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._typing import Float64s, Int64s

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MIN_SINE = 1e-3  # of the angle between the longest edges of a face: thinner faces count as this thin
SHIFT = 1e-2  # of eigenvalues, where the area is 1: makes the Laplacian invertible
MIN_MASS_SHARE = 1e-6  # of the mean: what a vertex without faces of any area counts


def face_normals(vertices: Float64s, faces: Int64s) -> Float64s:
    """Normals of the faces (F, 3), as long as twice their areas."""
    a, b, c = (vertices[corner] for corner in faces.T)
    return np.cross(b - a, c - a)


def vertex_sums(values: Float64s, faces: Int64s, n: int) -> Float64s:
    """Sum over the faces around every vertex."""
    if values.ndim == 2:
        return np.stack([vertex_sums(column, faces, n) for column in values.T], axis=1)
    return np.bincount(faces.T.ravel(), np.tile(values, 3), n).astype(np.float64)


def vertex_normals(vertices: Float64s, faces: Int64s) -> Float64s:
    """Unit normals at the vertices, to the side from which their faces run anticlockwise."""
    sums = vertex_sums(face_normals(vertices, faces), faces, len(vertices))
    size = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(size > 0, size, 1.0)


def areas(vertices: Float64s, faces: Int64s) -> Float64s:
    """Area of every vertex: a third of the faces around it."""
    found = vertex_sums(np.linalg.norm(face_normals(vertices, faces), axis=1) / 6, faces, len(vertices))
    return np.maximum(found, MIN_MASS_SHARE * found.mean())


def stiffness(vertices: Float64s, faces: Int64s) -> csr_array:
    """The Laplacian (n, n) of linear finite elements, symmetric, with positive numbers on its diagonal."""
    from scipy.sparse import coo_array, diags_array

    n = len(vertices)
    twice_areas = np.linalg.norm(face_normals(vertices, faces), axis=1)
    lengths = np.sort(
        [np.linalg.norm(vertices[faces[:, k]] - vertices[faces[:, k - 1]], axis=1) for k in range(3)], axis=0
    )
    least = np.maximum(MIN_SINE * lengths[1] * lengths[2], np.finfo(float).tiny)
    double = np.maximum(twice_areas, least)  # one for all corners of a face, or the Laplacian would be indefinite
    rows, columns, values = [], [], []
    for k in range(3):
        own, left, right = (faces[:, (k + step) % 3] for step in range(3))
        a, b = vertices[left] - vertices[own], vertices[right] - vertices[own]
        cotangent = (a * b).sum(axis=1) / double
        rows += [left, right]
        columns += [right, left]
        values += [cotangent / 2] * 2
    where = np.concatenate(rows), np.concatenate(columns)
    weights = coo_array((np.concatenate(values), where), shape=(n, n)).tocsr()
    return (diags_array(weights.sum(axis=1)) - weights).tocsr()


def factorised(matrix: Any) -> Any:
    """Factorise a symmetric, positive definite sparse matrix, to solve by.

    Said to be symmetric, it is not pivoted: with pivots 50 000 vertices take minutes, and here a second.
    """
    from scipy.sparse.linalg import splu

    return splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def eigenfunctions(laplacian: csr_array, mass: Float64s, count: int) -> tuple[Float64s, Float64s]:
    """The smallest eigenvalues (count,) and their functions (n, count), orthonormal by `mass`."""
    from scipy.linalg import eigh
    from scipy.sparse import diags_array, eye_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = len(mass)
    scale = 1 / np.sqrt(mass)
    matrix = diags_array(scale) @ laplacian @ diags_array(scale)
    if count >= n // 2:
        values, functions = eigh(matrix.toarray(), subset_by_index=(0, min(count, n) - 1))
        return values, scale[:, None] * functions
    solver = factorised(matrix + SHIFT * eye_array(n))
    inverse = LinearOperator((n, n), matvec=solver.solve, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    values, functions = eigsh(inverse, k=count, ncv=min(n - 1, round(1.6 * count) + 20), tol=1e-6, v0=start)
    order = np.argsort(-values)
    return 1 / values[order] - SHIFT, scale[:, None] * functions[:, order]
