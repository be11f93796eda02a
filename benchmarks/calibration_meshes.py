"""Pairs of meshes that `reliable` and `confidence` of `align_meshes` are fitted to, and others for the report.

Fitted to people: FAUST scans, and even pairs of remeshed ones. Held out: odd pairs of remeshed people, dogs, horses.
"""

from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from anchorot.align.calibration import Logistic, sigmoid
from anchorot.align.meshes.candidates import candidates
from anchorot.align.meshes.pipeline import N_FINALISTS, _sharpened
from anchorot.align.meshes.refine import MAX_SOURCES, sharpened
from anchorot.align.meshes.refine import fitted as refitted
from anchorot.align.meshes.score import MIRROR_PENALTY, Scores, match_features, scores_of
from anchorot.align.meshes.shape import Shape, smoothed
from anchorot.io.meshes import open_mesh, surface_of
from calibration import Fit, Floats, Job, Models, Seen, Task, fitted, joined, weights_of
from problems import mesh_of, shared_vertices
from surfaces import FAUST, N_MEASURED, TURNED, Pair, faust_pairs, scan_pairs

REPORTED, SCANS = 10, 60  # pairs of scans: the first ones are what surfaces.py reports, the next are for the fit
ISOMETRIES = slice(None, None, 2)  # of the 15 pairs of an animal: 8
NEAR = 0.05  # of the root of the area: a match is right within this distance of the true point
SUBSETS = 20  # random sets of candidates of each pair: the best of a set is wrong more often than the best of all
FEATURES = ("turns", "curvature", "rigidity")


def isometry(folder: Path, animal: str, number: int) -> Pair:
    """Two poses of a dog or a horse of SHREC'10, whose vertices correspond as their faces do."""
    files = sorted((folder / "shrec10_subset").glob(f"{animal}.*.npz"))
    first, second = (mesh_of(file) for file in list(combinations(files, 2))[ISOMETRIES][number])
    return Pair(f"{animal} {number}", first, second, *shared_vertices([first, second]))


def observe_isometry(folder: Path, animal: str, number: int) -> Seen:
    return observe(isometry(folder, animal, number))


def observe(pair: Pair) -> Seen:
    """Features of all candidates, before and after sharpening, and of points of a right one; and which are right.

    The points are those of the most rigid right map, finished as `align_meshes` finishes the map that it chooses.
    """
    x, y = (Shape.of(smoothed(surface_of(open_mesh(mesh)))) for mesh in (pair.first, pair.second))
    ends = [_places(shape)[points] for shape, points in ((x, pair.points), (y, pair.truth))]
    points, truth = (side[np.minimum(*ends) >= 0] for side in ends)
    rough = candidates(x, y, None, 0, 1)
    judged = [_sharpened(x, y, one, False) for one in rough]
    # Candidates of large meshes are known at sampled points only.
    at = np.isin(points, x.sample.chosen) if len(x.vertices) > MAX_SOURCES else np.ones(len(points), bool)
    errors = np.array([distances(y, one.matches[points[at]], truth[at]).mean() for one in judged])
    seen = {"is_right": errors < TURNED / 100, "misfit": np.empty(0), "is_near": np.empty(0, bool)}
    for name, scores in (
        ("rough", [scores_of(x, y, one.image) for one in rough]),
        ("sharp", [one.scores for one in judged]),
    ):
        seen |= {name: _rows(scores), f"{name} is mirrored": np.array([one.is_mirrored for one in scores])}
    if seen["is_right"].any():
        best = min(np.flatnonzero(seen["is_right"]), key=lambda place: judged[place].scores.rigidity)
        image, matches = judged[best].candidate.image, judged[best].matches
        if len(x.vertices) > MAX_SOURCES:
            matches = sharpened(x, y, image)
        matches = refitted(x, y, matches, is_mirrored=False)
        some = np.random.default_rng(0).permutation(len(points))[:N_MEASURED]
        misfit = match_features(x, y, image)["log misfit"][x.rows.argmin(axis=0)]
        seen["misfit"] = misfit[points[some]]
        seen["is_near"] = distances(y, matches[points[some]], truth[some]) < NEAR
    return seen


def _places(shape: Shape) -> Floats:
    """Of every vertex of a mesh, its place in the shape, or -1."""
    found = np.full(shape.total, -1)
    found[shape.kept] = np.arange(len(shape.kept))
    return found


def _rows(scores: list[Scores]) -> Floats:
    return np.array([[one.features[name] for name in FEATURES] for one in scores])


def distances(shape: Shape, first: Floats, second: Floats) -> Floats:
    """Geodesic distances of pairs of vertices: the largest difference of their distances to a landmark."""
    return np.abs(shape.rows[:, first] - shape.rows[:, second]).max(axis=0)


def jobs(folder: Path, is_fit: bool) -> Iterator[Job]:
    remeshed = enumerate(faust_pairs(0 if is_fit else 1)) if FAUST.exists() else ()
    if is_fit:
        scans = islice(scan_pairs(REPORTED + SCANS), REPORTED, None)
        yield from (Job("scans of people", k, observe, (pair,)) for k, pair in enumerate(scans))
        yield from (Job("remeshed people, even pairs", k, observe, (pair,)) for k, pair in remeshed)
        return
    yield from (Job("remeshed people, odd pairs", k, observe, (pair,)) for k, pair in remeshed)
    for name, animal in (("dogs", "0002"), ("horses", "0003")):
        yield from (Job(name, k, observe_isometry, (folder, animal, k)) for k in range(8))


# -- the fit -------------------------------------------------------------------------------------------------------


def score(model: Logistic, seen: Seen, stage: str) -> Floats:
    """Log-odds of all candidates of a pair, as `Scores.log_odds`."""
    values = model.score(dict(zip(FEATURES, seen[stage].T, strict=True)))
    return values - MIRROR_PENALTY * seen[f"{stage} is mirrored"]


def chosen(model: Logistic, seen: Seen) -> list[int]:
    """The candidate that is chosen of all, and of random sets of them."""
    rng, total = np.random.default_rng(0), len(seen["is_right"])
    before, after = (score(model, seen, stage) for stage in ("rough", "sharp"))
    found = []
    for share in [1.0, *rng.random(SUBSETS)]:
        left = np.flatnonzero(rng.random(total) < share)
        if len(left):
            finalists = left[np.argsort(-before[left], kind="stable")[:N_FINALISTS]]
            found.append(int(finalists[after[finalists].argmax()]))
    return found


def fit(found: dict[str, list[Seen]]) -> dict[str, Fit]:
    """`map`: slopes from all candidates; their factor and the constant from those chosen. `match`: from points."""
    seen = [one for pairs in found.values() for one in pairs]
    rows, is_right, counts = [], [], []
    for pairs in found.values():
        kept = [~one["sharp is mirrored"] for one in pairs]
        rows += [one["sharp"][own] for one, own in zip(pairs, kept, strict=True)]
        is_right += [one["is_right"][own] for one, own in zip(pairs, kept, strict=True)]
        counts.append(sum(map(np.count_nonzero, kept)))
    columns = dict(zip(FEATURES, np.concatenate(rows).T, strict=True))
    slopes = fitted(columns, np.concatenate(is_right), weights_of(counts))
    chance, right, counts = [], [], []
    for pairs in found.values():
        by_choice = [_chosen(slopes, one) for one in pairs]
        chance += [values for values, _ in by_choice]
        right += [own for _, own in by_choice]
        counts.append(sum(len(values) for values, _ in by_choice))
    line = fitted({"score": np.concatenate(chance)}, np.concatenate(right), weights_of(counts))
    factor = line.coefficients["score"]
    model = Logistic(
        {name: factor * slope for name, slope in slopes.coefficients.items()},
        factor * slopes.constant + line.constant,
    )
    points = joined(seen, ("misfit", "is_near"))
    weights = weights_of([sum(len(one["misfit"]) for one in pairs) for pairs in found.values()])
    match = fitted({"log misfit": points["misfit"]}, points["is_near"], weights)
    return {
        "map": Fit(model, len(seen), sum(counts)),
        "match": Fit(match, sum(bool(len(one["misfit"])) for one in seen), len(weights)),
    }


def _chosen(model: Logistic, seen: Seen) -> tuple[Floats, Floats]:
    """Log-odds of the maps that are chosen, and whether these are right; mirrored ones are left out."""
    places = [place for place in chosen(model, seen) if not seen["sharp is mirrored"][place]]
    return score(model, seen, "sharp")[places], seen["is_right"][places]


def judge(pairs: list[Seen], models: Models) -> dict[str, tuple[Floats, Floats]]:
    """Maps chosen of all candidates, maps chosen of random sets, and points of right maps."""
    sets: list[tuple[Floats, Floats]] = []
    for one in pairs:
        places = chosen(models["map"], one)
        sets.append((sigmoid(score(models["map"], one, "sharp"))[places], one["is_right"][places]))
    points = joined(pairs, ("misfit", "is_near"))
    return {
        "maps, all candidates": tuple(np.array([side[part][0] for side in sets]) for part in (0, 1)),
        "maps, random candidates": tuple(np.concatenate([side[part] for side in sets]) for part in (0, 1)),
        "points of right maps": (models["match"].probability({"log misfit": points["misfit"]}), points["is_near"]),
    }


TASK = Task(
    jobs,
    fit,
    judge,
    {
        "map": "maps between people (60 pairs of FAUST scans of two subjects, and the 11 even pairs of remeshed ones), "
        "right if their mean error is below 0.08 roots of the area: slopes from all candidates, their factor and the "
        "constant from maps chosen of random sets of candidates",
        "match": "points of right maps between people (the same pairs), right within 0.05 roots of the area",
    },
)
