"""
A map of a collection of shapes
===============================

Twenty-four creatures of four kinds, each in six poses. Which look alike? One line compares all pairs; classical
multidimensional scaling draws them in the plane, near each other where their Anchor Energy is small.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

creatures = ao.datasets.figures(n_poses=6, n_points=150)
energies = ao.pairwise(creatures)
creatures

# %%
# Poses of one kind lie together: bending a limb changes distances along the skin little. Anchor Energy is a squared
# distance, and `distance_map` knows; for the matrix we take the root ourselves.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained", width_ratios=(1, 1.25))
ao.plot.distance_matrix(np.sqrt(energies), creatures.labels, label="distance (root of AE)", ax=left)
ao.plot.distance_map(energies, creatures.labels, ax=right)
left.set_title("all pairs", loc="left", weight="bold")
right.set_title("the map", loc="left", weight="bold")

kinds = list(dict.fromkeys(creatures.labels))
dots = {handle.get_label(): handle.get_offsets() for handle in right.collections if handle.get_label() in kinds}
for kind, color in zip(kinds, ao.plot.PALETTE, strict=False):
    x, y = dots[kind].mean(axis=0)
    inset = right.inset_axes((x - 0.05, y + 0.015, 0.1, 0.1), transform=right.transData)
    inset.patch.set_alpha(0)
    ao.plot.shape(creatures[creatures.labels.index(kind)], color=color, ax=inset)
plt.show()

# %%
# How sure is that? A permutation test of the groups says whether kinds differ more than chance allows.
ao.group_test(energies, creatures.labels, rng=0)
