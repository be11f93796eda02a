"""The paper's question 3: nearest neighbour retrieval of scaled, and of scaled and noisy shapes."""

from itertools import product
from typing import Any

import numpy as np

from experiments.common.progress import progress_bar
from experiments.common.study import Study, Verdict
from experiments.robustness.drawing import draw_accuracy, draw_queries
from experiments.robustness.official import compare_with_official
from experiments.robustness.retrieval import DISTANCES, Accuracy, Trial, retrieve
from experiments.robustness.shapes import KINDS, Mesh, read_shrec11, read_tosca, shrec11, tosca

TITLE = "Robustness to scale and noise"
QUESTION = (
    "Are the robust forms of AE, AW and GW, on ranks of costs, robust against scale and noise? A database of one shape "
    "of each class is asked for the shape that a scaled, or scaled and noisy, query was made from."
)
DATA = ("tosca_nonrigid3d", "shrec11_meshcnn", "shrec11_robust")
SETS = {"SHREC'11": 200, "TOSCA": 300}  # points drawn of each shape
FULL = {"AE": Trial((1, 2, 3, 4, 5), 5), "AW": Trial((1, 3, 5), 3), "GW": Trial((1, 3, 5), 1)}
QUICK = {"AE": Trial((1, 5), 1), "AW": Trial((1, 5), 1), "GW": Trial((1, 5), 1)}
SAMPLES = (100, 150, 200)  # points of a SHREC'11 mesh, to see what sharing vertices is worth
QUICK_SHAPES = {"SHREC'11": 6, "TOSCA": 4}
QUICK_POINTS = 40
FALLS = 0.1  # accuracy lost from the first to the last level that is more than chance in so few queries
CLAIMS = {
    "scale": (
        "Robust versions of AE and AW can handle the difference of scaling, whereas normal distances suffer from a "
        "drop in accuracy as the level increases (Fig. 4, scaling).",
        ("AE", "AW"),
    ),
    "scale + noise": (
        "The same where queries are noisy as well (Fig. 4, scaling + noise).",
        ("AE", "AW"),
    ),
    "GW": ("The rank statistics make GW robust as well (appendix, Robust GW).", ("GW",)),
}


def run(study: Study) -> None:
    """Ask both databases, draw accuracy and queries, and judge the claims."""
    trials = QUICK if study.quick else FULL
    n_draws = max(trial.draws for trial in trials.values())
    found: list[Accuracy] = []
    examples: dict[str, Mesh] = {}
    chance, sizes = {}, {}
    with progress_bar(n_draws * len(SETS), "asking the databases", "draws") as advance:
        for (data, n_points), draw in product(SETS.items(), range(n_draws)):
            meshes = _database(study, data, draw)
            examples.setdefault(data, next(iter(meshes.values())))
            chance[data], sizes[data] = 1 / len(meshes), len(meshes)
            n = QUICK_POINTS if study.quick else n_points
            found += retrieve(study, data, list(meshes.values()), n, trials, draw)
            advance(1)
    _write_tables(study, found)
    study.figure(
        "accuracy",
        draw_accuracy(found, chance, sizes),
        "Accuracy of nearest neighbour retrieval at each level of the query, plain (dashed) and robust (solid); "
        "queries regenerated. Bars are standard deviations over draws of shapes, points and noise "
        f"({', '.join(f'{name} {trial.draws}' for name, trial in trials.items())}).",
    )
    study.figure(
        "queries",
        draw_queries(examples, study.rng(5)),
        "Shapes of the two databases and queries regenerated from them, all in one scale.",
    )
    if not study.quick:
        _vary_points(study)
    compare_with_official(study)
    for about, (paper, distances) in CLAIMS.items():
        _judge(study, found, chance, paper, distances, KINDS if about == "GW" else (about,))
    _explain(study, trials)


def _database(study: Study, data: str, draw: int) -> dict[str, Mesh]:
    """Draw one shape of each class."""
    rng = study.rng(1, draw)
    if data == "TOSCA":
        classes: dict[str, list[Any]] = tosca(study.data["tosca_nonrigid3d"])
    else:
        archive = study.data["shrec11_meshcnn"] / "shrec_16.tar.gz"
        classes = shrec11(archive)
    chosen = {name: members[rng.integers(len(members))] for name, members in sorted(classes.items())}
    if study.quick:
        chosen = dict(list(chosen.items())[: QUICK_SHAPES[data]])
    files = list(chosen.values())
    meshes = read_tosca(files) if data == "TOSCA" else read_shrec11(archive, files)
    return dict(zip(chosen, meshes, strict=True))


def _vary_points(study: Study) -> None:
    """See how much of robust AE's accuracy on small meshes comes from vertices that query and database share."""
    trials, rows = {"AE": Trial((5,), 3)}, []
    for n_points in SAMPLES:
        found: list[Accuracy] = []
        for draw in range(trials["AE"].draws):
            found += retrieve(
                study, "SHREC'11", list(_database(study, "SHREC'11", draw).values()), n_points, trials, draw
            )
        text = {kind: _mean_and_deviation(_values(found, "SHREC'11", kind, "AE", True, 5)) for kind in KINDS}
        rows.append({"points": n_points} | text)
    study.table("points", rows, "Robust AE on SHREC'11 at level 5, by the number of points drawn of about 252 vertices")


def _write_tables(study: Study, found: list[Accuracy]) -> None:
    """Write the mean and deviation of each curve, to read and as numbers."""
    rows, shown = [], []
    levels = sorted({one.level for one in found})
    for data, kind, distance, robust in product(SETS, KINDS, DISTANCES, (False, True)):
        name = f"robust {distance}" if robust else distance
        curve = {level: _values(found, data, kind, distance, robust, level) for level in levels}
        text = {f"level {level}": _mean_and_deviation(values) for level, values in curve.items()}
        shown.append({"data": data, "queries": kind, "distance": name} | text)
        for level, values in curve.items():
            if len(values) == 0:
                continue
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
            head = {"data": data, "queries": kind, "distance": name, "level": level}
            rows.append(head | {"accuracy": float(np.mean(values)), "deviation": deviation, "draws": len(values)})
            n_queries = QUICK_SHAPES[data]
            study.value(
                f"{data} {kind} {name} {level}", np.mean(values), (2.1 if distance == "GW" else 1.1) / n_queries
            )
    study.table("accuracy", rows, "Accuracy of retrieval.", shown=False)
    study.table(
        "accuracy_by_level", shown, "Accuracy of retrieval, mean ± standard deviation over draws (queries regenerated)"
    )


def _values(found: list[Accuracy], data: str, kind: str, distance: str, robust: bool, level: int) -> list[float]:
    key = (data, kind, distance, robust, level)
    return [one.value for one in found if (one.data, one.kind, one.distance, one.robust, one.level) == key]


def _mean_and_deviation(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.2f}" if values else ""
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}"


def _judge(
    study: Study,
    found: list[Accuracy],
    chance: dict[str, float],
    paper: str,
    distances: tuple[str, ...],
    kinds: tuple[str, ...],
) -> None:
    """Say whether robust curves stay level and plain ones fall, for every data set."""
    stays, falls, texts = [], [], []
    for data, kind, distance in product(SETS, kinds, distances):
        plain, robust = (_ends(found, data, kind, distance, form) for form in (False, True))
        stays.append(robust[0] - robust[1] <= FALLS and robust[1] >= 2 * plain[1])
        falls.append(plain[1] < plain[0] or plain[0] <= 2 * chance[data])
        what = f"{data}, {kind}, {distance}" if len(kinds) > 1 else f"{data}, {distance}"
        texts.append(f"{what}: {plain[0]:.2f} to {plain[1]:.2f}, robust {robust[0]:.2f} to {robust[1]:.2f}")
    good = [a and b for a, b in zip(stays, falls, strict=True)]
    verdict = Verdict.HOLDS if all(good) else Verdict.IN_PART if any(good) else Verdict.FAILS
    last = max(one.level for one in found)
    study.claim(
        paper=paper,
        ours=f"Accuracy from level 1 to {last}: {'; '.join(texts)}.",
        verdict=verdict,
        why=(
            f"The robust form loses at most {FALLS:g} and ends at least twice as high as the plain one in {sum(stays)} "
            f"of {len(stays)} cases; the plain form falls, or is at chance from the beginning, in {sum(falls)}. "
            + _reason(found, distances, all(good))
        ),
    )


def _reason(found: list[Accuracy], distances: tuple[str, ...], holds: bool) -> str:
    """Say what the figures mean."""
    ranks = "Ranks do not change when all costs are multiplied"
    if "GW" in distances:
        asked = {(one.data, one.kind, one.level, one.draw) for one in found if one.distance == "GW"}
        share = {
            name: np.mean(
                [
                    one.value
                    for one in found
                    if one.distance == name and one.robust and (one.data, one.kind, one.level, one.draw) in asked
                ]
            )
            for name in ("AE", "GW")
        }
        return (
            f"{ranks}, but GW's solver stops at local minima: on the same queries robust GW is right in "
            f"{share['GW']:.2f} of all cases, robust AE, which has none, in {share['AE']:.2f}."
        )
    more = "" if holds else ", but the sample of points and the noise set a limit to how well shapes are told apart"
    return f"{ranks}{more}; plain costs are compared in size first, and at half its size a shape is nearer to others."


def _ends(found: list[Accuracy], data: str, kind: str, distance: str, robust: bool) -> tuple[float, float]:
    levels = sorted({one.level for one in found if one.distance == distance})
    first, last = (np.mean(_values(found, data, kind, distance, robust, level)) for level in (levels[0], levels[-1]))
    return float(first), float(last)


def _explain(study: Study, trials: dict[str, Trial]) -> None:
    study.note(
        "**Queries are regenerated.** The SHREC'10 robustness set of the paper could not be had. Queries are made from "
        "shapes of SHREC'11 (simplified meshes of about 252 vertices) and TOSCA with what was measured on the "
        "official files of the benchmark: factors 0.9, 1.2, 0.7, 1.75, 0.5 for levels 1 to 5, and Gaussian noise "
        "along the normals of vertices, at level k of deviation sqrt(3) 3.43e-4 (3k + 1) of the diagonal of the "
        "bounding box (3.43e-4 (3k + 1) a coordinate). That official noise is along normals shows in the area, "
        "which noise of the same size in all directions makes far larger (table of official queries). So levels "
        "mean what they mean in the paper, but accuracies are not comparable number by number."
    )
    draws = "; ".join(f"{name} {trial.draws}, levels {trial.levels}" for name, trial in trials.items())
    study.note(
        f"Draws of the shape of each class, of the vertices and of the noise: {draws}; AW and GW have fewer because of "
        "the time they take. Vertices of query and database are drawn each on its own, 300 of 2000 to 3400 of a TOSCA "
        "mesh, but 200 of about 252 of a SHREC'11 mesh: there both share four in five, which helps (the table "
        "by points says how much, for robust AE). Costs are distances along the surface by the heat method."
    )
    study.note(
        "AW has the paper's epsilon, 1e-6 and robust 1e-8, times the numbers of points of both shapes (its program's "
        "units). GW is that of `nearest_gw`, the best of several starts, for plain and ranked costs alike: the "
        "paper's entropic GW (epsilon 100, in POT's convention 400) takes several times as long, and its "
        "epsilon makes no sense on costs of other scale, such as ranks."
    )
