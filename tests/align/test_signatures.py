"""Functions that align have one grammar: two things, what only one function has, then shared options in one order."""

import inspect

import pytest

import anchorot as ao

SHARED = ["types", "features", "seeds", "mass", "n_landmarks", "rng", "threads", "device", "progress"]
OWN = {
    ao.align: ["start", "alpha", "robust"],
    ao.align_graphs: ["weight", "directed", "sparse"],
    ao.align_meshes: [],
    ao.align_embeddings: ["metric"],
    ao.align_cells: ["labels", "obsm", "metric"],
}
CALLS = pytest.mark.parametrize("call", OWN, ids=lambda call: call.__name__)


def parameters_of(call):
    return inspect.signature(inspect.unwrap(call)).parameters


def first_lines(call):
    """First line of the description of each parameter."""
    section = inspect.getdoc(call).split("Parameters\n----------\n")[1].split("\n\nReturns\n")[0]
    lines = section.splitlines()
    return {line.split(" : ")[0]: lines[i + 1].strip() for i, line in enumerate(lines) if not line.startswith(" ")}


@CALLS
def test_two_things_come_first_by_position_and_all_else_by_name(call):
    kinds = {name: each.kind for name, each in parameters_of(call).items()}
    assert list(kinds)[:2] == ["x", "y"]
    assert {kinds.pop("x"), kinds.pop("y")} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert set(kinds.values()) == {inspect.Parameter.KEYWORD_ONLY}


@CALLS
def test_own_options_come_before_shared_ones_in_one_order(call):
    names = list(parameters_of(call))[2:]
    shared = names[len(OWN[call]) :]
    assert names[: len(OWN[call])] == OWN[call]
    assert shared == [name for name in SHARED if name in shared]


@CALLS
def test_all_seed_random_choices_and_show_progress(call):
    assert {"rng", "progress"} <= set(parameters_of(call))


def test_a_shared_option_has_one_default_and_one_description():
    for name in [*SHARED, "metric"]:
        calls = [call for call in OWN if name in parameters_of(call)]
        assert len({repr(parameters_of(call)[name].default) for call in calls}) == 1, name
        assert len({first_lines(call)[name] for call in calls} - {""}) == 1, name


@pytest.mark.parametrize("name", ["align", "align_embeddings"])
def test_twins_on_tensors_take_the_same_options_in_the_same_order(name):
    pytest.importorskip("torch")
    import anchorot.torch as aot

    twin, call = getattr(aot, name), getattr(ao, name)
    names = [own for own, each in parameters_of(twin).items() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    assert names == [own for own in parameters_of(call) if own in names]
    for own in names:
        assert parameters_of(twin)[own].default == parameters_of(call)[own].default
        assert first_lines(twin)[own].rstrip(".") == first_lines(call)[own].rstrip(".") or own == "start"
