"""Which code a result depends on, as one hash: the experiment, what it imports, and the kernels.

Comments, docstrings and layout do not count. Of `anchorot` only those modules count that define what the experiment
names (`ao.align`), and what these import; of the rules only the experiment's own; of pictures nothing.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from experiments.common.rules import RULES

HERE = Path(__file__).parents[1]
CHECKOUT = HERE.parent
ROOTS = {"anchorot": "src/anchorot", "experiments": "experiments", "benchmarks": "benchmarks"}
PICTURES = ("anchorot.plot", "anchorot._layout")
# How results are kept and shown, not how they are found; rules are counted one by one.
MACHINERY = {f"experiments.common.{name}" for name in ("code", "progress", "rules", "study", "workers")}


def code_hash(name: str, checkout: Path = CHECKOUT) -> str:
    """Return the hash of all code that the results of an experiment depend on."""
    seen = hashlib.sha256()
    for path in sorted(dependencies(name, checkout)):
        seen.update(str(path.relative_to(checkout)).encode())
        seen.update(_content(path))
    seen.update(repr([(key, rule) for key, rule in RULES.items() if key.startswith(f"{name}.")]).encode())
    return seen.hexdigest()[:12]


def dependencies(name: str, checkout: Path = CHECKOUT) -> set[Path]:
    """Return all files that an experiment depends on."""
    folder = checkout / "experiments" / name
    found = {path for path in folder.rglob("*") if path.suffix in (".cpp", ".npz")}
    found |= {path for path in (checkout / "native").rglob("*") if path.is_file()}
    waiting = [path for path in folder.glob("*.py") if path.stem != "drawing"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for module in imported(path, checkout) for file in _files(module, checkout)]
    return found


@cache
def imported(path: Path, checkout: Path) -> set[str]:
    """Return the modules that a file names: those it imports, `ao.NAME`, and what BENCHMARKS lists."""
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names} - {"anchorot"}
            case ast.ImportFrom(module=str(module), level=0):
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)} - {"anchorot"}
            case ast.Attribute(value=ast.Name(id="ao"), attr=attr):
                names.add(_public(checkout).get(attr, f"anchorot.{attr}"))
            case ast.Assign(targets=[ast.Name(id="BENCHMARKS")], value=value):
                names |= {f"benchmarks.{name}" for name in ast.literal_eval(value)}
    if path.parent.name == "benchmarks":  # they import each other without a package
        names |= {f"benchmarks.{name}" for name in names}
    return {name for name in names - MACHINERY if not name.startswith(PICTURES) and not name.endswith(".drawing")}


def _files(module: str, checkout: Path) -> Iterator[Path]:
    """Yield the file of a module of the project, if it is one."""
    first, *rest = module.split(".")
    if first in ROOTS and rest:
        place = (checkout / ROOTS[first]).joinpath(*rest)
        yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists())


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _public(checkout: Path) -> dict[str, str]:
    """Return the module that defines each public name of anchorot."""
    nodes = ast.walk(_tree(checkout / "src" / "anchorot" / "__init__.py"))
    found = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module is not None]
    return {alias.name: str(node.module) for node in found for alias in node.names}


@cache
def _content(path: Path) -> bytes:
    """Return what counts of a file: of Python the syntax tree without docstrings, of others all bytes."""
    if path.suffix != ".py":
        return path.read_bytes()
    tree = _tree(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree).encode()
