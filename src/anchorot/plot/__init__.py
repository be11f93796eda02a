"""Pictures, with matplotlib: every function draws on an Axes and returns it.

Without an Axes a function makes its own figure, without a screen or any global state: ``ax.figure.savefig("x.png")``
writes it. Titles are left to the caller.
"""

from anchorot.plot.cdfs import anchor_cdfs
from anchorot.plot.distances import distance_map, distance_matrix
from anchorot.plot.maps import embedding_pair, error_curve, matching
from anchorot.plot.matches import matched_graphs, plan
from anchorot.plot.shapes import shape
from anchorot.plot.significance import null_distribution, scale_curve
from anchorot.plot.style import PALETTE, new_figure

__all__ = [
    "PALETTE",
    "anchor_cdfs",
    "distance_map",
    "distance_matrix",
    "embedding_pair",
    "error_curve",
    "matched_graphs",
    "matching",
    "new_figure",
    "null_distribution",
    "plan",
    "scale_curve",
    "shape",
]
