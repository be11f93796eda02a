"""`anchorot barycenter`: points whose space is nearest to several files."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot._typing import Float64s
from anchorot.cli.metric_options import GradientOption
from anchorot.cli.options import FilesArgument, JobsOption, JsonOption, reads_spaces
from anchorot.cli.output import check_extra, doing, new_table, print_json, print_table
from anchorot.cli.sources import find_sources, spaces_of
from anchorot.cli.writing import Outputs


@reads_spaces
def barycenter(
    files: FilesArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Write the points as .npz or .csv.", show_default=False)
    ],
    support: Annotated[int, typer.Option(help="Points of the barycenter.", min=1)] = 100,
    dim: Annotated[int, typer.Option(help="Coordinates of each.", min=1)] = 2,
    metric: GradientOption = "ae",
    restarts: Annotated[int, typer.Option(help="Random starts, of which the best is kept.", min=1)] = 1,
    max_iter: Annotated[int, typer.Option(help="Steps from each start.", min=1)] = 500,
    jobs: JobsOption = -1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Points in the plane, or elsewhere, whose space is nearest to all of the files at once."""
    outputs = Outputs(*files)
    outputs.announce(output, ".npz", ".csv")
    check_extra("torch", "torch")
    with doing("reading"):
        spaces = list(spaces_of(find_sources(files), reading, jobs))
    options = {"restarts": restarts, "max_iter": max_iter, "rng": reading["rng"], "progress": True}
    with doing(f"looking for the barycenter of {len(spaces)} spaces", ", or take fewer with --support"):
        found = ao.barycenter(spaces, support, dim, metric, **options)
    outputs.save(output, lambda path: _write(path, found.points))
    if as_json:
        told = {"first_loss": found.losses[0], "loss": found.loss, "steps": len(found.losses)}
        print_json(
            {"output": str(output), "spaces": len(spaces), "metric": metric, **told, "converged": found.converged}
        )
    else:
        table = new_table(f"barycenter of {len(spaces)} spaces, {support} points in {dim} dimensions", "", "")
        table.add_row("loss at first", f"{found.losses[0]:.6g}")
        table.add_row("loss", f"[bold]{found.loss:.6g}[/]")
        table.add_row("steps", str(len(found.losses)))
        print_table(table, *outputs.lines())
    outputs.settle()


def _write(path: Path, points: Float64s) -> None:
    if path.suffix.lower() == ".npz":
        np.savez_compressed(path, points=points)
    else:
        np.savetxt(path, points, delimiter=",")
