"""
Tissue: mixed or segregated, and at which scale
===============================================

In some tissues immune cells are scattered among the others, in some they sit together in clumps. Both have as many
cells of each type, and as many everywhere. They differ in which cells are near which, and at what distance.
"""

# %%
# One space per tissue: distances between cells, and their types.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

tissues = ao.datasets.tissues(8)
found = ao.scale_test(tissues, tissues.labels, attributes="types", rng=0)
found

# %%
# Without types there is no difference: cells lie anywhere in both.
plain = ao.scale_test(tissues, tissues.labels, rng=0)
print(f"with types p = {found.pvalue:.3f}, without p = {plain.pvalue:.3f}")

# %%
# Grey is what shuffled labels give; where the curve leaves it, and turns red, the groups differ, with the chance of a
# false alarm anywhere held at 5 %. It does so at the size of the clumps.
kinds = ("tumour", "immune", "stroma")
colors = dict(zip(kinds, ("#c9a227", "#2f62ad", "#d1d5db"), strict=True))
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", width_ratios=(1, 1, 1.6))
for ax, place in ((left, 0), (middle, 8)):
    positions, types = tissues[place].geometry.positions, np.array(tissues[place].types)
    for kind in kinds:
        ax.scatter(*positions[types == kind].T, s=34, color=colors[kind], edgecolor="white", linewidth=0.5, label=kind)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_color("#d1d5db")
    ax.set_title(tissues.labels[place], loc="left", weight="bold")
figure.legend(*left.get_legend_handles_labels(), frameon=False, loc="outside lower left", ncols=3)
ao.plot.scale_curve(found, ax=right)
right.set_title("eight of each: where do they differ?", loc="left", weight="bold")
plt.show()
