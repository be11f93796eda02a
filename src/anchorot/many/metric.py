"""A metric: what is prepared once per space, what is compared per pair, what bounds that, and how to ask for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.distances.wasserstein import Transport
from anchorot.space import Space


class Outcome(NamedTuple):
    """What two spaces compare to."""

    value: float
    converged: bool = True


@dataclass(frozen=True)
class LowerBound:
    """Never above the values of a metric, rounding included, and far quicker; it shortens searches for the nearest.

    Attributes
    ----------
    prepare : callable
        Turns a space into what `compare_many` takes.
    compare_many : callable
        Bounds of all pairs of some spaces with others, of shape (some, others).
    closer : callable, optional
        A better bound of two prepared spaces, still quicker than the metric.
    """

    prepare: Callable[[Any], Any]
    compare_many: Callable[[list[Any], list[Any]], Float64s]
    closer: Callable[[Any, Any], float] | None = None


@dataclass(frozen=True)
class Metric:
    """A way to compare spaces, with all its options set; can be pickled.

    Attributes
    ----------
    options : dict
        What the values depend on besides the spaces, by name.
    prepare : callable
        Turns a `Space` (for "ae" and "saw" also `AnchorFeatures`) into what `compare` takes.
    compare : callable
        Compares two prepared spaces.
    side : int
        Smallest side of a tile: its pairs together take some hundredths of a second or more.
    is_quick : bool
        Whether pairs of small spaces take a millisecond at most, so that tiles of them may be larger.
    packages : tuple of str
        Packages that the last bits of a value depend on.
    zero_to_itself : bool
        Whether a space is at 0 from itself by definition.
    backend : {"threads", "processes"}
        Which workers suit it: threads if most of the time is spent where the GIL is released.
    prepare_many : callable, optional
        Turns costs of many uniform spaces into what `prepare` makes of each, to the same bits, in one call without the
        GIL; gives None where it is given None, and for costs that validation must look at.
    compare_alone : callable, optional
        Compares two prepared spaces with more care than there is time for among all pairs.
    compare_many : callable, optional
        Compares the first counts[j] of several prepared spaces with the j-th of several others, to the bits of
        `compare`, in one call without the GIL; or returns None where it cannot, or some value would not be finite.
    bound : LowerBound, optional
        Rules out pairs in a search for the nearest, see :func:`~anchorot.many.sliced_bounds.with_bounds`.
    """

    options: dict[str, Any]
    prepare: Callable[[Any], Any]
    compare: Callable[[Any, Any], Outcome]
    side: int
    packages: tuple[str, ...]
    is_quick: bool = True
    zero_to_itself: bool = True
    backend: str = "threads"
    prepare_many: Callable[[Sequence[Floats | None]], list[Any]] | None = None
    compare_alone: Callable[[Any, Any], Outcome] | None = None
    compare_many: Callable[[list[Any], list[Any], Int64s], Float64s | None] | None = None
    bound: LowerBound | None = None


class PlanMaker(NamedTuple):
    """How a metric matches points: `make` turns a metric's options and two spaces into a plan, or what has one."""

    title: str
    make: Callable[[dict[str, Any], Space, Space], Float64s | Transport]
    has_p: bool = True  # whether the plan depends on p
    has_start: bool = False  # whether it depends on where its solver begins


class ExtraOption(NamedTuple):
    """An option that some metrics take besides p and robust; None stands for its default.

    `pairwise` takes it as a keyword, and the command line as an option of type `kind`, at least `least`, with the help
    `text`.
    """

    name: str
    kind: type
    text: str
    least: float | None = None


@dataclass(frozen=True)
class MetricKind:
    """A way to compare spaces, its options still open.

    Attributes
    ----------
    title, value_name : str
        What people call it, and what a value of it is called in results.
    power : int
        The p it takes by default.
    make : callable
        Turns p, robust, threads, and the values of `options` by name (None: the default) into a `Metric`.
    text : str
        What its value is, for docstrings.
    function : callable
        The public function that compares two spaces by it.
    result_field : str
        The attribute of the function's result that is the value; empty if the result is the value.
    fixed : dict
        Keywords with which the function gives what all pairs get.
    options : tuple of ExtraOption
        What it takes besides p and robust.
    make_with_attributes : callable, optional
        The same, without options but with an `AttributeRule`, for a metric that takes attributes and a `max_cost`.
    is_squared : bool
        Whether its value is the square of a distance, in a Hilbert space.
    kernel_power : callable, optional
        Turns p into the power of a value that is a squared distance in a Hilbert space: exp(-g value^power) is then a
        positive definite kernel. Of p other than 1 and 2 there is none.
    has_gradient : bool
        Whether `anchorot.torch` has it too, so that barycenters can follow its gradient.
    plan : PlanMaker, optional
        How it matches points, if it does.
    """

    title: str
    value_name: str
    power: int
    make: Callable[..., Metric]
    text: str
    function: Callable[..., Any]
    result_field: str = ""
    fixed: dict[str, Any] = field(default_factory=dict)
    options: tuple[ExtraOption, ...] = ()
    make_with_attributes: Callable[..., Metric] | None = None
    is_squared: bool = False
    kernel_power: Callable[[int], int] | None = None
    has_gradient: bool = False
    plan: PlanMaker | None = None
