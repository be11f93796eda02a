"""All metrics by name, `METRICS`: the options that each takes, and the plan that it gives.

A metric prepares every space once and compares two prepared ones; what it gives for two spaces is to the last bit what
its public function gives. All that takes a metric takes its names and options from here.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from textwrap import fill
from typing import Any, TypeVar

import numpy as np

from anchorot._kernels import kernels
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import check_choice, check_low_power, check_nonnegative, check_power, check_threads
from anchorot.anchors.arrangement import ArrangementFeatures, ArrangementRule
from anchorot.anchors.attribute_features import attribute_features
from anchorot.anchors.attributes import AttributeRule
from anchorot.anchors.batches import features_together
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.line import StepFunction
from anchorot.anchors.rows import AnchorRows
from anchorot.distances.arrangement import arrangement_energy
from anchorot.distances.bounds import all_costs, lower_bounds, second_bound, third_bound
from anchorot.distances.energy import anchor_energy
from anchorot.distances.gromov import Search, check_gromov_epsilon, gromov_transport, gromov_wasserstein
from anchorot.distances.plan import anchor_energy_plan
from anchorot.distances.sliced import check_sliced_rule, sliced_anchor_wasserstein
from anchorot.distances.w2_energy import ground_rows, is_w2, rows_energy
from anchorot.distances.wasserstein import Transport, anchor_transport, anchor_wasserstein, check_row_metric
from anchorot.exceptions import InputError
from anchorot.many.metric import ExtraOption, Metric, MetricKind, Outcome, PlanMaker
from anchorot.many.sliced_bounds import bound_of_gromov, bound_of_sliced, bound_of_third, bound_of_transport
from anchorot.rows import Rows
from anchorot.space import Space, as_space

F = TypeVar("F", bound=Callable[..., Any])
ALL_PAIRS_START = "quick"  # of `gromov_wasserstein`: all its starts would take many times as long


def energy_plan(options: dict[str, Any], x: Space, y: Space) -> Float64s:
    """Anchor Energy Plan."""
    return anchor_energy_plan(x, y)


def anchor_plan(options: dict[str, Any], x: Space, y: Space) -> Transport:
    """Plan of the Anchor Wasserstein distance."""
    return anchor_wasserstein(x, y, options["p"], options["epsilon"], options["robust"])


def gromov_plan(options: dict[str, Any], x: Space, y: Space) -> Transport:
    """Plan of the Gromov-Wasserstein distance."""
    return gromov_wasserstein(x, y, options["epsilon"], options["robust"], start=options["start"])


EPSILON = ExtraOption(
    "epsilon",
    float,
    "strength of the entropic regularisation; 0: none (default: 1e-3 of the mean cost for aw, 0 for gw)",
    least=0,
)


ROW_METRIC = ExtraOption("row_metric", str, "cost between two anchors: w (OT_p, the default), or linf")


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
    kinds = METRICS | FIELD_METRICS
    kind = kinds[check_choice(name, "metric", tuple(kinds))]
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
        if kind.make_with_attributes is None:
            suited = " and ".join(map(repr, WITH_ATTRIBUTES))
            raise InputError(f"attributes and max_cost work with metrics {suited}, but got metric {name!r}")
        return kind.make_with_attributes(power, bool(robust), threads, attribute_rule)
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
        prepare_many=None if robust or p == 2 else partial(features_together, threads=threads),
        compare=partial(_energy, p=p, threads=threads),
        compare_many=_energies if p == 1 else None,
        side=16,
        packages=("numpy",),
    )


def _ae_with_attributes(p: int, robust: bool, threads: int, rule: AttributeRule) -> Metric:
    if p != 1:
        raise InputError(f"attributes and max_cost need p=1 and metric 'ae', but got p={p!r}")
    return _with_attributes(_ae(p, robust, threads), robust, threads, rule)


def _with_attributes(plain: Metric, robust: bool, threads: int, rule: AttributeRule) -> Metric:
    prepare = partial(attribute_features, attribute_rule=rule, robust=robust, threads=threads)
    options = plain.options | rule.describe()
    return replace(plain, options=options, prepare=prepare, prepare_many=None, compare_many=None, bound=None)


def _ground_ae(robust: bool, threads: int) -> Metric:
    plain = _ae(1, robust, threads)
    return replace(
        plain,
        options=plain.options | {"ground": "w2"},
        prepare=partial(ground_rows, robust=robust, threads=threads),
        prepare_many=None,
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
        raise InputError(f"the features were made with mean_only=True, which is enough for p=2 only, but got p={p}")
    return features


def _energy(x: AnchorFeatures, y: AnchorFeatures, p: int, threads: int) -> Outcome:
    return Outcome(x.energy_to(y, p, threads=threads))


def _energies(xs: list[AnchorFeatures], ys: list[AnchorFeatures], counts: Int64s) -> Float64s | None:
    return _together(xs, ys, counts, kernels.level_energies, kernels.sweep_energies, 2)


def _together(
    xs: list[AnchorFeatures],
    ys: list[AnchorFeatures],
    counts: Int64s,
    by_levels: Any,
    by_sweeps: Any,
    power: int | None,
) -> Float64s | None:
    """Compare spaces all of which have levels, with costs of one type, or none of which has.

    `power` is that of the integrand over weighted levels: 2 for Anchor Energy, which is twice that integral.
    """
    if all(x.has_levels for x in (*xs, *ys)):
        if len({x.levels.dtype for x in (*xs, *ys) if x.levels is not None}) > 1:
            return None
        uniform_x, uniform_y = (np.array([x.levels is not None for x in side]) for side in (xs, ys))
        if power is None and not (uniform_x.all() and uniform_y.all()):
            return None
        values = np.full((len(xs), len(ys)), np.nan)
        for x_kind, y_kind in ((True, True), (True, False), (False, True), (False, False)):
            rows, columns = np.flatnonzero(uniform_x == x_kind), np.flatnonzero(uniform_y == y_kind)
            if len(rows) and len(columns):
                sides = [xs[i] for i in rows], [ys[j] for j in columns]
                some = np.searchsorted(rows, counts[columns])  # of those rows, how many are counted
                found = by_levels(*map(_levels, sides), some) if x_kind and y_kind else _gaps(*sides, some, power or 1)
                values[np.ix_(rows, columns)] = found
    elif by_sweeps is not None and not any(x.has_levels for x in (*xs, *ys)):
        values = by_sweeps([x.events for x in xs], [y.events for y in ys], counts)
    else:
        return None
    return values if np.count_nonzero(np.isfinite(values)) == counts.sum() else None


def _levels(side: list[AnchorFeatures]) -> list[Floats]:
    return [x.levels for x in side if x.levels is not None]


def _gaps(xs: list[AnchorFeatures], ys: list[AnchorFeatures], counts: Int64s, power: int) -> Float64s:
    """Integrals over weighted levels; of Anchor Energy twice that."""
    of_x, of_y = ([x.weighted_levels for x in side if x.weighted_levels is not None] for side in (xs, ys))
    return power * kernels.weighted_gaps_of_pairs(of_x, of_y, counts, power, 0.0)


def _arrangement(p: int, robust: bool, threads: int) -> Metric:
    raise InputError(f"metric {ARRANGEMENT!r} depends on all spaces of a collection; use pairwise or a test of groups")


def _arrangement_by_rule(p: int, robust: bool, threads: int, rule: AttributeRule) -> Metric:
    if p != 1 or robust:
        raise InputError(f"metric {ARRANGEMENT!r} goes with p=1 and robust=False, but got p={p!r}, robust={robust}")
    if not isinstance(rule, ArrangementRule):
        return _arrangement(p, robust, threads)
    return Metric(
        options=_options(ARRANGEMENT, 1, False) | rule.describe(),
        prepare=partial(ArrangementFeatures.of_space, rule=rule),
        compare=partial(_energy, p=1, threads=threads),
        side=16,
        packages=("numpy",),
    )


def _saw(p: int, robust: bool, threads: int) -> Metric:
    p = check_low_power(p)
    return Metric(
        options=_options("saw", p, robust),
        prepare=partial(_whole_features, robust=robust, threads=threads),
        prepare_many=None if robust else partial(features_together, threads=threads),
        compare=partial(_sliced, p=p, threads=threads),
        compare_many=partial(_all_sliced, p=p),
        bound=bound_of_sliced(p, robust),
        side=16,
        packages=("numpy",),
    )


def _saw_with_attributes(p: int, robust: bool, threads: int, rule: AttributeRule) -> Metric:
    check_sliced_rule(rule, p)
    return _with_attributes(_saw(p, robust, threads), robust, threads, rule)


def _whole_features(x: Any, robust: bool, threads: int) -> AnchorFeatures:
    features = as_features(x, robust=robust, threads=threads)
    if features.is_mean_only:
        raise InputError("the features were made with mean_only=True, but metric 'saw' needs all anchors")
    return features


def _sliced(x: AnchorFeatures, y: AnchorFeatures, p: int, threads: int) -> Outcome:
    return Outcome(x.sliced_to(y, p, threads=threads))


def _all_sliced(xs: list[AnchorFeatures], ys: list[AnchorFeatures], counts: Int64s, p: int) -> Float64s | None:
    by_levels = partial(kernels.level_transports, p=p)
    sweeps, power = (kernels.sweep_transports, 1) if p == 1 else (None, None)
    return _together(xs, ys, counts, by_levels, sweeps, power)


def _aw(p: int, robust: bool, threads: int, epsilon: float | None, row_metric: str | None) -> Metric:
    p = check_power(p)
    strength = None if epsilon is None else check_nonnegative(epsilon, "epsilon")
    between = check_row_metric("w" if row_metric is None else row_metric, p)
    return Metric(
        options=_options("aw", p, robust, strength) | ({"row_metric": between} if between != "w" else {}),
        prepare=partial(_rows, robust=robust, threads=threads),
        compare=partial(_anchor_cost, p=p, epsilon=strength, row_metric=between, threads=threads),
        bound=bound_of_transport(p, robust) if strength == 0 and p <= 2 else None,
        zero_to_itself=strength == 0,
        side=8,
        is_quick=False,
        packages=("numpy", "scipy", "POT"),
    )


def _rows(x: Any, robust: bool, threads: int) -> AnchorRows:
    if isinstance(x, Rows):
        return AnchorRows.of(x.ranked() if robust else x, threads)
    return AnchorRows.of(_space(x, robust), threads)


def _anchor_cost(x: AnchorRows, y: AnchorRows, p: int, epsilon: float | None, row_metric: str, threads: int) -> Outcome:
    found = anchor_transport(x, y, p, epsilon, row_metric=row_metric, threads=threads, with_potentials=False)
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
        bound=bound_of_gromov(robust) if strength == 0 else None,
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
    p = check_low_power(p)
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
    p = check_low_power(p)
    return Metric(
        options=_options("tlb", p, robust),
        prepare=partial(_rows, robust=robust, threads=threads),
        compare=partial(_third_bound, p=p),
        bound=bound_of_third(p, robust),
        side=8,
        packages=("numpy", "scipy", "POT"),
    )


def _third_bound(x: AnchorRows, y: AnchorRows, p: int) -> Outcome:
    return Outcome(*third_bound(x, y, p))


def _space(x: Any, robust: bool) -> Space:
    if isinstance(x, AnchorFeatures):
        raise InputError("AnchorFeatures are enough for metrics 'ae' and 'saw' only; give the space itself")
    return as_space(x, robust=robust)


METRICS: dict[str, MetricKind] = {
    "ae": MetricKind(
        "Anchor Energy",
        "anchor_energy",
        power=1,
        make=_ae,
        text=":func:`anchor_energy`, the square of a distance",
        function=anchor_energy,
        make_with_attributes=_ae_with_attributes,
        is_squared=True,
        kernel_power=lambda p: 1,
        has_gradient=True,
        plan=PlanMaker("Anchor Energy Plan", energy_plan, has_p=False),
    ),
    "saw": MetricKind(
        "Sliced Anchor Wasserstein",
        "sliced_anchor_wasserstein",
        power=1,
        make=_saw,
        text=":func:`sliced_anchor_wasserstein`, p = 1 or 2",
        function=sliced_anchor_wasserstein,
        make_with_attributes=_saw_with_attributes,
        kernel_power=lambda p: p,
        has_gradient=True,
    ),
    "aw": MetricKind(
        "Anchor Wasserstein",
        "anchor_wasserstein",
        power=1,
        make=_aw,
        text="the transport cost of :func:`anchor_wasserstein`, ``.cost``, which has no entropy term",
        function=anchor_wasserstein,
        result_field="cost",
        options=(EPSILON, ROW_METRIC),
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
ARRANGEMENT = "arrangement"
# of fields of view: a value depends on all spaces of a collection, which must have types and an area
FIELD_METRICS: dict[str, MetricKind] = {
    ARRANGEMENT: MetricKind(
        "arrangement",
        "arrangement_energy",
        power=1,
        make=_arrangement,
        text="for fields of view, such as tissues, :func:`~anchorot.distances.arrangement_energy`: which types are "
        "near which, with every type thinned to the least intensity that it has in any of the spaces",
        function=arrangement_energy,
        make_with_attributes=_arrangement_by_rule,
        is_squared=True,
    ),
}
SQUARED = tuple(name for name, kind in METRICS.items() if kind.is_squared)
WITH_KERNEL = tuple(name for name, kind in METRICS.items() if kind.kernel_power is not None)
WITH_ATTRIBUTES = tuple(name for name, kind in METRICS.items() if kind.make_with_attributes is not None)
WITH_GRADIENT = tuple(name for name, kind in METRICS.items() if kind.has_gradient)
WITH_PLAN = tuple(name for name, kind in METRICS.items() if kind.plan is not None)


def lists_metrics(function: F) -> F:
    """Replace METRIC_NAMES and METRIC_LIST in a docstring by the names, and by what the value of each is."""
    if function.__doc__ is not None:
        kinds = METRICS | FIELD_METRICS
        names = "{" + ", ".join(f'"{name}"' for name in kinds) + "}"
        lines = [
            fill(f'- "{name}": {kind.text}.', 120, initial_indent=" " * 8, subsequent_indent=" " * 10)
            for name, kind in kinds.items()
        ]
        text = function.__doc__.replace("METRIC_NAMES", names)
        function.__doc__ = text.replace("METRIC_LIST", "\n".join(lines).lstrip())
    return function
