"""Plots with matplotlib: every function draws on an Axes and returns it.

Without `ax` they draw on pyplot's current Axes, so that ``plt.title("mine")``, ``plt.savefig("x.png")`` and
``plt.show()`` work as usual. In servers and threads, which cannot share pyplot's global state, pass an `ax` from
:func:`new_figure`: pyplot is then not imported. Titles are left to the caller.
"""

from anchorot.plot.cdfs import anchor_cdfs
from anchorot.plot.distances import distance_map, distance_matrix
from anchorot.plot.maps import embedding_pair, error_curve, matching
from anchorot.plot.matches import matched_graphs, plan
from anchorot.plot.shapes import shape
from anchorot.plot.signatures import signature
from anchorot.plot.significance import null_distribution, scale_curve, type_pairs
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
    "signature",
    "type_pairs",
]
