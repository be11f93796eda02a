"""`anchorot match`: which point of one file corresponds to which of another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot._typing import Float64s, Int64s
from anchorot.cli.metric_options import EpsilonOption, PlanOption, POption
from anchorot.cli.options import JsonOption, SpaceArgument, reads_spaces
from anchorot.cli.output import Stopwatch, check_extra, new_table, plain, print_json, print_table, read_both
from anchorot.cli.writing import Outputs, write_csv
from anchorot.exceptions import printable
from anchorot.many.metrics import METRICS, plan_of

ROWS_SHOWN = 10


@reads_spaces
def match(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to find its points in.", show_default=False)],
    metric: PlanOption = "ae",
    robust: Annotated[
        bool, typer.Option("--robust", help="Compare ranks of costs; the plan of ae is the same by either.")
    ] = False,
    p: POption = None,
    epsilon: EpsilonOption = None,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="No two points may have the same match.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page (.html) with both side by side; needs no network.", show_default=False),
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
    make_plan = plan_of(metric, p, robust, epsilon)
    outputs = Outputs()
    outputs.announce(report, ".html", ".htm")
    outputs.announce(output, ".csv", ".npz")
    if report is not None:
        check_extra("plotly", "report")
    stopwatch = Stopwatch()
    x, y = read_both(a, b, reading, stopwatch)
    with stopwatch("plan", f"computing the {_title(metric)}"):
        plan = make_plan(x, y)
        matches = ao.match(plan, "assignment" if one_to_one else "argmax")
    with stopwatch("write", "writing"):
        outputs.save(output, lambda path: _write(path, x, y, plan, matches))
        outputs.save(report, lambda path: _report(path, a, b, x, y, plan, _title(metric)))
    if as_json:
        found = {"a": str(a), "b": str(b), "n": x.n, "m": y.n, "metric": metric}
        labels = {"labels_a": _labels(x), "labels_b": _labels(y)}
        print_json({**found, "match": matches.tolist(), **labels, "seconds": stopwatch.seconds})
    else:
        _print(a, b, x, y, plan, matches, outputs.lines(), stopwatch)
    outputs.settle()


def _title(metric: str) -> str:
    maker = METRICS[metric].plan
    return "" if maker is None else maker.title


def _report(path: Path, a: Path, b: Path, x: ao.Space, y: ao.Space, plan: Float64s, title: str) -> None:
    from anchorot.report import write_report

    details = {"plan": title, "points": f"{x.n} and {y.n}"}
    write_report(path, x, y, plan, names=(printable(a.name), printable(b.name)), details=details)


def _labels(space: ao.Space) -> list[str]:
    return [str(label) for label in (range(space.n) if space.labels is None else space.labels)]


def _shares(x: ao.Space, plan: Float64s, matches: Int64s) -> Float64s:
    """Share of each point's mass that goes to its match; 0 for points without one."""
    mass = np.where(matches >= 0, np.take_along_axis(plan, matches[:, None].clip(0), axis=1)[:, 0], 0.0)
    return np.divide(mass, x.weights, out=np.zeros(x.n), where=x.weights > 0)


def _write(path: Path, x: ao.Space, y: ao.Space, plan: Float64s, matches: Int64s) -> None:
    if path.suffix.lower() == ".npz":
        np.savez_compressed(path, plan=plan, match=matches, labels_a=_labels(x), labels_b=_labels(y))
    else:
        write_csv(path, _rows(x, y, plan, matches))


def _rows(x: ao.Space, y: ao.Space, plan: Float64s, matches: Int64s) -> Iterator[list[str]]:
    names_x, names_y = _labels(x), _labels(y)
    yield ["a", "b", "share"]
    for i, (j, share) in enumerate(zip(matches, _shares(x, plan, matches), strict=True)):
        yield [names_x[i], names_y[j] if j >= 0 else "", f"{share:.9g}"]


def _print(
    a: Path,
    b: Path,
    x: ao.Space,
    y: ao.Space,
    plan: Float64s,
    matches: Int64s,
    written: list[str],
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
    lines = [f"{used} of {y.n} points of {plain(b.name)} are matched", f"[dim]{took}[/]"]
    print_table(table, *lines, *written)
