"""Arrays of numbers from .npz, .npy, .csv and .txt files. Nothing here ever unpickles."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

from anchorot.exceptions import InputError
from anchorot.io.foreign import check_claim, reading
from anchorot.io.text import lines_of, numbers

ARRAYS = ("cost", "points", "weights", "labels", "V", "F")  # of an .npz file; others are left alone


def read_npz(file: Path) -> dict[str, Any]:
    """Arrays of an .npz file that make a space: `cost`, `points`, or a mesh `V` and `F`; `weights` and `labels`."""
    with (
        file.open("rb") as handle,
        reading("an .npz archive of plain numbers"),
        np.load(handle, allow_pickle=False) as archive,
    ):
        if not isinstance(archive, NpzFile):
            raise InputError("not an .npz archive, but a bare array")
        _check_members(file)
        found = {name: archive[name] for name in ARRAYS if name in archive.files}
        names = ", ".join(archive.files) or "nothing"
    if sum(("cost" in found, "points" in found, {"V", "F"} <= set(found))) != 1:
        raise InputError(f"an .npz file needs one of: 'cost'; 'points'; 'V' and 'F'. This one holds {names}")
    if "labels" in found:
        found["labels"] = found["labels"].tolist()
    return found


def _check_members(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            check_claim(member.file_size, file, member.filename)
            _check_header(archive, member)


def _check_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse an array whose header promises another size than the archive has for it, before memory is taken."""
    if not member.filename.endswith(".npy"):
        return
    with archive.open(member) as handle:
        version = np.lib.format.read_magic(handle)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(handle)
        promised = int(np.prod([int(side) for side in shape], dtype=object)) * dtype.itemsize + handle.tell()
    if not dtype.hasobject and promised != member.file_size:
        raise InputError(f"the header of {member.filename} promises {promised} bytes, but it has {member.file_size}")


def read_npy(file: Path) -> dict[str, Any]:
    """Array of a .npy file."""
    file.open("rb").close()  # what the system has to say about the file is raised as it is
    with reading("a .npy array of plain numbers"):
        # Mapped, not loaded: a header that claims more than the file holds is found out before memory is taken.
        return {"cost": np.array(np.load(file, mmap_mode="r", allow_pickle=False))}


def read_csv(file: Path) -> dict[str, Any]:
    """Matrix of numbers separated by commas."""
    return {"cost": numbers(lines_of(file), ",")}


def read_txt(file: Path) -> dict[str, Any]:
    """Matrix of numbers separated by blanks, or the format of the authors' program."""
    lines = lines_of(file)
    head = lines[0].split()
    if len(head) > 1 or not head[0].isdigit() or len(lines) == 1:
        return {"cost": numbers(lines, None)}
    n = int(head[0])
    if len(lines) not in (n + 1, n + 2):
        raise InputError(
            f"the first line promises {n} lines of {n} costs (and one of weights), but {len(lines) - 1} follow"
        )
    found: dict[str, Any] = {"cost": numbers(lines[1 : n + 1], None)}
    if found["cost"].shape != (n, n):
        held = " x ".join(map(str, found["cost"].shape))
        raise InputError(f"the first line promises a {n} x {n} matrix, but the lines hold {held} numbers")
    if len(lines) == n + 2:
        found["weights"] = numbers(lines[n + 1 :], None)[0]
    return found


MATRIX_READERS = {".npz": read_npz, ".npy": read_npy, ".csv": read_csv, ".txt": read_txt}
