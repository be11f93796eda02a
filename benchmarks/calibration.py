"""What the fits of all kinds of data share: observing pairs in several processes, fitting, comparing, reporting."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from anchorot.align.calibration import Logistic, sigmoid
from confidence import auc, calibration_error

Floats = np.ndarray
Seen = dict[str, Any]  # of one pair: what chances are computed from, and "is_right"
Models = dict[str, Logistic]
RIDGE = 1e-5  # times the sum of the squared coefficients, beside the mean negative log-likelihood: keeps them finite
STOP = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9}  # of L-BFGS-B: at a loss near 1, all digits that are stored
LOW = 0.5  # chances below this one are counted in reports
MIN_CHANCE = 1e-6  # below it a chance counts as this one in the likelihood


class Job(NamedTuple):
    """One pair: its kind, its number among these, and what observes it."""

    kind: str
    number: int
    observe: Callable[..., Seen]
    arguments: tuple[Any, ...]


class Fit(NamedTuple):
    """A fitted model, and on how many pairs and points it was fitted."""

    model: Logistic
    pairs: int
    points: int


class Task(NamedTuple):
    """How the models of one kind of data are fitted."""

    jobs: Callable[[Path, bool], Iterator[Job]]  # of the kinds for the fit, or of those held out
    fit: Callable[[dict[str, list[Seen]]], dict[str, Fit]]
    judge: Callable[[list[Seen], Models], dict[str, tuple[Floats, Floats]]]  # chances, and whether these are right
    fitted_on: dict[str, str]  # for each model


def _seen(job: Job, file: Path, resume: bool) -> Seen:
    if not (resume and file.exists()):
        found = job.observe(*job.arguments)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part.npz")
        np.savez(part, **found)
        part.replace(file)
    with np.load(file) as held:
        return dict(held)


def observed(jobs: Iterable[Job], cache: Path, workers: int, resume: bool, limit: int | None) -> dict[str, list[Seen]]:
    """Observe all pairs, by kind; `limit` keeps the first pairs of each, and `resume` what an earlier run observed."""
    kept = [job for job in jobs if limit is None or job.number < limit]
    files = [cache / f"{job.kind.replace(' ', '-')}-{job.number}.npz" for job in kept]
    with ProcessPoolExecutor(workers) as pool:
        found = pool.map(_seen, kept, files, [resume] * len(kept))
        by_kind: dict[str, list[Seen]] = {}
        for kind, pairs in groupby(zip(kept, found, strict=True), key=lambda pair: pair[0].kind):
            by_kind[kind] = [seen for _, seen in pairs]
            print(f"{kind}: {len(by_kind[kind])} pairs", flush=True)
    return by_kind


def weights_of(counts: list[int], shares: list[float] | None = None) -> Floats:
    """Weights of the points of several kinds, joined; their sum is 1. All kinds count alike, or in such proportions."""
    found = np.array(counts)
    whole = (found > 0) * (np.ones(len(found)) if shares is None else np.array(shares))
    return np.repeat(whole / np.maximum(found, 1) / whole.sum(), found)


def fitted(features: dict[str, Floats], is_right: Floats, weights: Floats, divisor: Floats | float = 1.0) -> Logistic:
    """The model of largest likelihood, where the chance of being right is its probability divided by `divisor`."""
    columns = np.stack([*features.values(), np.ones(len(is_right))])

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        chance = sigmoid(coefficients @ columns)
        wrong = np.maximum(1 - chance / divisor, MIN_CHANCE)
        likely = np.where(is_right, np.log(np.maximum(chance, MIN_CHANCE)), np.log(wrong))
        slope = np.where(is_right, 1 - chance, -chance * (1 - chance) / divisor / wrong)
        value = -(weights @ likely) + RIDGE * np.square(coefficients).sum()
        return float(value), 2 * RIDGE * coefficients - columns @ (weights * slope)

    best = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", options=STOP).x
    return Logistic(dict(zip(features, best[:-1].tolist(), strict=True)), float(best[-1]))


def linear(features: dict[str, Floats], values: Floats) -> Logistic:
    """The model whose score has the least squares."""
    columns = np.stack([*features.values(), np.ones(len(values))], axis=1)
    best = np.linalg.lstsq(columns, values, rcond=None)[0]
    return Logistic(dict(zip(features, best[:-1].tolist(), strict=True)), float(best[-1]))


def joined(pairs: Iterable[dict[str, Floats]], names: Iterable[str]) -> dict[str, Floats]:
    """Arrays of several pairs, one after the other."""
    pairs = list(pairs)
    return {name: np.concatenate([np.atleast_1d(one[name]) for one in pairs]) for name in names}


def fit_whole(found: dict[str, list[Seen]], features: tuple[str, ...]) -> dict[str, Fit]:
    """Fit the chance that a result is right as a whole; every kind of pairs weighs the same."""
    seen = [one for pairs in found.values() for one in pairs]
    total = joined(seen, (*features, "is_right"))
    weights = weights_of([len(pairs) for pairs in found.values()])
    model = fitted({name: total[name] for name in features}, total["is_right"], weights)
    return {"whole": Fit(model, len(seen), len(seen))}


def judge_whole(pairs: list[Seen], models: Models, features: tuple[str, ...]) -> dict[str, tuple[Floats, Floats]]:
    """Chances that results are right as a whole, and whether they are."""
    total = joined(pairs, (*features, "is_right"))
    return {"": (np.asarray(models["whole"].probability(total)), total["is_right"])}


def agrees(stored: float, found: float) -> bool:
    """Whether two numbers differ by at most half a unit of the second digit."""
    return bool(abs(stored - found) <= 0.5 * 10 ** (np.floor(np.log10(abs(stored))) - 1)) if stored else found == 0


def compared(name: str, stored: Logistic, found: Logistic) -> list[str]:
    """Lines of a table: every coefficient as it is stored and as it was fitted."""
    lines = []
    for key in [*found.coefficients, "constant"]:
        one, two = ((model.coefficients | {"constant": model.constant})[key] for model in (stored, found))
        lines.append(f"| {name} | {key} | {one:.4g} | {two:.4g} | {'yes' if agrees(one, two) else '**no**'} |")
    return lines


def report(task: Task, found: dict[str, list[Seen]], stored: Models, new: Models) -> list[str]:
    """Lines of a table: AUC, calibration error, and shares, of every kind and of all, by both sets of coefficients."""
    lines = []
    total = {"all": [one for pairs in found.values() for one in pairs]}
    for kind, pairs in (found | total).items():
        old, other = task.judge(pairs, stored), task.judge(pairs, new)
        for what, by_old in old.items():
            shown = []
            for chance, is_right in (by_old, other[what]):
                area, error = auc(chance, is_right), calibration_error(chance, is_right)
                low = [np.mean(chance[own] < LOW) if own.any() else np.nan for own in (~is_right, is_right)]
                shown.append(f"{area:.3f} | {error:.3f} | {is_right.mean():.3f} | {chance.mean():.3f}")
                shown += [f"{share:.2f}" for share in low]
            lines.append(f"| {kind}{what and ': '}{what} | {len(by_old[0])} | {' | '.join(shown)} |")
    return lines
