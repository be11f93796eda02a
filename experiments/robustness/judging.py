"""What the answers say of the paper's claims."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.common.differences import Difference
from experiments.common.study import Study, Verdict
from experiments.robustness.retrieval import Answers, Curve
from experiments.robustness.shapes import KINDS

FALLS = 0.1  # a robust form may lose so much from the first to the last level, beyond doubt no more
FIRST, LAST = 1, 5
CLAIMS = {
    "scale": (
        "Robust versions of AE and AW can handle the difference of scaling, whereas normal distances suffer from a "
        "drop in accuracy as the level increases (Fig. 4, scaling).",
        ("AE", "AW"),
        KINDS[:1],
    ),
    "noise": (
        "The same where queries are noisy as well (Fig. 4, scaling + noise).",
        ("AE", "AW"),
        KINDS[1:],
    ),
    "GW": ("The rank statistics make GW robust as well (appendix, Robust GW).", ("GW", "entropic GW"), KINDS),
}


class Record:
    """All answers, to be looked up by what was asked."""

    def __init__(self, answers: Sequence[Answers]) -> None:
        self.answers = answers
        self._rows: dict[tuple[str, str, float, Curve], list[NDArray[np.bool_]]] = defaultdict(list)
        for one in answers:
            self._rows[one.group.data, one.group.kind, one.group.level, one.curve].append(one.right)

    def right(self, data: str, kind: str, level: float, curve: Curve) -> NDArray[np.float64]:
        """Return whether each query was answered rightly, a row a draw."""
        return np.array(self._rows.get((data, kind, level, curve), ()), dtype=np.float64)

    def has(self, data: str, kind: str, distance: str) -> bool:
        """Whether the distance was tried."""
        return len(self.right(data, kind, LAST, Curve(distance, "plain"))) > 0

    def difference(self, first: tuple[str, str, float, Curve], second: tuple[str, str, float, Curve]) -> Difference:
        """Return by how much more often the first was right than the second, shape by shape, with an interval."""
        a, b = self.right(*first), self.right(*second)
        common = min(len(a), len(b))
        return Difference.paired(a[:common].ravel(), b[:common].ravel())


def judge(study: Study, record: Record, datas: Sequence[str], chance: dict[str, float]) -> None:
    """Judge the paper's claims, each for every data set and distance that it is about."""
    for paper, distances, kinds in CLAIMS.values():
        cases = product(datas, kinds, distances)
        found = [_one(record, *case, chance[case[0]]) for case in cases if record.has(*case)]
        good, texts = [ok for ok, _ in found], [text for _, text in found]
        verdict = Verdict.HOLDS if all(good) else Verdict.IN_PART if any(good) else Verdict.FAILS
        study.claim(
            paper=paper,
            ours=f"Accuracy from level {FIRST} to {LAST}, disjoint vertices: {'; '.join(texts)}.",
            verdict=verdict,
            why=f"It holds in {sum(good)} of {len(good)} cases. It is said to hold where the 95 % interval of what the "
            f"robust form loses ends below {FALLS:g}, the robust form is ahead of the plain one at the last level, and "
            "the plain form loses or is at chance from the beginning, each shape being its own control.",
        )


def _one(record: Record, data: str, kind: str, distance: str, chance: float) -> tuple[bool, str]:
    """Whether a robust form stays up where the plain one falls, and the figures."""
    plain, ranks = Curve(distance, "plain"), Curve(distance, "ranks")
    lost = record.difference((data, kind, FIRST, ranks), (data, kind, LAST, ranks))
    ahead = record.difference((data, kind, LAST, ranks), (data, kind, LAST, plain))
    fell = record.difference((data, kind, FIRST, plain), (data, kind, LAST, plain))
    a, b, c, d = (record.right(data, kind, level, curve).mean() for curve in (plain, ranks) for level in (FIRST, LAST))
    good = lost.high < FALLS and ahead.low > 0 and (fell.low > 0 or a <= 2 * chance)
    text = f"{data}, {kind}, {distance}: {a:.2f} to {b:.2f}, robust {c:.2f} to {d:.2f} (loses {lost})"
    return bool(good), text


def judge_controls(study: Study, record: Record, datas: Sequence[str], share: float) -> None:
    """Say what ranks buy that a division by the mean or the median does not."""
    ranks, mean, median = (Curve("AE", form) for form in ("ranks", "mean", "median"))
    clean, spoiled = [], []
    for data in datas:
        by_scale = _beside(record, data, KINDS[0], LAST, (ranks, mean, median))
        by_outliers = _beside(record, data, "outliers", share, (ranks, mean, median))
        clean.append(f"{data} {by_scale}")
        spoiled.append(f"{data} {by_outliers}")
    study.claim(
        paper="Not in the paper: is it ranks that are needed, or any division by the size?",
        ours=f"AE on ranks, cost / mean and cost / median. Scaling alone (level {LAST}): {'; '.join(clean)}. With "
        f"{100 * share:g} % of the points outliers: {'; '.join(spoiled)}.",
        verdict=Verdict.BEYOND,
        why="Against size alone a division by the mean does as well as ranks, or better: it keeps proportions, which "
        "ranks throw away. What ranks buy shows in the difference with outliers.",
    )


def _beside(record: Record, data: str, kind: str, level: float, curves: Sequence[Curve]) -> str:
    mean: Callable[[Curve], float] = lambda curve: record.right(data, kind, level, curve).mean()  # noqa: E731
    gap = record.difference((data, kind, level, curves[0]), (data, kind, level, curves[1]))
    return f"{', '.join(f'{mean(curve):.2f}' for curve in curves)} (ranks less mean {gap})"
