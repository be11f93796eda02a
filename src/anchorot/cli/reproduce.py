"""`anchorot reproduce`: the paper's experiments, from a checkout of the project."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot.cli.options import JsonOption
from anchorot.cli.output import new_table, plain, print_json, print_table

COLOURS = {"holds": "green", "does not hold": "red"}


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments by name, or all.", show_default=False)] = None,
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
    as_json: JsonOption = False,
) -> None:
    """Run experiments of the paper: pictures, tables, and RESULTS.md, which says what holds."""
    runner = _runner()
    if not names:
        raise ao.InputError(f"say which experiment: {', '.join(runner.NAMES)}, or all")
    if expect and not quick:
        raise ao.InputError("--expect is of --quick: only quick runs are compared with expected values")
    chosen = runner.choose(names)
    folder = output or runner.default_output(quick)
    sets = import_module("experiments.common.datasets").DataSets(data)
    studies = [runner.run(name, sets, folder, quick=quick, n_jobs=jobs) for name in chosen]
    if expect:
        for study in studies:
            runner.expect(study)
    surprises = [line for study in studies if quick for line in runner.differences(study)]
    if as_json:
        found = {s.name: {"verdicts": [c.verdict for c in s.claims], "values": s.values} for s in studies}
        print_json({"output": str(folder), "quick": quick, "experiments": found, "surprises": surprises})
    else:
        _print(studies, folder, surprises)
    if surprises:
        raise typer.Exit(1)


def _runner() -> Any:
    """Return the experiments of the checkout around the current folder; they are not part of the installed package."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "experiments" / "common" / "runner.py").exists():
            sys.path.insert(0, str(folder))
            return import_module("experiments.common.runner")
    raise ao.InputError(
        f"{here} is not in a checkout of anchorot; the experiments run from one, as they are not installed"
    )


def _print(studies: list[Any], folder: Path, surprises: list[str]) -> None:
    table = new_table("what the paper claims", "claim", "verdict", "here")
    for study in studies:
        for claim in study.claims:
            colour = COLOURS.get(claim.verdict, "yellow")
            table.add_row(plain(claim.paper), f"[{colour}]{claim.verdict}[/]", plain(claim.ours), end_section=True)
    lines = [f"written: [bold]{plain(str(folder / 'RESULTS.md'))}[/]"]
    print_table(table, *lines, *(f"[red]{plain(line)}[/]" for line in surprises))
