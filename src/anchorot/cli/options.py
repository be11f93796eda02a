"""Options that several commands share."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer


class Kind(StrEnum):
    """What the numbers in a plain file are."""

    cost = "cost"
    points = "points"
    graph = "graph"


class Geodesic(StrEnum):
    """Ways to measure along a mesh."""

    heat = "heat"
    edge = "edge"
    exact = "exact"


class Sampling(StrEnum):
    """Ways to choose vertices of a mesh."""

    uniform = "uniform"
    farthest = "farthest"


SpaceArgument = typer.Argument(
    help="A mesh (.off .ply .obj .stl .mat), graph (.graphml .edgelist), neuron (.swc), cells (.h5ad), or numbers "
    "(.npz .npy .csv .txt).",
    show_default=False,
)
FilesArgument = Annotated[
    list[Path], typer.Argument(help="Files, folders of files, or folders of the TU collection.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
ThreadsOption = Annotated[int, typer.Option(help="Threads to compute with.", min=1)]


PANEL = "Reading files"


def _reading(
    n_points: Annotated[
        int | None,
        typer.Option(help="Keep at most so many points of each.", min=1, show_default=False, rich_help_panel=PANEL),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of random draws.", min=0, rich_help_panel=PANEL)] = 0,
    kind: Annotated[
        Kind | None,
        typer.Option(help="What .npy, .csv and .txt files hold.", show_default="cost", rich_help_panel=PANEL),
    ] = None,
    point_metric: Annotated[
        str, typer.Option(help="Distance between points or cells, any of SciPy's.", rich_help_panel=PANEL)
    ] = "euclidean",
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            help="Of points and cells: shortest paths on the graph of nearest neighbours.",
            min=1,
            show_default=False,
            rich_help_panel=PANEL,
        ),
    ] = None,
    obsm: Annotated[
        str | None,
        typer.Option(help="Of cells: array of obsm to take, such as X_pca.", show_default="X", rich_help_panel=PANEL),
    ] = None,
    geodesic: Annotated[
        Geodesic, typer.Option(help="Of meshes: how to measure along the surface.", rich_help_panel=PANEL)
    ] = Geodesic.heat,
    sampling: Annotated[
        Sampling, typer.Option(help="Of meshes: which vertices to keep.", rich_help_panel=PANEL)
    ] = Sampling.uniform,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Of graphs: edge attribute that is the length; any word for the third column of edge lists.",
            show_default="every edge has length 1",
            rich_help_panel=PANEL,
        ),
    ] = None,
    directed: Annotated[
        bool | None,
        typer.Option(
            help="Of graphs: mind the direction of edges.", show_default="as the file says", rich_help_panel=PANEL
        ),
    ] = None,
    disconnected: Annotated[
        str,
        typer.Option(
            help="Of graphs in several parts: 'error', 'largest', or a number as the cost of unreachable pairs.",
            rich_help_panel=PANEL,
        ),
    ] = "error",
) -> dict[str, Any]:
    """Options of `anchorot.read`, as they stand on the command line."""
    return {
        "n_points": n_points,
        "rng": seed,
        "kind": kind and kind.value,
        "metric": point_metric,
        "n_neighbors": n_neighbors,
        "obsm": obsm,
        "geodesic": geodesic.value,
        "sampling": sampling.value,
        "weight": weight,
        "directed": directed,
        "disconnected": _number_or_word(disconnected),
    }


def reads_spaces(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading; it gets them all as one argument, `reading`."""
    own = inspect.signature(command)
    added = inspect.signature(_reading).parameters

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        reading = _reading(**{name: arguments.pop(name) for name in added})
        command(**arguments, reading=reading)

    kept = [parameter for name, parameter in own.parameters.items() if name != "reading"]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*kept, *added.values())]
    hints = get_type_hints(_reading, include_extras=True) | get_type_hints(command, include_extras=True)
    wrapper.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {name: hint for name, hint in hints.items() if name not in ("reading", "return")}
    return wrapper


def _number_or_word(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
