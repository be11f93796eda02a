"""Draw collections of spaces that differ in known ways, and count how often each test sees it; first, of none."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers
from experiments.power.alternatives import alternatives
from experiments.power.drawing import draw_level, draw_power
from experiments.power.methods import LEVEL, N_RESAMPLES, methods, pvalue

TITLE = "Power: which tests see which differences"
QUESTION = "How often does each test reject collections of spaces that differ, and how often collections that do not?"
DATA = ()
SIZES, QUICK_SIZES = (4, 8, 12), (6,)
BATCH = 10  # repeats that are one piece of work

Power = dict[tuple[str, str], list[Interval]]  # by alternative and test, one a size


@dataclass(frozen=True)
class Work:
    """Some repeats of one alternative."""

    alternative: int
    repeats: range
    sizes: tuple[int, ...]


def run(study: Study) -> None:
    """Test all alternatives, and the same with nothing done to either side, by all methods."""
    repeats = study.draws("level", 6)
    sizes = QUICK_SIZES if study.quick else SIZES
    kinds, tests = alternatives(), [test.name for test in methods()]
    batches = [range(k, min(k + BATCH, repeats)) for k in range(0, repeats, BATCH)]
    work = [Work(k, batch, sizes) for k in range(len(kinds)) for batch in batches]
    found = in_workers(study, _rejected, work, "testing", "batches")
    rejected = np.concatenate(found).reshape(len(kinds), repeats, *found[0].shape[1:])
    level = {test: Interval.mean(rejected[:, :, 0, :, m].mean(axis=2).ravel()) for m, test in enumerate(tests)}
    power = {
        (kind.name, test): [_share(rejected[k, :, 1, s, m]) for s in range(len(sizes))]
        for k, kind in enumerate(kinds)
        for m, test in enumerate(tests)
    }
    largest = {
        (kind.name, test): rejected[k, :, 1, -1, m].astype(float)
        for k, kind in enumerate(kinds)
        for m, test in enumerate(tests)
    }
    study.figure("level", draw_level(level, LEVEL), LEVEL_CAPTION.format(repeats=repeats))
    study.figure("power", draw_power(power, kinds, sizes, LEVEL), POWER_CAPTION.format(repeats=repeats))
    study.table("level", _level_rows(level), f"Level: rejected at {LEVEL:g} although nothing differs")
    study.table("power", _power_rows(power), f"Power at {sizes[-1]} spaces a side, with 95 % intervals")
    study.table("all", _all_rows(power, sizes), "All shares", shown=False)
    _claims(study, level, power, largest, sizes[-1])
    study.note(NOTE + " ".join(f"*{kind.name}*: {kind.told}." for kind in kinds))
    for (kind_name, test), shares in power.items():
        study.value(f"{kind_name}, {test}", shares[-1].value, 1.1 / repeats)


def _share(rejected: NDArray[np.bool_]) -> Interval:
    return Interval.share(int(rejected.sum()), rejected.size)


def _rejected(work: Work) -> NDArray[np.bool_]:
    """[repeat, difference, size, method]: whether collections were rejected, first without a difference."""
    kind, tests, largest = alternatives()[work.alternative], methods(), max(work.sizes)
    found = np.zeros((len(work.repeats), 2, len(work.sizes), len(tests)), bool)
    for row, repeat in zip(found, work.repeats, strict=True):
        rng = np.random.default_rng([work.alternative, repeat])
        drawn = [[kind.draw(rng, side) for _ in range(largest)] for side in (0, 0, 1)]
        for m, test in enumerate(tests):
            distances = test.distances([space for side in drawn for space in side])
            for differs in (0, 1):
                for s, size in enumerate(work.sizes):
                    chosen = np.concatenate([np.arange(size), largest * (1 + differs) + np.arange(size)])
                    row[differs, s, m] = pvalue(distances[np.ix_(chosen, chosen)], size, repeat) <= LEVEL
    return found


def _level_rows(level: dict[str, Interval]) -> list[dict[str, Any]]:
    return [{"test": name, "share and 95 % interval": str(share)} for name, share in level.items()]


def _power_rows(power: Power) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for (kind, test), shares in power.items():
        rows.setdefault(test, {"test": test})[kind] = str(shares[-1])
    return list(rows.values())


def _all_rows(power: Power, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        {"alternative": kind, "test": test, "spaces a side": size, "rejected": str(share)}
        for (kind, test), shares in power.items()
        for size, share in zip(sizes, shares, strict=True)
    ]


def _claims(
    study: Study,
    level: dict[str, Interval],
    power: Power,
    largest: dict[tuple[str, str], NDArray[np.float64]],
    size: int,
) -> None:
    rates = [share.value for share in level.values()]
    study.claim(
        "Not in the paper: tests keep their level.",
        f"Without a difference {min(rates):.3f} to {max(rates):.3f} of pairs of collections are rejected at {LEVEL:g}.",
        [Part(f"level, {name}", "power.level", share) for name, share in level.items()],
        "Permutation tests are exact. Collections of different sizes share spaces, so the interval is over repeats.",
    )

    def told(kind: str, *tests: str) -> str:
        return ", ".join(f"{test} {power[kind, test][-1]}" for test in tests)

    def part(kind: str, test: str, rule: str) -> Part:
        return Part(f"share rejected, {kind}, {test}", f"power.{rule}", power[kind, test][-1])

    def gain(kind: str, test: str, rule: str) -> Part:
        found = Interval.mean(largest[kind, test] - largest[kind, "AE"])
        return Part(f"share rejected, {kind}: {test} less AE", f"power.{rule}", found)

    study.claim(
        'Not in the paper: AE has no power where collections agree level by level; ground="w2" has.',
        f"At {size} spaces a side: {told('crossed', 'AE', 'robust AE', 'AE, W2', 'AE, W2 projected', 'AW')}.",
        [part("crossed", "AE", "ae_blind"), *(part("crossed", f"AE, W2{x}", "w2_sees") for x in ("", " projected"))],
        "AE between such spaces is that of their sizes alone, whatever the graph.",
    )
    study.claim(
        "Not in the paper: ranks are blind to size, and see more than costs where there are outliers.",
        f"Sizes: {told('size', 'AE', 'robust AE')}. Outliers: {told('outliers', 'AE', 'robust AE')}.",
        [part("size", "robust AE", "ranks_blind"), gain("outliers", "robust AE", "ranks_outliers")],
        "Two outliers in twenty points hide shape from every test, from ranks the least.",
    )
    study.claim(
        "Not in the paper: marks see where types lie, which plain AE does not.",
        f"{told('types', 'AE', 'marked AE')}.",
        [gain("types", "marked AE", "marks_see")],
        "Plain AE does not know of types.",
    )
    named = []
    for kind in dict.fromkeys(kind for kind, _ in power):
        values = {test: shares[-1].value for (its, test), shares in power.items() if its == kind}
        best = [test for test, value in values.items() if value == max(values.values())]
        named.append(f"{kind} {max(values.values()):.2f} ({', '.join(best)})")
    study.note(
        f"No test is the best everywhere. The largest shares at {size} spaces a side: {'; '.join(named)}. Intervals of "
        "most overlap: differences of less than a quarter mean little here."
    )


LEVEL_CAPTION = (
    "Level: shares of pairs of collections that are rejected although nothing differs, all alternatives and sizes "
    "together, {repeats} repeats each, with 95 % intervals; the line is 5 %."
)
POWER_CAPTION = (
    "Power: shares of {repeats} pairs of collections that are rejected at 5 %, against their size, with 95 % intervals "
    "(Clopper and Pearson)."
)
NOTE = (
    "Spaces have 20 points (those of *crossed* six). All distances are tested by `group_test` as DISCO, the energy "
    f"test on distances (roots of energies), with {N_RESAMPLES} permutations. AW is exact, W2 is projected 64 times. "
    "Of every repeat smaller collections are parts of the largest one. "
)
