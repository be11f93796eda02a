"""What features of types and of vectors have in common: a reach, and masses that need not agree."""

import math
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from anchorot._kernels.records import Events, to_heights
from anchorot._validate import check_overflow
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.marking import Marking
from anchorot.exceptions import InputError


class MarkedFeatures(AnchorFeatures):
    """Features of anchors that are told apart by more than their costs."""

    def __init__(self, marking: Marking, *, events: Events | None = None, robust: bool = False) -> None:
        super().__init__(events=events, robust=robust, marking=marking)
        self.is_mean_only = False

    @property
    def reach(self) -> float:
        """Up to which cost they see."""
        assert self.marking is not None
        return self.marking.reach

    def self_cost(self, p: int = 1) -> NoReturn:
        """Refused: marked Anchor Energy is not made of transport costs."""
        raise InputError("marks have no transport costs of their own; anchor_energy takes them")


def check_alike(x: AnchorFeatures, y: AnchorFeatures, p: int) -> None:
    """Refuse features that were not made to be compared with each other."""
    if p != 1:
        raise InputError(f"marks and reach go with p=1, but got p={p}")
    if x.marking != y.marking:
        raise InputError(f"features of {x.marking} cannot be compared with features of {y.marking}; make them alike")


def summed(energies: Iterable[float]) -> float:
    """Return the sum of energies, the same in whatever order; refuse what is beyond the range of floats."""
    try:
        total = math.fsum(energies)
    except OverflowError:  # of numbers that are all finite
        total = math.inf
    check_overflow(total, 1)
    return total


def completed(events: Events, reach: float, total: float = 1.0) -> Events:
    """Add a row at the reach with what the masses lack of a total, so that those of any two collections agree."""
    rest = total - math.fsum(events.mass)
    return Events(
        np.append(events.position, reach),
        np.append(events.row, np.uint32(len(events.mass))),
        np.append(events.jump, to_heights(np.array(1.0))),
        np.append(events.mass, rest),
    )


def nothing(reach: float) -> Events:
    """Events of a collection without anchors."""
    empty: Any = np.empty(0)
    return completed(Events(empty, empty.astype(np.uint32), empty.astype(np.int64), empty), reach)
