"""`help()` of every public name is readable: short types and defaults."""

import inspect
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec

SUBMODULES = {  # and the package that each needs
    "": "numpy",
    ".estimators": "sklearn",
    ".datasets": "numpy",
    ".plot": "matplotlib",
    ".report": "numpy",
    ".torch": "torch",
}
LONGEST = 80  # characters of one parameter
UNREADABLE = re.compile(r"numpy\.|typing\.|collections\.|anchorot\.| at 0x|<(?!factory>)|\b_[a-z]")


def callables():
    """All public functions, classes and methods, by their public names."""
    for submodule in (name for name, package in SUBMODULES.items() if find_spec(package)):
        module = import_module(f"anchorot{submodule}")
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, BaseException)):
                yield f"{module.__name__}.{name}", thing
                yield from methods(f"{module.__name__}.{name}", thing)


def methods(name, thing):
    for method in vars(thing) if inspect.isclass(thing) else ():
        bound = getattr(thing, method)
        is_method = inspect.isroutine(bound) and callable(bound)  # isroutine alone is true of cached properties too
        if not method.startswith("_") and is_method and bound.__module__.startswith("anchorot"):
            yield f"{name}.{method}", bound


@cache
def public():
    return dict(callables())


def shown(thing):
    """What help() shows of each parameter, and of what is returned."""
    signature = inspect.signature(thing)
    returned = signature.return_annotation
    end = [] if returned is signature.empty else [inspect.formatannotation(returned)]
    return [*map(str, signature.parameters.values()), *end]


def test_every_parameter_is_short_and_names_nothing_private():
    unreadable = {
        name: [
            part
            for part in shown(thing)
            if not part.startswith("_") and (len(part) > LONGEST or UNREADABLE.search(part))
        ]
        for name, thing in public().items()
    }
    assert not {name: parts for name, parts in unreadable.items() if parts}


def test_workers_of_many_spaces_are_n_jobs_and_threads_of_one_comparison_are_threads():
    parameters = {name: inspect.signature(thing).parameters for name, thing in public().items()}
    defaults = {
        word: {own[word].default for own in parameters.values() if word in own}
        for word in ("n_jobs", "threads", "jobs", "n_threads", "workers", "n_workers")
    }
    given = {word: default for word, default in defaults.items() if default}
    assert given == {"n_jobs": {-1}, "threads": {1}}  # all cores, and one
    assert not [name for name, own in parameters.items() if {"n_jobs", "threads"} <= own.keys()]


def test_the_option_for_the_distance_is_called_metric():
    named = {name for name, thing in public().items() if "metric" in inspect.signature(thing).parameters}
    assert named >= {"anchorot.pairwise", "anchorot.barycenter", "anchorot.estimators.AnchorKernel"}


def test_everything_public_is_described():
    assert not [name for name, thing in public().items() if not inspect.getdoc(thing)]


def test_checks_cover_functions_classes_and_methods():
    assert {"anchorot.anchor_energy", "anchorot.Space", "anchorot.Space.sample"} <= public().keys()
