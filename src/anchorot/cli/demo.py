"""`anchorot demo`: shapes and graphs in several sizes, compared by Anchor Energy and its robust form."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer

from anchorot._typing import Float64s, RngLike
from anchorot.cli.options import JsonOption
from anchorot.cli.output import doing, new_table, print_json, print_table
from anchorot.cli.writing import Outputs
from anchorot.many.pairwise import pairwise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from anchorot.datasets import Dataset


class Comparison(NamedTuple):
    """All pairs of the examples under one distance."""

    name: str
    distances: Float64s  # square root of the Anchor Energy, (N, N)
    seconds: float

    def nearest(self) -> list[int]:
        """Return the nearest other example of each."""
        return [int(i) for i in np.argmin(self.distances + np.diag([np.inf] * len(self.distances)), axis=1)]

    def count_same_kind(self, examples: "Dataset") -> int:
        """Return how many examples have a nearest neighbour of their own kind."""
        return sum(examples.labels[i] == kind for kind, i in zip(examples.labels, self.nearest(), strict=True))


def _compare_all(examples: "Dataset", *, robust: bool) -> Comparison:
    """Square root of the Anchor Energy between all pairs."""
    start = time.perf_counter()
    distances = np.sqrt(pairwise(examples, robust=robust))
    return Comparison("robust AE" if robust else "AE", distances, time.perf_counter() - start)


def _compare_examples(n_points: int, rng: RngLike) -> "tuple[Dataset, list[Comparison]]":
    """Make the examples, compare them all both ways."""
    from anchorot.datasets import shapes_and_graphs

    examples = shapes_and_graphs(n_points, rng)
    return examples, [_compare_all(examples, robust=robust) for robust in (False, True)]


def _draw(examples: "Dataset", comparisons: list[Comparison]) -> "Figure":
    """Draw one picture: for each distance its matrix and its map."""
    from anchorot.plot import distance_map, distance_matrix, new_figure

    kinds, sizes = examples.labels, None if examples.values is None else examples.values.tolist()
    figure = new_figure(11, 4.9 * len(comparisons))
    axes = figure.subplots(len(comparisons), 2, width_ratios=(1, 1.15))
    titles = ("AE sees shape and size", "robust AE sees shape alone")
    for (left, right), comparison, title in zip(axes, comparisons, titles, strict=True):
        distance_matrix(comparison.distances, kinds, label="distance", ax=left)
        left.set_title(f"{comparison.name}: all pairs", fontsize=11, loc="left", color="#374151")
        distance_map(comparison.distances, kinds, squared=False, sizes=sizes, legend=False, ax=right)
        right.set_title(title, fontsize=13, loc="left", weight="bold")
    handles, labels = axes[0, 1].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    for handle in legend.legend_handles:
        handle.set_sizes([70])  # type: ignore[union-attr]
    return figure


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
    with doing("comparing shapes and graphs"):
        examples, comparisons = _compare_examples(n_points, seed)
    outputs.save_picture(output, lambda: _draw(examples, comparisons))
    if as_json:
        _print_json(examples, comparisons, output)
    else:
        _print_table(examples, comparisons, outputs.lines())
    outputs.settle()


def _print_json(examples: "Dataset", comparisons: "list[Comparison]", output: Path) -> None:
    found = {
        c.name: {"same_kind": c.count_same_kind(examples), "seconds": c.seconds, "distances": c.distances.tolist()}
        for c in comparisons
    }
    print_json({"examples": examples.names, "pairs": _n_pairs(examples), "picture": str(output), **found})


def _print_table(examples: "Dataset", comparisons: "list[Comparison]", written: list[str]) -> None:
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
