"""`anchorot search`: an index of many files, and the nearest of them to another."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot._progress import progress_bar
from anchorot.cli.options import (
    DaskOption,
    FilesArgument,
    JobsOption,
    JsonOption,
    ReachOption,
    SpaceArgument,
    dask_client,
    reads_as_built,
    reads_spaces,
    said_of,
)
from anchorot.cli.output import Stopwatch, doing, new_table, plain, print_json, print_table
from anchorot.cli.sources import Source, find_sources, spaces_of
from anchorot.cli.writing import Outputs
from anchorot.io.options import ReadOptions

IndexArgument = Annotated[Path, typer.Argument(help="An index made by `anchorot search build`.", show_default=False)]

app = typer.Typer(help="Find the nearest of very many spaces by Anchor Energy.", no_args_is_help=True)


@app.command(epilog="Example: [bold]anchorot search build shapes/ --n-points 200 -o shapes.index[/]")
@reads_spaces
def build(
    files: FilesArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The index to write.", show_default=False)],
    robust: Annotated[bool, typer.Option("--robust", help="Compare ranks of costs.")] = False,
    cells: Annotated[int, typer.Option(help="Cells each way: more take memory, and save work in queries.", min=2)] = 16,
    jobs: JobsOption = -1,
    attributes: Annotated[
        str | None, typer.Option(metavar="[types]", help="Tell points apart by their types too.", show_default=False)
    ] = None,
    max_cost: ReachOption = None,
    dask: DaskOption = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Make an index of spaces; it keeps how they were read, and queries are read in the same way."""
    Outputs(*files).announce(output)
    start = time.perf_counter()
    sources = find_sources(files)
    names = [source.name for source in sources]
    how: dict[str, Any] = {"robust": robust, "attributes": attributes, "max_cost": max_cost}
    options = {**how, "grid": (cells, cells), "path": output}
    with dask_client(dask) as client, doing(f"building an index of {len(sources)} spaces"):
        if client is not None:
            entries = [source.unread(reading) for source in sources]
            index = ao.SearchIndex.build(entries, names, **options, client=client)
        else:
            with _reading(sources, reading, jobs) as spaces:
                index = ao.SearchIndex.build(spaces, names, **options)
    seconds = time.perf_counter() - start
    if as_json:
        said = {"index": str(output), "spaces": len(index), **how, "cells": cells}
        print_json({**said, "reading": said_of(reading), "seconds": seconds})
    else:
        _show(index, output, seconds)


@app.command(epilog="Example: [bold]anchorot search add shapes.index new/[/]")
@reads_as_built
def add(
    index: IndexArgument,
    files: FilesArgument,
    jobs: JobsOption = -1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Add spaces to an index, read as those that are there; all or none of them."""
    stopwatch = Stopwatch()
    with stopwatch("load", f"opening {index.name}"):
        opened = ao.SearchIndex.load(index)
    sources = find_sources(files)
    with (
        stopwatch("add", f"adding {len(sources)} spaces"),
        _reading(sources, _as_built(opened, reading), jobs) as spaces,
    ):
        names = [source.name for source in sources] if opened.has_names else None
        ids = opened.add(spaces, names)
    _print_change(opened, index, stopwatch, as_json, {"added": ids.tolist()})


@app.command(epilog="Example: [bold]anchorot search remove shapes.index cat3.off cat4.off[/]")
def remove(
    index: IndexArgument,
    names: Annotated[list[str], typer.Argument(help="Names of spaces, or ids if they have none.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Remove spaces from an index."""
    stopwatch = Stopwatch()
    with stopwatch("load", f"opening {index.name}"):
        opened = ao.SearchIndex.load(index)
    before = len(opened)
    with stopwatch("remove", "removing"):
        opened.remove(names if opened.has_names else [_id(name) for name in names])
    _print_change(opened, index, stopwatch, as_json, {"removed": before - len(opened)})


@app.command(epilog="Example: [bold]anchorot search compact shapes.index[/]")
def compact(index: IndexArgument, as_json: JsonOption = False) -> None:
    """Free the space that removed entries take in an index."""
    stopwatch = Stopwatch()
    with stopwatch("load", f"opening {index.name}"):
        opened = ao.SearchIndex.load(index)
    with stopwatch("compact", "compacting"):
        opened.compact()
    _print_change(opened, index, stopwatch, as_json, {})


@app.command(epilog="Example: [bold]anchorot search query shapes.index cat3.off -k 5[/]")
@reads_as_built
def query(
    index: IndexArgument,
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
    usual = {name: value for name, value in vars(ReadOptions()).items() if name in reading}
    return {**usual, "rng": 0, **(index.reading or {}), **given}


@contextmanager
def _reading(sources: list[Source], reading: dict[str, Any], jobs: int) -> Iterator[Iterable[ao.Space]]:
    """Spaces as they are read, with a bar that shows how many are."""
    with progress_bar(len(sources), "reading", "spaces") as advance:
        yield _counted(spaces_of(sources, reading, jobs), advance)


def _print_change(
    index: ao.SearchIndex, path: Path, stopwatch: Stopwatch, as_json: bool, about: dict[str, Any]
) -> None:
    """Print what was done to an index."""
    if as_json:
        print_json({"index": str(path), "spaces": len(index), **about, "seconds": stopwatch.seconds})
    else:
        _show(index, path, sum(stopwatch.seconds.values()))


def _show(index: ao.SearchIndex, path: Path, seconds: float) -> None:
    """Print how large an index is, and how long it took."""
    table = new_table(f"index of {len(index)} spaces", "", "")
    table.add_row("bytes", f"{path.stat().st_size:,}")
    table.add_row("seconds", f"{seconds:.2f}")
    print_table(table, f"written: [bold]{plain(str(path))}[/]")


def _id(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ao.InputError(f"the spaces of this index have no names, so give their ids, not {text!r}") from None


def _counted(spaces: Iterable[ao.Space], advance: Callable[[int], None]) -> Iterator[ao.Space]:
    for space in spaces:
        yield space
        advance(1)


def _rows(names: tuple[str, ...], found: ao.Neighbors) -> list[tuple[str, int, float]]:
    return list(zip(names, found.index.tolist(), found.value.tolist(), strict=True))
