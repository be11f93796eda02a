"""`anchorot match`: which point of one file corresponds to which of another."""

import csv
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot._typing import Float64s, Int64s
from anchorot.cli.options import (
    EpsilonOption,
    JsonOption,
    Metric,
    MetricOption,
    POption,
    SpaceArgument,
    aw_epsilon,
    check_metric_options,
    reads_spaces,
)
from anchorot.cli.output import Stopwatch, check_endings, new_table, plain, print_json, print_table, read_both

ROWS_SHOWN = 10
NAMES = {Metric.ae: "Anchor Energy Plan", Metric.aw: "Anchor Wasserstein plan", Metric.gw: "Gromov-Wasserstein plan"}


@reads_spaces
def match(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to find its points in.", show_default=False)],
    metric: MetricOption = Metric.ae,
    robust: Annotated[bool, typer.Option("--robust", help="Of ranks; of aw and gw (ae never changes by it).")] = False,
    p: POption = 1,
    epsilon: EpsilonOption = None,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="No two points may have the same match.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page with both side by side; needs no network.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the matches as .csv, or the whole plan as .npz.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Which point of one space corresponds to which of the other."""
    check_metric_options(metric, p, epsilon)
    check_endings(report, (".html", ".htm"))
    check_endings(output, (".csv", ".npz"))
    if report is not None:
        _check_plotly()
    stopwatch = Stopwatch()
    x, y = read_both(a, b, reading, stopwatch)
    with stopwatch("plan", f"matching by the {NAMES[metric]}"):
        plan = _plan(x, y, metric, p, epsilon, robust)
        matches = ao.match(plan, "assignment" if one_to_one else "argmax")
    with stopwatch("write", "writing"):
        if output is not None:
            _write(output, x, y, plan, matches)
        if report is not None:
            from anchorot.report import write_report

            details = {"plan": NAMES[metric], "points": f"{x.n} and {y.n}"}
            write_report(report, x, y, plan, names=(a.name, b.name), details=details)
    if as_json:
        found = {"a": str(a), "b": str(b), "n": x.n, "m": y.n, "metric": metric.value}
        labels = {"labels_a": _labels(x), "labels_b": _labels(y)}
        print_json({**found, "match": matches.tolist(), **labels, "seconds": stopwatch.seconds})
        return
    _print(a, b, x, y, plan, matches, [path for path in (output, report) if path is not None], stopwatch)


def _check_plotly() -> None:
    """Tell of a missing plotly before the work, not after."""
    from importlib.util import find_spec

    if find_spec("plotly") is None:
        raise ao.MissingExtraError("plotly", "report")


def _plan(x: ao.Space, y: ao.Space, metric: Metric, p: int, epsilon: float | None, robust: bool) -> Float64s:
    if metric is Metric.ae:
        return ao.anchor_energy_plan(x, y, robust)
    if metric is Metric.aw:
        return ao.anchor_wasserstein(x, y, p, aw_epsilon(epsilon), robust).plan
    return ao.gromov_wasserstein(x, y, epsilon, robust).plan


def _labels(space: ao.Space) -> list[str]:
    return [str(label) for label in (range(space.n) if space.labels is None else space.labels)]


def _shares(x: ao.Space, plan: Float64s, matches: Int64s) -> Float64s:
    """Share of each point's mass that goes to its match; 0 for points without one."""
    mass = np.where(matches >= 0, np.take_along_axis(plan, matches[:, None].clip(0), axis=1)[:, 0], 0.0)
    return np.divide(mass, x.weights, out=np.zeros(x.n), where=x.weights > 0)


def _write(path: Path, x: ao.Space, y: ao.Space, plan: Float64s, matches: Int64s) -> None:
    from anchorot.io.atomic import replacing

    with replacing(path) as temporary:
        if path.suffix.lower() == ".npz":
            np.savez_compressed(temporary, plan=plan, match=matches, labels_a=_labels(x), labels_b=_labels(y))
            return
        names_x, names_y = _labels(x), _labels(y)
        with temporary.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle)
            writer.writerow(["a", "b", "share"])
            for i, (j, share) in enumerate(zip(matches, _shares(x, plan, matches), strict=True)):
                writer.writerow([names_x[i], names_y[j] if j >= 0 else "", f"{share:.9g}"])


def _print(
    a: Path,
    b: Path,
    x: ao.Space,
    y: ao.Space,
    plan: Float64s,
    matches: Int64s,
    written: list[Path],
    stopwatch: Stopwatch,
) -> None:
    names_x, names_y, shares = _labels(x), _labels(y), _shares(x, plan, matches)
    title = f"{a.name} ({x.n} points) in {b.name} ({y.n} points): the surest {min(ROWS_SHOWN, x.n)}"
    table = new_table(title, "point", "match", "share of its mass")
    for i in np.argsort(-shares, kind="stable")[:ROWS_SHOWN]:
        match_name = names_y[matches[i]] if matches[i] >= 0 else "none"
        table.add_row(plain(names_x[i]), plain(match_name), f"{shares[i]:.2%}")
    used = len(np.unique(matches[matches >= 0]))
    took = ", ".join(f"{name.replace('_', ' ')} {seconds:.2f} s" for name, seconds in stopwatch.seconds.items())
    lines = [f"{used} of {y.n} points of {plain(b.name)} are someone's match", f"[dim]{took}[/]"]
    print_table(table, *lines, *(f"written: [bold]{plain(str(path))}[/]" for path in written))
