"""The demonstration: shapes and graphs in several sizes, told apart by Anchor Energy and its robust form."""

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anchorot._typing import Float64s, RngLike
from anchorot.datasets import Dataset, shapes_and_graphs
from anchorot.many.pairwise import pairwise
from anchorot.plot import distance_map, distance_matrix, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Comparison(NamedTuple):
    """All pairs of the examples under one distance."""

    name: str
    distances: Float64s  # square root of the Anchor Energy, (N, N)
    seconds: float

    def nearest(self) -> list[int]:
        """Return the nearest other example of each."""
        return [int(i) for i in np.argmin(self.distances + np.diag([np.inf] * len(self.distances)), axis=1)]

    def count_same_kind(self, examples: Dataset) -> int:
        """Return how many examples have a nearest neighbour of their own kind."""
        return sum(examples.labels[i] == kind for kind, i in zip(examples.labels, self.nearest(), strict=True))


def compare_all(examples: Dataset, *, robust: bool) -> Comparison:
    """Square root of the Anchor Energy between all pairs."""
    start = time.perf_counter()
    distances = np.sqrt(pairwise(examples, robust=robust))
    return Comparison("robust AE" if robust else "AE", distances, time.perf_counter() - start)


def run(n_points: int, rng: RngLike) -> tuple[Dataset, list[Comparison]]:
    """Make the examples, compare them all both ways."""
    examples = shapes_and_graphs(n_points, rng)
    return examples, [compare_all(examples, robust=robust) for robust in (False, True)]


def draw(examples: Dataset, comparisons: list[Comparison]) -> "Figure":
    """Draw one picture: for each distance its matrix and its map."""
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
