"""Glimpses of many spaces, wherever they are."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

from anchorot._progress import progress_bar
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.glimpse import Glimpse
from anchorot.many.workers.visits import Visits
from anchorot.space import Space


class Glimpses(Sequence[Glimpse]):
    """Of all spaces that are not skipped, one each; taken when they are first asked for."""

    def __init__(self, visits: Visits, count: int, robust: bool, progress: bool) -> None:
        self._visits, self._count, self._robust, self._progress = visits, count, robust, progress

    def __len__(self) -> int:
        return len(self._taken)

    def __getitem__(self, index: Any) -> Any:
        return self._taken[index]

    @cached_property
    def _taken(self) -> list[Glimpse]:
        found: dict[int, Glimpse | None] = {}
        with progress_bar(self._count, "looking at", "spaces", self._progress) as advance:
            for index, glimpse in self._visits.go(partial(_glimpse, robust=self._robust), last=False):
                found[index] = glimpse
                advance(1)
        return [glimpse for index in range(self._count) if (glimpse := found[index]) is not None]


def _glimpse(x: Space | AnchorFeatures, name: str, *, robust: bool) -> Glimpse:
    if isinstance(x, AnchorFeatures):
        return Glimpse(x.span, x.span[1], getattr(x, "alphabet", None))
    return Glimpse.of(x, robust=robust)
