"""Where the matrix of all pairs goes: memory, an array of the caller, or an .npy file that is filled tile by tile."""

import errno
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from anchorot._typing import Float64s
from anchorot._validate import check_free_memory
from anchorot.exceptions import InputError
from anchorot.io.atomic import naming, replacing
from anchorot.io.safe_open import opened
from anchorot.many.spaces import Inputs

ENDING = ".npy"
MAGIC = b"\x93NUMPY"  # with which such files begin
CANNOT_RESERVE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)  # what file systems say that set no space aside


class MatrixFile:
    """An .npy file of float64, written to block by block like an array; none of it stays in memory.

    A memory map would end the process where the disk is full or its quota is used up, instead of raising an error.
    """

    def __init__(self, path: Path, temporary: Path, shape: tuple[int, int]) -> None:
        self.path, self._temporary, self._shape, self._start = path, temporary, shape, 0
        self._file: BinaryIO = temporary.open("wb")

    def reserve(self) -> None:
        """Write the header, and take the space on disk, so that a full disk is known before any work."""
        header = {"descr": np.dtype(np.float64).str, "fortran_order": False, "shape": self._shape}
        with naming(self.path, self._temporary):
            np.lib.format.write_array_header_1_0(self._file, header)
            self._start = self._file.tell()
            self._file.flush()
            _reserve(self._file, self._start + 8 * self._shape[0] * self._shape[1])

    def __setitem__(self, place: tuple[slice, slice], block: Float64s) -> None:
        """Write a block, row by row."""
        rows, columns = place
        with naming(self.path, self._temporary):
            for i, row in zip(range(rows.start, rows.stop), np.ascontiguousarray(block), strict=True):
                self._file.seek(self._start + 8 * (i * self._shape[1] + columns.start))
                self._file.write(row)

    def close(self) -> None:
        """Write what is left."""
        with naming(self.path, self._temporary):
            self._file.close()


Matrix = Float64s | MatrixFile


def checked_out(out: Any, inputs: Inputs, k: int | None) -> Float64s | Path | None:
    """Return the array or the path that the caller wants the matrix in; refuse what cannot hold it."""
    if out is None:
        return None
    if k is not None:
        raise InputError("out is for the matrix of all pairs, but k asks for neighbours; leave one of them out")
    if isinstance(out, str | os.PathLike):
        return _checked_path(Path(out), inputs)
    if not isinstance(out, np.ndarray):
        raise InputError(f"out must be an array, or a path ending in {ENDING}, but got {type(out).__name__}")
    shape = shape_of(inputs)
    if out.shape != shape or out.dtype != np.float64:
        raise InputError(f"out has shape {out.shape} and dtype {out.dtype}, but float64 of shape {shape} is needed")
    return out


def shape_of(inputs: Inputs) -> tuple[int, int]:
    """Shape of the matrix of all pairs."""
    return inputs.n, inputs.n if inputs.m is None else inputs.m


def _checked_path(path: Path, inputs: Inputs) -> Path:
    """Refuse a file that is an input or holds anything but an array; links are followed."""
    target = Path(os.path.realpath(path))
    if target.suffix.lower() != ENDING:
        raise InputError(f"out={str(path)!r}: the matrix is written as {ENDING}; choose a name that ends so")
    if not target.parent.is_dir():
        raise InputError(f"out={str(path)!r}: there is no folder {target.parent}")
    if target.exists():
        arrays = (file for file in inputs.files() if file.suffix.lower() == ENDING and file.exists())
        if any(target.samefile(file) for file in arrays):
            raise InputError(f"out={str(path)!r} would overwrite an input; choose another file")
        if not target.is_dir():  # which is an error of the system, below
            with opened(target) as file:
                head = file.read(len(MAGIC))
            if head not in (b"", MAGIC):
                raise InputError(f"out={str(path)!r} exists and is not an {ENDING} file; choose another file")
    return path


def as_array(values: Matrix) -> Float64s:
    """Return the finished matrix; of a file a read-only memory map."""
    return np.load(values.path, mmap_mode="r") if isinstance(values, MatrixFile) else values


@contextmanager
def matrix(out: Float64s | Path | None, shape: tuple[int, int]) -> Iterator[Matrix]:
    """Yield what tiles are put into; a file appears under its name when the block succeeds."""
    if isinstance(out, Path):
        with replacing(out, is_long=True) as temporary, closing(MatrixFile(out, temporary, shape)) as file:
            file.reserve()
            yield file
    elif out is None:
        check_free_memory(
            8 * shape[0] * shape[1], "the distances of all pairs", "write them to a file: out='D.npy' (-o D.npy)"
        )
        yield np.empty(shape)
    else:
        yield out


def _reserve(file: BinaryIO, size: int) -> None:
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except AttributeError:  # a system without it
        file.truncate(size)
    except OSError as error:
        if error.errno not in CANNOT_RESERVE:
            raise
        file.truncate(size)
