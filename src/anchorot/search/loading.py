"""Spaces for an index, from whatever they are given as."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from anchorot.many.workers.inputs import Inputs


class Loading:
    """Spaces, features, arrays, paths or functions that return such, read one at a time whenever they are gone through.

    Parameters
    ----------
    spaces : iterable
        Gone through as often as this is.
    given : dict
        Options of `read`, for paths, and refused with anything else.
    otherwise : dict, optional
        Those that hold for paths where nothing is given.
    """

    def __init__(self, spaces: Iterable[Any], given: dict[str, Any], otherwise: dict[str, Any] | None = None) -> None:
        self.spaces = spaces
        like = Inputs.of([None], None, **{**(otherwise or {}), **given})
        self._like = replace(like, given=tuple(given))

    def __iter__(self) -> Iterator[Any]:
        for k, x in enumerate(self.spaces):
            is_read = isinstance(x, str | os.PathLike) or callable(x) or self._like.given
            yield replace(self._like, spaces={k: x}, n=k + 1).load(k) if is_read else x
