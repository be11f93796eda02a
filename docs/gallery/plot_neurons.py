"""
Neurons, clustered by the shape of their trees
==============================================

Distances along the branches of a neuron show how it is built: one long trunk, two bushes, or branches to all sides.
Here five real neurons of a fruit fly, which come with anchorot as SWC files, are compared with eighteen synthetic ones.
"""

# %%
# The real ones are of one type (DA1 projection neurons of the Janelia hemibrain, CC BY 4.0). With files of your own it
# is ``ao.pairwise(sorted(Path("swc").glob("*.swc")), n_points=120)``. The fly is small: ``robust=True`` ignores the
# size of trees.
import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

import anchorot as ao

real, grown = ao.datasets.neurons(120), ao.datasets.grown_neurons(6)
spaces = [*real, *grown]
labels = ["fly, real"] * len(real) + list(grown.labels)
distances = np.sqrt(ao.pairwise(spaces, robust=True))
print(real.source, grown.source, sep="\n")

# %%
# Hierarchical clustering of the distances, and one tree of each kind.
kinds = list(dict.fromkeys(labels))
color = dict(zip(kinds, ao.plot.PALETTE, strict=False))
figure = plt.figure(figsize=(11, 6.6), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1.2, 1))
for ax, kind in zip(top.subplots(1, 4), kinds, strict=True):
    looks = spaces[labels.index(kind)].geometry
    ends = looks.positions[looks.edges][:, :, [0, 2] if kind != "fly, real" else [0, 1]]
    for start, end in ends:
        ax.plot(*zip(start, end, strict=True), color=color[kind], linewidth=0.9)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(f"{kind}, {np.ptp(ends.reshape(-1, 2), axis=0).max():.0f} µm", loc="left", weight="bold", fontsize=11)
ax = bottom.subplots()
tree = dendrogram(
    linkage(squareform(distances, checks=False), "average"),
    labels=labels,
    ax=ax,
    color_threshold=0,
    above_threshold_color="#6b7280",
    leaf_rotation=60,
)
for tick in ax.get_xticklabels():
    tick.set_color(color[tick.get_text()])
    tick.set_ha("right")
    tick.set_rotation_mode("anchor")
ax.set_ylabel("distance (root of robust AE)")
ax.spines[["top", "right", "bottom"]].set_visible(False)
plt.show()
