"""`anchorot convert`: files of every kind as files of spaces, which are read at once."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from anchorot.cli.clients import DaskOption, dask_client
from anchorot.cli.options import FilesArgument, JobsOption, JsonOption, reads_spaces, said_of
from anchorot.cli.output import doing, new_table, plain, print_json, print_table
from anchorot.cli.sources import find_sources, unread_all
from anchorot.cli.writing import Outputs
from anchorot.many.convert import convert_all


@reads_spaces
def convert(
    files: FilesArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write spaces to.", show_default=False)],
    jobs: JobsOption = -1,
    dask: DaskOption = None,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Leave out files that cannot be read, and go on.")
    ] = False,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Write spaces as .npz files, which take no time to read, with all that was said about reading them."""
    Outputs().announce_folder(output)
    sources = find_sources(files)
    start = time.perf_counter()
    with dask_client(dask) as client, doing(f"converting {len(sources)} files", ", or take fewer --jobs"):
        written = convert_all(
            unread_all(sources, reading),
            [source.path for source in sources],
            output,
            n_jobs=jobs,
            client=client,
            progress=True,
            errors="skip" if skip_errors else "raise",
        )
    seconds = time.perf_counter() - start
    pairs = list(zip(sources, written, strict=True))
    if as_json:
        found = [{"source": source.name, "file": None if file is None else file.name} for source, file in pairs]
        print_json({"folder": str(output), "files": found, "reading": said_of(reading), "seconds": seconds})
        return
    good = [file for file in written if file is not None]
    table = new_table(f"{len(good)} of {len(sources)} files are spaces now", "", "")
    table.add_row("bytes", f"{sum(file.stat().st_size for file in good):,}")
    table.add_row("seconds", f"{seconds:.2f}")
    print_table(table, f"written to: [bold]{plain(str(output))}[/]")
