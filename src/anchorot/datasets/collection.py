"""The class that loaders return: spaces with labels, names and a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from anchorot._html import card, rows
from anchorot._typing import Float64s
from anchorot.space import Space

MADE, NO_LICENCE = "synthetic", "none needed: synthetic"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Sequence[Space]):
    """Spaces with labels: a sequence of spaces that `pairwise`, `embed` and estimators accept.

    Attributes
    ----------
    name : str
    spaces : tuple of Space
    labels : tuple of str
        Class of each space.
    names : tuple of str
        Name of each space.
    values : ndarray of shape (len(spaces),) or None
        Target value of each space, for regression.
    source, licence : str
        Origin and licence of the data.
    """

    name: str
    spaces: tuple[Space, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...]
    source: str
    licence: str
    values: Float64s | None = None

    @overload
    def __getitem__(self, place: int) -> Space: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Space, ...]: ...
    def __getitem__(self, place: int | slice) -> Space | tuple[Space, ...]:
        """Return one space, or several."""
        return self.spaces[place]

    def __len__(self) -> int:
        return len(self.spaces)

    def __repr__(self) -> str:
        kinds = len(set(self.labels))
        labels = "1 label" if kinds == 1 else f"{kinds} labels"
        return f"Dataset({self.name}, {len(self)} spaces of {self._sizes()} points, {labels}; {self.licence})"

    def _repr_html_(self) -> str:
        facts = {"spaces": len(self), "points": self._sizes(), "source": self.source, "licence": self.licence}
        return card(f"Dataset {self.name}", facts, below=rows(("label", "spaces"), [*Counter(self.labels).items()]))

    def _sizes(self) -> str:
        least, most = min(map(len, self.spaces)), max(map(len, self.spaces))
        return f"{least}" if least == most else f"{least} to {most}"
