"""Examples in docstrings run as a reader would run them: in an empty session, nothing imported but by themselves."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import anchorot
import anchorot.report


def modules():
    names = [found.name for found in pkgutil.walk_packages(anchorot.__path__, "anchorot.")]
    left_out = ("anchorot.__main__", "anchorot._kernels._native")
    return [anchorot, *(importlib.import_module(name) for name in names if name not in left_out)]


def examples():
    """All docstrings with examples; none of them sees the names of its module."""
    finder = doctest.DocTestFinder()
    found = [test for module in modules() for test in finder.find(module, globs={}) if test.examples]
    return {test.name: test for test in found}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_in_an_empty_session(name):
    said = []
    doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=said.append)
    assert not said, "".join(said)


def public():
    """All public names with what they name, of the package and its subpackages."""
    packages = [package for name in dir(anchorot) if inspect.ismodule(package := getattr(anchorot, name))]
    return [
        (f"{package.__name__}.{name}", getattr(package, name))
        for package in (anchorot, anchorot.report, *packages)
        for name in package.__all__
    ]


def test_every_public_function_has_an_example():
    functions = [(name, thing) for name, thing in public() if inspect.isroutine(thing)]
    lacking = [name for name, function in functions if ">>> " not in (inspect.getdoc(function) or "")]
    assert not lacking
    assert len(functions) > 50


def returned(function):
    """The capitalised names in what a function returns."""
    return set(re.findall(r"\b[A-Z]\w+", str(inspect.signature(function).return_annotation)))


def test_returned_types_are_public():
    own = {name for module in modules() for name, thing in vars(module).items() if inspect.isclass(thing)}
    own = {name for name in own if not name.startswith("_")} - {"Any", "Path"}
    for module in (anchorot, anchorot.distances, anchorot.io):
        exported = {*anchorot.__all__, *module.__all__}
        functions = filter(inspect.isfunction, (getattr(module, name) for name in module.__all__))
        hidden = {(each.__name__, name) for each in functions for name in returned(each) & own - exported}
        assert not hidden


def test_few_names_are_public():
    assert len(anchorot.__all__) <= 67


def test_every_public_name_says_what_it_is():
    assert not [name for name, thing in public() if callable(thing) and not inspect.getdoc(thing)]
