"""`anchorot compare`: the distance between two files."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot.anchors.marking import marking_of
from anchorot.cli.metric_options import EpsilonOption, MarksOption, MetricOption, POption, ReachOption
from anchorot.cli.options import JsonOption, SpaceArgument, ThreadsOption, reads_spaces
from anchorot.cli.output import Stopwatch, new_table, plain, print_json, print_table, read_both
from anchorot.many.metrics import METRICS, Metric, metric_of


@reads_spaces
def compare(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to compare it with.", show_default=False)],
    metric: MetricOption = "ae",
    robust: Annotated[
        bool | None,
        typer.Option(help="Compare ranks of costs only, or costs only.", show_default="both"),
    ] = None,
    p: POption = None,
    epsilon: EpsilonOption = None,
    marks: MarksOption = None,
    reach: ReachOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Distance between two spaces, of their costs and of their ranks (robust), with the time of every step."""
    forms = (False, True) if robust is None else (robust,)
    for is_robust in forms:  # wrong options are said before anything is read
        metric_of(metric, p, is_robust, epsilon)
    stopwatch = Stopwatch()
    x, y = read_both(a, b, reading, stopwatch)
    values: dict[str, float] = {}
    for is_robust in forms:
        marking = marking_of((x, y), marks, reach, robust=is_robust)
        chosen = metric_of(metric, p, is_robust, epsilon, marking=marking, threads=threads)
        name = f"{'robust_' * chosen.options['robust']}{METRICS[metric].value_name}"
        with stopwatch(name, f"computing the {name.replace('_', ' ')}"):
            values[name] = _distance(x, y, chosen)
    if as_json:
        how = {name: chosen.options[name] for name in ("metric", "p", "epsilon")} | {"marks": marks, "reach": reach}
        print_json({"a": str(a), "b": str(b), "n": x.n, "m": y.n, **how, **values, "seconds": stopwatch.seconds})
        return
    table = new_table(f"{a.name} ({x.n} points) and {b.name} ({y.n} points)", "", "value", "seconds")
    for file, step in ((a, "read_a"), (b, "read_b")):
        table.add_row(f"reading {plain(file.name)}", "", f"[dim]{stopwatch.seconds[step]:.3f}[/]")
    for name, value in values.items():
        table.add_row(name.replace("_", " "), f"[bold]{value:.9g}[/]", f"[dim]{stopwatch.seconds[name]:.3f}[/]")
    print_table(table)


def _distance(x: ao.Space, y: ao.Space, metric: Metric) -> float:
    compare_both = metric.compare_alone or metric.compare
    value, converged = compare_both(metric.prepare(x), metric.prepare(y))
    if not converged:
        what = f"{METRICS[metric.options['metric']].title}{' of ranks' * metric.options['robust']}"
        warnings.warn(
            f"{what}: the solver did not converge; try another --epsilon", ao.ConvergenceWarning, stacklevel=2
        )
    return value
