"""Convert files of every kind to files of spaces, which load without computing anything."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import file_digest
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._validate import check_choice
from anchorot.exceptions import InputError, InputWarning
from anchorot.io.atomic import replacing
from anchorot.io.files import Unread
from anchorot.io.names import stem_of
from anchorot.io.options import SEED, PathLike, ReadOptions, check_keywords
from anchorot.io.safe_open import opened
from anchorot.io.stored import arrays_of
from anchorot.many.spaces import Inputs, each_space, open_spaces
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from distributed import Client

Entry = Callable[[], Space]


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
        name. What convert wrote before is replaced; a link in the place of such a file is refused.
    n_jobs : int
        Files to read at a time; -1 for one per core.
    client : dask.distributed.Client, optional
        Read on its cluster instead, whose workers see the files under the same paths; what they read is written here,
        to the same bits. Losing workers costs time only.
    progress : bool
        Show a bar, on a terminal or in a notebook.
    errors : {"raise", "skip"}
        What to do about a file that cannot be read: raise its error (what is written stays), or go on without it, and
        warn with an `InputWarning`.
    **reading
        Options of :func:`read`, such as ``n_points=200``. The seed of draws, 0 unless another is given, is recorded in
        the files; with ``rng=None`` one is drawn for all of them. ``cache=False`` reads without the user's cache.

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
    points.npz; originally points.csv, kind='points'
    """
    if isinstance(paths, str | os.PathLike):
        raise InputError(f"paths must be a sequence of paths, but got one: {os.fspath(paths)!r}; make it a list")
    check_keywords("convert", reading)
    options = ReadOptions(**{"cache": True, "rng": SEED, **reading}).settled()
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
    targets = target_files(sources, folder)
    inputs = Inputs.of(entries, None, least=0)
    # errors are as `read` raises them, and paths as they were given, unless they are read elsewhere
    inputs = replace(inputs, names_errors=False, folder="" if client is None else inputs.folder)
    results: dict[int, Path | Exception] = {}
    with open_spaces(inputs, n_jobs, client, together=1) as spaces:
        for index, found in each_space(spaces, pack, "converting", "files", skip=errors == "skip", progress=progress):
            results[index] = found if isinstance(found, Exception) else _put(found, targets[index])
            if errors == "raise" and isinstance(unwritten := results[index], Exception):
                raise unwritten
    written = [results[index] for index in range(len(entries))]
    pairs = zip(sources, written, strict=True)
    problems = [_describe(each, source) for source, each in pairs if isinstance(each, Exception)]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        text = f"{len(problems)} of {len(entries)} files were not converted: {problems[0]}{more}"
        warnings.warn(text, InputWarning, stacklevel=3)
    return [None if isinstance(each, Exception) else each for each in written]


def pack(space: Space, index: int) -> bytes:
    """Return the content of the file that `write` writes, with the digest of the one that the space was read from."""
    content = BytesIO()
    np.savez_compressed(content, **arrays_of(_with_digest(as_space(space))))
    return content.getvalue()


def _put(content: bytes, target: Path) -> Path | Exception:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)  # not before: what is interrupted leaves no empty folder
        with replacing(target, follows_links=False) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        return error
    return target


def target_files(sources: Sequence[Path], folder: Path) -> list[Path]:
    """A name in the folder for each source: no two the same, on any file system, and none that of a source."""
    resolved = {Path(os.path.realpath(source)) for source in sources}
    taken = {path.name.casefold() for path in resolved if path.parent == Path(os.path.realpath(folder))}
    read = {_identity(source) for source in sources} - {None}
    taken |= {path.name.casefold() for path in folder.glob("*.npz") if _identity(path) in read}  # links to sources
    targets = []
    for source in sources:
        names = chain((stem_of(source), source.name), (f"{source.name}-{number}" for number in count(2)))
        chosen = next(f"{name}.npz" for name in names if f"{name}.npz".casefold() not in taken)
        taken.add(chosen.casefold())
        targets.append(folder / chosen)
    return targets


def _identity(path: Path) -> tuple[int, int] | None:
    """What a file is, by whatever name or link; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _with_digest(space: Space) -> Space:
    """The space, whose origin says which bytes it was read from."""
    if space.origin is None or not (source := Path(space.origin.path)).is_file():
        return space
    with opened(source) as handle:
        return space.coming_from(replace(space.origin, sha256=file_digest(handle, "sha256").hexdigest()))


def _describe(error: Exception, source: Path) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{os.fsdecode(error.filename or source)}: {error.strerror}"
