"""Spaces in memory or loaded on demand, and digests of what they hold."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from anchorot._typing import RngLike
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError, find_shortage
from anchorot.io.cache import READERS
from anchorot.io.files import Unread, read
from anchorot.io.options import HOW, ReadOptions
from anchorot.many.tiles import strips
from anchorot.space import Space, as_space


@dataclass(frozen=True)
class Inputs:
    """One or two sequences of spaces, as one: first the n spaces, then the m others.

    Entries may be spaces, features, square arrays, paths, or functions that return one of these; they are asked of the
    sequences only when needed.

    Attributes
    ----------
    options : ReadOptions
        How paths are read.
    given : tuple of str
        The options that the caller gave and that change spaces; they are for paths, and refused with anything else.
    folder : str
        Where relative paths begin, also for workers elsewhere.
    names_errors : bool
        Whether errors are all `InputError` and begin with what the caller knows the space as.
    prepare : callable, optional
        What is done to a space when it was loaded.
    """

    spaces: Any
    others: Any
    n: int
    m: int | None
    options: ReadOptions
    given: tuple[str, ...]
    folder: str
    names_errors: bool = True
    prepare: Callable[[Any], Any] | None = None

    @classmethod
    def of(
        cls,
        spaces: Sequence[Any],
        others: Sequence[Any] | None,
        *,
        least: int = 1,
        seed: RngLike = None,
        **reading: Any,
    ) -> "Inputs":
        """Check that these are sequences, of so many spaces at least, without looking into them.

        `reading` are options of `read`; `seed` is where draws from paths come from if none of them says so.
        """
        m = None if others is None else _length(others, "others", least)
        given = tuple(name for name in reading if name not in HOW)
        options = ReadOptions(**{"cache": True, "rng": seed, **reading}).settled()
        return cls(spaces, others, _length(spaces, "spaces", least), m, options, given, _working_folder())

    def __len__(self) -> int:
        return self.n + (self.m or 0)

    @property
    def packages(self) -> tuple[str, ...]:
        """What the last bits of the spaces depend on, as far as entries at hand tell that they are read from files."""
        is_read = self.given or any(isinstance(entry, str | os.PathLike | Unread | partial) for entry in self.listed())
        return READERS if is_read else ("numpy",)

    def name(self, index: int) -> str:
        """What the caller knows the space as."""
        return f"spaces[{index}]" if index < self.n else f"others[{index - self.n}]"

    def label(self, index: int) -> str:
        """The name of its file if that is at hand, else what the caller knows the space as."""
        entry = self.spaces[index] if index < self.n and isinstance(self.spaces, list | tuple) else None
        path = entry.path if isinstance(entry, Unread) else entry
        return Path(path).name if isinstance(path, str | os.PathLike) else self.name(index)

    def load(self, index: int, read: Callable[[Unread], Space] = Unread.__call__) -> Any:
        """Load a space and prepare it; an `InputError` that names it says why it is bad. Files are read by `read`."""
        space = self._load(index, read)
        try:
            return space if self.prepare is None else self.prepare(space)
        except InputError as error:
            raise InputError(f"{self.name(index)}: {error}") from error

    def _load(self, index: int, read: Callable[[Unread], Space]) -> Space | AnchorFeatures:
        """Load a space; whatever goes wrong, but for a shortage of memory, is an `InputError` that names it."""
        name, file = self.name(index), None
        try:
            entry = self._entry(index)
            if isinstance(entry, str | os.PathLike):
                file = os.fspath(entry)
                name = f"{name} ({file})"
                entry = Unread(Path(entry), self.options)
            if isinstance(entry, Unread):
                return read(replace(entry, path=Path(self.folder, entry.path)))
            return entry if isinstance(entry, AnchorFeatures) else as_space(entry)
        except Exception as error:
            if not self.names_errors:
                raise
            kind_of = InputError if find_shortage(error) is None else MemoryError  # which is not the fault of the space
            raise kind_of(f"{name}: {_reason(error, file)}") from error

    def _entry(self, index: int) -> Any:
        """The entry as it is, but calls of `read` as what they mean, and what other functions return."""
        entry = self.spaces[index] if index < self.n else self.others[index - self.n]
        if isinstance(entry, partial) and entry.func is read and len(entry.args) == 1:
            entry = Unread(Path(entry.args[0]), ReadOptions(**entry.keywords))
        if callable(entry) and not isinstance(entry, Unread):
            entry = entry()
        if self.given and not isinstance(entry, str | os.PathLike):
            kind = "function" if isinstance(entry, Unread) else type(entry).__name__
            raise InputError(f"{self.given[0]} is an option of reading, for paths, but this is of type {kind}")
        return entry

    def strips(self, side: int) -> list[range]:
        """Ranges of at most so many spaces, each of one sequence."""
        others = strips(self.m or 0, side)
        return strips(self.n, side) + [range(self.n + part.start, self.n + part.stop) for part in others]

    def listed(self) -> Iterator[Any]:
        """Entries that are at hand already."""
        for side in (self.spaces, self.others):
            if isinstance(side, list | tuple):
                yield from side

    def only(self, indices: Iterable[int]) -> "Inputs":
        """Return the same inputs, with no more in them than the given entries: light enough to be sent away.

        A sequence other than a list, tuple or array makes its entries on demand; it is kept as it is.
        """
        wanted = list(indices)
        spaces = _pick(self.spaces, [i for i in wanted if i < self.n])
        return replace(self, spaces=spaces, others=_pick(self.others, [i - self.n for i in wanted if i >= self.n]))


def check_collection(spaces: Any, name: str, *, in_any_order: bool = True) -> None:
    """Refuse one space, and what is no sequence; an iterator will do unless entries are asked for in any order."""
    is_one = isinstance(spaces, str | os.PathLike | Space) or hasattr(spaces, "not_a_space")
    if isinstance(spaces, Mapping):
        raise InputError(f"{name} must be a sequence, but got a {type(spaces).__name__}; give list({name}.values())")
    is_sequence = hasattr(spaces, "__getitem__") and hasattr(spaces, "__len__")
    if is_one or not (is_sequence or (hasattr(spaces, "__iter__") and not in_any_order)):
        advice = getattr(spaces, "not_a_space", "make it a list")
        kind = type(spaces).__name__
        raise InputError(f"{name} must be a sequence of spaces, arrays or paths, but got a {kind}; {advice}")


def _length(spaces: Any, name: str, least: int) -> int:
    check_collection(spaces, name)
    if len(spaces) < least:
        raise InputError(f"{name} is empty, but at least one space is needed")
    return len(spaces)


def _working_folder() -> str:
    """Where relative paths begin."""
    try:
        return os.getcwd()
    except FileNotFoundError:  # the folder was deleted, and relative paths mean nothing
        return ""


def _pick(spaces: Any, indices: list[int]) -> Any:
    if not isinstance(spaces, list | tuple | np.ndarray):
        return spaces
    return {i: spaces[i] for i in indices}


def _reason(error: Exception, read: str | None) -> str:
    """What to say of an error; the file that was read is named before it."""
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else os.fsdecode(error.filename)
        is_named = not file or (read is not None and file.endswith(read))
        return error.strerror if is_named else f"{file}: {error.strerror}"
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def digest(space: Space | AnchorFeatures) -> str:
    """Return 128 bits that tell apart spaces whose costs, weights, types or features differ in any bit."""
    if isinstance(space, Space):
        kind, arrays = "space", [space.cost, space.weights]
        kind += "" if space.types is None else f" of types {space.types!r}"
        arrays += [] if space.features is None else [space.features]
    else:
        about = "" if space.marking is None else f", {space!r} of {getattr(space, 'alphabet', None)!r}"
        kind, arrays = f"features, robust={space.robust}{about}", space.arrays()
    state = blake2b(kind.encode(), digest_size=16)
    for array in arrays:
        state.update(f"{array.dtype.str} {array.shape} ".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()
