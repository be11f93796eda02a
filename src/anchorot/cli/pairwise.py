"""`anchorot pairwise`: all pairs of many files."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot._typing import Float64s
from anchorot.cli.clients import DaskOption, dask_client
from anchorot.cli.metric_options import EpsilonOption, GroundOption, MarksOption, MetricOption, POption, ReachOption
from anchorot.cli.options import FilesArgument, JobsOption, JsonOption, reads_spaces, said_of
from anchorot.cli.output import doing, new_table, plain, print_json, print_table
from anchorot.cli.sources import Source, find_sources, unread_all
from anchorot.cli.writing import Outputs, drawable, write_archive, write_csv
from anchorot.many.metrics import METRICS, SQUARED, metric_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

MOST_PRINTED = 12  # spaces whose matrix may fit on a screen
VALUE_WIDTH, FRAME_WIDTH = 9, 3  # letters of a value, and around it


@reads_spaces
def pairwise(
    files: FilesArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the matrix as .csv, or with options as .npz.", show_default=False),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the matrix and a map of all, as .png, .svg or .pdf.", show_default=False),
    ] = None,
    metric: MetricOption = "ae",
    robust: Annotated[bool, typer.Option("--robust", help="Compare ranks of costs.")] = False,
    p: POption = None,
    epsilon: EpsilonOption = None,
    ground: GroundOption = "w1",
    marks: MarksOption = None,
    reach: ReachOption = None,
    jobs: JobsOption = -1,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder for finished parts: a killed run goes on from there.", show_default=False),
    ] = None,
    dask: DaskOption = None,
    device: Annotated[
        str | None,
        typer.Option(help="CUDA devices to compare on: cuda for all, or cuda:0,cuda:1.", show_default=False),
    ] = None,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Leave NaN for spaces that cannot be read, and go on.")
    ] = False,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Distances between all pairs of spaces."""
    options = metric_of(metric, p, robust, epsilon, ground=ground).options
    outputs = Outputs(*files)
    outputs.announce(output, ".npz", ".csv")
    outputs.announce_picture(picture)
    outputs.announce_folder(checkpoint)
    sources = find_sources(files)
    if output is None and picture is None and not as_json and len(sources) > MOST_PRINTED:
        raise ao.InputError(f"a matrix of {len(sources)} spaces is too large to print; say where to put it: -o D.npz")
    start = time.perf_counter()
    with dask_client(dask) as client, doing(f"comparing {len(sources)} spaces", ", or take fewer --jobs"):
        distances = ao.pairwise(
            unread_all(sources, reading),
            **options,
            marks=marks,
            reach=reach,
            n_jobs=jobs,
            client=client,
            device=device.split(",") if device and "," in device else device,
            checkpoint=checkpoint,
            errors="skip" if skip_errors else "raise",
        )
    seconds = time.perf_counter() - start
    options |= {} if marks is None and reach is None else {"marks": marks, "reach": reach}
    outputs.save(output, lambda path: _write(path, distances, sources, options, reading))
    outputs.save_picture(picture, lambda: _draw(distances, sources, metric))
    if as_json:
        names = [source.name for source in sources]
        said = {**options, "reading": said_of(reading), "names": names}
        print_json({**said, "distances": distances.tolist(), "seconds": seconds})
    else:
        count = len(sources) * (len(sources) - 1) // 2
        table = _table(f"{metric}{' of ranks' * robust} of {len(sources)} spaces", distances, sources)
        print_table(table, f"{count} pairs in {seconds:.2f} s, reading included", *outputs.lines())
    outputs.settle()


def _table(title: str, distances: Float64s, sources: list[Source]) -> "Table":
    """Return the whole matrix if it fits on a screen, else the closest pairs."""
    from rich.console import Console

    names = [source.name for source in sources]
    widths = [max(len(name), VALUE_WIDTH) + FRAME_WIDTH for name in ("x" * max(map(len, names)), *names)]
    if len(sources) <= MOST_PRINTED and sum(widths) < Console().width:
        table = new_table(title, "", *names)
        for name, row in zip(names, distances, strict=True):
            table.add_row(plain(name), *(f"{value:.4g}" for value in row))
        return table
    table = new_table(title, "nearest", "to", "value")
    for i, j in _closest(distances):
        table.add_row(plain(names[i]), plain(names[j]), f"{distances[i, j]:.6g}")
    return table


def _closest(distances: Float64s) -> list[tuple[int, int]]:
    """Return the closest pairs, as many as fit on a screen."""
    rows, columns = np.triu_indices(len(distances), 1)
    order = np.argsort(distances[rows, columns], kind="stable")[:MOST_PRINTED]
    return [(int(rows[k]), int(columns[k])) for k in order if not np.isnan(distances[rows[k], columns[k]])]


def _write(
    path: Path, distances: Float64s, sources: list[Source], options: dict[str, Any], reading: dict[str, Any]
) -> None:
    if path.suffix.lower() == ".npz":
        write_archive(path, sources, options, reading, distances=distances)
    else:
        write_csv(path, _rows([source.name for source in sources], distances))


def _rows(names: list[str], distances: Float64s) -> Iterator[list[Any]]:
    yield ["", *names]
    for name, row in zip(names, distances.tolist(), strict=True):
        yield [name, *row]


def _draw(distances: Float64s, sources: list[Source], metric: str) -> "Figure":
    from anchorot.plot import distance_map, distance_matrix, new_figure

    squared, name = metric in SQUARED, METRICS[metric].value_name.replace("_", " ")
    good = np.flatnonzero(~np.isnan(distances).all(axis=1))
    order = good[np.argsort([sources[i].group for i in good], kind="stable")]
    shown = np.maximum(distances[np.ix_(order, order)], 0)
    groups = [drawable(sources[i].group) for i in order]
    figure = new_figure(13.5, 5.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    distance_matrix(np.sqrt(shown) if squared else shown, groups, label=f"{'root of ' * squared}{name}", ax=left)
    distance_map(shown, groups, squared=squared, ax=right)
    return figure
