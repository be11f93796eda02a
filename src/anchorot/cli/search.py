"""`anchorot search`: an index of many files, and the files in it nearest to another."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot._progress import progress_bar
from anchorot.cli.options import (
    DaskOption,
    FilesArgument,
    IndexMetricOption,
    JobsOption,
    JsonOption,
    MaxCostOption,
    POption,
    RobustOption,
    SpaceArgument,
    dask_client,
    option,
    output_option,
    reads_as_built,
    reads_spaces,
    recorded,
)
from anchorot.cli.output import Stopwatch, doing, new_table, plain, print_facts, print_json, print_table
from anchorot.cli.sources import Source, find_sources, spaces_of
from anchorot.cli.writing import Outputs
from anchorot.io.options import ReadOptions
from anchorot.many.metrics import METRICS

IndexArgument = Annotated[Path, typer.Argument(help="An index made by `anchorot search build`.", show_default=False)]

app = typer.Typer(help="Find the nearest of many spaces.", no_args_is_help=True)


@app.command(epilog="Example: [bold]anchorot search build shapes/ --n-points 200 -o shapes.index[/]")
@reads_spaces
def build(
    files: FilesArgument,
    output: Annotated[Path, output_option("The index to write.")],
    metric: IndexMetricOption = "ae",
    p: POption = None,
    robust: RobustOption = False,
    cells: Annotated[int, typer.Option(help="Cells per axis: more need memory, but make queries faster.", min=2)] = 16,
    jobs: JobsOption = -1,
    attributes: Annotated[str | None, option("Also distinguish points by their types.", metavar="[types]")] = None,
    max_cost: MaxCostOption = None,
    dask: DaskOption = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Build an index of spaces; it records how they were read, and queries are read in the same way."""
    Outputs(*files).announce(output)
    start = time.perf_counter()
    sources = find_sources(files)
    names = [source.name for source in sources]
    how: dict[str, Any] = {"metric": metric, "p": 1 if p is None else p, "robust": robust}
    how |= {"attributes": attributes, "max_cost": max_cost}
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
        facts = {"index": str(output), "spaces": len(index), **how, "cells": cells}
        print_json({**facts, "reading": recorded(reading), "seconds": seconds})
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
    """Add spaces to an index, all or none, read with the same options as the others."""
    stopwatch, opened = _load(index)
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
    stopwatch, opened = _load(index)
    before = len(opened)
    with stopwatch("remove", "removing"):
        opened.remove(names if opened.has_names else [_id(name) for name in names])
    _print_change(opened, index, stopwatch, as_json, {"removed": before - len(opened)})


@app.command(epilog="Example: [bold]anchorot search compact shapes.index[/]")
def compact(index: IndexArgument, as_json: JsonOption = False) -> None:
    """Free the disk space of removed entries."""
    stopwatch, opened = _load(index)
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
        int | None, option("Compare with at most this many: faster, but the result may be inexact.", min=1)
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Find the nearest spaces of an index; exact unless --candidates is given."""
    stopwatch, opened = _load(index)
    with stopwatch("read", f"reading {file.name}"):
        x = ao.read(file, **_as_built(opened, reading))
    with stopwatch("query", "searching"):
        found = opened.query(x, min(k, max(1, len(opened))), exact=candidates is None, candidates=candidates)
    names = found.names if found.names is not None else tuple(str(number) for number in found.index)
    rows = list(zip(names, found.index.tolist(), found.value.tolist(), strict=True))
    if as_json:
        nearest = [{"name": name, "id": i, "value": value} for name, i, value in rows]
        how: dict[str, Any] = {"metric": opened.metric, "p": opened.p}
        how |= {"exact": found.exact, "n_exact": found.n_exact, "spaces": len(opened)}
        print_json({"nearest": nearest, **how, "seconds": stopwatch.seconds})
        return
    table = new_table(f"nearest to {file.name} of {len(opened)} spaces", "space", METRICS[opened.metric].title.lower())
    for name, _, value in rows:
        table.add_row(plain(name), f"{value:.6g}")
    kind, took = "exact" if found.exact else "approximate", 1000 * stopwatch.seconds["query"]
    print_table(table, f"{kind}, compared with {found.n_exact} of {len(opened)} spaces, in {took:.1f} ms")


def _load(index: Path) -> tuple[Stopwatch, ao.SearchIndex]:
    stopwatch = Stopwatch()
    with stopwatch("load", f"opening {index.name}"):
        return stopwatch, ao.SearchIndex.load(index)


def _as_built(index: ao.SearchIndex, reading: dict[str, Any]) -> dict[str, Any]:
    """The options that the spaces of an index were read with, replaced by those that are given."""
    given = {name: value for name, value in reading.items() if value is not None}
    usual = {name: value for name, value in vars(ReadOptions()).items() if name in reading}
    return {**usual, "rng": 0, **(index.reading or {}), **given}


@contextmanager
def _reading(sources: list[Source], reading: dict[str, Any], jobs: int) -> Iterator[Iterable[ao.Space]]:
    """Read spaces one by one, with a progress bar."""

    def counted() -> Iterator[ao.Space]:
        for space in spaces_of(sources, reading, jobs):
            yield space
            advance(1)

    with progress_bar(len(sources), "reading", "spaces") as advance:
        yield counted()


def _print_change(
    index: ao.SearchIndex, path: Path, stopwatch: Stopwatch, as_json: bool, about: dict[str, Any]
) -> None:
    if as_json:
        print_json({"index": str(path), "spaces": len(index), **about, "seconds": stopwatch.seconds})
    else:
        _show(index, path, sum(stopwatch.seconds.values()))


def _show(index: ao.SearchIndex, path: Path, seconds: float) -> None:
    facts = {"bytes": path.stat().st_size, "seconds": f"{seconds:.2f}"}
    print_facts(f"index of {len(index)} spaces", facts, f"written: [bold]{plain(str(path))}[/]")


def _id(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ao.InputError(f"the spaces of this index have no names; give their ids instead of {text!r}") from None
