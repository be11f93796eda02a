"""An open file that is read and written at given places, and closed with its last user.

Bytes are copied when they are read, never mapped: a file may be cut short while it is open, and a map of it would then
end the process. There is no current position either, so threads and forked processes do not disturb each other.
"""

import os
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Self

from anchorot.exceptions import InputError


class Handle:
    """An open file of this process."""

    def __init__(self, number: int) -> None:
        self._number = number
        weakref.finalize(self, os.close, number)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Open a file for reading."""
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe may wait for ever
            raise InputError(f"{Path(path).name}: not a regular file, but an index is one")
        return cls(os.open(path, os.O_RDONLY))

    @classmethod
    def temporary(cls, folder: str | os.PathLike[str] | None) -> Self:
        """Make a file of no name, whose space is given back when it is closed."""
        with tempfile.TemporaryFile(dir=folder) as file:
            return cls(os.dup(file.fileno()))

    @property
    def stamp(self) -> tuple[int, int]:
        """The file's length, and when it last changed."""
        state = os.fstat(self._number)
        return state.st_size, state.st_mtime_ns

    def read(self, start: int, length: int) -> bytes:
        """Bytes from `start` on; fewer than `length` if the file ends before."""
        data = os.pread(self._number, length, start)
        if len(data) == length:
            return data
        whole = bytearray(length)  # the file ends here, or the system gave no more than 2 GiB at a time
        return bytes(memoryview(whole)[: self.read_into(start, memoryview(whole))])

    def read_into(self, start: int, out: memoryview) -> int:
        """Fill memory with the bytes from `start` on, as far as the file goes; return how many there were."""
        done = 0
        while done < len(out) and (more := os.preadv(self._number, [out[done:]], start + done)):
            done += more
        return done

    def write(self, start: int, data: bytes) -> None:
        """Write all bytes from `start` on."""
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._number, rest, start)
            rest, start = rest[written:], start + written
