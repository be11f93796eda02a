"""Run experiments of the paper from a checkout: `python -m experiments NAME|all`."""

import json
import sys
import warnings
from datetime import datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import anchorot as ao
from experiments.common import runner
from experiments.common.code import CHECKOUT
from experiments.common.filling import Results, fill
from experiments.common.rules import MINUTES, NAMES
from experiments.common.study import Study
from experiments.data import data_folder

PROGRAM = "python -m experiments"
COLOURS = {"holds": "green", "does not hold": "red", "undecided": "yellow"}

QUICK = "A quick run: too small to show anything; it shows whether the program finds what it found before."

app = typer.Typer(
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.command(epilog=f"Example: [bold]{PROGRAM} node_assignment --quick[/]")
def experiments(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments by name, all, or stale.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small form, in seconds; compared with what is expected.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets.", show_default="ANCHOROT_DATA, or ../shared/data"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write to.", show_default="experiments/results"),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Workers, where no time is measured; -1 for one a core.", min=-1)] = -1,
    expect: Annotated[
        bool, typer.Option("--expect", help="With --quick: make what is found the expected values.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Run experiments of the paper: pictures, tables, and RESULTS.md, which says what holds.

    A run of "all" leaves out what this very code has answered, so that one that was killed goes on. "stale" runs
    nothing: it names the results of another code than the present one.
    """
    if not names:
        raise ao.InputError(f"say which experiment: {', '.join(NAMES)}, or all, or stale")
    if expect and not quick:
        raise ao.InputError("--expect is of --quick: only quick runs are compared with expected values")
    folder = output or runner.default_output(quick)
    if names == ["stale"]:
        outdated = runner.stale(NAMES, folder)
        typer.echo("\n".join(f"{name} {why}" for name, why in outdated.items()) or "no result is stale")
        raise typer.Exit(1 if outdated else 0)
    chosen = runner.choose(names)
    if names == ["all"] and not quick:
        chosen = list(runner.stale(chosen, folder))
        print(f"experiments: about {sum(MINUTES[name] for name in chosen)} minutes on two cores", file=sys.stderr)
    prepared = runner.prepare(chosen, data_folder(data), quick=quick)
    studies = []
    for one in prepared:
        print(f"experiments: {one.name} at {datetime.now():%H:%M:%S}", file=sys.stderr)
        studies.append(runner.run(one, folder, quick=quick, n_jobs=jobs))
    if expect:
        for study in studies:
            runner.expect(study)
    if output is None and not quick:
        fill(CHECKOUT, Results(folder, NAMES))
    surprises = [line for study in studies if quick for line in runner.differences(study)]
    if as_json:
        found = {s.name: {"verdicts": [c.verdict for c in s.claims], "values": s.values} for s in studies}
        typer.echo(json.dumps({"output": str(folder), "quick": quick, "experiments": found, "surprises": surprises}))
    else:
        _print(studies, folder, surprises)
    if surprises:
        raise typer.Exit(1)


def _print(studies: list[Study], folder: Path, surprises: list[str]) -> None:
    table = Table("claim", "verdict", "found")
    for study in studies:
        for claim in study.claims:
            colour = COLOURS[claim.verdict]
            verdict = f"[{colour}]{'quick run: ' if study.quick else ''}{claim.verdict}[/]"
            table.add_row(escape(claim.claim), verdict, escape(claim.found), end_section=True)
    console = Console()
    if any(study.quick for study in studies):
        console.print(QUICK, style="bold yellow")
    console.print(table)
    console.print(f"written: [bold]{escape(str(folder / 'RESULTS.md'))}[/]")
    for line in surprises:
        console.print(escape(line), style="red")


def _show_note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as one line."""
    print(f"experiments: note: {message}", file=sys.stderr)


def main() -> None:
    """Run the command; bad input ends in one line on standard error and status 2."""
    warnings.showwarning = _show_note
    try:
        app(prog_name=PROGRAM)
    except (ao.AnchorotError, OSError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":  # workers import this file again
    main()
