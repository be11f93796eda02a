"""`anchorot demo`: a gallery of shapes and graphs, compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anchorot.cli.options import JsonOption
from anchorot.cli.output import doing, new_table, print_json, print_table
from anchorot.cli.writing import Outputs

if TYPE_CHECKING:
    from anchorot.cli.demonstration import Comparison
    from anchorot.datasets import Dataset


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write, as .png, .svg or .pdf.")] = Path(
        "anchorot-demo.png"
    ),
    n_points: Annotated[int, typer.Option(help="Points of each shape.", min=6, max=2000)] = 150,
    seed: Annotated[int, typer.Option(help="Seed of the random shapes and graphs.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare shapes and graphs of several kinds and sizes; needs no files and no network."""
    outputs = Outputs()
    outputs.announce_picture(output)
    from anchorot.cli import demonstration

    with doing("comparing shapes and graphs"):
        examples, comparisons = demonstration.run(n_points, seed)
    outputs.save_picture(output, lambda: demonstration.draw(examples, comparisons))
    if as_json:
        _print_json(examples, comparisons, output)
    else:
        _print(examples, comparisons, outputs.lines())
    outputs.settle()


def _print_json(examples: "Dataset", comparisons: "list[Comparison]", output: Path) -> None:
    found = {
        c.name: {"same_kind": c.count_same_kind(examples), "seconds": c.seconds, "distances": c.distances.tolist()}
        for c in comparisons
    }
    print_json({"examples": examples.names, "pairs": _n_pairs(examples), "picture": str(output), **found})


def _print(examples: "Dataset", comparisons: "list[Comparison]", written: list[str]) -> None:
    title = f"nearest neighbour of each of {len(examples)} shapes and graphs"
    table = new_table(title, "space", *(f"by {comparison.name}" for comparison in comparisons))
    nearest = [comparison.nearest() for comparison in comparisons]
    names, kinds = examples.names, examples.labels
    for i, kind in enumerate(kinds):
        others = [found[i] for found in nearest]
        cells = [f"[{'green' if kinds[other] == kind else 'red'}]{names[other]}[/]" for other in others]
        table.add_row(names[i], *cells, end_section=i + 1 < len(kinds) and kinds[i + 1] != kind)
    summary = [
        f"{c.name}: nearest of the same kind for [bold]{c.count_same_kind(examples)} of {len(examples)}[/]; "
        f"{_n_pairs(examples)} pairs in {c.seconds:.2f} s"
        for c in comparisons
    ]
    print_table(table, *summary, *written)


def _n_pairs(examples: "Dataset") -> int:
    return len(examples) * (len(examples) - 1) // 2
