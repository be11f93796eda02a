"""`anchorot datasets`: where the data of the experiments come from, fetched and checked."""

from pathlib import Path
from typing import Annotated

import typer

import anchorot as ao
from anchorot.cli.options import JsonOption
from anchorot.cli.output import Stopwatch, new_table, plain, print_json, print_table
from anchorot.cli.writing import Outputs
from anchorot.datasets import CheckedSet, registry
from anchorot.datasets import check as check_set
from anchorot.datasets import fetch as fetch_set

app = typer.Typer(help="Data of the experiments: what there is, fetched and checked.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="A name that `anchorot datasets list` shows.", show_default=False)]


@app.command(name="list", epilog="Example: [bold]anchorot datasets list --json[/]")
def list_sets(as_json: JsonOption = False) -> None:
    """Where each set comes from, on which terms, and whether it can be fetched."""
    sets = registry().values()
    if as_json:
        facts = ("name", "what", "source", "licence", "page", "availability")
        print_json({"sets": [{fact: getattr(own, fact) for fact in facts} | {"files": len(own.sums)} for own in sets]})
        return
    table = new_table(f"{len(sets)} sets", "name", "files", "availability", "licence")
    for own in sets:
        table.add_row(own.name, str(len(own.sums)), own.availability, own.licence)
    print_table(table)


@app.command(epilog="Example: [bold]anchorot datasets fetch fly_neurons -o data[/]")
def fetch(
    name: NameArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of data to put the set into.", show_default=False)
    ],
    as_json: JsonOption = False,
) -> None:
    """Fetch a set from where its makers have put it, and keep what has the right SHA-256 sum."""
    Outputs().announce_folder(output)
    with Stopwatch()("fetch", f"fetching {name}"):
        found = fetch_set(name, output)
    _tell(found, as_json)


@app.command(epilog="Example: [bold]anchorot datasets check tu data[/]")
def check(
    name: NameArgument,
    folder: Annotated[
        str | None, typer.Argument(help="Folder of data that the set lies in; ANCHOROT_DATA by default.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the files of a set with their SHA-256 sums."""
    found = check_set(name, folder)
    if not found.complete:
        raise ao.InputError(str(found))
    _tell(found, as_json)


def _tell(found: CheckedSet, as_json: bool) -> None:
    facts = {"right": len(found.good), "changed": len(found.changed), "missing": len(found.missing)}
    if as_json:
        print_json({"name": found.name, "folder": str(found.folder), **facts, "complete": found.complete})
        return
    table = new_table(f"{found.name} in {found.folder}", "files", "")
    for state, count in facts.items():
        table.add_row(state, str(count))
    print_table(table, *(f"not there: {plain(path)}" for path in found.missing[:5]))
