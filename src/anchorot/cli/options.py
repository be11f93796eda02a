"""Options that several commands share."""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import Field, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from anchorot.io.options import HOW, ReadOptions

SpaceArgument = typer.Argument(
    help="A mesh (.off .ply .obj .stl .mat), graph (.graphml .gexf .gml .edgelist), neuron (.swc), cells (.h5ad), or "
    "numbers (.npz .npy .csv .tsv .txt).",
    show_default=False,
)
FilesArgument = Annotated[
    list[Path], typer.Argument(help="Files, folders of files, or folders of the TU collection.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
JobsOption = Annotated[int, typer.Option(help="Workers; -1 for one per core.", min=-1)]
ThreadsOption = Annotated[int, typer.Option(help="Threads to compute with.", min=1)]


PANEL = "Reading files"


FLAGS = {"rng": "seed"}
TYPES: dict[str, Any] = {  # that can be typed
    "rng": int,
    "weight": str | None,
    "disconnected": str,
    "max_bytes": str,
    "features": list[str] | None,
    "columns": list[str] | None,
}
DEFAULTS: dict[str, Any] = {"rng": 0, "cache": True}  # the same command gives the same result, and sooner


def _parameter(option: Field[Any], kind: Any) -> inspect.Parameter:
    """Return an option of `anchorot.read` as a parameter that typer understands."""
    described = option.metadata
    if "choices" in described:
        names = StrEnum(option.name.capitalize(), [(choice, choice) for choice in described["choices"]])  # type: ignore[misc]
        kind = names if option.default is not None else names | None
    shown = typer.Option(
        help=described["text"],
        min=described.get("least"),
        show_default=described.get("shown", True),
        rich_help_panel=PANEL,
    )
    return inspect.Parameter(
        FLAGS.get(option.name, option.name),
        inspect.Parameter.KEYWORD_ONLY,
        default=DEFAULTS.get(option.name, option.default),
        annotation=Annotated[TYPES.get(option.name, kind), shown],
    )


_hints = get_type_hints(ReadOptions)
READING = {option.name: _parameter(option, _hints[option.name]) for option in fields(ReadOptions)}


def _unsaid(parameter: inspect.Parameter) -> inspect.Parameter:
    """The same parameter, None where nothing is said."""
    kind, shown = get_args(parameter.annotation)
    shown = copy(shown)
    shown.show_default = "as the index was built"
    return parameter.replace(default=None, annotation=Annotated[kind | None, shown])


AS_BUILT = {name: _unsaid(parameter) if name not in HOW else parameter for name, parameter in READING.items()}


def _value(name: str, given: Any) -> Any:
    if name == "disconnected" and given is not None:
        return _number_or_word(given)
    if isinstance(given, list):  # --features x --features y, or --features x,y
        return tuple(name for text in given for name in text.split(",")) or None
    return given.value if isinstance(given, StrEnum) else given


def said_of(reading: dict[str, Any]) -> dict[str, Any]:
    """Options of reading that change a space, by the names that they have on the command line."""
    return {FLAGS.get(name, name): value for name, value in reading.items() if name not in HOW}


def reads_spaces(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `anchorot.read`; it gets them all as one argument, `reading`, of its keywords."""
    return _with(READING, command)


def reads_as_built(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the same options, each None where nothing is said: an index knows how its spaces were read."""
    return _with(AS_BUILT, command)


def _with(options: dict[str, inspect.Parameter], command: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(command)

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        reading = {name: _value(name, arguments.pop(option.name)) for name, option in options.items()}
        command(**arguments, reading=reading)

    kept = [parameter for name, parameter in own.parameters.items() if name != "reading"]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*kept, *options.values())]
    hints = get_type_hints(command, include_extras=True) | {p.name: p.annotation for p in options.values()}
    wrapper.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {name: hint for name, hint in hints.items() if name not in ("reading", "return")}
    return wrapper


def _number_or_word(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
