"""Files of every kind turned into files of spaces, which are read at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from hashlib import file_digest
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._progress import progress_bar
from anchorot._validate import check_choice
from anchorot.exceptions import InputError, InputNote, MissingExtraError
from anchorot.io.atomic import replacing
from anchorot.io.cache import READERS
from anchorot.io.files import Unread, write
from anchorot.io.gate import opened
from anchorot.io.notes import listening, note
from anchorot.io.options import PathLike, ReadOptions
from anchorot.io.readers import read_all, workers_of
from anchorot.io.stored import arrays_of
from anchorot.many.workers.inputs import working_folder
from anchorot.many.workers.tasks import ClusterTasks
from anchorot.space import Space

if TYPE_CHECKING:
    from distributed import Client

Entry = Callable[[], Space]
Found = Generator[tuple[int, Path | Exception]]  # place of a file, and what became of it


def convert(
    paths: Sequence[PathLike],
    folder: PathLike,
    *,
    n_jobs: int = -1,
    client: Client | None = None,
    progress: bool = True,
    errors: str = "raise",
    **reading: Any,
) -> list[Path | None]:
    r"""Read files, and write each as a space that takes no time to read, with all that was said about reading it.

    Files are read side by side, in processes where that pays. Each is written by :func:`write`, whole or not at all;
    its `Space.origin` says the name and the SHA-256 of the file it came from, the options and the version of anchorot.

    Parameters
    ----------
    paths : sequence of paths
        Files that :func:`read` reads.
    folder : path
        Where to write; made with the first file if it is not there. ``cat.off`` becomes ``cat.npz``, or
        ``cat.off.npz`` where that name is taken by another of the files, or is one of them; no two files get the same
        name. What convert wrote before is replaced.
    n_jobs : int
        Files to read at a time; -1 for one a core.
    client : dask.distributed.Client, optional
        Read on its cluster instead, whose workers see the files under the same paths; what they read is written here,
        to the same bits. Losing workers costs time only.
    progress : bool
        Show a bar, on a terminal or in a notebook.
    errors : {"raise", "skip"}
        What to do about a file that cannot be read: raise its error (what is written stays), or go on without it, and
        warn with an `InputNote`.
    **reading
        Options of :func:`read`. Without a seed one is drawn for all files, and told; ``cache=False`` reads without the
        user's cache.

    Returns
    -------
    list of Path
        The files written, one for each of `paths`; None for one that was skipped.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile, anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     points = Path(folder, "points.csv")
    ...     _ = points.write_text("0,0\n3,4\n")
    ...     (file,) = ao.convert([points], Path(folder, "spaces"), kind="points")
    ...     print(ao.read(file).origin)
    points.npz; that of points.csv, kind='points'
    """
    if isinstance(paths, str | os.PathLike):
        raise InputError(f"paths must be a sequence of paths, but got one: {os.fspath(paths)!r}; make it a list")
    options = ReadOptions(**{"cache": True, **reading}).settled()
    files = [Path(path) for path in paths]
    entries: list[Entry] = [Unread(file, options) for file in files]
    return convert_all(entries, files, Path(folder), n_jobs=n_jobs, client=client, progress=progress, errors=errors)


def convert_all(
    entries: Sequence[Entry],
    sources: Sequence[Path],
    folder: Path,
    *,
    n_jobs: int,
    client: Client | None = None,
    progress: bool,
    errors: str,
) -> list[Path | None]:
    """Convert what functions return, named after `sources`, which need not be there; see `convert`."""
    check_choice(errors, "errors", ("raise", "skip"))
    n_workers = workers_of(n_jobs)
    targets = target_files(sources, folder)
    results: dict[int, Path | Exception] = {}
    where = partial(_convert_here, n_workers=n_workers) if client is None else partial(_convert_there, client=client)
    found = where(entries, sources, targets)
    with closing(found), progress_bar(len(entries), "converting", "files", progress) as advance:
        for place, result in found:
            if isinstance(result, Exception) and (errors == "raise" or not isinstance(result, InputError | OSError)):
                raise result
            results[place] = result
            advance(1)
    written = [results[place] for place in range(len(entries))]
    pairs = zip(sources, written, strict=True)
    problems = [_told(each, source) for source, each in pairs if isinstance(each, Exception)]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        text = f"{len(problems)} of {len(entries)} files were not converted: {problems[0]}{more}"
        warnings.warn(text, InputNote, stacklevel=3)
    return [None if isinstance(each, Exception) else each for each in written]


def _convert_here(entries: Sequence[Entry], sources: Sequence[Path], targets: list[Path], n_workers: int) -> Found:
    """Convert on this machine."""

    def keep(place: int, space: Space) -> Path:
        _make_folder(targets[place])
        write(_with_digest(space, sources[place]), targets[place])
        return targets[place]

    with closing(read_all(entries, n_workers, len(entries), keep)) as found:
        yield from enumerate(found)


def _convert_there(entries: Sequence[Entry], sources: Sequence[Path], targets: Sequence[Path], client: Client) -> Found:
    """Read on a cluster, and write here."""
    here = Path(working_folder())  # workers may be elsewhere
    with ClusterTasks(client, ("numpy", *READERS)) as tasks:

        def hand_out(place: int) -> Any:
            entry = entries[place]
            known = replace(entry, path=here / entry.path) if isinstance(entry, Unread) else entry
            return tasks.submit(pack, known, here / sources[place])

        for place, (content, notes) in tasks.completed(hand_out, range(len(entries))):
            for said in notes:
                note(sources[place].name, said)
            yield place, content if isinstance(content, Exception) else _put(content, targets[place])


def pack(entry: Entry, source: Path) -> tuple[bytes | Exception, list[str]]:
    """The file of a space, or why there is none, and what was noted."""
    content = BytesIO()
    with listening() as notes:
        try:
            np.savez_compressed(content, **arrays_of(_with_digest(entry(), source)))
        except (InputError, MissingExtraError, OSError) as error:
            return error, notes
    return content.getvalue(), notes


def _put(content: bytes, target: Path) -> Path | Exception:
    try:
        _make_folder(target)
        with replacing(target) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        return error
    return target


def _make_folder(target: Path) -> None:
    """Not before there is a file for it: what is interrupted leaves no empty folder."""
    target.parent.mkdir(parents=True, exist_ok=True)


def target_files(sources: Sequence[Path], folder: Path) -> list[Path]:
    """A name in the folder for each source: no two the same, on any file system, and none that of a source."""
    resolved = {Path(os.path.realpath(source)) for source in sources}
    taken = {path.name.casefold() for path in resolved if path.parent == Path(os.path.realpath(folder))}
    targets = []
    for source in sources:
        names = chain((source.stem, source.name), (f"{source.name}-{number}" for number in count(2)))
        chosen = next(f"{name}.npz" for name in names if f"{name}.npz".casefold() not in taken)
        taken.add(chosen.casefold())
        targets.append(folder / chosen)
    return targets


def _with_digest(space: Space, source: Path) -> Space:
    """The space, whose origin says which bytes it was read from."""
    if space.origin is None or not source.is_file():
        return space
    with opened(source) as handle:
        return space.coming_from(replace(space.origin, sha256=file_digest(handle, "sha256").hexdigest()))


def _told(error: Exception, source: Path) -> str:
    return f"{source}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
