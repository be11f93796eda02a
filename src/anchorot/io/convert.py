"""Files of every kind turned into files of spaces, which are read at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import file_digest
from itertools import chain, count
from pathlib import Path
from typing import Any

from anchorot._progress import progress_bar
from anchorot._validate import check_choice
from anchorot.exceptions import InputError, InputNote
from anchorot.io.files import Unread, write
from anchorot.io.gate import opened
from anchorot.io.options import PathLike, ReadOptions
from anchorot.io.readers import read_all, workers_of
from anchorot.space import Space

Entry = Callable[[], Space]


def convert(
    paths: Sequence[PathLike],
    folder: PathLike,
    *,
    n_jobs: int = -1,
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
    return convert_all(entries, files, Path(folder), n_jobs=n_jobs, progress=progress, errors=errors)


def convert_all(
    entries: Sequence[Entry], sources: Sequence[Path], folder: Path, *, n_jobs: int, progress: bool, errors: str
) -> list[Path | None]:
    """Convert what functions return, named after `sources`, which need not be there; see `convert`."""
    check_choice(errors, "errors", ("raise", "skip"))
    n_workers = workers_of(n_jobs)
    targets = target_files(sources, folder)
    written: list[Path | None] = []
    problems: list[str] = []

    def keep(place: int, space: Space) -> Path:
        folder.mkdir(parents=True, exist_ok=True)  # not before: what is interrupted leaves no empty folder
        write(_with_digest(space, sources[place]), targets[place])
        return targets[place]

    found = read_all(entries, n_workers, len(entries), keep)
    with closing(found), progress_bar(len(entries), "converting", "files", progress) as advance:
        for source, result in zip(sources, found, strict=True):
            if isinstance(result, Exception):
                if errors == "raise" or not isinstance(result, InputError | OSError):
                    raise result
                problems.append(_told(result, source))
            written.append(None if isinstance(result, Exception) else result)
            advance(1)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        text = f"{len(problems)} of {len(entries)} files were not converted: {problems[0]}{more}"
        warnings.warn(text, InputNote, stacklevel=3)
    return written


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
