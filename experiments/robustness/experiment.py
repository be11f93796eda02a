"""The paper's question 3: nearest neighbour retrieval of scaled, and of scaled and noisy shapes."""

from itertools import product

import numpy as np

import anchorot as ao
from experiments.common.progress import progress_bar
from experiments.common.study import Study
from experiments.robustness.asking import Draw, Trial, sizes_in_words
from experiments.robustness.drawing import draw_accuracy, draw_outliers, draw_queries
from experiments.robustness.judging import FIRST, Record, explain_noise, judge, judge_controls
from experiments.robustness.official import compare_with_official
from experiments.robustness.retrieval import FORMS, Curve, Retrieved
from experiments.robustness.shapes import KINDS, LEVELS, SCALES, Mesh

TITLE = "Robustness to scale and noise"
QUESTION = (
    "Are the robust forms of AE, AW and GW, on ranks of costs, robust against scale and noise? A database of one shape "
    "of each class is asked for the shape that a scaled, or scaled and noisy, query was made from, seen at other "
    "points."
)
DATA = ("tosca_nonrigid3d", "shrec11_meshcnn", "shrec11_robust")
SETS = {"SHREC'11": 100, "TOSCA": 150}  # points drawn of each shape, twice
QUICK_POINTS = 40
ENDS = (1, 5)  # the levels that are judged
ENERGIES = tuple(Curve("AE", form) for form in FORMS)
OUTLIERS = (0.0, 0.02, 0.04, 0.08)  # shares of a query's points
JUDGED = 0.04


def run(study: Study) -> None:
    """Ask both databases, draw accuracy and queries, and judge the claims."""
    trials = _by_curve(_trials(study))
    n_draws = max(trial.draws for trial in trials.values())
    found: list[Retrieved] = []
    examples: dict[str, Mesh] = {}
    sizes, factors = {}, {data: list[float]() for data in SETS}
    with progress_bar(n_draws * len(SETS), "asking the databases", "draws") as advance:
        for (data, n_points), number in product(SETS.items(), range(n_draws)):
            draw = Draw.of(study, data, number, QUICK_POINTS if study.quick else n_points)
            examples.setdefault(data, draw.meshes[0])
            sizes[data] = len(draw.meshes)
            undone, lengths = draw.ask_with_lengths_undone(FIRST, ENERGIES[0])
            factors[data] += lengths
            found += draw.ask(KINDS, trials) + draw.ask_with_outliers(OUTLIERS, ENERGIES) + undone
            advance(1)
    record = Record(found)
    _draw(study, record, sizes, examples)
    _write_tables(study, record, list(trials))
    compare_with_official(study)
    judge(study, record, list(SETS))
    judge_controls(study, record, list(SETS), JUDGED)
    explain_noise(study, record, factors)
    _explain(study)
    note_on_noise(study)


def _trials(study: Study) -> dict[str, Trial]:
    """AE is tried at all levels, for the picture; AW and GW at those that are judged."""
    draws = {"AE": study.draws("ahead", 2), "AW": study.draws("ahead", 1), "GW": study.draws("gw_ahead", 1)}
    levels = {"AE": ENDS if study.quick else tuple(sorted(SCALES)), "AW": ENDS, "GW": ENDS}
    return {distance: Trial(levels[distance], draws[distance]) for distance in draws}


def _by_curve(trials: dict[str, Trial]) -> dict[Curve, Trial]:
    """Try AE in all forms, the others on costs and on ranks."""
    return {
        Curve(distance, form): trial
        for distance, trial in trials.items()
        for form in (FORMS if distance == "AE" else FORMS[:2])
    }


def _draw(study: Study, record: Record, sizes: dict[str, int], examples: dict[str, Mesh]) -> None:
    study.figure(
        "accuracy",
        draw_accuracy(record, sizes),
        "Accuracy of nearest neighbour retrieval against the size of the query, on costs as they are (dashed) and in "
        "forms that do not see size; queries regenerated, at other vertices than the database has. Bars are standard "
        "deviations over draws of shapes, vertices and noise. The strength of the noise is not in the order of sizes: "
        "it grows with the level.",
    )
    study.figure(
        "outliers",
        draw_outliers(record, sizes, OUTLIERS),
        "AE of queries of half the size, some of whose points are at the ends of spikes twice as long as the shape is "
        "wide, by the share of such points. Bars are standard deviations over draws.",
    )
    study.figure(
        "queries",
        draw_queries(examples, study.rng(5)),
        "Shapes of the two databases and queries regenerated from them, all in one scale; turned to be seen well, "
        "which no distance notices.",
    )


def _write_tables(study: Study, record: Record, curves: list[Curve]) -> None:
    """Write the mean and deviation of each curve, to read and as numbers."""
    rows, shown = [], []
    for data, kind, curve in product(SETS, KINDS, curves):
        head = {"data": data, "queries": kind, "distance": curve.name}
        by_level = {level: record.right(data, kind, level, curve) for level in LEVELS}
        shown.append(head | {f"level {level}": _mean_and_deviation(right) for level, right in by_level.items()})
        for level, right in by_level.items():
            if len(right):
                rows.append(head | {"level": level, "accuracy": right.mean(), "draws": len(right)})
    for data, curve in product(SETS, ENERGIES):
        by_share = {share: record.right(data, "outliers", share, curve) for share in OUTLIERS}
        for share, right in by_share.items():
            head = {"data": data, "queries": f"{100 * share:g} % outliers", "distance": curve.name}
            rows.append(head | {"level": 5, "accuracy": right.mean(), "draws": len(right)})
    study.table("accuracy", rows, "Accuracy of retrieval", shown=False)
    study.table(
        "accuracy_by_level",
        shown,
        "Accuracy of retrieval, mean ± standard deviation over draws, in the order of sizes (queries regenerated)",
    )
    for data, curve in product(SETS, curves):
        results = [one.right for one in record.results if (one.group.data, one.curve) == (data, curve)]
        right = np.concatenate(results)
        study.value(f"{data} {curve.name}", right.mean(), 1.1 / len(right))


def _mean_and_deviation(right: np.ndarray) -> str:
    if len(right) < 2:
        return f"{right.mean():.2f}" if len(right) else ""
    return f"{right.mean():.2f} ± {right.mean(axis=1).std(ddof=1):.2f}"


def _explain(study: Study) -> None:
    study.note(
        "**Queries are regenerated.** The SHREC'10 robustness set of the paper could not be had. Queries are made from "
        "shapes of SHREC'11 (simplified meshes of about 252 vertices) and TOSCA with what was measured on the "
        f"official files of the benchmark: factors {sizes_in_words()} for levels 1 to 5, and Gaussian noise "
        "along the normals of vertices, at level k of deviation sqrt(3) 3.43e-4 (3k + 1) of the diagonal of the "
        "bounding box (3.43e-4 (3k + 1) a coordinate). That official noise is along normals shows in the area, "
        "which noise of the same size in all directions makes far larger (table of official queries). So levels "
        "mean what they mean in the paper, but accuracies are not comparable number by number."
    )
    draws = "; ".join(f"{name} {trial.draws}, levels {trial.levels}" for name, trial in _trials(study).items())
    points = ", ".join(f"{n} of each {data} mesh" for data, n in SETS.items())
    study.note(
        f"Draws of the shape of each class, of the vertices and of the noise: {draws}. Vertices of query and database "
        f"are **disjoint** ({points}, twice): two draws of one small mesh that share vertices hold the same costs, and "
        "are found by them and not by the shape. Costs are distances along the surface by the heat method."
    )
    study.note(
        "AW is exact: the paper's epsilons, 1e-6 and for ranks 1e-8 times the numbers of points of both shapes (its "
        "program's units), are so small that Sinkhorn takes ten times as long for the same order. GW is that of "
        '`nearest_gw(start="quick")`, from the Anchor Energy Plan and from the product, without entropy; the paper\'s '
        "is entropic."
    )


def note_on_noise(study: Study) -> None:
    """Say how far two draws of one shape are from each other, beside how far the shapes of the database are."""
    texts = []
    for data, n_points in SETS.items():
        draw = Draw.of(study, data, 0, QUICK_POINTS if study.quick else n_points)
        for name, robust in (("AE", False), ("robust AE", True)):
            floor = draw.noise(robust=robust)
            energies = ao.pairwise(draw.kept, robust=robust, n_jobs=1, progress=False)
            nearest = np.median(np.where(np.eye(len(energies), dtype=bool), np.inf, energies).min(axis=1))
            texts.append(
                f"{data}, {name}: {floor.plain:.2g} between two draws of one shape, {nearest:.2g} from a shape to the "
                f"nearest other (median); by the estimate that is free of noise {floor.value:+.2g} ± "
                f"{floor.value_error:.1g} between draws, whose 95 % interval holds 0 for {floor.covered:.0%}"
            )
    study.note(
        "How much of it is the draw, in the first draw, sizes unchanged. "
        + "; ".join(texts)
        + ". Draws that leave each other few vertices differ more than independent ones, so the estimate of SHREC'11, "
        "with meshes of about 252 vertices, lies below 0."
    )
