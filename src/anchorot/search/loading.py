"""Spaces for an index, from whatever they are given as."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from anchorot._parallel import Threads, n_workers
from anchorot.io.files import Readers
from anchorot.many.inputs import Inputs


class Loading:
    """Spaces, features, arrays, paths or functions that return such, read whenever they are gone through.

    Parameters
    ----------
    spaces : iterable
        Gone through as often as this is.
    given : dict
        Options of `read`, for paths, and refused with anything else.
    otherwise : dict, optional
        Those that hold for paths where nothing is given.
    n_jobs : int
        How many files of a list to read at a time, -1 for one per core; anything else comes one by one.
    """

    def __init__(
        self, spaces: Iterable[Any], given: dict[str, Any], otherwise: dict[str, Any] | None = None, n_jobs: int = 1
    ) -> None:
        self.spaces = spaces
        like = Inputs.of([None], None, **{**(otherwise or {}), **given})
        self._like = replace(like, given=tuple(given))
        self._n_workers = n_workers(n_jobs)

    def __iter__(self) -> Iterator[Any]:
        spaces = self.spaces
        if self._n_workers > 1 and isinstance(spaces, list | tuple) and all(map(_is_read, spaces)):
            inputs = replace(self._like, spaces=spaces, n=len(spaces))
            with Threads(self._n_workers) as threads, Readers(self._n_workers, len(inputs)) as readers:
                load = partial(inputs.load, read=readers.read)
                yield from (space for _, space in threads.map(load, range(len(inputs)), in_order=True))
            return
        for k, x in enumerate(spaces):
            yield replace(self._like, spaces={k: x}, n=k + 1).load(k) if _is_read(x) or self._like.given else x


def _is_read(x: Any) -> bool:
    """Whether something has yet to be read or called."""
    return isinstance(x, str | os.PathLike) or callable(x)
