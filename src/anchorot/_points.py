"""Weighted points: what `Space` and `Rows` have in common, however they keep their costs."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy as copy_of
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anchorot._typing import Float64s

if TYPE_CHECKING:
    from anchorot.provenance import Origin


class WeightedPoints:
    """Points with weights, perhaps types, and the file that they were read from. Their arrays are read-only."""

    _weights: Float64s
    _types: tuple[Hashable, ...] | None
    _origin: Origin | None

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self._weights)

    def __len__(self) -> int:
        return self.n

    @property
    def weights(self) -> Float64s:
        """Weights of the points, shape (n,), float64, read-only, of sum 1."""
        return self._weights

    @property
    def types(self) -> tuple[Hashable, ...] | None:
        """Type of each point, if known."""
        return self._types

    @property
    def origin(self) -> Origin | None:
        """The file that it was read from, and the options; None if it was not read from a file."""
        return self._origin

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all points have the same weight."""
        return bool((self._weights == self._weights[0]).all())

    def coming_from(self, origin: Origin | None) -> Self:
        """Return the same with another origin; nothing is copied."""
        return self._with(_origin=origin)

    def _with(self, **parts: Any) -> Self:
        """Return the same points with exactly the same weights, and other parts."""
        twin = copy_of(self)
        twin.__dict__.update(parts)
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickle, with read-only arrays again."""
        self.__dict__.update(
            {name: read_only(part) if isinstance(part, np.ndarray) else part for name, part in state.items()}
        )


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
