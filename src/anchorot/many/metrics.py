"""The distances that many spaces can be compared by, each split into what is done once a space and what once a pair.

A metric prepares every space once and compares two prepared ones; what it gives for two spaces is to the last bit what
its public function gives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from anchorot._validate import check_choice, check_integer, check_nonnegative
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.line import StepFunction
from anchorot.anchors.rows import AnchorRows
from anchorot.distances.bounds import all_costs, check_bound_power, second_bound, third_bound
from anchorot.distances.gromov import check_gromov_epsilon, gromov_transport
from anchorot.distances.wasserstein import anchor_transport
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space

DEFAULT_EPSILON = 1e-3  # of `anchor_wasserstein`


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
        Least side of a tile: so many pairs squared take some hundredths of a second or more.
    packages : tuple of str
        Packages that the last bits of a value depend on.
    """

    options: dict[str, Any]
    prepare: Callable[[Any], Any]
    compare: Callable[[Any, Any], Outcome]
    zero_to_itself: bool
    backend: str
    side: int
    packages: tuple[str, ...]


def metric_of(name: str, p: int | None = None, robust: bool = False, epsilon: float | None = None) -> Metric:
    """Return the metric of that name; None stands for the default of its public function."""
    check_choice(name, "metric", tuple(MAKERS))
    if epsilon is not None and name not in ("aw", "gw"):
        raise InputError(f"metric {name!r} has no epsilon, but epsilon={epsilon!r} came; 'aw' and 'gw' have")
    return MAKERS[name](p, bool(robust), epsilon)


def _options(metric: str, p: int, robust: bool, epsilon: float | None = None) -> dict[str, Any]:
    return {"metric": metric, "p": p, "robust": robust, "epsilon": epsilon}


def _ae(p: int | None, robust: bool, epsilon: None) -> Metric:
    p = 1 if p is None else check_integer(p, "p", 1)
    return Metric(
        options=_options("ae", p, robust),
        prepare=partial(_features, p=p, robust=robust),
        compare=partial(_energy, p=p),
        zero_to_itself=True,
        backend="threads",
        side=16,
        packages=("numpy",),
    )


def _features(x: Any, p: int, robust: bool) -> AnchorFeatures:
    features = as_features(x, robust=robust, threads=1, mean_only=p == 2)
    if features.is_mean_only and p != 2:
        raise InputError(f"the features were made with mean_only=True, which serves p=2 only, but p={p} is asked for")
    return features


def _energy(x: AnchorFeatures, y: AnchorFeatures, p: int) -> Outcome:
    return Outcome(x.energy_to(y, p))


def _aw(p: int | None, robust: bool, epsilon: float | None) -> Metric:
    p = 1 if p is None else check_integer(p, "p", 1)
    strength = DEFAULT_EPSILON if epsilon is None else check_nonnegative(epsilon, "epsilon")
    return Metric(
        options=_options("aw", p, robust, strength),
        prepare=partial(_rows, robust=robust),
        compare=partial(_anchor_cost, p=p, epsilon=strength),
        zero_to_itself=strength == 0,
        backend="threads",
        side=8,
        packages=("numpy", "scipy", "POT"),
    )


def _rows(x: Any, robust: bool) -> AnchorRows:
    return AnchorRows.of(_space(x, robust))


def _anchor_cost(x: AnchorRows, y: AnchorRows, p: int, epsilon: float) -> Outcome:
    found = anchor_transport(x, y, p, epsilon)
    return Outcome(found.cost, found.converged)


def _gw(p: int | None, robust: bool, epsilon: float | None) -> Metric:
    if p not in (None, 2):
        raise InputError(f"metric 'gw' has the square loss, p=2, but p={p!r} came")
    strength = check_gromov_epsilon(epsilon)
    return Metric(
        options=_options("gw", 2, robust, strength),
        prepare=partial(_bare_space, robust=robust),
        compare=partial(_gromov_loss, epsilon=strength),
        zero_to_itself=strength is None,
        backend="processes",
        side=4,
        packages=("numpy", "POT"),
    )


def _bare_space(x: Any, robust: bool) -> Space:
    space = _space(x, robust)
    return Space(space.cost, space.weights, copy=False)  # without what it looked like


def _gromov_loss(x: Space, y: Space, epsilon: float | None) -> Outcome:
    found, problem = gromov_transport(x, y, epsilon)
    return Outcome(found.value, problem == "")


def _slb(p: int | None, robust: bool, epsilon: None) -> Metric:
    p = 2 if p is None else check_bound_power(p)
    return Metric(
        options=_options("slb", p, robust),
        prepare=partial(_all_costs, robust=robust),
        compare=partial(_second_bound, p=p),
        zero_to_itself=True,
        backend="threads",
        side=16,
        packages=("numpy",),
    )


def _all_costs(x: Any, robust: bool) -> StepFunction:
    return all_costs(_space(x, robust))


def _second_bound(x: StepFunction, y: StepFunction, p: int) -> Outcome:
    return Outcome(second_bound(x, y, p))


def _tlb(p: int | None, robust: bool, epsilon: None) -> Metric:
    p = 2 if p is None else check_bound_power(p)
    return Metric(
        options=_options("tlb", p, robust),
        prepare=partial(_rows, robust=robust),
        compare=partial(_third_bound, p=p),
        zero_to_itself=True,
        backend="threads",
        side=8,
        packages=("numpy", "scipy", "POT"),
    )


def _third_bound(x: AnchorRows, y: AnchorRows, p: int) -> Outcome:
    return Outcome(*third_bound(x, y, p))


def _space(x: Any, robust: bool) -> Space:
    if isinstance(x, AnchorFeatures):
        raise InputError("AnchorFeatures serve metric 'ae' only; give the space itself")
    return as_space(x, robust=robust)


MAKERS: dict[str, Callable[..., Metric]] = {"ae": _ae, "aw": _aw, "gw": _gw, "slb": _slb, "tlb": _tlb}
