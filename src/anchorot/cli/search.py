"""`anchorot search`: an index of many files, and the nearest of them to another."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot._progress import progress_bar
from anchorot.cli.metric_options import ReachOption
from anchorot.cli.options import (
    FilesArgument,
    JobsOption,
    JsonOption,
    SpaceArgument,
    reads_as_built,
    reads_spaces,
    said_of,
)
from anchorot.cli.output import Stopwatch, doing, new_table, plain, print_json, print_table
from anchorot.cli.sources import find_sources, spaces_of
from anchorot.cli.writing import Outputs

app = typer.Typer(help="Find the nearest of very many spaces by Anchor Energy.", no_args_is_help=True)


@app.command(epilog="Example: [bold]anchorot search build shapes/ --n-points 200 -o shapes.index[/]")
@reads_spaces
def build(
    files: FilesArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The index to write.", show_default=False)],
    robust: Annotated[bool, typer.Option("--robust", help="Compare ranks of costs.")] = False,
    cells: Annotated[int, typer.Option(help="Cells each way: more take memory, and save work in queries.", min=2)] = 16,
    jobs: JobsOption = -1,
    marks: Annotated[
        str | None, typer.Option(metavar="[types]", help="Tell points apart by their types too.", show_default=False)
    ] = None,
    reach: ReachOption = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Make an index of spaces; it keeps how they were read, and queries are read in the same way."""
    outputs = Outputs()
    outputs.announce(output)
    start = time.perf_counter()
    sources = find_sources(files)
    with (
        doing(f"building an index of {len(sources)} spaces"),
        progress_bar(len(sources), "reading", "spaces") as advance,
    ):
        spaces = _told(spaces_of(sources, reading, jobs), advance)
        how: dict[str, Any] = {"robust": robust, "marks": marks, "reach": reach}
        index = ao.SearchIndex.build(spaces, [source.name for source in sources], grid=(cells, cells), **how)
    outputs.save(output, index.save)
    seconds = time.perf_counter() - start
    if as_json:
        said = {"index": str(output), "spaces": len(index), **how, "cells": cells}
        print_json({**said, "reading": said_of(reading), "seconds": seconds})
    else:
        table = new_table(f"index of {len(index)} spaces", "", "")
        if outputs.lines():
            table.add_row("bytes", f"{output.stat().st_size:,}")
        table.add_row("seconds", f"{seconds:.2f}")
        print_table(table, *outputs.lines())
    outputs.settle()


@app.command(epilog="Example: [bold]anchorot search query shapes.index cat3.off -k 5[/]")
@reads_as_built
def query(
    index: Annotated[Path, typer.Argument(help="An index made by `anchorot search build`.", show_default=False)],
    file: Annotated[Path, SpaceArgument],
    k: Annotated[int, typer.Option("-k", help="How many to find.", min=1)] = 10,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Compare at most this many exactly: faster, but not proved to be the nearest.",
            min=1,
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """The nearest spaces of an index, by Anchor Energy; proved unless --candidates says otherwise."""
    stopwatch = Stopwatch()
    with stopwatch("load", f"opening {index.name}"):
        opened = ao.SearchIndex.load(index)
    with stopwatch("read", f"reading {file.name}"):
        x = ao.read(file, **_as_built(opened, reading))
    with stopwatch("query", "searching"):
        found = opened.query(x, min(k, max(1, len(opened))), exact=candidates is None, candidates=candidates)
    names = found.names if found.names is not None else tuple(str(number) for number in found.index)
    if as_json:
        nearest = [{"name": name, "id": i, "value": value} for name, i, value in _rows(names, found)]
        how = {"exact": found.exact, "n_exact": found.n_exact, "spaces": len(opened)}
        print_json({"nearest": nearest, **how, "seconds": stopwatch.seconds})
        return
    table = new_table(f"nearest to {file.name} of {len(opened)} spaces", "space", "anchor energy")
    for name, _, value in _rows(names, found):
        table.add_row(plain(name), f"{value:.6g}")
    proved, took = "proved" if found.exact else "not proved", 1000 * stopwatch.seconds["query"]
    print_table(table, f"{proved}, with {found.n_exact} of {len(opened)} Anchor Energies, in {took:.1f} ms")


def _as_built(index: ao.SearchIndex, reading: dict[str, Any]) -> dict[str, Any]:
    """How the spaces of an index were read, but for what is said otherwise."""
    given = {name: value for name, value in reading.items() if value is not None}
    return {"rng": 0, **(index.reading or {}), **given}


def _told(spaces: Iterable[ao.Space], advance: Callable[[int], None]) -> Iterator[ao.Space]:
    for space in spaces:
        yield space
        advance(1)


def _rows(names: tuple[str, ...], found: ao.Neighbors) -> list[tuple[str, int, float]]:
    return list(zip(names, found.index.tolist(), found.distance.tolist(), strict=True))
