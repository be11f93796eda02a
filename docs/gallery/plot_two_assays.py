"""
Two assays of one population of cells
=====================================

Cells differentiate into two fates. One assay measures 30 genes of half of them, another 12 sites of the other half: no
cell and no feature in common. What both keep is the shape of the population: a stem that forks. `align` finds which
cells of one assay are like which of the other by that alone.
"""

# %%
# Each assay becomes its own space: paths along its graph of nearest neighbours, which follow the curved cloud.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

cells = ao.datasets.two_assays(240)
genes, sites = np.arange(0, 240, 2), np.arange(1, 240, 2)  # different cells
x = ao.from_neighbors(cells.first[genes], n_neighbors=8, metric="euclidean", mode="distance")
y = ao.from_neighbors(cells.second[sites], n_neighbors=8, metric="euclidean", mode="distance")
scaled_x, scaled_y = ao.Space(x.cost / x.cost.mean()), ao.Space(y.cost / y.cost.mean())  # assays have no common unit
found = ao.align(scaled_x, scaled_y)
found

# %%
# We know the truth: on which branch each cell is, and how far along.
branch, time = cells.branch[sites][found.matches], cells.time[sites][found.matches]
print(f"on the right branch: {(branch == cells.branch[genes]).mean():.0%}")
print(f"correlation of times: {np.corrcoef(time, cells.time[genes])[0, 1]:.3f}")


# %%
# Both assays in their own first two components; the second takes its colours over from the first.
def components(values):
    """Return the first two principal components."""
    centred = values - values.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T


figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=(1, 1, 0.9))
for ax, values, colour, title in (
    (axes[0], cells.first[genes], cells.time[genes], "30 genes, coloured by time"),
    (axes[1], cells.second[sites], found.project(cells.time[genes], onto="second"), "12 sites, coloured by matches"),
):
    ax.scatter(*components(values).T, c=colour, cmap="viridis", s=30)
    ax.set(xticks=[], yticks=[], xlabel="first component", ylabel="second component")
    ax.set_title(title, loc="left", weight="bold")
names = ("stem", "fate 1", "fate 2")
for number, (name, color) in enumerate(zip(names, ao.plot.PALETTE, strict=False)):
    own = cells.branch[genes] == number
    axes[2].scatter(cells.time[genes][own], time[own], color=color, s=22, label=name, marker="os^"[number])
axes[2].plot([0, 1], [0, 1], color="#9ca3af", linestyle=":", zorder=0)
axes[2].set(xlabel="time of a cell", ylabel="time of its match", aspect="equal")
axes[2].set_title("how well they agree", loc="left", weight="bold")
axes[2].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
