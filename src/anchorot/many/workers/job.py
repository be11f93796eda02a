"""The work itself, the same for all workers: prepare a space, compare the spaces of a tile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.files import Unread
from anchorot.many.metric import Metric, Outcome
from anchorot.many.tiles import Tile
from anchorot.many.workers.cache import held_bytes
from anchorot.many.workers.inputs import Inputs, digest
from anchorot.space import Space


class PreparedSpace(NamedTuple):
    """A space as `Metric.prepare` made it, with its digest if a checkpoint asks for one."""

    item: Any
    digest: str | None


class SpaceSummary(NamedTuple):
    """What is known of a space before it is compared: how much memory it takes, and whether it can be used."""

    n_bytes: int
    digest: str | None
    problem: str | None = None  # why it cannot be used


Summaries = Sequence[SpaceSummary] | Mapping[int, SpaceSummary]


class TileValues(NamedTuple):
    """A finished tile."""

    values: Float64s  # NaN for pairs without one: of spaces that cannot be used, and of those that a solver failed on
    n_unconverged: int = 0  # pairs whose value a solver did not finish
    n_failed: int = 0  # pairs of good spaces that have no value


class StoppedError(AnchorotError):
    """The run was stopped while this tile was being computed."""


def never() -> bool:
    """Tell a worker that cannot be stopped to go on."""
    return False


@dataclass(frozen=True)
class Job:
    """What to compare, and how.

    Attributes
    ----------
    software : dict
        Versions that the values depend on, by name; every worker must have them.
    with_digests : bool
        Take digests of the spaces, and check them whenever a space is loaded again.
    """

    metric: Metric
    inputs: Inputs
    software: dict[str, str]
    with_digests: bool

    def only(self, indices: range) -> "Job":
        """Return the same job with no more inputs than these."""
        return replace(self, inputs=self.inputs.only(indices))

    def prepare(self, index: int, read: Callable[[Unread], Space] = Unread.__call__) -> PreparedSpace:
        """Load and prepare a space; an `InputError` names it. Files are read by `read`."""
        space = self.inputs.load(index, read)
        try:
            return PreparedSpace(self.metric.prepare(space), digest(space) if self.with_digests else None)
        except InputError as error:
            raise InputError(f"{self.inputs.name(index)}: {error}") from error

    def survey(self, index: int, get: Callable[[int], PreparedSpace]) -> SpaceSummary:
        """Prepare a space and sum it up; a space that cannot be used is no error here."""
        try:
            entry = get(index)
        except InputError as error:
            return SpaceSummary(0, None, str(error))
        return SpaceSummary(held_bytes(entry), entry.digest)

    def compute(
        self,
        tile: Tile,
        summaries: Summaries,
        get: Callable[[int], PreparedSpace],
        hold: int,
        stopped: Callable[[], bool] = never,
    ) -> TileValues:
        """Compare all pairs of a tile, with at most `hold` of its rows in hand at a time."""
        values = np.full((len(tile.rows), len(tile.columns)), np.nan)
        offset = 0 if self.inputs.m is None else self.inputs.n
        n_unconverged = n_failed = 0

        for first in range(0, len(tile.rows), hold):
            rows = [i for i in tile.rows[first : first + hold] if summaries[i].problem is None]
            held = [(i, self.item(i, summaries, get)) for i in rows]
            for column, j in enumerate(tile.columns):
                if summaries[offset + j].problem is not None:
                    continue
                wanted = [(i, x) for i, x in held if not tile.is_diagonal or i < j or (i == j and self._compares_self)]
                y = self.item(offset + j, summaries, get) if wanted else None
                for (i, _), (value, converged) in zip(
                    wanted, self.compare_all(wanted, offset + j, y, stopped), strict=True
                ):
                    if not isfinite(value):
                        n_failed += 1
                        continue
                    values[i - tile.rows.start, column] = value
                    n_unconverged += not converged
                if tile.is_diagonal and not self._compares_self:
                    values[column, column] = 0.0
        if tile.is_diagonal:
            below = np.tril_indices(len(values), -1)
            values[below] = values.T[below]
        return TileValues(values, n_unconverged, n_failed)

    @property
    def _compares_self(self) -> bool:
        return not self.metric.zero_to_itself

    def compare_all(
        self, rows: list[tuple[int, Any]], j: int, y: Any, stopped: Callable[[], bool] = never
    ) -> Iterator[Outcome]:
        """Compare prepared spaces, each with its number, with the space j: in one call where the metric has one."""
        many = self.metric.compare_many
        if stopped():
            raise StoppedError
        together = many([x for _, x in rows], y) if many is not None and len(rows) > 1 else None
        if together is not None:
            yield from map(Outcome, together.tolist())
            return
        for i, x in rows:
            if stopped():
                raise StoppedError
            yield self.compare(i, x, j, y)

    def compare(self, i: int, x: Any, j: int, y: Any) -> Outcome:
        """Compare the prepared spaces i and j; an `InputError` names them."""
        try:
            return self.metric.compare(x, y)
        except InputError as error:
            raise InputError(f"{self.inputs.name(i)} and {self.inputs.name(j)}: {error}") from error

    def item(self, index: int, summaries: Summaries, get: Callable[[int], PreparedSpace]) -> Any:
        """Return a prepared space, if it is still what it was when the run began."""
        try:
            entry = get(index)
        except InputError as error:
            raise InputError(f"{error} (it was fine when the run began)") from error
        if entry.digest != summaries[index].digest:
            raise InputError(f"{self.inputs.name(index)} has changed since the run began")
        return entry.item
