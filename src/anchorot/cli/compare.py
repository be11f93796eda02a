"""`anchorot compare`: the distance between two files."""

from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot.cli.options import (
    EpsilonOption,
    JsonOption,
    Metric,
    MetricOption,
    POption,
    SpaceArgument,
    ThreadsOption,
    aw_epsilon,
    check_metric_options,
    reads_spaces,
)
from anchorot.cli.output import Stopwatch, new_table, plain, print_json, print_table, read_both

NAMES = {Metric.ae: "anchor_energy", Metric.aw: "anchor_wasserstein", Metric.gw: "gromov_wasserstein"}


@reads_spaces
def compare(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to compare it with.", show_default=False)],
    metric: MetricOption = Metric.ae,
    robust: Annotated[
        bool | None,
        typer.Option(help="Of ranks only, or of costs only.", show_default="both"),
    ] = None,
    p: POption = 1,
    epsilon: EpsilonOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Distance between two spaces, of their costs and of their ranks (robust), with the time of every step."""
    check_metric_options(metric, p, epsilon)
    stopwatch = Stopwatch()
    x, y = read_both(a, b, reading, stopwatch)
    values: dict[str, float] = {}
    for is_robust in (False, True) if robust is None else (robust,):
        name = f"{'robust_' if is_robust else ''}{NAMES[metric]}"
        with stopwatch(name, name.replace("_", " ")):
            values[name] = _distance(x, y, metric, p, epsilon, is_robust, threads)
    if as_json:
        found = {"a": str(a), "b": str(b), "n": x.n, "m": y.n, "metric": metric.value, "p": p, "epsilon": epsilon}
        print_json({**found, **values, "seconds": stopwatch.seconds})
        return
    table = new_table(f"{a.name} ({x.n} points) and {b.name} ({y.n} points)", "", "value", "seconds")
    for file, step in ((a, "read_a"), (b, "read_b")):
        table.add_row(f"reading {plain(file.name)}", "", f"[dim]{stopwatch.seconds[step]:.3f}[/]")
    for name, value in values.items():
        table.add_row(name.replace("_", " "), f"[bold]{value:.9g}[/]", f"[dim]{stopwatch.seconds[name]:.3f}[/]")
    print_table(table)


def _distance(
    x: ao.Space, y: ao.Space, metric: Metric, p: int, epsilon: float | None, robust: bool, threads: int
) -> float:
    if metric is Metric.ae:
        return ao.anchor_energy(x, y, p, robust, threads=threads)
    if metric is Metric.aw:
        return ao.anchor_wasserstein(x, y, p, aw_epsilon(epsilon), robust, threads=threads).cost
    return ao.gromov_wasserstein(x, y, epsilon, robust).cost
