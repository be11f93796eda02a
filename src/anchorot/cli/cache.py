"""`anchorot cache`: spaces that were read before."""

from typing import Any

import typer

from anchorot.cli.options import JsonOption
from anchorot.cli.output import new_table, plain, print_json, print_table
from anchorot.io.cache import CacheInfo, cache_info, clear_cache

app = typer.Typer(help="Spaces that were read before, and are not read again.", no_args_is_help=True)


@app.command(epilog="Example: [bold]anchorot cache info --json[/]")
def info(as_json: JsonOption = False) -> None:
    """Where the cache is, and what is in it."""
    _tell("cache", cache_info(), as_json)


@app.command(epilog="Example: [bold]anchorot cache clear[/]")
def clear(as_json: JsonOption = False) -> None:
    """Remove all spaces from the cache, and tell of what there was."""
    _tell("removed from the cache", clear_cache(), as_json)


def _tell(title: str, found: CacheInfo, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "folder": str(found.folder),
        "spaces": found.n_spaces,
        "bytes": found.n_bytes,
        "limit": found.limit,
    }
    if as_json:
        print_json(facts)
        return
    table = new_table(title, "", "")
    for name, value in facts.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else plain(value))
    print_table(table)
