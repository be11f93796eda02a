"""Features of any space, by whatever marking: the one door to them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import LevelBlocks
from anchorot._typing import Float64s, Floats, RngLike
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.marked_base import check_alike
from anchorot.anchors.marking import Marking, MarksLike, marking_of
from anchorot.anchors.typed import TypedFeatures
from anchorot.anchors.vectored import VectorFeatures
from anchorot.exceptions import InputError


def marked_features(
    x: Any,
    marking: Marking | None,
    *,
    robust: bool,
    threads: int = 1,
    mean_only: bool = False,
    name: str = "the space",
) -> AnchorFeatures:
    """Return x if it is features made so, else the features of the space or cost matrix x."""
    if isinstance(x, AnchorFeatures):
        if x.marking != marking:
            raise InputError(f"{name}: the features were made for {x.marking}, but {marking} is asked for")
        return as_features(x, robust=robust)
    if marking is None:
        return as_features(x, robust=robust, threads=threads, mean_only=mean_only)
    space = marking.seen(x, robust=robust, name=name)
    if marking.marks == "types":
        return TypedFeatures.of_space(space, marking, robust=robust, threads=threads)
    if marking.marks == "features":
        return VectorFeatures.of_space(space, marking, robust=robust, threads=threads)
    found = AnchorFeatures.of(space, threads=threads)
    found.robust, found.marking = robust, marking
    return found


def common_marking(
    spaces: Iterable[Any], marks: MarksLike, reach: float | None, *, robust: bool = False, rng: RngLike = 0
) -> Marking | None:
    """Return how to look at all of these spaces, some of which may be features already, which then decide."""
    at_hand = spaces if isinstance(spaces, list | tuple) else ()  # others may load each when it is asked for
    prepared = [x for x in at_hand if isinstance(x, AnchorFeatures)]
    if not prepared:
        return marking_of(spaces, marks, reach, robust=robust, rng=rng)
    found = prepared[0].marking
    if marks is None and reach is None:
        return found
    if found is None or reach not in (None, found.reach) or marks not in (None, found, found.marks, found.phi):
        raise InputError(f"the features were made for {found}, but marks={marks!r}, reach={reach!r} is asked for")
    return found


def energy_profile(x: AnchorFeatures, y: AnchorFeatures, reaches: Float64s, *, threads: int = 1) -> Float64s:
    """Anchor Energy (p = 1) of costs up to each of the ascending reaches, in one pass."""
    if isinstance(x, TypedFeatures | VectorFeatures):
        return x.profile_to(y, reaches, threads=threads)
    check_alike(x, y, 1)
    if x.levels is None or y.levels is None:
        return kernels.sweep_profile(x.events, y.events, reaches, threads)
    whole = np.zeros((1, 2), np.int64)
    return kernels.block_profile(_one_block(x.levels), _one_block(y.levels), whole, reaches, threads)


def _one_block(levels: Floats) -> LevelBlocks:
    count, anchors = levels.shape
    numbers = np.ascontiguousarray(levels, dtype=np.float64).ravel()
    return LevelBlocks(numbers, np.array([[0, count, anchors]]), np.array([1 / anchors]))
