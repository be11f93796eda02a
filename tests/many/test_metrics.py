"""One list of metrics: names, defaults and values agree wherever a metric can be asked for."""

import inspect
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import anchorot as ao
from anchorot.barycenter import barycenter
from anchorot.cli import options
from anchorot.io.options import ReadOptions
from anchorot.many.metric import ExtraOption, Outcome
from anchorot.many.metrics import (
    METRICS,
    WITH_GRADIENT,
    WITH_KERNEL,
    WITH_PLAN,
    metric_of,
    metric_options,
    plan_of,
    with_option,
)
from tests.command_line import COMMANDS
from tests.strategies import public_value


def two_clouds():
    rng = np.random.default_rng(0)
    return [ao.from_points(rng.normal(size=(n, 2))) for n in (12, 9)]


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_gives_what_its_public_function_gives_to_the_last_bit(name, robust):
    pytest.importorskip("ot")
    x, y = two_clouds()
    expected = public_value(name, x, y, robust=robust)
    for threads in (1, 2):
        metric = pickle.loads(pickle.dumps(metric_of(name, robust=robust, threads=threads)))
        assert metric.compare(metric.prepare(x), metric.prepare(y)).value == expected


@pytest.mark.parametrize("name", METRICS)
def test_defaults_are_those_of_the_public_function(name):
    parameters = inspect.signature(METRICS[name].function).parameters
    options = metric_of(name).options
    if "p" in parameters:
        assert options["p"] == METRICS[name].power == parameters["p"].default
    epsilon = parameters["epsilon"].default if "epsilon" in parameters else None
    assert metric_of(name, epsilon=epsilon).options == options
    assert (name in with_option("epsilon")) == ("epsilon" in parameters)


@pytest.mark.parametrize("name", WITH_PLAN)
def test_a_plan_is_that_of_the_public_function(name):
    pytest.importorskip("ot")
    x, y = two_clouds()
    expected = {"ae": ao.anchor_energy_plan}.get(name, METRICS[name].function)(x, y)
    expected = getattr(expected, "plan", expected)
    found = plan_of(name)(x, y)
    np.testing.assert_array_equal(getattr(found, "plan", found), expected)


def test_options_that_would_be_ignored_are_refused():
    with pytest.raises(ao.InputError, match=r"'ae' has no epsilon, but got epsilon=0\.1; 'aw' and 'gw' have one"):
        metric_of("ae", epsilon=0.1)
    with pytest.raises(ao.InputError, match="Anchor Energy Plan is the same for every p, but got p=2"):
        plan_of("ae", p=2)
    with pytest.raises(ao.InputError, match="metric must be one of 'ae', 'aw', 'gw'"):
        plan_of("slb")
    with pytest.raises(ao.InputError, match="square loss, p=2, but got p=1"):
        plan_of("gw", p=1)
    with pytest.raises(ao.InputError, match="Anchor Wasserstein plan has no start, but got start='aep'"):
        plan_of("aw", start="aep")


def test_names_come_from_the_list_alone(monkeypatch):
    monkeypatch.setitem(METRICS, "new", METRICS["ae"])
    assert metric_of("new").options["metric"] == "ae"
    with pytest.raises(ao.InputError, match=r"'tlb'.*, 'new'"):
        metric_of("nonsense")


def test_a_metric_may_have_an_option_of_its_own(monkeypatch):
    def make(p, robust, threads, own_factor):
        factor = 2.0 if own_factor is None else own_factor
        plain = METRICS["ae"].make(p, robust, threads)
        options = plain.options | {"own_factor": factor}
        return replace(plain, options=options, compare_many=None, compare=scaled(plain, factor))

    def scaled(plain, factor):
        return lambda x, y: Outcome(factor * plain.compare(x, y).value)

    options = (ExtraOption("own_factor", float, "what it is multiplied by"),)
    monkeypatch.setitem(METRICS, "scaled", replace(METRICS["ae"], make=make, options=options))
    many = two_clouds()
    plain = ao.pairwise(many)
    np.testing.assert_array_equal(ao.pairwise(many, metric="scaled"), 2 * plain)
    np.testing.assert_array_equal(ao.pairwise(many, metric="scaled", own_factor=4.0), 4 * plain)
    with pytest.raises(ao.InputError, match=r"metric 'ae' has no own_factor, but .*; 'scaled' has one"):
        ao.pairwise(many, own_factor=4.0)


def test_extra_options_are_offered_by_commands_and_differ_from_those_of_reading():
    for name in metric_options():
        assert name not in [each.name for each in fields(ReadOptions)]
        for command in ("compare", "pairwise"):
            (option,) = (option for option in COMMANDS[command].params if f"--{name.replace('_', '-')}" in option.opts)
            assert all(metric in option.help for metric in with_option(name))


def test_estimators_and_barycenters_take_their_names_from_the_list():
    pytest.importorskip("sklearn")
    from anchorot.estimators import AnchorKernel, AnchorNeighborsClassifier

    assert AnchorNeighborsClassifier._metrics == tuple(METRICS)
    assert AnchorKernel._metrics == WITH_KERNEL == ("ae", "saw")
    with pytest.raises(ao.InputError, match=f"metric must be one of {', '.join(map(repr, WITH_GRADIENT))}, but"):
        barycenter([np.zeros((2, 2))], 2, metric="gw")


@pytest.mark.parametrize(
    ("command", "names"),
    [("compare", METRICS), ("pairwise", METRICS), ("barycenter", WITH_GRADIENT)],
)
def test_commands_take_their_names_from_the_list(command, names):
    (option,) = (option for option in COMMANDS[command].params if "--metric" in option.opts)
    assert option.metavar == f"[{'|'.join(names)}]"
    assert all(f"{name} ({METRICS[name].title})" in option.help for name in names)
    assert "--point-metric" in option.help  # the other thing that is called a metric


def test_match_takes_its_plans_from_the_list():
    (option,) = (option for option in COMMANDS["match"].params if "--plan" in option.opts)
    assert tuple(options.PLANS)[1:] == tuple(name.replace("ae", "aep") for name in WITH_PLAN)
    assert option.metavar == "[align|aep|aw|gw]"
    assert all(METRICS[name].plan.title in option.help for name in WITH_PLAN)


def test_the_help_names_the_powers_of_all_metrics():
    shown = options._powers
    assert shown == "1; 2 for gw, slb and tlb"
    assert all(METRICS[name].power == 2 for name in ("gw", "slb", "tlb"))


def test_bars_are_shown_by_default_wherever_there_are_any():
    functions = [getattr(ao, name) for name in ao.__all__]
    shown = [parameters_of(each)["progress"].default for each in functions if "progress" in parameters_of(each)]
    assert len(shown) > 5
    assert all(shown)


def parameters_of(thing):
    """The parameters of a function; of another thing none."""
    return inspect.signature(thing).parameters if inspect.isfunction(thing) else {}


def test_draws_differ_by_default_but_for_those_that_are_part_of_what_is_compared():
    modules = ao, ao.anchors, ao.distances
    functions = {name: parameters_of(getattr(module, name)) for module in modules for name in module.__all__}
    drawing = {name: parameters["rng"].default for name, parameters in functions.items() if "rng" in parameters}
    assert {name for name, default in drawing.items() if default == 0} == {"anchor_energy", "embed", "feature_map"}
    assert all(default in (0, None) for default in drawing.values())
