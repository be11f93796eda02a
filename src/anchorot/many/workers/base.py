"""What all workers offer."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self

from anchorot.many.tiles import Tile
from anchorot.many.workers.job import SpaceSummary, TileValues


class Workers(Protocol):
    """First `survey`, then `run`; leaving the context stops what is still under way. No order changes any bit."""

    def __enter__(self) -> Self:
        """Enter."""

    def __exit__(self, *exception: object) -> None:
        """Stop at once if there is an exception, and let go of everything."""

    @property
    def software(self) -> dict[str, str]:
        """What the last bits of values depend on, by name; asked for after the survey."""

    def survey(self, strips: Iterable[range]) -> Iterator[tuple[range, list[SpaceSummary]]]:
        """Prepare all spaces; yield strips, or pieces of them, with the summaries of their spaces, as finished."""

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay while others pass by; called once, after the survey."""

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles, taken from the iterator when a worker is free; yield them as they are finished."""
