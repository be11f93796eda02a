"""`anchorot pairwise`: all pairs of many files."""

import csv
import json
import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot._typing import Float64s
from anchorot.cli.options import EpsilonOption, FilesArgument, JsonOption, reads_spaces
from anchorot.cli.output import check_endings, check_picture, new_table, plain, print_json, print_table
from anchorot.cli.sources import Source, find_sources
from anchorot.io.atomic import replacing

MOST_PRINTED = 12  # spaces whose matrix fits on a screen


class AllPairsMetric(StrEnum):
    """Ways to compare many spaces."""

    ae = "ae"
    aw = "aw"
    gw = "gw"
    slb = "slb"
    tlb = "tlb"


@reads_spaces
def pairwise(
    files: FilesArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the matrix as .npz or .csv.", show_default=False),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the matrix and a map of all, as .png, .svg or .pdf.", show_default=False),
    ] = None,
    metric: Annotated[
        AllPairsMetric, typer.Option(help="As for compare; also the bounds slb and tlb of gw.")
    ] = AllPairsMetric.ae,
    robust: Annotated[bool, typer.Option("--robust", help="Compare ranks of costs.")] = False,
    p: Annotated[
        int | None, typer.Option("--p", help="Power of the cost.", min=1, show_default="1; 2 for gw, slb and tlb")
    ] = None,
    epsilon: EpsilonOption = None,
    jobs: Annotated[int, typer.Option(help="Workers; -1 for one a core.", min=-1)] = -1,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder for finished parts: a killed run goes on from there.", show_default=False),
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on.", show_default=False)
    ] = None,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Leave NaN for spaces that cannot be read, and go on.")
    ] = False,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Distances between all pairs of spaces."""
    check_endings(output, (".npz", ".csv"))
    check_picture(picture)
    sources = find_sources(files)
    if output is None and picture is None and not as_json and len(sources) > MOST_PRINTED:
        raise ao.InputError(f"a matrix of {len(sources)} spaces is too large to print; say where to put it: -o D.npz")
    start = time.perf_counter()
    with _client(dask) as client:
        distances = ao.pairwise(
            [_reader(source, reading) for source in sources],
            metric=metric.value,
            p=p,
            robust=robust,
            epsilon=epsilon,
            n_jobs=jobs,
            client=client,
            checkpoint=checkpoint,
            errors="skip" if skip_errors else "raise",
        )
    seconds = time.perf_counter() - start
    options = {"metric": metric.value, "robust": robust, "p": p, "epsilon": epsilon}
    if output is not None:
        _write(output, distances, sources, options)
    if picture is not None:
        _draw(picture, distances, sources, squared=metric is AllPairsMetric.ae)
    names = [source.name for source in sources]
    if as_json:
        values = [[None if np.isnan(value) else value for value in row] for row in distances.tolist()]
        print_json({**options, "names": names, "distances": values, "seconds": seconds})
        return
    count = len(sources) * (len(sources) - 1) // 2
    table = new_table(f"{metric.value}{' of ranks' * robust} of {len(sources)} spaces", "", *map(plain, names))
    if len(sources) <= MOST_PRINTED:
        for name, row in zip(names, distances, strict=True):
            table.add_row(plain(name), *(f"{value:.4g}" for value in row))
    else:
        table = new_table(f"{metric.value}{' of ranks' * robust} of {len(sources)} spaces", "nearest", "to", "value")
        for i, j in _closest(distances):
            table.add_row(plain(names[i]), plain(names[j]), f"{distances[i, j]:.6g}")
    lines = [f"{count} pairs in {seconds:.2f} s, reading included"]
    lines += [f"written: [bold]{plain(str(path))}[/]" for path in (output, picture) if path is not None]
    print_table(table, *lines)


def _reader(source: Source, reading: dict[str, Any]) -> Callable[[], ao.Space]:
    """Return what reads a source, also in another process that has another working directory."""
    content = source.content.absolute() if isinstance(source.content, Path) else source.content
    return partial(replace(source, content=content).read, reading)


def _client(address: str | None) -> Any:
    if address is None:
        return nullcontext()
    try:
        from distributed import Client
    except ImportError:
        raise ao.MissingExtraError("distributed", "dask") from None
    logging.disable(logging.ERROR)  # Dask logs tracebacks of what this command says in one line
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ao.InputError(f"no Dask scheduler answers at {address} ({error})") from None


def _closest(distances: Float64s) -> list[tuple[int, int]]:
    """Return the closest pairs, as many as fit on a screen."""
    rows, columns = np.triu_indices(len(distances), 1)
    order = np.argsort(distances[rows, columns], kind="stable")[:MOST_PRINTED]
    return [(int(rows[k]), int(columns[k])) for k in order if not np.isnan(distances[rows[k], columns[k]])]


def _write(path: Path, distances: Float64s, sources: list[Source], options: dict[str, Any]) -> None:
    names = [source.name for source in sources]
    with replacing(path) as temporary:
        if path.suffix.lower() == ".npz":
            groups = [source.group for source in sources]
            how = json.dumps(options)
            np.savez_compressed(temporary, distances=distances, names=names, groups=groups, options=how)
            return
        with temporary.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle)
            writer.writerow(["", *names])
            writer.writerows([name, *map(repr, row)] for name, row in zip(names, distances.tolist(), strict=True))


def _draw(path: Path, distances: Float64s, sources: list[Source], *, squared: bool) -> None:
    from anchorot.plot import distance_map, distance_matrix, new_figure

    good = np.flatnonzero(~np.isnan(distances).all(axis=1))
    order = good[np.argsort([sources[i].group for i in good], kind="stable")]
    shown = np.maximum(distances[np.ix_(order, order)], 0)
    groups = [sources[i].group for i in order]
    figure = new_figure(13.5, 5.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    distance_matrix(np.sqrt(shown) if squared else shown, groups, ax=left)
    distance_map(shown, groups, squared=squared, ax=right)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130, facecolor="white")
