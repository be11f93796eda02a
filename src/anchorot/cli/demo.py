"""`anchorot demo`: a gallery of shapes and graphs, compared."""

from pathlib import Path
from typing import Annotated

import typer

from anchorot.cli.options import JsonOption
from anchorot.cli.output import check_output, new_table, plain, print_json, print_table


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write.")] = Path("anchorot-demo.png"),
    n_points: Annotated[int, typer.Option(help="Points of each shape.", min=6, max=2000)] = 150,
    seed: Annotated[int, typer.Option(help="Seed of the random shapes and graphs.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare shapes and graphs of several kinds and sizes; needs no files and no network."""
    from anchorot.cli import demonstration
    from anchorot.plot import new_figure

    new_figure(1, 1)  # a missing matplotlib should be told before the work, not after
    check_output(output)
    examples, comparisons = demonstration.run(n_points, seed)
    demonstration.draw(examples, comparisons, output)
    hits = {c.name: sum(demonstration.same_kind(examples, c)) for c in comparisons}
    pairs = len(examples) * (len(examples) - 1) // 2
    if as_json:
        found = {
            c.name: {"same_kind": hits[c.name], "seconds": c.seconds, "distances": c.distances.tolist()}
            for c in comparisons
        }
        names = [example.name for example in examples]
        print_json({"examples": names, "pairs": pairs, "picture": str(output), **found})
        return
    title = f"nearest neighbour of each of {len(examples)} shapes and graphs"
    table = new_table(title, "space", *(f"by {comparison.name}" for comparison in comparisons))
    nearest = [comparison.nearest() for comparison in comparisons]
    for i, example in enumerate(examples):
        others = [examples[found[i]] for found in nearest]
        cells = [f"[{'green' if other.kind == example.kind else 'red'}]{other.name}[/]" for other in others]
        table.add_row(example.name, *cells, end_section=i + 1 < len(examples) and examples[i + 1].kind != example.kind)
    summary = [
        f"{c.name}: nearest of the same kind for [bold]{hits[c.name]} of {len(examples)}[/]; "
        f"{pairs} pairs in {c.seconds:.2f} s"
        for c in comparisons
    ]
    print_table(table, *summary, f"picture: [bold]{plain(str(output))}[/]")
