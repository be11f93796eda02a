"""Files that commands write: checked before the work, and saved elsewhere if they cannot be written after it."""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot.cli.options import number_or_word
from anchorot.cli.output import describe_os_error, plain
from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.atomic import check_writable, replacing
from anchorot.io.files import ENDINGS
from anchorot.io.names import ending_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from anchorot.cli.sources import Source

PICTURES = (".png", ".svg", ".pdf")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of cells that a spreadsheet would evaluate


class Outputs:
    """The files that a command writes, which must not be those that it reads.

    A command passes the files and folders that it reads, announces its outputs before the work, saves them after it,
    prints its results, and settles: that raises an error if an output could not be written to its path and is in the
    temporary folder instead.
    """

    def __init__(self, *inputs: Path) -> None:
        self._inputs = inputs
        self._written: list[Path] = []
        self._missed: list[str] = []

    def announce(self, path: Path | None, *endings: str) -> None:
        """Refuse a file that is an input, cannot be written, or has none of the given endings."""
        if path is None:
            return
        _check_ending(path, path, endings)
        target = Path(os.path.realpath(path))  # links are followed
        if not target.parent.is_dir():
            raise InputError(f"{path}: there is no folder {target.parent}")
        check_writable(path)
        for file in self._read_files():
            if _are_one(target, file):
                raise InputError(f"{path}: would overwrite {file}, which is an input; choose another file")
        _check_ending(path, target, endings)

    def _read_files(self) -> Iterator[Path]:
        """The input files, including those in folders."""
        for path in self._inputs:
            if path.is_dir():
                yield from (file for file in path.iterdir() if ending_of(file) in ENDINGS)
            else:
                yield path

    def announce_picture(self, path: Path | None) -> None:
        """Refuse a picture that cannot be drawn or written."""
        self.announce(path, *PICTURES)
        if path is not None:
            from anchorot.plot import new_figure

            new_figure(1, 1)  # raises if matplotlib is missing

    def announce_folder(self, path: Path | None) -> None:
        """Refuse a folder that cannot be made or written to."""
        if path is None:
            return
        there = next(each for each in (path, *path.absolute().parents) if each.exists() or each.is_symlink())
        if not there.is_dir():
            kind = "a file" if there.exists() else "a broken link"
            raise InputError(f"{path}: a folder is needed, but {there} is {kind}")
        try:
            check_writable(there / "probe")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None

    def save(self, path: Path | None, write: Callable[[Path], object]) -> None:
        """Write a file atomically; if that fails, write it to the temporary folder."""
        if path is None:
            return
        try:
            with replacing(path) as temporary:
                write(temporary)
        except OSError as error:
            self._missed.append(f"{describe_os_error(error)}; {_rescued(path, write)}")
        else:
            self._written.append(path)

    def note_written(self, path: Path) -> None:
        """List a file that is written already."""
        self._written.append(path)

    def save_picture(self, path: Path | None, draw: Callable[[], "Figure"]) -> None:
        """Draw and save a picture, if there is a path for it."""
        if path is not None:
            figure = draw()
            self.save(path, lambda temporary: figure.savefig(temporary, dpi=130, facecolor="white"))

    def lines(self) -> list[str]:
        """Return a line for each file written, for `print_table`."""
        return [f"written: [bold]{plain(str(path))}[/]" for path in self._written]

    def settle(self) -> None:
        """Raise an error if a file could not be written to its path."""
        if self._missed:
            raise AnchorotError("; ".join(self._missed))


def write_csv(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows of numbers and untrusted names (see `cell`), separated by commas, or by tabs in .tsv files."""
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as handle:
        csv.writer(handle, delimiter=separator).writerows(
            [cell(value) if isinstance(value, str) else value for value in row] for row in rows
        )


def write_archive(
    path: Path, sources: "Sequence[Source]", options: dict[str, Any], reading: dict[str, Any], **arrays: Any
) -> None:
    """Write arrays as .npz, with names and groups of the spaces and the options that were used."""
    arrays |= {"names": [source.name for source in sources], "groups": [source.group for source in sources]}
    np.savez_compressed(path, **arrays, options=json.dumps(options), reading=json.dumps(reading))


def cell(name: str) -> str:
    """Return a name that no spreadsheet evaluates as a formula; numbers are unchanged.

    Examples
    --------
    >>> from anchorot.cli.writing import cell
    >>> cell("=1+1"), cell("-7"), cell("cat")
    ("'=1+1", '-7', 'cat')
    """
    is_number = isinstance(number_or_word(name), float)
    return f"'{name}" if name.startswith(FORMULA_STARTS) and not is_number else name


def _check_ending(path: Path, target: Path, endings: Sequence[str]) -> None:
    if endings and target.suffix.lower() not in endings:
        link = "" if target == path else f"a link to {target.name}, but "
        raise InputError(f"{path}: {link}the file must end in {' or '.join(endings)}")


def _are_one(target: Path, file: Path) -> bool:
    """Whether both exist and are the same file, whatever their paths, links or case."""
    try:
        return target.samefile(file)
    except OSError:
        return False


def _rescued(path: Path, write: Callable[[Path], object]) -> str:
    """Save a result in the temporary folder; return a text that says where it is."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="anchorot-"))
    except OSError as error:
        return f"there is no temporary folder to save it in either ({error.strerror})"
    rescued = folder / f"result{path.suffix}"
    try:
        write(rescued)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return f"it could not be saved in {folder.parent} either ({error.strerror or error})"
    return f"it is saved as {rescued} instead"
