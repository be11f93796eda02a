"""Options shared by several commands: files, how to read them, metrics and clusters."""

import inspect
import logging
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import Field, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from anchorot.anchors.attributes import ATTRIBUTES
from anchorot.distances.w2_energy import GROUNDS
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.options import NEUTRAL_OPTIONS, SEED, ReadOptions
from anchorot.many.metric import ExtraOption
from anchorot.many.metrics import (
    EPSILON,
    METRICS,
    WITH_ATTRIBUTES,
    WITH_GRADIENT,
    WITH_PLAN,
    metric_options,
    with_option,
)
from anchorot.search.preprocessing import METRICS_OF_AN_INDEX


def option(help_text: str, *flags: str, **more: Any) -> Any:
    """An option whose default is not shown."""
    return typer.Option(*flags, help=help_text, show_default=False, **more)


def output_option(help_text: str) -> Any:
    """The option for the file to write."""
    return option(help_text, "--output", "-o")


SpaceArgument = typer.Argument(
    help="A mesh (.off .ply .obj .stl .mat), graph (.graphml .gexf .gml .edgelist), neuron (.swc), cells (.h5ad), "
    "crystal (.cif .vasp .poscar), or numbers (.npz .npy .csv .tsv .txt); all but .npz .npy .mat .h5ad also with .gz.",
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
TYPES: dict[str, Any] = {  # as given on the command line
    "rng": int,
    "weight": str | None,
    "disconnected": str,
    "max_bytes": str,
    "features": list[str] | None,
    "columns": list[str] | None,
}
DEFAULTS: dict[str, Any] = {"rng": SEED, "cache": True}  # reproducible results, and fast repetition
USUAL_POWER = 1  # p, if --p is not given
DaskOption = Annotated[str | None, option("Address of a Dask scheduler to compute on.", "--dask")]
RobustOption = Annotated[bool, typer.Option("--robust", help="Compare ranks of costs.")]


def _parameter(option: Field[Any], kind: Any) -> inspect.Parameter:
    """Return an option of `anchorot.read` as a parameter that typer understands."""
    described = option.metadata
    if "choices" in described:
        names = StrEnum(option.name.capitalize(), [(choice, choice) for choice in described["choices"]])  # type: ignore[misc]
        kind = names if option.default is not None else names | None
    shown = typer.Option(
        help=described["text"],
        min=described.get("least"),
        show_default=option.name in DEFAULTS or described.get("shown", True),
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


def _optional(parameter: inspect.Parameter) -> inspect.Parameter:
    """The same parameter with the default None."""
    kind, shown = get_args(parameter.annotation)
    shown = copy(shown)
    shown.show_default = "as the index was built"
    return parameter.replace(default=None, annotation=Annotated[kind | None, shown])


AS_BUILT = {name: each if name in NEUTRAL_OPTIONS else _optional(each) for name, each in READING.items()}


def _value(name: str, given: Any) -> Any:
    if name == "disconnected" and given is not None:
        return number_or_word(given)
    if isinstance(given, list):  # --features x --features y, or --features x,y
        return tuple(name for text in given for name in text.split(",")) or None
    return given.value if isinstance(given, StrEnum) else given


def recorded(reading: dict[str, Any]) -> dict[str, Any]:
    """Reading options that change a space, by their names on the command line."""
    return {FLAGS.get(name, name): value for name, value in reading.items() if name not in NEUTRAL_OPTIONS}


def reads_spaces(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `anchorot.read`; it receives them as one argument, the mapping `reading`."""
    return _with(READING, command)


def reads_as_built(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the same options, all None by default: an index records how its spaces were read."""
    return _with(AS_BUILT, command)


def _with(
    options: dict[str, inspect.Parameter], command: Callable[..., None], into: str = "reading"
) -> Callable[..., None]:
    own = inspect.signature(command)

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        given = {name: _value(name, arguments.pop(option.name)) for name, option in options.items()}
        command(**arguments, **{into: given})

    kept = [parameter for name, parameter in own.parameters.items() if name != into]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*kept, *options.values())]
    hints = get_type_hints(command, include_extras=True) | {p.name: p.annotation for p in options.values()}
    wrapper.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {name: hint for name, hint in hints.items() if name not in (into, "return")}
    return wrapper


def number_or_word(text: str) -> str | float:
    """The number that a text represents, or the text itself."""
    try:
        return float(text)
    except ValueError:
        return text


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]


def _checked(names: tuple[str, ...]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in names:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}")
        return value

    return check


def _choice(names: tuple[str, ...], *flags: str) -> Any:
    """Return an option whose value is one of these metrics."""
    metrics = [(name, METRICS[name].title) for name in names]
    titles = ", ".join(f"{name} ({title})" for name, title in metrics)
    return typer.Option(
        *(flags or ("--metric",)),
        metavar=f"[{'|'.join(names)}]",
        callback=_checked(names),
        autocompletion=lambda incomplete: [each for each in metrics if each[0].startswith(incomplete)],
        help=f"What spaces are compared by: {titles}. For distances between points of one space see --point-metric.",
    )


PLANS = {"align": "Alignment"} | {
    "aep" if name == "ae" else name: maker.title for name in WITH_PLAN if (maker := METRICS[name].plan) is not None
}


def _checked_plan(value: str) -> str:
    """Return the name of a plan; the metric ae means its plan, aep."""
    return _checked(tuple(PLANS))("aep" if value == "ae" else value)


def _of_metrics(option: ExtraOption) -> Any:
    help_text = f"For {_listed(tuple(with_option(option.name)))}: {option.text}."
    shown = typer.Option(help=help_text, min=option.least, show_default=False)
    return Annotated[option.kind | None, shown]


def takes_metric_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that only some metrics take; it receives them as one argument, `options`."""
    parameters = {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_of_metrics(option))
        for name, option in metric_options().items()
    }
    return _with(parameters, command, "options")


MetricOption = Annotated[str, _choice(tuple(METRICS))]
IndexMetricOption = Annotated[str, _choice(METRICS_OF_AN_INDEX)]
PlanOption = Annotated[
    str,
    typer.Option(
        "--plan",
        "--metric",
        metavar=f"[{'|'.join(PLANS)}]",
        callback=_checked_plan,
        autocompletion=lambda incomplete: [item for item in PLANS.items() if item[0].startswith(incomplete)],
        help=f"How points are matched: {', '.join(f'{name} ({title})' for name, title in PLANS.items())}.",
    ),
]
GradientOption = Annotated[str, _choice(WITH_GRADIENT, "--metric", "--geometry")]
_others = tuple(name for name, kind in METRICS.items() if kind.power != USUAL_POWER)
_powers = f"{USUAL_POWER}; {METRICS[_others[0]].power} for {_listed(_others)}"
POption = Annotated[int | None, typer.Option("--p", help="Power of the costs.", min=1, show_default=_powers)]
_with_attributes = _listed(WITH_ATTRIBUTES)
AttributesOption = Annotated[
    str | None,
    option(
        f"For {_with_attributes}: also compare the types (for ae, or the features) of points, if the files have them.",
        metavar="[types|features]",
        callback=lambda value: None if value is None else _checked(ATTRIBUTES)(value),
    ),
]
MaxCostOption = Annotated[
    float | None,
    option(
        f"For {_with_attributes}: compare costs up to this one (default: all; with types in fields of view, the 10th "
        "neighbour)."
    ),
]
GroundOption = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(GROUNDS)}]",
        callback=_checked(GROUNDS),
        help="For ae: the distance between anchors. w2 is 0 only for equal anchors, but takes O(n³) time.",
    ),
]
EpsilonOption = _of_metrics(EPSILON)


def dask_client(address: str | None) -> Any:
    """A context with a client of the scheduler at an address, or with None if there is no address."""
    if address is None:
        return nullcontext()
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("distributed", "dask") from None
    logging.disable(logging.ERROR)  # Dask logs tracebacks of errors that commands report in one line
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler responds at {address} ({error})") from None
