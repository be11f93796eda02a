"""How many points of two embeddings each method matches correctly: known pairs, fixed seeds, one run, one thread.

    python benchmarks/embeddings.py                   align_embeddings alone
    python benchmarks/embeddings.py --rivals          with the others
    python benchmarks/embeddings.py --draws           several draws, with the best rival and the truth
    python benchmarks/embeddings.py --sure 5          how sure: confidence, `reliable` and labels, real and simulated
    python benchmarks/embeddings.py --large           with 20 000 points per side

Features of digits are those of two small networks trained here, on the same 1 000 images. Clouds have clumps, a falling
spectrum and noise; objects have sparse positive features of falling weight, like those that people's judgements give,
with noise in proportion, so that even the rotation of all true pairs ("known pairs") is right for 81 to 84 % only. That
is no upper limit of `align_embeddings`, which weighs directions by what is left in each: "known pairs, weighed" weighs
them in the same way, by the true pairs. "Overlap"
is the share of either side's objects that the other side has too, "right" the share of those with a partner that get
it, "map" the share of all objects that an assignment after `transform` gets right. The rivals: POT's conditional
gradient from the product plan; GWTune's settings on POT's entropic solver (random starts, four trials of epsilon drawn
log-uniformly, 200 iterations, the least loss kept; its range of epsilon, 1 to 10, is for costs of its own tutorials and
is taken here as 0.001 to 0.1 of the mean cost); Wasserstein-Procrustes from a random rotation; the refinement of MUSE
(mutual nearest points by CSLS, then Procrustes) from the same random rotation, not from its adversarial start. The best
rival is POT's conditional gradient from an assignment of the sorted rows of costs, with rotation and assignment in turn
after it; "weighed" adds the weights of directions. Times are CPU seconds.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

import anchorot as ao

sys.path.append(str(Path(__file__).parents[1]))  # for the readers of the experiments
from experiments.beyond.cells import scgem, snare
from measure import Row, table, write_results

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))


class Pair(NamedTuple):
    """Two embeddings; object k of all has the rows first_all[k] and second_all[k], and sides see some objects each."""

    first_all: np.ndarray
    second_all: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @property
    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """What is seen of both, rows at length 1."""
        return unit(self.first_all[self.first]), unit(self.second_all[self.second])

    @property
    def truth(self) -> np.ndarray:
        """Partner of every row of the first side; -1 without one."""
        place = np.full(len(self.first_all), -1)
        place[self.second] = np.arange(len(self.second))
        return place[self.first]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# -- data ----------------------------------------------------------------------------------------------------------


def clouds(n: int, overlap: float, noise: float, seed: int, d: int = 40, e: int = 40) -> Pair:
    rng = np.random.default_rng(seed)
    total = round(n * (2 - overlap))
    spectrum = np.arange(1, d + 1) ** -0.8
    centres = rng.normal(size=(40, d)) * spectrum * 1.5
    kinds = rng.choice(40, total, p=rng.dirichlet(np.ones(40)))
    objects = centres[kinds] + rng.normal(size=(total, d)) * spectrum * rng.uniform(0.3, 1, 40)[kinds, None]
    turns = [np.linalg.qr(rng.normal(size=(max(d, k), max(d, k))))[0][:d, :k] for k in (d, e)]
    views = [(objects + noise * rng.normal(size=objects.shape) * spectrum) @ turn for turn in turns]
    order = rng.permutation(total)
    return Pair(*views, order[:n], rng.permutation(order[total - n :]))


def objects(overlap: float, seed: int = 0, n: int = 1854, d: int = 90) -> Pair:
    rng = np.random.default_rng(seed)
    weights = np.exp(-np.arange(d) / 25)
    kinds = rng.gamma(0.15, 4, size=(50, d))[rng.integers(50, size=n)]
    true = (rng.gamma(0.25, 1, size=(n, d)) + kinds) * weights
    noise = [0.22 * rng.normal(size=(2, n, d)) for _ in range(2)]
    views = [np.maximum(true * np.exp(own) + 0.15 * weights * other, 0) for own, other in noise]
    views[1] = (views[1] @ (np.eye(d) + 0.03 * rng.normal(size=(d, d))))[:, rng.permutation(d)]
    order = rng.permutation(n)
    seen = n if overlap == 1 else n // 2
    return Pair(*views, order[:seen], rng.permutation(order[:seen] if overlap == 1 else order[seen:]))


def lengths(overlap: float, seed: int = 0, n: int = 1854, d: int = 90) -> Pair:
    """Objects whose length tells them apart as much as their direction does; noise is equal in all directions."""
    rng = np.random.default_rng(seed)
    true = (rng.gamma(0.25, 1, size=(n, d)) + rng.gamma(0.15, 4, size=(50, d))[rng.integers(50, size=n)]) ** 0.5
    true *= np.exp(-np.arange(d) / 40) * rng.gamma(4, 0.25, size=(n, 1))
    noise = 0.55 * true.std(axis=0).mean()
    turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2)]
    views = [(true + noise * rng.normal(size=(n, d))) @ turn for turn in turns]
    order = rng.permutation(n)
    seen = n if overlap == 1 else n // 2
    return Pair(*views, order[:seen], rng.permutation(order[:seen] if overlap == 1 else order[seen:]))


def digits(seed: int = 0) -> Pair:
    """Features of 1 000 digits in two networks, one with convolutions, trained here to tell the digits apart."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    stored = np.load(DATA / "mnist_100_per_class.npz")
    images = torch.tensor(stored["x"], dtype=torch.float32)[:, None]
    images, labels = images / images.max(), torch.tensor(stored["y"]).long()

    def features(body: nn.Module, width: int) -> np.ndarray:
        head = nn.Linear(width, 10)
        optimiser = torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-3)
        for _ in range(25):
            for some in torch.randperm(len(images)).split(50):
                loss = nn.functional.cross_entropy(head(body(images[some])), labels[some])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        with torch.no_grad():
            return body(images).numpy().astype(np.float64)

    torch.manual_seed(seed)
    folds = [nn.Conv2d(1, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten()]
    conv = nn.Sequential(*folds, nn.Linear(32 * 49, 64), nn.ReLU())
    dense = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 48), nn.ReLU())
    everything = np.arange(len(images))
    return Pair(
        features(conv, 64), features(dense, 48), everything, np.random.default_rng(seed).permutation(everything)
    )


# -- methods: matches, and a map if there is one -------------------------------------------------------------------


def ours(pair: Pair) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray] | None]:
    found = ao.align_embeddings(pair.first_all[pair.first], pair.second_all[pair.second], rng=0)

    def compared_rows(rows: np.ndarray) -> np.ndarray:
        away = rows - pair.second_all[pair.second].mean(axis=0)
        return unit(away) if found.rows == "unit" else away

    def carry(rows: np.ndarray) -> np.ndarray:
        return compared_rows(found.transform(rows))

    carry.goal = compared_rows(pair.second_all)  # type: ignore[attr-defined]
    return found.matches, carry


def known_pairs(pair: Pair) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The rotation of all true pairs: what it would be if nothing had to be found."""
    x, y = unit(pair.first_all), unit(pair.second_all)
    means = x.mean(axis=0), y.mean(axis=0)
    rotation = _procrustes(x - means[0], y - means[1])
    x, y = pair.sides
    matches = linear_sum_assignment(-((x - means[0]) @ rotation) @ (y - means[1]).T)[1]
    return matches, lambda rows: (unit(rows) - means[0]) @ rotation + means[1]


def known_pairs_weighed(pair: Pair) -> tuple[np.ndarray, None]:
    """The same, with directions weighed by what is left in each at the true pairs, as in align_embeddings."""
    x, y = centred(pair)
    own = pair.truth >= 0
    rotation = _procrustes(x[own], y[pair.truth[own]])
    return _assigned_weighed(x @ rotation, y, pair.truth), None


def pot_gw(pair: Pair) -> tuple[np.ndarray, None]:
    import ot

    costs = [cdist(side, side, "cosine") for side in pair.sides]
    plan = ot.gromov.gromov_wasserstein(*costs, max_iter=300)
    return linear_sum_assignment(plan, maximize=True)[1], None


def gwtune(pair: Pair) -> tuple[np.ndarray, None]:
    import ot

    costs = [cdist(side, side, "cosine") for side in pair.sides]
    rng, best = np.random.default_rng(0), (np.inf, None)
    n, m = (len(cost) for cost in costs)
    p, q = np.full(n, 1 / n), np.full(m, 1 / m)
    for _ in range(4):
        epsilon = costs[0].mean() * 10 ** rng.uniform(-3, -1)
        start = ot.sinkhorn(p, q, rng.random((n, m)), 1.0)
        plan, log = ot.gromov.entropic_gromov_wasserstein(
            *costs, p, q, "square_loss", epsilon=epsilon, G0=start, max_iter=200, log=True, numItermax=1000
        )
        if plan.sum() > 0.5 and log["gw_dist"] < best[0]:
            best = log["gw_dist"], plan
    return (linear_sum_assignment(best[1], maximize=True)[1] if best[1] is not None else np.full(n, -1)), None


def gw_from_sorted_rows(pair: Pair) -> tuple[np.ndarray, None]:
    """POT's conditional gradient from an assignment of the sorted rows of costs; both sides have as many points."""
    import ot

    costs = [cdist(side, side, "cosine") for side in pair.sides]
    start = np.zeros_like(costs[0])
    rows = [np.sort(cost, axis=1) for cost in costs]
    start[np.arange(len(start)), linear_sum_assignment(cdist(*rows, "cityblock"))[1]] = 1 / len(start)
    plan = ot.gromov.gromov_wasserstein(*costs, G0=start, max_iter=300)
    return linear_sum_assignment(plan, maximize=True)[1], None


def procrustes_from(pair: Pair, matches: np.ndarray, rounds: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and assignment in turn, from given matches: the matches, and those with directions weighed."""
    x, y = centred(pair)
    for _ in range(rounds):
        rotation = _procrustes(x, y[matches])
        matches = linear_sum_assignment(-(x @ rotation) @ y.T)[1]
    return matches, _assigned_weighed(x @ rotation, y, matches)


def wasserstein_procrustes(pair: Pair, rounds: int = 10) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Rotation and assignment in turn, from a random rotation."""
    x, y, rotation, means = _begun(pair)
    matches = np.zeros(len(x), int)
    for _ in range(rounds):
        matches = linear_sum_assignment(-(x @ rotation) @ y.T)[1]
        rotation = _procrustes(x[: len(matches)], y[matches])
    return matches, lambda rows: (unit(rows) - means[0]) @ rotation + means[1]


def muse(pair: Pair, rounds: int = 5, k: int = 10) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Mutual nearest points by CSLS, then Procrustes."""
    x, y, rotation, means = _begun(pair)
    for _ in range(rounds):
        scores = _csls(x @ rotation, y, k)
        best, back = scores.argmax(axis=1), scores.argmax(axis=0)
        mutual = np.flatnonzero(back[best] == np.arange(len(x)))
        rotation = _procrustes(x[mutual], y[best[mutual]])
    return _csls(x @ rotation, y, k).argmax(axis=1), lambda rows: (unit(rows) - means[0]) @ rotation + means[1]


def _begun(pair: Pair) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    x, y = centred(pair)
    means = [side.mean(axis=0) for side in pair.sides]
    return x, y, _procrustes(np.random.default_rng(0).normal(size=(200, x.shape[1])), np.eye(200, y.shape[1])), means


def centred(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    x, y = (side - side.mean(axis=0) for side in pair.sides)
    return x, y


def _assigned_weighed(moved: np.ndarray, y: np.ndarray, matches: np.ndarray, floor: float = 0.05) -> np.ndarray:
    """An assignment with directions weighed by what is left in each, as align_embeddings does, with its noise floor."""
    own = matches >= 0
    left = moved[own] - y[matches[own]]
    noise, directions = np.linalg.eigh(left.T @ left / len(left))
    weights = directions / np.sqrt(noise + floor * noise.mean())
    return linear_sum_assignment(cdist(moved @ weights, y @ weights, "sqeuclidean"))[1]


def _procrustes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return left @ right


def _csls(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    scores = unit(x) @ unit(y).T
    near, far = (np.sort(part, axis=1)[:, -k:].mean(axis=1) for part in (scores, scores.T))
    return 2 * scores - near[:, None] - far


RIVALS = {
    "POT GW": pot_gw,
    "Wasserstein-Procrustes, random start": wasserstein_procrustes,
    "MUSE, random start": muse,
}
SLOW_RIVALS = {"GWTune's settings": gwtune}  # minutes: on the first pair alone


# -- the table -----------------------------------------------------------------------------------------------------


def measured(method: Callable[..., tuple], pair: Pair) -> str:
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matches, carry = method(pair)
    seconds = time.process_time() - begin
    said = [f"right {share_right(pair, matches):.3f}"] if (pair.truth >= 0).any() else []
    if carry is not None and len(pair.first_all) <= 5000:
        goal = getattr(carry, "goal", None)
        costs = cdist(carry(pair.first_all), unit(pair.second_all) if goal is None else goal, "sqeuclidean")
        said.append(f"map {np.mean(linear_sum_assignment(costs)[1] == np.arange(len(costs))):.3f}")
    return ", ".join([*said, f"{seconds:.1f} s"])


def compared(pair: Pair) -> Iterator[tuple[str, np.ndarray, float]]:
    """Ours, the best rival step by step, and what the true pairs give: matches, and the CPU seconds up to them."""
    begin = time.process_time()
    yield "align_embeddings", ours(pair)[0], time.process_time() - begin
    begin = time.process_time()
    matches = gw_from_sorted_rows(pair)[0]
    yield "GW from sorted rows", matches, time.process_time() - begin
    refined, weighed = procrustes_from(pair, matches)
    spent = time.process_time() - begin
    yield "GW from sorted rows, Procrustes", refined, spent
    yield "GW from sorted rows, Procrustes, weighed", weighed, spent
    for label, method in {"known pairs": known_pairs, "known pairs, weighed": known_pairs_weighed}.items():
        begin = time.process_time()
        yield label, method(pair)[0], time.process_time() - begin


def print_draws() -> None:
    """Means over draws, and their range; the draws of clouds are those of the experiment."""
    sets = {"objects, overlap 1": [objects(1, seed) for seed in range(5)]}
    for overlap in (1, 0.66):
        sets[f"clouds, overlap {overlap}"] = [clouds(800, overlap, 0.2, seed) for seed in range(10, 20)]
    print("| several draws | method | right | least and most | CPU seconds |\n|---|---|---|---|---|")
    for name, pairs in sets.items():
        found = [[(label, share_right(pair, found), spent) for label, found, spent in compared(pair)] for pair in pairs]
        for own in zip(*found, strict=True):
            (label, *_), right, seconds = own[0], [one[1] for one in own], np.mean([one[2] for one in own])
            least_and_most = f"{min(right):.3f} to {max(right):.3f}"
            print(f"| {name} | {label} | {np.mean(right):.3f} | {least_and_most} | {seconds:.1f} |", flush=True)


def real_pairs(seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | None, dict]]:
    """Name, both sides, the truth if there is one, and options."""
    rng = np.random.default_rng(seed)
    stored = np.load(DATA / "embeddings" / "glosses.npz")
    some = rng.choice(2000, 1000, replace=False)
    for name, sides in (
        ("glosses, layers 6 and 3", ("sentence_layer6", "sentence_layer3")),
        ("glosses, layer 6 and mean of words", ("sentence_layer6", "mean_glove")),
    ):
        x, y = (stored[side][some].astype(np.float64) for side in sides)
        order = rng.permutation(len(y))
        yield name, x, y[order], np.argsort(order), {}
    words = np.load(DATA / "embeddings" / "words.npz")
    x, y = (words[side][:2000].astype(np.float64) for side in ("token_table", "sentence_model"))
    order = rng.permutation(len(y))
    truth = np.argsort(order)
    known = rng.choice(len(x), 10, replace=False)
    yield "words, no pairs", x, y[order], truth, {}
    yield "words, 10 known pairs", x, y[order], truth, {"seeds": list(zip(known, truth[known], strict=True))}


def simulated_pairs(seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | None, dict]]:
    """The same of simulated pairs."""
    for name, pair in (
        ("objects", objects(1, seed)),
        ("objects distinguished by length", lengths(1, seed)),
        ("clouds", clouds(800, 1, 0.2, seed)),
        ("clouds, overlap 0.66", clouds(800, 0.66, 0.2, seed)),
    ):
        yield name, pair.first_all[pair.first], pair.second_all[pair.second], pair.truth, {}
    rng = np.random.default_rng(seed)
    some = rng.choice(1854, 30, replace=False)
    pair, order = objects(1, seed), rng.permutation(30)
    place = np.argsort(pair.second)
    y = pair.second_all[pair.second][place][pair.first[some]]
    yield "30 of the objects", pair.first_all[pair.first[some]], y[order], np.argsort(order), {}
    x, y = clouds(800, 1, 0.2, seed).sides[0], clouds(800, 1, 0.2, seed + 100).sides[1]
    yield "unrelated clouds", x, y, None, {}


def area_and_error(confidence: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Area under the ROC curve, and calibration error of ten bins of equal width."""
    ranks = rankdata(confidence)
    count = int(right.sum())
    area = np.nan
    if 0 < count < len(right):
        area = (ranks[right].sum() - count * (count + 1) / 2) / (count * (len(right) - count))
    place = np.minimum((confidence * 10).astype(int), 9)
    gaps = [abs(confidence[place == k].mean() - right[place == k].mean()) * np.mean(place == k) for k in set(place)]
    return float(area), float(sum(gaps))


def print_sure(draws: int) -> None:
    """How many matches are right, and what confidence and `reliable` say; every draw by itself."""
    print("| data | right | AUC | calibration error | reliable | CPU seconds |\n|---|---|---|---|---|---|")
    for pairs in (simulated_pairs, real_pairs):
        values: dict[str, list[list[float]]] = {}
        for seed in range(draws):
            for name, x, y, truth, options in pairs(seed):
                begin = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ao.ConvergenceWarning)
                    found = ao.align_embeddings(x, y, rng=seed, progress=False, **options)
                spent = time.process_time() - begin
                right = np.zeros(len(x), bool) if truth is None else (found.matches == truth) & (truth >= 0)
                hits = np.nan if truth is None else right[truth >= 0].mean()
                values.setdefault(name, []).append(
                    [hits, *area_and_error(found.confidence, right), found.reliable, spent]
                )
        for name, rows in values.items():
            cells = [
                " ".join(f"{value:.{digits}f}" for value in column)
                for column, digits in zip(zip(*rows, strict=True), (3, 2, 2, 2, 1), strict=True)
            ]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def share_right(pair: Pair, matches: np.ndarray) -> float:
    counted = pair.truth >= 0
    return float(np.mean(matches[counted] == pair.truth[counted]))


def cell_rows() -> list[Row]:
    rows = []
    for read, folder, bars in ((snare, "SNARE", (0.153, 0.985, 0.935, 5.0)), (scgem, "scGEM", None)):
        pair = read(DATA / "singlecell" / folder)
        begin = time.process_time()
        found = ao.align_embeddings(pair.first, pair.second, rng=0)
        seconds = time.process_time() - begin
        costs = cdist(found.transform(pair.first), pair.second)
        own = costs.diagonal()
        score = ((costs < own[:, None]).mean() + (costs < own).mean()) / 2
        there, here = (np.mean(found.transfer(pair.types, onto=onto)[0] == pair.types) for onto in ("second", "first"))
        holds = None
        if bars is not None:
            holds = bool(score <= bars[0] and there >= bars[1] and here >= bars[2] and seconds <= bars[3])
        said = f"FOSCTTM {score:.4f}, labels {there:.3f} and {here:.3f}, {seconds:.1f} s"
        rows.append(
            Row(
                f"{pair.name}: align_embeddings",
                said,
                "FOSCTTM 0.153, labels 0.985 and 0.935, 5 s" if bars else "",
                holds,
            )
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", action="store_true", help="others too")
    parser.add_argument("--large", action="store_true", help="20 000 points per side")
    parser.add_argument("--sure", type=int, metavar="DRAWS", help="how sure: this many draws, alone")
    parser.add_argument("--draws", action="store_true", help="several draws alone")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    options = parser.parse_args()
    if options.sure:
        print_sure(options.sure)
        return
    if options.draws:
        print_draws()
        return
    pairs = {f"clouds, overlap {overlap:g}": clouds(800, overlap, 0.2, 0) for overlap in (1, 0.66, 0.33, 0)}
    pairs["clouds, more noise"] = clouds(800, 1, 0.4, 1)
    pairs["clouds, 40 against 25 dimensions"] = clouds(800, 1, 0.1, 2, 40, 25)
    pairs |= {f"objects, overlap {overlap}": objects(overlap) for overlap in (1, 0)}
    if DATA.is_dir():
        pairs["digits in two networks"] = digits()
    rows = []
    for name, pair in pairs.items():
        rivals = (RIVALS | (SLOW_RIVALS if not rows else {})) if options.rivals else {}
        known = {"known pairs": known_pairs} if name.startswith("objects") else {}
        for label, method in {"align_embeddings": ours, **known, **rivals}.items():
            rows.append(Row(f"{name}: {label}", measured(method, pair)))
            print(table(rows[-1:]), flush=True)
    rows += cell_rows() if DATA.is_dir() else []
    if options.large:
        for d, name in ((40, "clouds of 20 000 points"), (384, "clouds of 20 000 points in 384 dimensions")):
            rows.append(Row(f"{name}: align_embeddings", measured(ours, clouds(20_000, 1, 0.05, 3, d, d))))
    print(table(rows))
    if options.write:
        write_results("embeddings.py", " ".join(sys.argv[1:]), table(rows))


if __name__ == "__main__":
    main()
