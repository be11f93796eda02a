"""What spaces can be compared by, in one list: `METRICS`, by name, with the options each takes and the plan it gives.

A metric prepares every space once and compares two prepared ones; what it gives for two spaces is to the last bit what
its public function gives. All that takes a metric takes its names and options from here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from textwrap import fill
from typing import Any, NamedTuple, TypeVar

import numpy as np

from anchorot._kernels import kernels
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice, check_nonnegative, check_power, check_threads
from anchorot.anchors.attribute_features import attribute_features
from anchorot.anchors.attributes import AttributeRule
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.line import StepFunction
from anchorot.anchors.rows import AnchorRows
from anchorot.distances.bounds import all_costs, check_bound_power, lower_bounds, second_bound, third_bound
from anchorot.distances.energy import anchor_energy
from anchorot.distances.gromov import Search, check_gromov_epsilon, gromov_transport, gromov_wasserstein
from anchorot.distances.plan import anchor_energy_plan
from anchorot.distances.w2_energy import ground_rows, is_w2, rows_energy
from anchorot.distances.wasserstein import Transport, anchor_transport, anchor_wasserstein
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space

F = TypeVar("F", bound=Callable[..., Any])
ALL_PAIRS_START = "quick"  # of `gromov_wasserstein`: all its starts would take many times as long


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
    compare_alone : callable, optional
        Compares two prepared spaces with more care than there is time for among all pairs.
    compare_many : callable, optional
        Compares the first counts[j] of several prepared spaces with the j-th of several others, to the bits of
        `compare`, in one call without the GIL; or returns None where it cannot, or some value would not be finite.
    """

    options: dict[str, Any]
    prepare: Callable[[Any], Any]
    compare: Callable[[Any, Any], Outcome]
    side: int
    packages: tuple[str, ...]
    is_quick: bool = True
    zero_to_itself: bool = True
    backend: str = "threads"
    compare_alone: Callable[[Any, Any], Outcome] | None = None
    compare_many: Callable[[list[Any], list[Any], Int64s], Float64s | None] | None = None


class PlanMaker(NamedTuple):
    """How a metric matches points: `make` turns a metric's options and two spaces into a plan, or what has one."""

    title: str
    make: Callable[[dict[str, Any], Space, Space], Float64s | Transport]
    has_p: bool = True  # whether the plan depends on p
    has_start: bool = False  # whether it depends on where its solver begins


def energy_plan(options: dict[str, Any], x: Space, y: Space) -> Float64s:
    """Anchor Energy Plan."""
    return anchor_energy_plan(x, y)


def anchor_plan(options: dict[str, Any], x: Space, y: Space) -> Transport:
    """Plan of the Anchor Wasserstein distance."""
    return anchor_wasserstein(x, y, options["p"], options["epsilon"], options["robust"])


def gromov_plan(options: dict[str, Any], x: Space, y: Space) -> Transport:
    """Plan of the Gromov-Wasserstein distance."""
    return gromov_wasserstein(x, y, options["epsilon"], options["robust"], start=options["start"])


class ExtraOption(NamedTuple):
    """An option that some metrics take besides p and robust; None stands for its default.

    `pairwise` takes it as a keyword, and the command line as an option of type `kind`, at least `least`, with the help
    `text`.
    """

    name: str
    kind: type
    text: str
    least: float | None = None


EPSILON = ExtraOption(
    "epsilon",
    float,
    "strength of the entropic regularisation; 0: none (default: 1e-3 of the mean cost for aw, 0 for gw)",
    least=0,
)


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
    is_squared : bool
        Whether its value is the square of a distance, in a Hilbert space.
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
    is_squared: bool = False
    has_gradient: bool = False
    plan: PlanMaker | None = None


def with_option(name: str) -> list[str]:
    """Return the metrics that take an option."""
    return [metric for metric, kind in METRICS.items() if name in [option.name for option in kind.options]]


def metric_options() -> dict[str, ExtraOption]:
    """Return all options of metrics by name."""
    return {option.name: option for kind in METRICS.values() for option in kind.options}


def metric_of(
    name: str,
    p: int | None = None,
    robust: bool = False,
    epsilon: float | None = None,
    *,
    ground: str = "w1",
    attribute_rule: AttributeRule | None = None,
    threads: int = 1,
    **options: Any,
) -> Metric:
    """Return the metric of that name; None stands for the default of its public function, threads change no value.

    `options` are those that only some metrics take.
    """
    kind = METRICS[check_choice(name, "metric", tuple(METRICS))]
    options["epsilon"] = epsilon
    for option, value in options.items():
        if value is not None and name not in (takers := with_option(option)):
            have = " and ".join(map(repr, takers)) + (" have one" if len(takers) > 1 else " has one")
            raise InputError(f"metric {name!r} has no {option}, but got {option}={value!r}; {have}")
    power, threads = kind.power if p is None else p, check_threads(threads)
    if ground != "w1" and is_w2(ground, alone=power == 1 and attribute_rule is None):
        if name != "ae":
            raise InputError(f"ground='w2' goes with metric 'ae', but got metric {name!r}")
        return _ground_ae(bool(robust), threads)
    if attribute_rule is not None:
        if name != "ae" or power != 1:
            raise InputError(
                f"attributes and max_cost go with metric 'ae' and p=1, but got metric {name!r} and p={power!r}"
            )
        return _marked_ae(attribute_rule, bool(robust), threads)
    return kind.make(power, bool(robust), threads, **{each.name: options.get(each.name) for each in kind.options})


def plan_of(
    name: str, p: int | None = None, robust: bool = False, epsilon: float | None = None, start: str | None = None
) -> Callable[[Space, Space], Float64s | Transport]:
    """Return what makes the plan between two spaces by the metric of that name; refuse options it would ignore."""
    maker = METRICS[check_choice(name, "metric", WITH_PLAN)].plan
    assert maker is not None
    if p is not None and not maker.has_p:
        raise InputError(f"the {maker.title} is the same for every p, but got p={p!r}; leave p out")
    if start is not None and not maker.has_start:
        raise InputError(f"the {maker.title} has no start, but got start={start!r}; leave start out")
    return partial(maker.make, metric_of(name, p, robust, epsilon).options | {"start": start or "anchors"})


def _options(metric: str, p: int, robust: bool, epsilon: float | None = None) -> dict[str, Any]:
    return {"metric": metric, "p": p, "robust": robust, "epsilon": epsilon}


def _ae(p: int, robust: bool, threads: int) -> Metric:
    p = check_power(p)
    return Metric(
        options=_options("ae", p, robust),
        prepare=partial(_features, p=p, robust=robust, threads=threads),
        compare=partial(_energy, p=p, threads=threads),
        compare_many=partial(_energies, p=p) if p != 2 else None,
        side=16,
        packages=("numpy",),
    )


def _marked_ae(attribute_rule: AttributeRule, robust: bool, threads: int) -> Metric:
    plain = _ae(1, robust, threads)
    prepare = partial(attribute_features, attribute_rule=attribute_rule, robust=robust, threads=threads)
    return replace(plain, options=plain.options | attribute_rule.describe(), prepare=prepare, compare_many=None)


def _ground_ae(robust: bool, threads: int) -> Metric:
    plain = _ae(1, robust, threads)
    return replace(
        plain,
        options=plain.options | {"ground": "w2"},
        prepare=partial(ground_rows, robust=robust, threads=threads),
        compare=partial(_ground_energy, threads=threads),
        compare_many=None,
        side=8,
        is_quick=False,
    )


def _ground_energy(x: AnchorRows, y: AnchorRows, threads: int) -> Outcome:
    return Outcome(rows_energy(x, y, threads))


def _features(x: Any, p: int, robust: bool, threads: int) -> AnchorFeatures:
    features = as_features(x, robust=robust, threads=threads, mean_only=p == 2)
    if features.is_mean_only and p != 2:
        raise InputError(f"the features were made with mean_only=True, which serves p=2 only, but p={p} is asked for")
    return features


def _energy(x: AnchorFeatures, y: AnchorFeatures, p: int, threads: int) -> Outcome:
    return Outcome(x.energy_to(y, p, threads=threads))


def _energies(xs: list[AnchorFeatures], ys: list[AnchorFeatures], counts: Int64s, p: int) -> Float64s | None:
    """Compare spaces all of which are uniform, with costs of one type, or none of which is."""
    levels_x, levels_y = ([x.levels for x in side if x.levels is not None] for side in (xs, ys))
    if len(levels_x) == len(xs) and len(levels_y) == len(ys) and len({x.dtype for x in levels_x + levels_y}) == 1:
        energies = kernels.level_energies(levels_x, levels_y, counts, p)
    elif p == 1 and not levels_x and not levels_y:
        energies = kernels.sweep_energies([x.events for x in xs], [y.events for y in ys], counts)
    else:
        return None
    return energies if np.count_nonzero(np.isfinite(energies)) == counts.sum() else None


def _aw(p: int, robust: bool, threads: int, epsilon: float | None) -> Metric:
    p = check_power(p)
    strength = None if epsilon is None else check_nonnegative(epsilon, "epsilon")
    return Metric(
        options=_options("aw", p, robust, strength),
        prepare=partial(_rows, robust=robust, threads=threads),
        compare=partial(_anchor_cost, p=p, epsilon=strength, threads=threads),
        zero_to_itself=strength == 0,
        side=8,
        is_quick=False,
        packages=("numpy", "scipy", "POT"),
    )


def _rows(x: Any, robust: bool, threads: int) -> AnchorRows:
    return AnchorRows.of(_space(x, robust), threads)


def _anchor_cost(x: AnchorRows, y: AnchorRows, p: int, epsilon: float | None, threads: int) -> Outcome:
    found = anchor_transport(x, y, p, epsilon, threads=threads)
    return Outcome(found.cost, found.converged)


def _gw(p: int, robust: bool, threads: int, epsilon: float | None) -> Metric:
    if p != 2:
        raise InputError(f"metric 'gw' has the square loss, p=2, but got p={p!r}")
    strength = check_gromov_epsilon(epsilon)
    return Metric(
        options=_options("gw", 2, robust, strength),
        prepare=partial(_bare_space, robust=robust),
        compare=partial(_gromov_loss, search=Search(ALL_PAIRS_START, strength)),
        compare_alone=partial(_gromov_loss, search=Search(epsilon=strength)),
        zero_to_itself=strength == 0,
        backend="processes",
        side=4,
        is_quick=False,
        packages=("numpy", "scipy", "POT"),
    )


def _bare_space(x: Any, robust: bool) -> Space:
    space = _space(x, robust)
    return Space(space.cost, space.weights, copy=False)  # without what it looked like


def _gromov_loss(x: Space, y: Space, search: Search) -> Outcome:
    found, problem = gromov_transport(x, y, search)
    return Outcome(found.cost, problem == "")


def _slb(p: int, robust: bool, threads: int) -> Metric:
    p = check_bound_power(p)
    return Metric(
        options=_options("slb", p, robust),
        prepare=partial(_all_costs, robust=robust),
        compare=partial(_second_bound, p=p),
        side=16,
        packages=("numpy",),
    )


def _all_costs(x: Any, robust: bool) -> StepFunction:
    return all_costs(_space(x, robust))


def _second_bound(x: StepFunction, y: StepFunction, p: int) -> Outcome:
    return Outcome(second_bound(x, y, p))


def _tlb(p: int, robust: bool, threads: int) -> Metric:
    p = check_bound_power(p)
    return Metric(
        options=_options("tlb", p, robust),
        prepare=partial(_rows, robust=robust, threads=threads),
        compare=partial(_third_bound, p=p),
        side=8,
        packages=("numpy", "scipy", "POT"),
    )


def _third_bound(x: AnchorRows, y: AnchorRows, p: int) -> Outcome:
    return Outcome(*third_bound(x, y, p))


def _space(x: Any, robust: bool) -> Space:
    if isinstance(x, AnchorFeatures):
        raise InputError("AnchorFeatures serve metric 'ae' only; give the space itself")
    return as_space(x, robust=robust)


METRICS: dict[str, MetricKind] = {
    "ae": MetricKind(
        "Anchor Energy",
        "anchor_energy",
        power=1,
        make=_ae,
        text=":func:`anchor_energy`, the square of a distance",
        function=anchor_energy,
        is_squared=True,
        has_gradient=True,
        plan=PlanMaker("Anchor Energy Plan", energy_plan, has_p=False),
    ),
    "aw": MetricKind(
        "Anchor Wasserstein",
        "anchor_wasserstein",
        power=1,
        make=_aw,
        text="the transport cost of :func:`anchor_wasserstein`, ``.cost``, which has no entropy term",
        function=anchor_wasserstein,
        result_field="cost",
        options=(EPSILON,),
        has_gradient=True,
        plan=PlanMaker("Anchor Wasserstein plan", anchor_plan),
    ),
    "gw": MetricKind(
        "Gromov-Wasserstein",
        "gromov_wasserstein",
        power=2,
        make=_gw,
        text=f':func:`gromov_wasserstein` with ``start="{ALL_PAIRS_START}"``, ``.value``; spaces of different sizes or '
        "with weights need the extra ``pot``",
        function=gromov_wasserstein,
        result_field="cost",
        fixed={"start": ALL_PAIRS_START},
        options=(EPSILON,),
        plan=PlanMaker("Gromov-Wasserstein plan", gromov_plan, has_start=True),
    ),
    "slb": MetricKind(
        "second lower bound of Gromov-Wasserstein",
        "second_lower_bound",
        power=2,
        make=_slb,
        text="the second bound of :func:`lower_bounds`",
        function=lower_bounds,
        result_field="slb",
    ),
    "tlb": MetricKind(
        "third lower bound of Gromov-Wasserstein",
        "third_lower_bound",
        power=2,
        make=_tlb,
        text="the third bound of :func:`lower_bounds`",
        function=lower_bounds,
        result_field="tlb",
    ),
}
SQUARED = tuple(name for name, kind in METRICS.items() if kind.is_squared)
WITH_GRADIENT = tuple(name for name, kind in METRICS.items() if kind.has_gradient)
WITH_PLAN = tuple(name for name, kind in METRICS.items() if kind.plan is not None)


def lists_metrics(function: F) -> F:
    """Replace METRIC_NAMES and METRIC_LIST in a docstring by the names, and by what the value of each is."""
    if function.__doc__ is not None:
        names = "{" + ", ".join(f'"{name}"' for name in METRICS) + "}"
        lines = [
            fill(f'- "{name}": {kind.text}.', 120, initial_indent=" " * 8, subsequent_indent=" " * 10)
            for name, kind in METRICS.items()
        ]
        text = function.__doc__.replace("METRIC_NAMES", names)
        function.__doc__ = text.replace("METRIC_LIST", "\n".join(lines).lstrip())
    return function
