"""Anchor Energy on a CUDA device: our kernels, plain PyTorch, and the sorts alone. Needs torch, NumPy and anchorot.

Parts: ``small`` (n = 2048, 16384, float64, with gradients), ``sizes`` (n from 16 to 16384 against plain PyTorch),
``batch`` (1000 pairs of n = 100), ``weighted`` (alone and in batches), ``tests`` (999 permutations of 40 000 measures),
``large`` (100 000 points, exact), ``levels`` (50 000 points, few levels against all), ``million`` (10⁶ points, 1000
levels), ``align`` (noisy, shuffled clouds in 5 dimensions: 1854 and 10 000 points, and 64 pairs of 200), ``pairs`` (all
pairs of 10 000 spaces of 100 points by `pairwise`, preparation and result included; ranks, p = 2, weights and mixed
sizes), ``sliced`` (the same by Sliced Anchor Wasserstein), ``nearest`` (the 50 nearest of each of 139 000 spaces of 50
points: shapes of several families, then of one alone, the hardest case; 20 rows are compared with all).

    python benchmarks/gpu.py --parts small,batch --json gpu.json
    python benchmarks/gpu.py --only align
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import anchorot as ao
import anchorot.torch as aot

Action = Callable[[], object]
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--parts",
        "--only",
        default="small,sizes,batch,weighted,tests,large,levels,align",
        help="comma-separated, or all",
    )
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--scale", type=float, default=1.0, help="shrink every size, to try the script out")
    parser.add_argument("--device", default="cuda", help="cpu tries the script out without a device")
    options = parser.parse_args()
    bench = Bench(options.device, options.repeat, options.scale)
    parts = list(PARTS) if options.parts == "all" else options.parts.split(",")
    rows: list[Row] = []
    print(
        f"\n{bench.name}, PyTorch {torch.__version__}\n\n| what | ours | plain PyTorch | sorts | bar | peak | holds |"
    )
    print("|---|---|---|---|---|---|---|")
    for part in parts:
        for row in PARTS[part](bench):
            rows.append(row | {"device": bench.name, "torch": torch.__version__})
            print(line(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


class Bench:
    """A device and how to measure on it."""

    def __init__(self, device: str, repeat: int, scale: float) -> None:
        self.device, self.repeat, self.scale = torch.device(device), repeat, scale
        self.on_cuda = self.device.type == "cuda"
        self.name = torch.cuda.get_device_name() if self.on_cuda else "CPU"

    def size(self, n: int) -> int:
        """Return n, shrunk if so asked."""
        return max(4, round(n * self.scale))

    def costs(self, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
        """Distances between points of Gaussian clouds."""
        return aot.from_points(torch.randn(*shape, 3, device=self.device, dtype=dtype))

    def ms(self, action: Action, repeat: int | None = None) -> float:
        """Median time after a warm-up, in milliseconds."""
        times = []
        for _ in range(3 if repeat is None else 1):
            action()
        for _ in range(repeat or self.repeat):
            if self.on_cuda:
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                action()
                end.record()
                end.synchronize()
                times.append(start.elapsed_time(end))
            else:
                begin = time.perf_counter()
                action()
                times.append(1e3 * (time.perf_counter() - begin))
        return statistics.median(times)

    def once(self, action: Callable[[], Any]) -> tuple[float, float, Any]:
        """Wall time in seconds and peak memory in GiB of one call, and what it returns."""
        if self.on_cuda:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        found = action()
        if self.on_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - begin, self.peak(), found

    def peak(self) -> float:
        """Return the most memory that was in use since it was last reset, in GiB."""
        return torch.cuda.max_memory_allocated() / 2**30 if self.on_cuda else 0.0


@contextmanager
def plain() -> Iterator[None]:
    """Hold anchorot to plain PyTorch."""
    os.environ["ANCHOROT_TORCH"] = "plain"
    try:
        yield
    finally:
        del os.environ["ANCHOROT_TORCH"]


def in_plain(action: Action) -> Action:
    def run() -> None:
        with plain():
            action()

    return run


def by_sorts(x: Tensor, y: Tensor) -> Tensor:
    """What one would write: sort rows, sort the joined columns with indices, cumulate, sum."""
    n = x.shape[-1]
    columns = torch.cat([x.sort(-1).values.mT, y.sort(-1).values.mT], -1).contiguous()
    z, order = columns.sort(-1)
    d = torch.where(order < n, 1.0, -1.0).to(x.dtype).cumsum(-1)[..., :-1]
    return 2 / n**3 * (z.diff(dim=-1) * d**2).sum((-1, -2))


def small(bench: Bench) -> Iterator[Row]:
    for full, bar in ((2048, 1.2), (16384, 150.0)):
        n = bench.size(full)
        x, y = bench.costs(n), bench.costs(n)
        repeat = bench.repeat if full < 10_000 else 5
        forward = bench.ms(lambda x=x, y=y: aot.anchor_energy(x, y), repeat)
        row = {
            "what": f"AE, float64, n=m={n}",
            "ours": forward,
            "plain": bench.ms(lambda x=x, y=y: by_sorts(x, y), repeat),
            "sorts": bench.ms(lambda x=x, y=y: (x.sort(-1), y.sort(-1)), repeat),
            "peak": bench.once(lambda x=x, y=y: aot.anchor_energy(x, y))[1],
            "bar": f"<= {bar} ms",
            "holds": forward <= bar,
        }
        yield row | {"difference": float((aot.anchor_energy(x, y) / by_sorts(x, y) - 1).abs())}
        own = bench.ms(in_plain(lambda x=x, y=y: aot.anchor_energy(x, y)), repeat)
        yield {"what": f"the same without our kernels, n=m={n}", "ours": own}
        x.requires_grad_()
        y.requires_grad_()

        def both(x: Tensor = x, y: Tensor = y) -> object:
            return torch.autograd.grad(aot.anchor_energy(x, y), (x, y))

        total = bench.ms(both, repeat)
        yield {
            "what": f"forward and backward, n=m={n}: {total / forward:.2f} times forward",
            "ours": total,
            "plain": bench.ms(in_plain(both), repeat),
            "peak": bench.once(both)[1],
            "bar": "<= 2.5 times forward",
            "holds": total <= 2.5 * forward,
        }
        del x, y, both


def batch(bench: Bench) -> Iterator[Row]:
    count, n = bench.size(1000), 100
    for dtype in (torch.float64, torch.float32):
        x, y = (bench.costs(count, n, dtype=dtype) for _ in range(2))
        ours = bench.ms(lambda x=x, y=y: aot.anchor_energy(x, y))
        yield {
            "what": f"AE of {count} pairs of n=m={n}, {str(dtype)[6:]}",
            "ours": ours,
            "plain": bench.ms(lambda x=x, y=y: by_sorts(x, y)),
            "sorts": bench.ms(lambda x=x, y=y: (x.sort(-1), y.sort(-1))),
            "bar": "<= 6 ms",
            "holds": ours <= 6,
        }


def sizes(bench: Bench) -> Iterator[Row]:
    for dtype in (torch.float64, torch.float32):
        for full in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384):
            n = bench.size(full)
            x, y = (bench.costs(n, dtype=dtype) for _ in range(2))
            repeat = 3 * bench.repeat if full < 4096 else 5
            ours = bench.ms(lambda x=x, y=y: aot.anchor_energy(x, y), repeat)
            plain_ms = bench.ms(lambda x=x, y=y: by_sorts(x, y), repeat)
            row = {"what": f"AE, {str(dtype)[6:]}, n=m={n}", "ours": ours, "plain": plain_ms}
            yield row | {"bar": "<= plain", "holds": ours <= plain_ms}


def weighted(bench: Bench) -> Iterator[Row]:
    double, single = torch.float64, torch.float32
    cases = ((None, 512, double), (None, 2048, double), (None, 2048, single), (None, 4096, double))
    for count, full, dtype in (*cases, (64, 512, double), (1000, 100, double)):
        n = bench.size(full)
        shape = (n,) if count is None else (bench.size(count), n)
        inputs = [bench.costs(*shape, dtype=dtype) for _ in range(2)]
        inputs += [torch.rand(shape, device=bench.device, dtype=double) for _ in range(2)]
        inputs[2:] = [w / w.sum(-1, keepdim=True) for w in inputs[2:]]
        forward = bench.ms(lambda inputs=inputs: aot.anchor_energy(*inputs))
        peak = bench.once(lambda inputs=inputs: aot.anchor_energy(*inputs))[1]
        what = f"AE, any weights, {str(dtype)[6:]}, {'' if count is None else f'{shape[0]} pairs of '}n=m={n}"
        bar = {"bar": "<= 10 ms", "holds": forward <= 10} if full == 2048 else {}
        yield {"what": what, "ours": forward, "peak": peak} | bar
        wanted = [t.requires_grad_() for t in inputs]
        both = bench.ms(lambda wanted=wanted: torch.autograd.grad(aot.anchor_energy(*wanted).sum(), wanted))
        what = f"with gradients in costs and weights: {both / forward:.2f} times"
        yield {"what": what, "ours": both, "bar": "<= 3 times", "holds": both <= 3 * forward}


def tests(bench: Bench) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    count = bench.size(20_000)
    x, y = ([rng.normal(size=n) for n in rng.integers(20, 61, size=count)] for _ in range(2))
    ao.energy_test(x[:50], y[:50], device=str(bench.device), n_resamples=9)  # compile
    seconds, peak, found = bench.once(lambda: ao.energy_test(x, y, rng=0, device=str(bench.device), progress=False))
    expected = ao.energy_test(x, y, rng=0, n_resamples=3, threads=2, progress=False)
    off = float(max(abs(found.statistic / expected.statistic - 1), *abs(found.null[:3] / expected.null - 1)))
    what = f"energy test of {count} against {count} measures of 20 to 60 numbers, 999 permutations; off by {off:.0e}"
    yield {"what": what, "ours": 1e3 * seconds, "peak": peak, "bar": "<= 8 s", "holds": seconds <= 8 and off < 1e-10}


def large(bench: Bench) -> Iterator[Row]:
    n = bench.size(100_000)
    x, y = (torch.randn(n, 3, device=bench.device) for _ in range(2))
    aot.anchor_energy_of_points(x[:1000], y[:1000])  # compile
    seconds, peak, found = bench.once(lambda: aot.anchor_energy_of_points(x, y))
    bar = {"bar": "<= 4 s", "holds": seconds <= 4, "passes": found.passes}
    yield {"what": f"AE of n=m={n} points, float32, exact", "ours": 1e3 * seconds, "peak": peak} | bar


def levels(bench: Bench) -> Iterator[Row]:
    n = bench.size(50_000)
    x, y = (torch.randn(n, 3, device=bench.device) * s for s in (1.0, 1.1))
    exact = aot.anchor_energy_of_points(x, y).value
    for count in (100, 1000):
        seconds, peak, few = bench.once(lambda count=count: aot.anchor_energy_of_points(x, y, count))
        off = abs(few.value - exact)
        what = f"{count} levels at n=m={n}: {few.value:.6g}, off by {off:.1e}, stated {few.error:.1e}"
        yield {"what": what, "ours": 1e3 * seconds, "peak": peak, "bar": "within stated", "holds": off <= few.error}


def million(bench: Bench) -> Iterator[Row]:
    n = bench.size(1_000_000)
    x, y = (torch.randn(n, 3, device=bench.device) * s for s in (1.0, 1.1))
    aot.anchor_energy_of_points(x[:1000], y[:1000], 10)  # compile
    seconds, peak, found = bench.once(lambda: aot.anchor_energy_of_points(x, y, 1000))
    what = f"AE of n=m={n} points, 1000 levels: {found.value:.6g} ± {found.error:.1e}"
    yield {"what": what, "ours": 1e3 * seconds, "peak": peak, "bar": "<= 6 min", "holds": seconds <= 360}


def align(bench: Bench) -> Iterator[Row]:
    aot.align(*noisy_copies(bench, 1, bench.size(600))[:2])  # load the libraries
    for count, full, bar in ((1, 1854, 1.0), (1, 10_000, 30.0), (bench.size(64), 200, None)):
        n = bench.size(full) if count == 1 else full
        x, y, truth = noisy_copies(bench, count, n)
        seconds, peak, found = bench.once(lambda x=x, y=y: aot.align(x, y))
        hits = float((found.matches == truth).double().mean())
        best, true = float(found.value.mean()), float(loss_of_matches(x, y, truth).mean())
        pairs = f"{count} pairs of n=m={n}" if count > 1 else f"n=m={n}"
        row = {
            "what": f"align {pairs}: hits {hits:.3f}, loss {best:.5g}, of the truth {true:.5g}",
            "ours": 1e3 * seconds,
            "peak": peak,
            "hits": hits,
            "loss": best,
            "loss_of_truth": true,
            "starts": [
                [one.name, float(one.objective.mean()), one.seconds, one.details["n_iter"]] for one in found.candidates
            ],
        }
        yield row | ({} if bar is None else {"bar": f"<= {bar:g} s", "holds": seconds <= bar})
        yield {"what": "; ".join(f"{name} {loss:.5g} in {took:.2f} s" for name, loss, took, _ in row["starts"])}


def pairs(bench: Bench) -> Iterator[Row]:
    device = "cuda" if bench.on_cuda else "cpu"
    many, n = bench.size(10_000), 100
    yield compared(bench, f"{many} spaces of n={n}", clouds(bench, many, n), device, bar=40)
    few = bench.size(2000)
    yield compared(bench, f"{few} spaces of n={n}, ranks", clouds(bench, few, n), device, robust=True)
    yield compared(bench, f"{many} spaces of n={n}, p=2", clouds(bench, many, n), device, p=2)
    yield compared(bench, f"{few} spaces of n={n}, any weights", clouds(bench, few, n, weighted=True), device)
    sizes = np.random.default_rng(0).integers(30, 61, few).tolist()
    mixed = [clouds(bench, 1, size, seed=seed)[0] for seed, size in enumerate(sizes)]
    yield compared(bench, f"{few} spaces of 30 to 60 points", mixed, device)
    large = bench.size(100)
    yield compared(bench, f"{large} spaces of n=1000", clouds(bench, large, 1000), device)


def sliced(bench: Bench) -> Iterator[Row]:
    """Sliced Anchor Wasserstein; the bar is a quarter of the 6.8 s of Anchor Energy."""
    device = "cuda" if bench.on_cuda else "cpu"
    many, few, n = bench.size(10_000), bench.size(2000), 100
    yield compared(bench, f"SAW_1, {many} spaces of n={n}", clouds(bench, many, n), device, bar=1.7, metric="saw")
    yield compared(bench, f"SAW_2, {many} spaces of n={n}", clouds(bench, many, n), device, metric="saw", p=2)
    yield compared(
        bench, f"SAW_1, {few} spaces of n={n}, any weights", clouds(bench, few, n, weighted=True), device, metric="saw"
    )
    sizes = np.random.default_rng(0).integers(30, 61, few).tolist()
    mixed = [clouds(bench, 1, size, seed=seed)[0] for seed, size in enumerate(sizes)]
    yield compared(bench, f"SAW_1, {few} spaces of 30 to 60 points", mixed, device, metric="saw")


def compared(
    bench: Bench, what: str, spaces: list[ao.Space], device: str, bar: float | None = None, **options: Any
) -> Row:
    """All pairs of spaces, and how far 200 of them are from what the CPU finds."""
    ao.pairwise(spaces[:2], device=device, **options)  # compile
    seconds, peak, found = bench.once(lambda: ao.pairwise(spaces, device=device, **options))
    rng, off = np.random.default_rng(1), 0.0
    for i, j in np.sort(rng.integers(0, len(spaces), (200, 2)), axis=1).tolist():
        distance = ao.sliced_anchor_wasserstein if options.get("metric") == "saw" else ao.anchor_energy
        one = distance(spaces[i], spaces[j], options.get("p", 1), options.get("robust", False))
        off = max(off, abs(found[i, j] - one) / one if i != j else found[i, j])
    count = len(spaces) * (len(spaces) - 1) // 2
    row = {
        "what": f"all {count} pairs of {what}: {1e6 * seconds / count:.3g} µs each, off by {off:.0e}",
        "ours": 1e3 * seconds,
        "peak": peak,
        "holds": off <= 1e-12 and (bar is None or seconds <= bar),
    }
    return row | {"bar": f"<= {bar} s, 1e-12" if bar else "1e-12"}


def nearest(bench: Bench) -> Iterator[Row]:
    options = {"device": "cuda" if bench.on_cuda else "cpu", "memory": "16GiB", "progress": False}
    count, n, k = bench.size(139_000), 50, 50
    for whose, families in (("of several families", 5), ("all alike", 1)):
        spaces = shapes(count, n, families)
        ao.pairwise(spaces[:300], k=1, **options)  # compile
        seconds, peak, found = bench.once(lambda spaces=spaces: ao.pairwise(spaces, k=k, **options))
        rows = np.random.default_rng(1).choice(count, 20, replace=False)
        wrong = n_wrong(spaces, rows, found)
        share = f"{100 * found.n_exact / (count * (count - 1)):.2g} % of pairs compared"
        what = f"{k} nearest of each of {count} spaces of n={n}, {whose}: {share}, {wrong} of 20 rows wrong"
        holds = wrong == 0 and (bench.scale < 1 or seconds <= 480)
        yield {"what": what, "ours": 1e3 * seconds, "peak": peak, "bar": "<= 480 s, none wrong", "holds": holds}


def n_wrong(spaces: list[ao.Space], rows: np.ndarray, found: ao.Neighbors) -> int:
    """How many of some rows have other neighbours than comparing them with all, by the CPU, says."""
    energies = ao.pairwise([spaces[i] for i in rows], spaces, progress=False)
    energies[range(len(rows)), rows] = np.inf
    order = np.argsort(energies, kind="stable")[:, : found.index.shape[1]]
    same = (order == found.index[rows]) & (np.take_along_axis(energies, order, 1) == found.value[rows])
    return int(np.count_nonzero(~same.all(axis=1)))


def shapes(count: int, n: int, families: int) -> list[ao.Space]:
    """Noisy samples of Gaussians, and of rings, clusters, spirals and sheets of many proportions, in float32."""
    rng = np.random.default_rng(0)
    made = []
    for start in range(0, count, 1000):
        many = min(1000, count - start)
        family, turn = rng.integers(families, size=(many, 1)), rng.uniform(0, 2 * np.pi, (many, n))
        once, twice = (np.stack([np.cos(times * turn), np.sin(times * turn)], -1) for times in (1, 2))
        points = rng.normal(size=(many, n, 3))
        points[..., :2] += np.where(family == 1, 3.0, 0.0)[..., None] * once
        points[..., 0] += np.where(family == 2, 6.0 * (turn > np.pi), 0.0)
        points[..., :2] += np.where(family == 3, turn, 0.0)[..., None] * twice
        points[..., 2] *= np.where(family == 4, 0.0, 1.0)
        points *= 1.0 if families == 1 else rng.uniform(0.3, 2, (many, 1, 3))
        squares = (points**2).sum(-1)
        gaps = squares[:, :, None] + squares[:, None] - 2 * points @ points.transpose(0, 2, 1)
        costs = np.sqrt(np.maximum(gaps, 0)).astype(np.float32)
        costs[:, range(n), range(n)] = 0
        made += [ao.Space(cost, copy=False) for cost in costs]
    return made


def clouds(bench: Bench, count: int, n: int, *, weighted: bool = False, seed: int = 0) -> list[ao.Space]:
    """Gaussian clouds of many proportions."""
    torch.manual_seed(seed)
    points = torch.randn(count, n, 3, device=bench.device, dtype=torch.float64)
    costs = aot.from_points(points * (0.5 + torch.rand(count, 1, 3, device=bench.device))).cpu().numpy()
    rng = np.random.default_rng(seed)
    return [ao.Space(cost, rng.dirichlet(np.ones(n)) if weighted else None, copy=False) for cost in costs]


def noisy_copies(bench: Bench, count: int, n: int, noise: float = 0.1) -> tuple[Tensor, Tensor, Tensor]:
    """Distances in Gaussian clouds in 5 dimensions, in their noisy, shuffled copies, and who is who."""
    torch.manual_seed(0)
    points = torch.randn(count, n, 5, device=bench.device)
    order = torch.rand(count, n, device=bench.device).argsort(-1)
    moved = points + noise * torch.randn_like(points)
    copies = moved.gather(1, order[..., None].expand(points.shape))
    x, y = (aot.from_points(cloud) for cloud in (points, copies))
    return (x[0], y[0], order[0].argsort()) if count == 1 else (x, y, order.argsort(-1))


def loss_of_matches(x: Tensor, y: Tensor, matches: Tensor) -> Tensor:
    """Gromov-Wasserstein loss of matchings."""
    rows = matches[..., :, None].expand(y.shape)
    seen = y.gather(-2, rows).gather(-1, rows.mT)
    return (x - seen).double().square().mean((-1, -2))


PARTS = {
    "small": small,
    "sizes": sizes,
    "batch": batch,
    "weighted": weighted,
    "tests": tests,
    "large": large,
    "levels": levels,
    "million": million,
    "align": align,
    "pairs": pairs,
    "sliced": sliced,
    "nearest": nearest,
}


def line(row: Row) -> str:
    """One row of the table."""
    times = (f"{row[key]:.3g} ms" if key in row else "" for key in ("ours", "plain", "sorts"))
    peak = f"{row['peak']:.2f} GiB" if row.get("peak") else ""
    holds = {True: "yes", False: "**no**", None: ""}[row.get("holds")]
    return f"| {row['what']} | {' | '.join(times)} | {row.get('bar', '')} | {peak} | {holds} |"


if __name__ == "__main__":
    main()
