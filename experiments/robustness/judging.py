"""What the results say of the paper's claims."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.robustness.asking import UNDONE
from experiments.robustness.retrieval import Curve, Retrieved
from experiments.robustness.shapes import KINDS

FIRST, LAST = 1, 5
CLAIMS = (  # the claim, its distances, kinds of queries, and prefix of its rules
    (
        "Robust versions of AE and AW can handle the difference of scaling, whereas normal distances suffer from a "
        "drop in accuracy as the level increases (Fig. 4, scaling).",
        ("AE", "AW"),
        KINDS[:1],
        "",
    ),
    ("The same where queries are noisy as well (Fig. 4, scaling + noise).", ("AE", "AW"), KINDS[1:], ""),
    ("The rank statistics make GW robust as well (appendix, Robust GW).", ("GW",), KINDS, "gw_"),
)
BY_CONSTRUCTION = (
    "That a robust form retrieves alike at all levels of scaling is true by construction: ranks do not change when "
    "all costs are multiplied by one number."
)


class Record:
    """All results, to be looked up by what was asked."""

    def __init__(self, results: Sequence[Retrieved]) -> None:
        self.results = results
        self._rows: dict[tuple[str, str, float, Curve], list[NDArray[np.bool_]]] = defaultdict(list)
        for one in results:
            self._rows[one.group.data, one.group.kind, one.group.level, one.curve].append(one.right)

    def right(self, data: str, kind: str, level: float, curve: Curve) -> NDArray[np.float64]:
        """Return whether each query was answered rightly, a row a draw."""
        return np.array(self._rows.get((data, kind, level, curve), ()), dtype=np.float64)

    def has(self, data: str, kind: str, distance: str) -> bool:
        """Whether the distance was tried."""
        return len(self.right(data, kind, LAST, Curve(distance, "plain"))) > 0

    def less(self, first: tuple[str, str, float, Curve], second: tuple[str, str, float, Curve]) -> Interval:
        """Return by how much more often the first was right than the second, shape by shape, with an interval."""
        a, b = self.right(*first), self.right(*second)
        common = min(len(a), len(b))
        return Interval.mean((a[:common] - b[:common]).ravel())


def judge(study: Study, record: Record, datas: Sequence[str]) -> None:
    """Judge the paper's claims, each for every data set and distance that it is about."""
    for claim, distances, kinds, prefix in CLAIMS:
        cases = [case for case in product(datas, kinds, distances) if record.has(*case)]
        study.claim(
            claim,
            f"Accuracy from level {FIRST} to {LAST}, disjoint vertices: "
            + "; ".join(_told(record, *case) for case in cases)
            + ".",
            [part for case in cases for part in _parts(record, *case, prefix)],
            f"Every query is its own control. {BY_CONSTRUCTION}",
        )


def _told(record: Record, data: str, kind: str, distance: str) -> str:
    forms = Curve(distance, "plain"), Curve(distance, "ranks")
    a, b, c, d = (record.right(data, kind, level, curve).mean() for curve in forms for level in (FIRST, LAST))
    return f"{data}, {kind}, {distance}: {a:.2f} to {b:.2f}, robust {c:.2f} to {d:.2f}"


def _parts(record: Record, data: str, kind: str, distance: str, prefix: str) -> list[Part]:
    """Return by how much a robust form is ahead, the plain one falls and, with noise, the robust one does."""
    plain, ranks = Curve(distance, "plain"), Curve(distance, "ranks")
    (plain_first, plain_last), (ranks_first, ranks_last) = (
        [(data, kind, level, curve) for level in (FIRST, LAST)] for curve in (plain, ranks)
    )
    case = f"{data}, {kind}, {distance}"
    found = {
        "ahead": (f"{case}: robust less plain, level {LAST}", ranks_last, plain_last),
        "falls": (f"{case}: plain, level {FIRST} less {LAST}", plain_first, plain_last),
        "loses": (f"{case}: robust, level {FIRST} less {LAST}", ranks_first, ranks_last),
    }
    if kind == KINDS[0]:
        del found["loses"]  # true by construction
    return [Part(what, f"robustness.{prefix}{rule}", record.less(*pair)) for rule, (what, *pair) in found.items()]


def judge_controls(study: Study, record: Record, datas: Sequence[str], share: float) -> None:
    """Say what ranks buy that a division by the mean does not."""
    forms = ranks, mean, _ = tuple(Curve("AE", form) for form in ("ranks", "mean", "median"))

    def told(kind: str, level: float) -> str:
        rows = {data: [record.right(data, kind, level, curve).mean() for curve in forms] for data in datas}
        return "; ".join(f"{data} {', '.join(f'{value:.2f}' for value in row)}" for data, row in rows.items())

    def parts(first: Curve, second: Curve, kind: str, level: float, rule: str) -> list[Part]:
        return [
            Part(
                f"{data}, {kind}: {first.name} less {second.name}",
                f"robustness.{rule}",
                record.less((data, kind, level, first), (data, kind, level, second)),
            )
            for data in datas
        ]

    study.claim(
        "Not in the paper: against size alone, AE on cost / mean is better than on ranks.",
        f"Level {LAST}, ranks, cost / mean and cost / median: {told(KINDS[0], LAST)}.",
        parts(mean, ranks, KINDS[0], LAST, "mean_clean"),
        "A division by the mean keeps proportions, which ranks throw away.",
    )
    study.claim(
        "Not in the paper: with outliers, AE on ranks is better than on cost / mean.",
        f"{100 * share:g} % of the points outliers: {told('outliers', share)}.",
        parts(ranks, mean, "outliers", share, "ranks_spoiled"),
        "One long cost moves the mean of all, and no rank by more than one.",
    )


def explain_noise(study: Study, record: Record, factors: dict[str, list[float]]) -> None:
    """Say why plain AE may do better on noisy queries of the first level than on clean ones: noise lengthens paths."""
    curve, told = Curve("AE", "plain"), []
    for data, lengths in factors.items():
        clean, noisy, undone = (record.right(data, kind, FIRST, curve) for kind in (*KINDS, UNDONE))
        common = min(map(len, (clean, noisy, undone)))
        back = Interval.mean((undone[:common] - clean[:common]).ravel())
        told.append(
            f"{data}: mean cost times {np.mean(lengths):.3f}, accuracy {clean.mean():.2f} clean, {noisy.mean():.2f} "
            f"noisy, {undone.mean():.2f} noisy with its costs divided by that factor (less clean {back})"
        )
        study.value(f"{data}: lengthened by noise, level {FIRST}", np.mean(lengths), 0.002)
    study.note(
        f"Noise can raise the accuracy of plain AE at level {FIRST}, where queries are 0.9 of their shape's size: it "
        f"roughens the surface, paths along it grow, and undo a part of the scaling. {'; '.join(told)}."
    )
