"""Many files at once: `anchorot pairwise`, `anchorot embed` and `anchorot barycenter`."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

import anchorot as ao
from anchorot._typing import Float64s, Int64s
from anchorot.cli.options import (
    AttributesOption,
    DaskOption,
    FilesArgument,
    GradientOption,
    GroundOption,
    JobsOption,
    JsonOption,
    MaxCostOption,
    MetricOption,
    POption,
    RobustOption,
    dask_client,
    option,
    output_option,
    reads_spaces,
    recorded,
    takes_metric_options,
)
from anchorot.cli.output import check_extra, doing, new_table, plain, print_facts, print_json, print_table, resumable
from anchorot.cli.sources import Source, find_sources, spaces_of, unread_all
from anchorot.cli.writing import Outputs, write_archive, write_csv
from anchorot.exceptions import printable
from anchorot.many.matrix import ENDING as MATRIX_ENDING
from anchorot.many.metrics import METRICS, SQUARED, metric_of
from anchorot.many.tiles import ASSEMBLED

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

MOST_PRINTED = 12  # spaces whose matrix may fit on a screen
VALUE_WIDTH, FRAME_WIDTH = 9, 3  # in characters


@takes_metric_options
@reads_spaces
def pairwise(
    files: FilesArgument,
    output: Annotated[
        Path | None, output_option("Write as .csv, with options as .npz, or, if larger than memory, as .npy.")
    ] = None,
    nearest: Annotated[int | None, option("Find this many neighbours of each, instead of the matrix.", min=1)] = None,
    picture: Annotated[Path | None, option("Draw the matrix and a map of all, as .png, .svg or .pdf.")] = None,
    metric: MetricOption = "ae",
    robust: RobustOption = False,
    p: POption = None,
    ground: GroundOption = "w1",
    attributes: AttributesOption = None,
    max_cost: MaxCostOption = None,
    jobs: JobsOption = -1,
    checkpoint: Annotated[Path | None, option("Folder for finished parts; resumes if killed.")] = None,
    shard: Annotated[
        str | None,
        option("Job I of N, from 0, that share one --checkpoint; the last one writes the result.", metavar="I/N"),
    ] = None,
    dask: DaskOption = None,
    device: Annotated[str | None, option("CUDA devices to compare on: cuda for all, or cuda:0,cuda:1.")] = None,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Use NaN for spaces that cannot be read, and continue.")
    ] = False,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Compute distances between all pairs of spaces, or the nearest neighbours of each."""
    options = metric_of(metric, p, robust, ground=ground, **options).options
    job = None if shard is None else _parse_shard(shard)
    outputs = Outputs(*files)
    outputs.announce(output, ".npz", ".csv", MATRIX_ENDING)
    outputs.announce_picture(picture)
    outputs.announce_folder(checkpoint)
    matrix_file = output if output is not None and output.suffix.lower() == MATRIX_ENDING else None
    if nearest is not None and picture is not None:
        raise ao.InputError("--picture draws the matrix, which --nearest does not compute; leave one of them out")
    if nearest is not None and matrix_file is not None:
        raise ao.InputError(f"{output}: --nearest finds two arrays, index and value; write them as .npz or .csv")
    sources = find_sources(files)
    if output is None and picture is None and not as_json and len(sources) > MOST_PRINTED:
        what = "a matrix of" if nearest is None else "a table of the neighbours of"
        raise ao.InputError(f"{what} {len(sources)} spaces is too large to print; write it to a file: -o D.npz")
    start = time.perf_counter()
    work = doing(f"comparing {len(sources)} spaces", ", or take fewer --jobs")
    with resumable(checkpoint), dask_client(dask) as client, work:
        found = ao.pairwise(
            unread_all(sources, reading),
            **options,
            k=nearest,
            attributes=attributes,
            max_cost=max_cost,
            n_jobs=jobs,
            client=client,
            device=device.split(",") if device and "," in device else device,
            checkpoint=checkpoint,
            shard=job,
            errors="skip" if skip_errors else "raise",
            out=matrix_file,
        )
    seconds = time.perf_counter() - start
    if found is None:
        _report_shard(shard, checkpoint, output, seconds, as_json)
        return
    options |= {} if attributes is None and max_cost is None else {"attributes": attributes, "max_cost": max_cost}
    arrays: dict[str, Any] = {"distances": found}
    if isinstance(found, ao.Neighbors):
        arrays = {"index": found.index, "value": found.value}
    rows_of = _matrix_rows if nearest is None else _neighbor_rows
    if matrix_file is None:
        outputs.save(output, lambda path: _write(path, sources, options, reading, rows_of, **arrays))
    else:
        outputs.note_written(matrix_file)
    outputs.save_picture(picture, lambda: _draw_matrix(arrays["distances"], sources, metric))
    if as_json:
        names = [source.name for source in sources]
        facts = {**options, "reading": recorded(reading), "names": names}
        facts |= {} if shard is None else {"shard": shard, "assembled": True}
        in_json = {name: array.tolist() for name, array in arrays.items()}
        facts |= in_json if matrix_file is None else {"distances": None, "output": str(matrix_file)}
        print_json({**facts, "seconds": seconds})
    else:
        title = f"{metric}{' of ranks' * robust} of {len(sources)} space{'s' * (len(sources) != 1)}"
        if isinstance(found, ao.Neighbors):
            table, count = _neighbor_table(title, found, sources), found.n_exact
        else:
            table, count = _matrix_table(title, found, sources), len(sources) * (len(sources) - 1) // 2
        print_table(table, f"{count} pairs in {seconds:.2f} s, reading included", *outputs.lines())
    outputs.settle()


def _parse_shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
    if found is None:
        raise ao.InputError(
            f"--shard must be I/N such as 0/100, for job I of N, but got {text!r}; outside a job array the variables "
            "of a batch system are empty"
        )
    return int(found[1]), int(found[2])


def _report_shard(
    shard: str | None, checkpoint: Path | None, output: Path | None, seconds: float, as_json: bool
) -> None:
    """Print, instead of a matrix, that another job assembles it."""
    is_assembled = checkpoint is not None and (checkpoint / ASSEMBLED).exists()
    if as_json:
        print_json({"shard": shard, "distances": None, "assembled": is_assembled, "seconds": seconds})
    elif is_assembled:
        print(f"shard {shard}: another job has assembled the result; to assemble it again, leave out --shard")
    else:
        what = "assembles the result" if output is None else f"writes {printable(str(output))}"
        print(f"shard {shard}: done in {seconds:.2f} s; other jobs compute the last tiles, and the last of them {what}")


def _neighbor_table(title: str, found: ao.Neighbors, sources: list[Source]) -> "Table":
    table = new_table(title, "space", "nearest", "value")
    names = [source.name for source in sources]
    _, *rows = _neighbor_rows(names, found.index[:MOST_PRINTED, :1], found.value)
    for name, neighbor, value in rows:
        table.add_row(plain(name), plain(neighbor), f"{value:.6g}")
    return table


def _matrix_table(title: str, distances: Float64s, sources: list[Source]) -> "Table":
    """Return a table of the whole matrix if it fits on a screen, else of the closest pairs."""
    from rich.console import Console

    names = [source.name for source in sources]
    widths = [max(len(name), VALUE_WIDTH) + FRAME_WIDTH for name in ("x" * max(map(len, names)), *names)]
    if len(sources) <= MOST_PRINTED and sum(widths) < Console().width:
        table = new_table(title, "", *names)
        for name, row in zip(names, distances, strict=True):
            table.add_row(plain(name), *(f"{value:.4g}" for value in row))
        return table
    table = new_table(title, "nearest", "to", "value")
    for i, j in _closest_pairs(distances, MOST_PRINTED):
        table.add_row(plain(names[i]), plain(names[j]), f"{distances[i, j]:.6g}")
    return table


def _closest_pairs(distances: Float64s, count: int) -> list[tuple[int, int]]:
    """The pairs of the smallest distances, one row in memory at a time; NaN is none."""
    best: list[tuple[float, int, int]] = []
    for i, row in enumerate(distances):
        near = i + 1 + np.flatnonzero(row[i + 1 :] <= (best[-1][0] if len(best) == count else np.inf))
        near = near[np.argsort(row[near], kind="stable")[:count]]
        best = sorted([*best, *((float(row[j]), i, j) for j in near.tolist())])[:count]
    return [(i, j) for _, i, j in best]


def _write(
    path: Path,
    sources: list[Source],
    options: dict[str, Any],
    reading: dict[str, Any],
    rows_of: Callable[..., Iterator[list[Any]]],
    **arrays: Any,
) -> None:
    """Write arrays as .npz with the options that made them, or rows with the names of files as .csv."""
    if path.suffix.lower() == ".npz":
        write_archive(path, sources, options, recorded(reading), **arrays)
    else:
        write_csv(path, rows_of([source.name for source in sources], *arrays.values()))


def _matrix_rows(names: list[str], distances: Float64s) -> Iterator[list[Any]]:
    yield ["", *names]
    for name, row in zip(names, distances.tolist(), strict=True):
        yield [name, *row]


def _neighbor_rows(names: list[str], index: Int64s, value: Float64s) -> Iterator[list[Any]]:
    yield ["space", "neighbour", "value"]
    for i, k in np.argwhere(index >= 0).tolist():
        yield [names[i], names[index[i, k]], float(value[i, k])]


def _draw_matrix(distances: Float64s, sources: list[Source], metric: str) -> "Figure":
    from anchorot.plot import distance_map, distance_matrix, new_figure
    from anchorot.plot.style import literal

    squared, name = metric in SQUARED, METRICS[metric].value_name.replace("_", " ")
    good = np.flatnonzero(~np.isnan(distances).all(axis=1))
    order = good[np.argsort([sources[i].group for i in good], kind="stable")]
    shown = np.maximum(distances[np.ix_(order, order)], 0)
    groups = [literal(printable(sources[i].group)) for i in order]
    figure = new_figure(13.5, 5.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    distance_matrix(np.sqrt(shown) if squared else shown, groups, label=f"{'root of ' * squared}{name}", ax=left)
    distance_map(shown, groups, squared=squared, ax=right)
    return figure


@reads_spaces
def embed(
    files: FilesArgument,
    output: Annotated[Path, output_option("Write the vectors as .csv, or with options as .npz.")],
    cells: Annotated[int, typer.Option(help="Cells per axis; a vector has the square of this number.", min=1)] = 32,
    robust: RobustOption = False,
    ground: GroundOption = "w1",
    attributes: AttributesOption = None,
    max_cost: MaxCostOption = None,
    jobs: JobsOption = -1,
    dask: DaskOption = None,
    device: Annotated[str | None, option("A CUDA device to embed on, such as cuda.")] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Compute vectors of spaces; twice the squared distance of two is at most their Anchor Energy."""
    outputs = Outputs(*files)
    outputs.announce(output, ".npz", ".csv")
    sources = find_sources(files)
    how: dict[str, Any] = {"robust": robust, "ground": ground, "attributes": attributes, "max_cost": max_cost}
    options = {"cells": cells, **how}
    start = time.perf_counter()
    with dask_client(dask) as client, doing(f"embedding {len(sources)} spaces", ", or take fewer --jobs"):
        entries: list[Any] = list(unread_all(sources, reading))
        rng = reading["rng"]
        vectors = ao.embed(entries, (cells, cells), **how, rng=rng, n_jobs=jobs, client=client, device=device)
    seconds = time.perf_counter() - start

    def rows(names: list[str], vectors: NDArray[np.float32]) -> Iterator[list[Any]]:
        for name, vector in zip(names, vectors, strict=True):
            yield [name, *(float(str(value)) for value in vector)]  # the shortest text that is this float32

    outputs.save(output, lambda path: _write(path, sources, options, reading, rows, vectors=vectors))
    if as_json:
        facts = {"output": str(output), "spaces": len(vectors), "numbers": vectors.shape[1], **options}
        print_json({**facts, "reading": recorded(reading), "seconds": seconds})
    else:
        sizes = {"numbers each": vectors.shape[1], "seconds": f"{seconds:.2f}"}
        print_facts(f"{len(vectors)} spaces as vectors", sizes, *outputs.lines())
    outputs.settle()


@reads_spaces
def barycenter(
    files: FilesArgument,
    output: Annotated[Path, output_option("Write the points as .npz or .csv.")],
    support: Annotated[int, typer.Option(help="Points of the barycenter.", min=1)] = 100,
    dim: Annotated[int, typer.Option(help="Coordinates of each point.", min=1)] = 2,
    metric: GradientOption = "ae",
    restarts: Annotated[int, typer.Option(help="Random starts, of which the best is kept.", min=1)] = 1,
    max_iter: Annotated[int, typer.Option(help="Steps from each start.", min=1)] = 500,
    jobs: JobsOption = -1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Compute the barycenter of the files: points whose distances are nearest to those of all files."""
    outputs = Outputs(*files)
    outputs.announce(output, ".npz", ".csv")
    check_extra("torch", "torch")
    with doing("reading"):
        spaces = list(spaces_of(find_sources(files), reading, jobs))
    options = {"restarts": restarts, "max_iter": max_iter, "rng": reading["rng"], "progress": True}
    with doing(f"looking for the barycenter of {len(spaces)} spaces", ", or take fewer with --support"):
        found = ao.barycenter(spaces, support, dim, metric, **options)
    outputs.save(output, lambda path: _write_points(path, found.points))
    if as_json:
        losses = {"first_loss": found.losses[0], "loss": found.loss, "steps": len(found.losses)}
        facts = {"output": str(output), "spaces": len(spaces), "metric": metric, **losses}
        print_json({**facts, "converged": found.converged})
    else:
        print_facts(f"barycenter of {len(spaces)} spaces", found.facts(), *outputs.lines())
    outputs.settle()


def _write_points(path: Path, points: Float64s) -> None:
    if path.suffix.lower() == ".npz":
        np.savez_compressed(path, points=points)
    else:
        np.savetxt(path, points, delimiter=",")
