"""The official SHREC files at hand, as a check of the queries that are regenerated here."""

import numpy as np

import anchorot as ao
from experiments.common.study import Study
from experiments.robustness.shapes import SCALES, Mesh, noise_share, read_official

QUERIES = (("scaling", 1), ("scaling", 5), ("noise", 1), ("noise", 3), ("noise", 5))
N_POINTS = 100


def compare_with_official(study: Study) -> None:
    """Measure scale and noise of the official queries, and how far they and ours are from their shape."""
    folder = study.data["shrec11_robust"]
    null = read_official(folder / "0001.null.0.npz")
    # Official queries are in a pose of their own, and their vertices are shuffled: this is the shape in that pose.
    posed = read_official(folder / "0001.scaling.5.npz").scaled(1 / SCALES[5])
    shape = None if study.quick else _drawn(null, study.rng(4))
    rows = []
    for number, (kind, level) in enumerate(QUERIES):
        official = read_official(folder / f"0001.{kind}.{level}.npz")
        is_scale = kind == "scaling"
        stated = SCALES[level] if is_scale else noise_share(level)
        measured = scale_between(null, official) if is_scale else noise_between(posed, official)
        ours = posed.scaled(stated) if is_scale else posed.noisy(stated, study.rng(3, number))
        grown = {whose: _area(mesh) / _area(posed) for whose, mesh in (("official", official), ("ours", ours))}
        row = {"official query": f"{kind} {level}", "measured": measured, "stated": stated}
        row |= {f"area {whose}": share for whose, share in grown.items()}
        row["area, noise in all directions"] = (
            None if is_scale else _area_of_even_noise(posed, level, study.rng(3, number))
        )
        study.value(f"official {kind} {level}", measured, 0.002 * stated)
        study.value(f"official {kind} {level}, our area by theirs", grown["ours"] / grown["official"], 0.01)
        rows.append(row if shape is None else row | _energies(shape, official, ours, study.rng(4, number)))
    text = (
        "The official SHREC'11 queries of one shape (human, 52 565 vertices) against those regenerated here. Measured: "
        "the scale, the root of the ratio of areas (the pose differs, which changes the area by 2 %); or the deviation "
        "of a coordinate by noise as a share of the diagonal of the bounding box, from the lengths of edges. Area: "
        "that of the query by that of the shape in the same pose"
    )
    more = f". AE to the untransformed shape, {N_POINTS} points drawn of each: of the official query, and of ours"
    study.table("official", rows, text if study.quick else text + more)


def _area_of_even_noise(mesh: Mesh, level: int, rng: np.random.Generator) -> float:
    """Return what the area would grow to if noise of the same size were not along normals."""
    moves = rng.normal(scale=noise_share(level) * mesh.diagonal, size=mesh.vertices.shape)
    return _area(Mesh(mesh.vertices + moves, mesh.faces)) / _area(mesh)


def scale_between(mesh: Mesh, other: Mesh) -> float:
    """Return the factor by which lengths on the other surface are larger, by the areas."""
    return float(np.sqrt(_area(other) / _area(mesh)))


def noise_between(mesh: Mesh, noisy: Mesh) -> float:
    """Return sigma of the noise as a share of the diagonal; vertices may be numbered in another way.

    Independent noise at both ends adds 6 sigma^2 to the expected squared length of an edge.
    """
    grown = (_edges(noisy) ** 2).sum() / len(noisy.faces) - (_edges(mesh) ** 2).sum() / len(mesh.faces)
    return float(np.sqrt(max(grown, 0.0) / 3 / 6)) / mesh.diagonal


def _drawn(mesh: Mesh, rng: np.random.Generator) -> ao.Space:
    return mesh.space(mesh.draw(N_POINTS, rng))


def _corners(mesh: Mesh) -> list[np.ndarray]:
    return [mesh.vertices[mesh.faces[:, k]] for k in range(3)]


def _area(mesh: Mesh) -> float:
    a, b, c = _corners(mesh)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def _edges(mesh: Mesh) -> np.ndarray:
    """Return the edges of all faces as vectors, three a face."""
    a, b, c = _corners(mesh)
    return np.concatenate([b - a, c - b, a - c])


def _energies(shape: ao.Space, official: Mesh, ours: Mesh, rng: np.random.Generator) -> dict[str, float]:
    theirs, mine = (_drawn(mesh, own) for mesh, own in zip((official, ours), rng.spawn(2), strict=True))
    return {
        f"{name} {whose}": ao.anchor_energy(shape, space, robust=robust)
        for name, robust in (("AE", False), ("robust AE", True))
        for whose, space in (("official", theirs), ("ours", mine))
    }
