"""`anchorot barycenter`: points whose space is nearest to several files."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot.cli.options import FilesArgument, JsonOption, reads_spaces
from anchorot.cli.output import check_endings, new_table, plain, print_json, print_table
from anchorot.cli.sources import SpacesOf, find_sources
from anchorot.io.atomic import replacing


class Geometry(StrEnum):
    """Distances to sum up."""

    ae = "ae"
    aw = "aw"


@reads_spaces
def barycenter(
    files: FilesArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Write the points as .npz or .csv.", show_default=False)
    ],
    support: Annotated[int, typer.Option(help="Points of the barycenter.", min=1)] = 100,
    dim: Annotated[int, typer.Option(help="Coordinates of each.", min=1)] = 2,
    geometry: Annotated[Geometry, typer.Option(help="Anchor Energy or Anchor Wasserstein.")] = Geometry.ae,
    restarts: Annotated[int, typer.Option(help="The best of so many is kept.", min=1)] = 1,
    max_iter: Annotated[int, typer.Option(help="Steps of each.", min=1)] = 500,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Points in the plane, or elsewhere, whose space is nearest to all of the files at once."""
    check_endings(output, (".npz", ".csv"))
    spaces = list(SpacesOf(find_sources(files), reading))
    options = {"restarts": restarts, "max_iter": max_iter, "rng": reading["rng"], "progress": True}
    found = ao.barycenter(spaces, support, dim, geometry.value, **options)
    with replacing(output) as temporary:
        if output.suffix.lower() == ".npz":
            np.savez_compressed(temporary, points=found.points)
        else:
            np.savetxt(temporary, found.points, delimiter=",")
    if as_json:
        told = {"first_loss": found.losses[0], "loss": found.loss, "steps": len(found.losses)}
        print_json({"output": str(output), "spaces": len(spaces), **told, "converged": found.converged})
        return
    table = new_table(f"barycenter of {len(spaces)} spaces, {support} points in {dim} dimensions", "", "")
    table.add_row("loss at first", f"{found.losses[0]:.6g}")
    table.add_row("loss", f"[bold]{found.loss:.6g}[/]")
    table.add_row("steps", str(len(found.losses)))
    print_table(table, f"written: [bold]{plain(str(output))}[/]")
