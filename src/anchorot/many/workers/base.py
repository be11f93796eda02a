"""What all workers offer."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self

from anchorot.many.tiles import Tile
from anchorot.many.workers.job import Finding, TileValues


class Workers(Protocol):
    """First `survey`, then `run`; leaving the context stops what is still under way. No order changes any bit."""

    def __enter__(self) -> Self:
        """Enter."""

    def __exit__(self, *exception: object) -> None:
        """Stop at once if there is an exception, and let go of everything."""

    def survey(self, strips: Iterable[range]) -> Iterator[tuple[range, list[Finding]]]:
        """Prepare all spaces, strip by strip as they come, and tell what was found of each."""

    def room(self, findings: Sequence[Finding]) -> int:
        """Bytes of prepared spaces that may stay while others pass by; called once, after the survey."""

    def run(self, tiles: Iterable[Tile], findings: Sequence[Finding]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles, taken from the iterator when there is somebody to work on them, as they are finished."""
