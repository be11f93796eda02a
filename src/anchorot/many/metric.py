"""A way to compare spaces, and what two spaces compare to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from anchorot._typing import Float64s


class Outcome(NamedTuple):
    """What two spaces compare to."""

    value: float
    converged: bool = True


@dataclass(frozen=True)
class Metric:
    """A way to compare spaces, with all its options set; can be pickled.

    Attributes
    ----------
    options : dict
        What the values depend on besides the spaces, by name.
    prepare : callable
        Turns a `Space` (for "ae" also `AnchorFeatures`) into what `compare` takes.
    compare : callable
        Compares two prepared spaces.
    zero_to_itself : bool
        Whether a space is at 0 from itself by definition.
    backend : {"threads", "processes"}
        Which workers suit it: threads if most of the time is spent where the GIL is released.
    side : int
        Smallest side of a tile: its pairs together take some hundredths of a second or more.
    packages : tuple of str
        Packages that the last bits of a value depend on.
    compare_alone : callable, optional
        Compares two prepared spaces with more care than there is time for among all pairs.
    compare_many : callable, optional
        Compares several prepared spaces with one, to the bits of `compare`, in one call without the GIL; or returns
        None where that would take long, or not all of them compare to a finite number.
    """

    options: dict[str, Any]
    prepare: Callable[[Any], Any]
    compare: Callable[[Any, Any], Outcome]
    zero_to_itself: bool
    backend: str
    side: int
    packages: tuple[str, ...]
    compare_alone: Callable[[Any, Any], Outcome] | None = None
    compare_many: Callable[[list[Any], Any], Float64s | None] | None = None
