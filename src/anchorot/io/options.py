"""Options for reading files, defined once for `read`, its documentation and the command line."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import update_wrapper
from pathlib import Path
from textwrap import wrap
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from anchorot._typing import Disconnected, RngLike
from anchorot._validate import check_bytes, check_choice, check_rng
from anchorot.exceptions import InputError
from anchorot.io.attributes import column_names
from anchorot.io.graph_costs import COSTS
from anchorot.io.safe_open import MAX_BYTES

KINDS = ("cost", "points", "graph")
GEODESICS = ("heat", "edge", "exact")
SAMPLINGS = ("farthest", "uniform")
NEUTRAL_OPTIONS = ("cache", "max_bytes")  # options that change no space
SEED = 0  # default for functions of many files, so that samples are reproducible
RNG_DEFAULT = f"a new sample each time; {SEED} for functions of many files, and for commands"
OTHER_NAMES = {"metric": "point_metric", "seed": "rng", "random_state": "rng"}  # common guesses


def _option(default: Any, text: str, kind: str = "", **more: Any) -> Any:
    """Define an option: its numpydoc type, and a text for the docstring and the command line.

    `more` may have `choices`, the allowed texts; `least`, the smallest integer; `shown`, the default in words.
    """
    return field(default=default, metadata={"kind": kind, "text": text, **more})


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to make a space from a file; each format uses the options that apply to it."""

    kind: str | None = _option(
        None,
        "What .npy, .csv, .tsv and .txt files hold: costs, points (one per row) or edges (one per line).",
        choices=KINDS,
        shown="cost",
    )
    n_points: int | None = _option(None, "Keep at most this many points.", "int, optional", least=1, shown="all")
    rng: RngLike = _option(  # noqa: RUF009  # a field
        None, "Seed of random draws.", "None, int or numpy.random.Generator", least=0, shown=RNG_DEFAULT
    )
    point_metric: str = _option("euclidean", "Distance between points or cells: any of SciPy's.", "str")
    n_neighbors: int | None = _option(
        None,
        "Points and cells: use paths on the graph of this many nearest neighbours.",
        "int, optional",
        least=1,
        shown="distances between points",
    )
    obsm: str | None = _option(None, "Cells: the array of obsm to use, such as X_pca.", "str, optional", shown="X")
    types: str | None = _option(
        None,
        "The type of each point, by name: a node attribute, a column of obs or of a table with a header, a value "
        "of the vertices, or 'structure' for neurons.",
        "str, optional",
        shown="the types that an .npz file holds",
    )
    features: str | Sequence[str] | None = _option(
        None,
        "Features of the points, named in the same way; arrays of obsm too.",
        "str or sequence of str, optional",
        shown="the features that an .npz file holds",
    )
    columns: str | Sequence[str] | None = _option(
        None,
        "Tables with a header: the columns that hold coordinates or costs.",
        "str or sequence of str, optional",
        shown="all others",
    )
    geodesic: str = _option("heat", "Meshes: how to compute distances along the surface.", choices=GEODESICS)
    sampling: str = _option(
        "farthest", "Meshes: how to sample vertices, far from each other or independently.", choices=SAMPLINGS
    )
    weight: str | bool | None = _option(
        None,
        "Graphs: the edge attribute that is the length; any word for the third column of edge lists.",
        "str or bool, optional",
        shown="every edge has length 1",
    )
    directed: bool | None = _option(
        None, "Graphs: follow edges in their direction only.", "bool, optional", shown="as the file says"
    )
    disconnected: Disconnected = _option(  # noqa: RUF009  # a field
        "error",
        "Graphs that are not connected: 'error', 'largest', or a number as the cost of unreachable pairs.",
        '{"error", "largest"} or float',
    )
    costs: str | None = _option(
        None,
        "Graphs: what costs are. Lengths of shortest paths, heat distance (see from_graph), or resistance.",
        choices=COSTS,
        shown="paths",
    )
    time: float | None = _option(
        None, "Graphs, with heat: the mean number of steps of a random walk.", "float, optional", shown="3"
    )
    atoms: int = _option(100, "Crystals: number of nearest atoms per atom; with types, of each type.", "int", least=1)
    max_bytes: int | str = _option(
        MAX_BYTES, "Largest file to read, after decompression, such as '8GB'.", "int or str", shown="2GiB"
    )
    cache: bool = _option(
        False,
        "Keep spaces that take long to read in the user's cache, and use them again for the same file and options; "
        "not for samples without a seed.",
        "bool",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            choices, value = each.metadata.get("choices"), getattr(self, each.name)
            if choices and value is not None:
                check_choice(value, each.name, choices)
        for name in ("types", "features", "columns"):
            if getattr(self, name) is not None:
                self._check_names(name)

    def _check_names(self, name: str) -> None:
        """Raise unless these are names of columns; turn several into a tuple."""
        given = getattr(self, name)
        wanted = column_names(given)
        if not wanted or (name == "types" and not isinstance(given, str)):
            raise InputError(f"{name} must be a name that occurs in the file, such as 'label', but got {given!r}")
        if name != "types":
            object.__setattr__(self, name, wanted)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names of the columns for types and features."""
        if self.types is None and self.features is None:
            return ()
        return (*column_names(self.types), *column_names(self.features))

    @property
    def is_random(self) -> bool:
        """Whether points are sampled."""
        return self.n_points is not None

    def settled(self) -> ReadOptions:
        """Return options that give the same points when the file is read again; unseeded samples cannot be repeated."""
        if not self.is_random or isinstance(self.rng, int | np.integer):
            return self
        return replace(self, rng=int(check_rng(self.rng).integers(2**63)), cache=False)

    @property
    def record(self) -> dict[str, Any]:
        """Non-default options that change the space, as plain values; for samples also the seed, or None."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in NEUTRAL_OPTIONS}
        rng = plain_value(values.pop("rng"))
        changed = {name: plain_value(value) for name, value in values.items() if value != getattr(DEFAULTS, name)}
        return {**changed, "rng": rng if isinstance(rng, int) else None} if self.is_random else changed

    @property
    def limit(self) -> int:
        """The most bytes to read from a file."""
        return check_bytes(self.max_bytes, "max_bytes")


DEFAULTS = ReadOptions()


def check_keywords(caller: str, given: dict[str, Any]) -> None:
    """Raise the caller's TypeError for keywords that are not reading options."""
    known = [each.name for each in fields(ReadOptions)]
    for name in given:
        if name not in known:
            meant = [OTHER_NAMES[name]] if name in OTHER_NAMES else get_close_matches(name, known, 1)
            advice = f"did you mean {meant[0]}?" if meant else "see anchorot.read for the options of reading files"
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}; {advice}")


def plain_value(value: Any) -> Any:
    """Convert a value to one that JSON preserves."""
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


P = ParamSpec("P")
R = TypeVar("R")
PathLike = str | os.PathLike[str]


def _by_keywords_of(
    options: Callable[P, ReadOptions],
) -> Callable[[Callable[[Path, ReadOptions], R]], Callable[Concatenate[PathLike, P], R]]:
    """Let a function of a path and `ReadOptions` take them as keywords, documented in place of OPTIONS."""

    def decorate(function: Callable[[Path, ReadOptions], R]) -> Callable[Concatenate[PathLike, P], R]:
        def wrapper(path: PathLike, *args: P.args, **keywords: P.kwargs) -> R:
            check_keywords(function.__name__, keywords)
            return function(Path(path), options(*args, **keywords))

        update_wrapper(wrapper, function)
        own = inspect.signature(function)
        path = own.parameters["path"].replace(annotation=PathLike)
        added = inspect.signature(options).parameters.values()
        wrapper.__signature__ = own.replace(parameters=[path, *added])  # type: ignore[attr-defined]
        # Python 3.13 dedents docstrings at compile time, older versions do not
        wrapper.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("OPTIONS", _section())
        return wrapper  # type: ignore[return-value]  # Concatenate knows no path=

    return decorate


def _section() -> str:
    """Return the options as an unindented numpydoc section."""
    described = []
    for each in fields(ReadOptions):
        shown = f" By default: {each.metadata['shown']}." if "shown" in each.metadata else ""
        lines = wrap(each.metadata["text"] + shown, 112)
        described.append("\n    ".join([f"{each.name} : {_kind(each)}", *lines]))
    return "\n".join(described)


def _kind(option: Field[Any]) -> str:
    if "choices" not in option.metadata:
        return option.metadata["kind"]
    choices = ", ".join(f'"{choice}"' for choice in option.metadata["choices"])
    return f"{{{choices}}}" + (", optional" if option.default is None else "")


by_keywords = _by_keywords_of(ReadOptions)
