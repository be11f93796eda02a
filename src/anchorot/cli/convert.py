"""`anchorot convert`, `anchorot cache` and `anchorot config`."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot.cli.options import (
    DaskOption,
    FilesArgument,
    JobsOption,
    JsonOption,
    dask_client,
    output_option,
    reads_spaces,
    recorded,
)
from anchorot.cli.output import doing, plain, print_facts, print_json
from anchorot.cli.sources import find_sources, unread_all
from anchorot.cli.writing import Outputs
from anchorot.io.cache import CacheInfo, cache_info, clear_cache
from anchorot.many.convert import convert_all

cache_app = typer.Typer(help="Show or clear the cache of spaces that were read.", no_args_is_help=True)


@reads_spaces
def convert(
    files: FilesArgument,
    output: Annotated[Path, output_option("Folder to write spaces to.")],
    jobs: JobsOption = -1,
    dask: DaskOption = None,
    skip_errors: Annotated[bool, typer.Option("--skip-errors", help="Skip files that cannot be read.")] = False,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Write spaces as .npz files, which are fast to read, and record how the originals were read."""
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
        print_json({"folder": str(output), "files": found, "reading": recorded(reading), "seconds": seconds})
        return
    good = [file for file in written if file is not None]
    facts = {"bytes": sum(file.stat().st_size for file in good), "seconds": f"{seconds:.2f}"}
    title = f"{len(good)} of {len(sources)} files converted to spaces"
    print_facts(title, facts, f"written to: [bold]{plain(str(output))}[/]")


@cache_app.command(epilog="Example: [bold]anchorot cache info --json[/]")
def info(as_json: JsonOption = False) -> None:
    """Show where the cache is, and how much is in it."""
    _show_cache("cache", cache_info(), as_json)


@cache_app.command(epilog="Example: [bold]anchorot cache clear[/]")
def clear(as_json: JsonOption = False) -> None:
    """Remove all spaces from the cache, and show how many there were."""
    _show_cache("removed from the cache", clear_cache(), as_json)


def _show_cache(title: str, found: CacheInfo, as_json: bool) -> None:
    facts: dict[str, Any] = {"spaces": found.n_spaces, "bytes": found.n_bytes, "limit": found.limit}
    if as_json:
        print_json({"folder": str(found.folder), **facts})
    else:
        print_facts(title, {"folder": plain(str(found.folder)), **facts})


def config(as_json: JsonOption = False) -> None:
    """Show which kernels and versions are in use."""
    from anchorot.config import config as found

    if as_json:
        print_json(found())
    else:
        ao.config.show_config()
