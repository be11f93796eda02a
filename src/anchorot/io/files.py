"""Spaces from files and back. Nothing here ever unpickles."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

from anchorot._typing import Floats
from anchorot.exceptions import InputError
from anchorot.io.atomic import replacing
from anchorot.io.points import from_points
from anchorot.space import Space


def read(path: str | os.PathLike[str], *, points: bool = False, metric: str = "euclidean") -> Space:
    """Read a space from a file, by its ending.

    ======  ==========================================================================================
    .npz    arrays ``cost`` or ``points``, and optionally ``weights`` and ``labels``
    .npy    a cost matrix
    .csv    a cost matrix, numbers separated by commas
    .txt    a cost matrix, numbers separated by blanks; or the format of the paper's authors' program:
            n, then n lines of n costs, then optionally a line of n weights
    ======  ==========================================================================================

    Parameters
    ----------
    path : path
    points : bool
        The file's numbers are the coordinates of points, one point a row, instead of costs.
    metric : str
        The distance between points, see :func:`from_points`.

    Raises
    ------
    InputError
        If the file does not hold a space; the message begins with its name.
    OSError
        If it cannot be read.
    """
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        known = ", ".join(sorted(READERS))
        raise InputError(f"{file.name}: files ending in '{file.suffix}' are not read; known endings: {known}")
    try:
        found = reader(file)
        if points and "cost" in found:
            found["points"] = found.pop("cost")
        if "points" in found:
            return from_points(found.pop("points"), metric, **found)
        if found["cost"].ndim == 2 and found["cost"].shape[0] != found["cost"].shape[1]:
            raise InputError(
                f"a cost matrix is square, but this one is {_shape(found['cost'])}; if its rows are points, say so"
            )
        return Space(found.pop("cost"), **found, copy=False)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None


def write(space: Space, path: str | os.PathLike[str]) -> None:
    """Write a space as a compressed ``.npz`` file that `read` reads back; it appears whole or not at all."""
    file = Path(path)
    if file.suffix.lower() != ".npz":
        raise InputError(f"{file.name}: spaces are written as .npz files only")
    arrays: dict[str, Any] = {"cost": space.cost, "weights": space.weights}
    if space.labels is not None:
        arrays["labels"] = np.array([str(label) for label in space.labels])
    with replacing(file) as temporary:
        np.savez_compressed(temporary, **arrays)


def _shape(array: Floats) -> str:
    return " x ".join(map(str, array.shape))


def _read_npz(file: Path) -> dict[str, Any]:
    with file.open("rb") as handle, _numpy_errors("an .npz archive"), np.load(handle, allow_pickle=False) as archive:
        if not isinstance(archive, NpzFile):
            raise InputError("not an .npz archive, but a bare array")
        found: dict[str, Any] = {
            name: archive[name] for name in ("cost", "points", "weights", "labels") if name in archive.files
        }
        names = ", ".join(archive.files) or "nothing"
    if ("cost" in found) == ("points" in found):
        raise InputError(f"an .npz file needs an array 'cost' or an array 'points', but this one holds {names}")
    if "labels" in found:
        found["labels"] = found["labels"].tolist()
    return found


def _read_npy(file: Path) -> dict[str, Any]:
    file.open("rb").close()  # what the system has to say about the file is raised as it is
    with _numpy_errors("a .npy array"):
        # Mapped, not loaded: a header that claims more than the file holds is found out before memory is taken.
        return {"cost": np.array(np.load(file, mmap_mode="r", allow_pickle=False))}


@contextmanager
def _numpy_errors(kind: str) -> Iterator[None]:
    """Turn whatever NumPy, zipfile and tokenize raise on a broken file into one clear line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"not {kind} of plain numbers that can be read ({_first_line(error)})") from None


def _read_csv(file: Path) -> dict[str, Any]:
    return {"cost": _numbers(_lines(file), ",")}


def _read_txt(file: Path) -> dict[str, Any]:
    lines = _lines(file)
    head = lines[0].split()
    if len(head) > 1 or not head[0].isdigit() or len(lines) == 1:
        return {"cost": _numbers(lines, None)}
    n = int(head[0])
    if len(lines) not in (n + 1, n + 2):
        raise InputError(
            f"the first line promises {n} lines of {n} costs (and one of weights), but {len(lines) - 1} follow"
        )
    found: dict[str, Any] = {"cost": _numbers(lines[1 : n + 1], None)}
    if found["cost"].shape != (n, n):
        raise InputError(
            f"the first line promises a {n} x {n} matrix, but the lines hold {_shape(found['cost'])} numbers"
        )
    if len(lines) == n + 2:
        found["weights"] = _numbers(lines[n + 1 :], None)[0]
    return found


def _lines(file: Path) -> list[str]:
    try:
        lines = [line for line in file.read_text("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise InputError("not a text file") from None
    if not lines:
        raise InputError("the file is empty")
    return lines


def _numbers(lines: list[str], separator: str | None) -> Floats:
    rows: list[Floats] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = np.array(line.split(separator), dtype=np.float64)
        except ValueError as error:
            raise InputError(f"line {number} of numbers: {_first_line(error)}") from None
        if rows and len(row) != len(rows[0]):
            raise InputError(f"line {number} of numbers has {len(row)} of them, but line 1 has {len(rows[0])}")
        rows.append(row)
    return np.stack(rows)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".txt": _read_txt,
}
