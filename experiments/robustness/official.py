"""The official SHREC files at hand, as a check of the queries that are regenerated here."""

import numpy as np

import anchorot as ao

from experiments.common.study import Study
from experiments.robustness.shapes import SCALES, Mesh, noise_share, read_official

QUERIES = (("scaling", 1), ("scaling", 5), ("noise", 1), ("noise", 3), ("noise", 5))
N_POINTS = 100


def compare_with_official(study: Study) -> None:
    """Measure scale and noise of the official queries, and how far they and ours are from their shape."""
    folder = study.data.path("shrec11_robust")
    null = read_official(folder / "0001.null.0.npz")
    rows = []
    for number, (kind, level) in enumerate(QUERIES):
        official = read_official(folder / f"0001.{kind}.{level}.npz")
        rng = study.rng(3, number)
        ours = null.scaled(SCALES[level]) if kind == "scaling" else null.noisy(noise_share(level), rng)
        stated = SCALES[level] if kind == "scaling" else noise_share(level)
        row = {"official query": f"{kind} {level}", "measured": _measured(null, official, kind), "ours": stated}
        study.value(f"official {kind} {level}", row["measured"], 0.002 * stated)
        rows.append(row if study.quick else row | _energies(study, null, official, ours, number))
    text = (
        "The official SHREC'11 queries of one shape (human, 52 565 vertices) against those regenerated here. Measured: "
        "the scale factor, or sigma of the noise as a share of the diagonal of the bounding box."
    )
    more = f" AE to the untransformed shape, {N_POINTS} points drawn of each: of the official query, and of ours."
    study.table("official", rows, text if study.quick else text + more)


def _measured(null: Mesh, official: Mesh, kind: str) -> float:
    if kind == "scaling":
        return official.diagonal / null.diagonal
    return float(np.std(official.vertices - null.vertices)) / null.diagonal


def _energies(study: Study, null: Mesh, official: Mesh, ours: Mesh, number: int) -> dict[str, float]:
    draws = study.rng(4, number).spawn(3)
    shape, theirs, mine = (mesh.space(N_POINTS, rng) for mesh, rng in zip((null, official, ours), draws, strict=True))
    return {
        f"{name} {whose}": ao.anchor_energy(shape, space, robust=robust)
        for name, robust in (("AE", False), ("robust AE", True))
        for whose, space in (("official", theirs), ("ours", mine))
    }
