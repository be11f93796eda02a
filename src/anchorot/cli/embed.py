"""`anchorot embed`: files as plain vectors."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

import anchorot as ao
from anchorot.cli.clients import DaskOption, dask_client
from anchorot.cli.metric_options import GroundOption, MarksOption, ReachOption
from anchorot.cli.options import FilesArgument, JobsOption, JsonOption, reads_spaces, said_of
from anchorot.cli.output import doing, new_table, print_json, print_table
from anchorot.cli.sources import Source, find_sources, unread_all
from anchorot.cli.writing import Outputs, write_archive, write_csv


@reads_spaces
def embed(
    files: FilesArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Write the vectors as .csv, or with options as .npz.", show_default=False),
    ],
    cells: Annotated[int, typer.Option(help="Cells each way: as many numbers as their square.", min=1)] = 32,
    robust: Annotated[bool, typer.Option("--robust", help="Embed ranks of costs.")] = False,
    ground: GroundOption = "w1",
    marks: MarksOption = None,
    reach: ReachOption = None,
    jobs: JobsOption = -1,
    dask: DaskOption = None,
    device: Annotated[
        str | None, typer.Option(help="A CUDA device to embed on, such as cuda.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Vectors of spaces; twice the squared distance of two is at most their Anchor Energy."""
    outputs = Outputs(*files)
    outputs.announce(output, ".npz", ".csv")
    sources = find_sources(files)
    options = {"cells": cells, "robust": robust, "ground": ground, "marks": marks, "reach": reach}
    start = time.perf_counter()
    with dask_client(dask) as client, doing(f"embedding {len(sources)} spaces", ", or take fewer --jobs"):
        how = {"robust": robust, "ground": ground, "marks": marks, "reach": reach, "rng": reading["rng"]}
        entries: list[Any] = list(unread_all(sources, reading))
        vectors = ao.embed(entries, (cells, cells), **how, n_jobs=jobs, client=client, device=device)
    seconds = time.perf_counter() - start
    outputs.save(output, lambda path: _write(path, vectors, sources, options, reading))
    if as_json:
        said = {"output": str(output), "spaces": len(vectors), "numbers": vectors.shape[1], **options}
        print_json({**said, "reading": said_of(reading), "seconds": seconds})
    else:
        table = new_table(f"{len(vectors)} spaces as vectors", "", "")
        table.add_row("numbers each", str(vectors.shape[1]))
        table.add_row("seconds", f"{seconds:.2f}")
        print_table(table, *outputs.lines())
    outputs.settle()


def _write(
    path: Path, vectors: NDArray[np.float32], sources: list[Source], options: dict[str, Any], reading: dict[str, Any]
) -> None:
    if path.suffix.lower() == ".npz":
        write_archive(path, sources, options, reading, vectors=vectors)
    else:
        write_csv(path, _rows([source.name for source in sources], vectors))


def _rows(names: list[str], vectors: NDArray[np.float32]) -> Iterator[list[Any]]:
    for name, vector in zip(names, vectors, strict=True):
        yield [name, *(float(str(value)) for value in vector)]  # the shortest text that is this float32
