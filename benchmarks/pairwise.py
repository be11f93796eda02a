"""Rows about all pairs of many spaces."""

import warnings
from importlib.util import find_spec
from pathlib import Path

import anchorot as ao
from measure import Row, alternating, cloud, ms, seconds

FEW, MANY, POINTS = 148, 1000, 100
NEIGHBORS = 50
SAMPLE = 15  # spaces whose pairs stand for all, where all take too long


def n_pairs(count: int) -> int:
    return count * (count - 1) // 2


def features_of(spaces: list[ao.Space]) -> list[ao.AnchorFeatures]:
    return [ao.AnchorFeatures.of(space) for space in spaces]


def energy_rows() -> list[Row]:
    many = features_of([cloud(POINTS, seed) for seed in range(MANY)])
    few = many[:FEW]
    large, small, growth = alternating(lambda: ao.pairwise(many, n_jobs=2), lambda: ao.pairwise(few, n_jobs=2), 2)
    growth *= n_pairs(FEW) / n_pairs(MANY)
    each = [1e6 * time / n_pairs(count) for time, count in ((large, MANY), (small, FEW))]
    return [
        *_time_rows(few, "clouds"),
        Row(
            f"time per pair, {MANY} spaces over {FEW}",
            f"{growth:.2f} ({each[0]:.1f} µs / {each[1]:.1f} µs)",
            "at most 1.3",
            growth <= 1.3,
        ),
    ]


def _time_rows(features: list[ao.AnchorFeatures], whose: str) -> list[Row]:
    one, two, ratio = alternating(lambda: ao.pairwise(features, n_jobs=1), lambda: ao.pairwise(features, n_jobs=2), 5)
    what = f"all {n_pairs(len(features)):,} pairs of {len(features)} {whose} of {POINTS} points, AE from features"
    return [
        Row(f"{what}, 2 threads", ms(two), "at most 1000 ms", two <= 1),
        Row(f"{what}, one thread over two", f"{ratio:.2f} ({ms(one)} / {ms(two)})"),
    ]


def nearest_rows() -> list[Row]:
    """The whole matrix over neighbours, on one thread: samples of two Gaussians, a hard case for bounds."""
    many = features_of([cloud(POINTS, seed) for seed in range(MANY)])
    matrix, near, ratio = alternating(
        lambda: ao.pairwise(many, n_jobs=1), lambda: ao.pairwise(many, k=NEIGHBORS, n_jobs=1), 2
    )
    what = f"all pairs of {MANY} clouds of {POINTS} points over the {NEIGHBORS} nearest of each, AE from features"
    return [Row(what, f"{ratio:.1f} ({ms(matrix)} / {ms(near)})", "at least 2", ratio >= 2)]


def against_rows() -> list[Row]:
    return _against([cloud(POINTS, seed) for seed in range(FEW)], f"{FEW} clouds")


def tosca_rows(folder: Path) -> list[Row]:
    """The same on real shapes: 100 random vertices of each, with the distances along the surface between them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.InputWarning)  # some have several components
        files = sorted(folder.glob("*.mat"))
        spaces = [ao.read(file, n_points=POINTS, sampling="uniform", rng=seed) for seed, file in enumerate(files)]
    whose = f"{len(spaces)} TOSCA shapes"
    return [*_time_rows(features_of(spaces), "TOSCA shapes"), *_against(spaces, whose), *_cajal(spaces, whose)]


def _cajal(spaces: list[ao.Space], whose: str) -> list[Row]:
    """CAJAL's all pairs, with two processes, over ours with two threads; if it is installed."""
    if find_spec("cajal") is None:
        return []
    from cajal.qgw import slb_parallel_memory
    from cajal.run_gw import gw_pairwise_parallel

    ours = seconds(lambda: ao.pairwise(spaces, n_jobs=2))
    costs, weights = [space.cost for space in spaces], [space.weights for space in spaces]
    theirs = {
        "CAJAL's SLB": seconds(lambda: slb_parallel_memory(costs, weights, 2, 20)),
        "CAJAL's GW": seconds(lambda: gw_pairwise_parallel(list(zip(costs, weights, strict=True)), 2)),
    }
    return [
        Row(f"{whose}: {name} over AE, features included", f"{t / ours:.0f} ({t:.1f} s / {ours:.2f} s)")
        for name, t in theirs.items()
    ]


def _against(spaces: list[ao.Space], whose: str) -> list[Row]:
    """Other metrics, from a sample of pairs on one thread, over AE on one thread with its features."""
    energy = seconds(lambda: ao.pairwise(spaces, n_jobs=1)) / n_pairs(len(spaces))
    sample = spaces[:: max(1, len(spaces) // SAMPLE)][:SAMPLE]
    rows = []
    for what, metric in (("AW", "aw"), ("GW, quick start", "gw")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.ConvergenceWarning)
            ao.pairwise(sample[:2], metric=metric, n_jobs=1)  # imports
            each = seconds(lambda name=metric: ao.pairwise(sample, metric=name, n_jobs=1)) / n_pairs(len(sample))
        whole = f"all pairs {each * n_pairs(len(spaces)):.0f} s"
        measured = f"{each / energy:.0f} ({1e3 * each:.1f} ms / {1e6 * energy:.0f} µs), {whole}"
        rows.append(Row(f"{whose}: {what} over AE, extrapolated from {n_pairs(len(sample))} pairs", measured))
    return rows


ALL = (energy_rows, nearest_rows, against_rows)
