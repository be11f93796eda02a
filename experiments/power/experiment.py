"""Draw collections of spaces that differ in known ways, and count how often each test sees it; first, of none."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.study import Study, Verdict
from experiments.common.workers import in_workers
from experiments.power.alternatives import alternatives
from experiments.power.drawing import draw_level, draw_power
from experiments.power.methods import LEVEL, N_RESAMPLES, methods

TITLE = "Power: which tests see which differences"
QUESTION = "How often does each test reject collections of spaces that differ, and how often collections that do not?"
DATA = ()
SIZES, QUICK_SIZES = (4, 8, 12), (6,)
REPEATS, QUICK_REPEATS = 80, 6
BATCH = 10  # repeats that are one piece of work
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Work:
    """Some repeats of one alternative."""

    alternative: int
    repeats: range
    sizes: tuple[int, ...]
    with_peers: bool


@dataclass(frozen=True)
class Share:
    """How often a test rejected, and the interval of the probability of it (Clopper and Pearson)."""

    rejected: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.rejected / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """The probabilities that agree with it."""
        from scipy.stats import binomtest

        found = binomtest(self.rejected, self.of).proportion_ci(CONFIDENCE, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.2f} ({low:.2f} to {high:.2f})"


Power = dict[tuple[str, str], list[Share]]  # by alternative and test, one a size


def run(study: Study) -> None:
    """Test all alternatives, and the same with nothing done to either side, by all methods."""
    repeats = QUICK_REPEATS if study.quick else REPEATS
    sizes = QUICK_SIZES if study.quick else SIZES
    kinds, tests = alternatives(), [test.name for test in methods(not study.quick)]
    if not study.quick:
        _check_peers()
    batches = [range(k, min(k + BATCH, repeats)) for k in range(0, repeats, BATCH)]
    work = [Work(k, batch, sizes, not study.quick) for k in range(len(kinds)) for batch in batches]
    found = in_workers(study, _tested, work, "testing", "batches")
    rejected = np.zeros((len(kinds), *found[0].shape), np.int64)  # [alternative, difference, size, test]
    np.add.at(rejected, [one.alternative for one in work], found)
    null, n_null = rejected[:, 0].sum(axis=(0, 1)), len(kinds) * len(sizes) * repeats
    level = {test: Share(int(count), n_null) for test, count in zip(tests, null, strict=True)}
    power = {
        (kind.name, test): [Share(int(count), repeats) for count in rejected[k, 1, :, m]]
        for k, kind in enumerate(kinds)
        for m, test in enumerate(tests)
    }
    study.figure("level", draw_level(level, LEVEL), LEVEL_CAPTION.format(repeats=repeats))
    study.figure("power", draw_power(power, kinds, sizes, LEVEL), POWER_CAPTION.format(repeats=repeats))
    study.table("level", _level_rows(level), f"Level: rejected at {LEVEL:g} although nothing differs")
    study.table("power", _power_rows(power), f"Power at {sizes[-1]} spaces a side, with 95 % intervals")
    study.table("all", _all_rows(power, sizes), "All shares", shown=False)
    _claims(study, level, power, sizes)
    study.note(NOTE + " ".join(f"*{kind.name}*: {kind.told}." for kind in kinds))
    for (kind_name, test), shares in power.items():
        study.value(f"{kind_name}, {test}", shares[-1].value, 1.1 / repeats)


def _check_peers() -> None:
    """Name what is missing before the work begins."""
    from importlib.util import find_spec

    for package in ("dcor", "hyppo"):
        if find_spec(package) is None:
            raise ao.InputError(f"power needs the package {package}; pip install '.[experiments]' brings it")


def _tested(work: Work) -> NDArray[np.int64]:
    """[difference, size, method]: how often collections were rejected, first without a difference."""
    kind, tests, largest = alternatives()[work.alternative], methods(work.with_peers), max(work.sizes)
    counts = np.zeros((2, len(work.sizes), len(tests)), np.int64)
    for repeat in work.repeats:
        rng = np.random.default_rng([work.alternative, repeat])
        drawn = [[kind.draw(rng, side) for _ in range(largest)] for side in (0, 0, 1)]
        for m, test in enumerate(tests):
            prepared = test.prepare([space for side in drawn for space in side])
            for differs in (0, 1):
                for s, size in enumerate(work.sizes):
                    second = largest * (1 + differs) + np.arange(size)
                    part = test.part(prepared, np.concatenate([np.arange(size), second]))
                    counts[differs, s, m] += test.pvalue(part, size, repeat) <= LEVEL
    return counts


def _level_rows(level: dict[str, Share]) -> list[dict[str, Any]]:
    return [
        {"test": name, "rejected": share.rejected, "of": share.of, "share and 95 % interval": str(share)}
        for name, share in level.items()
    ]


def _power_rows(power: Power) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for (kind, test), shares in power.items():
        rows.setdefault(test, {"test": test})[kind] = str(shares[-1])
    return list(rows.values())


def _all_rows(power: Power, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        {"alternative": kind, "test": test, "spaces a side": size, "rejected": share.rejected, "of": share.of}
        for (kind, test), shares in power.items()
        for size, share in zip(sizes, shares, strict=True)
    ]


def _claims(study: Study, level: dict[str, Share], power: Power, sizes: tuple[int, ...]) -> None:
    too_often = [name for name, share in level.items() if share.interval[0] > LEVEL]
    rates, count = [share.value for share in level.values()], next(iter(level.values())).of
    study.claim(
        "Not in the paper: tests keep their level.",
        f"Without a difference {min(rates):.3f} to {max(rates):.3f} of {count} pairs of collections are rejected at "
        f"{LEVEL:g}; more often than that, beyond chance: {', '.join(too_often) or 'none'}.",
        Verdict.BEYOND,
        "Permutation tests are exact. Collections of different sizes share spaces, so intervals are a little narrow.",
    )

    def told(kind: str, *tests: str) -> str:
        return ", ".join(f"{test} {power[kind, test][-1]}" for test in tests)

    study.claim(
        'Not in the paper: AE has no power where collections agree level by level; ground="w2" has.',
        f"At {sizes[-1]} spaces a side: {told('crossed', 'AE', 'robust AE', 'AE, W2', 'AE, W2 projected', 'AW')}.",
        Verdict.BEYOND,
        "AE between such spaces is that of their sizes alone, whatever the graph.",
    )
    study.claim(
        "Not in the paper: what else each test is blind to.",
        f"Sizes: {told('size', 'AE', 'robust AE')}. Outliers: {told('outliers', 'AE', 'robust AE')}. Where types are: "
        f"{told('types', 'AE', 'marked AE')}. Close pairs: {told('local', 'AE', 'robust AE', 'AE, W2')}.",
        Verdict.BEYOND,
        "Ranks are blind to size. Two outliers in twenty points hide shape from every test, from ranks the least. "
        "Where types are, only marks see.",
    )
    named = []
    for kind in dict.fromkeys(kind for kind, _ in power):
        values = {test: shares[-1].value for (its, test), shares in power.items() if its == kind}
        best = [test for test, value in values.items() if value == max(values.values())]
        named.append(f"{kind} {max(values.values()):.2f} ({', '.join(best)})")
    study.claim(
        "Not in the paper: which test is the best?",
        f"None is everywhere. The largest shares at {sizes[-1]} spaces a side: {'; '.join(named)}.",
        Verdict.BEYOND,
        "Intervals of most overlap: differences of less than a quarter mean little here.",
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
    f"test on distances (roots of energies), with {N_RESAMPLES} permutations; dcor's energy test and hyppo's MMD with "
    "a Gaussian kernel take 32 quantiles of all distances of a space. AW is exact, W2 is projected 64 times. Of every "
    "repeat smaller collections are parts of the largest one. "
)
