"""
What is compared: the anchors of two shapes
===========================================

Anchor Energy does not use where a point is, only how far it is from all others. Here are these distances for two
creatures, a dog and a lizard, measured along their skins.
"""

# %%
# A mesh becomes a space: some hundred of its vertices, and the distances between them along the surface.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

dog, lizard = ao.datasets.figures(["dog", "lizard"], n_poses=1)
dog

# %%
# Every point is an *anchor*. From the dog's nose, its tail is far; from the middle of its belly, nothing is. The
# distances of an anchor are a distribution on the line, and its cumulative distribution function is a curve. All curves
# of both creatures lie in one picture: Anchor Energy integrates the area between red and blue.
figure = plt.figure(figsize=(11, 5), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.5))
for ax, creature, title in zip(left.subplots(2, 1), (dog, lizard), ("a dog", "a lizard"), strict=True):
    end = np.argmax(creature.cost.mean(axis=1))  # the point that sees the others farthest away
    ao.plot.shape(creature, creature.cost[end], label="distance seen from\nthe dark end", ax=ax)
    ax.set_title(title, loc="left", weight="bold")
ao.plot.anchor_cdfs(dog, lizard, names=("the dog's anchors", "the lizard's anchors"), ax=right.subplots())
plt.show()

# %%
# The energy is one number, exact, without a parameter; its root is a distance. A creature is at distance 0 from
# itself, however it is turned and whichever way its points are numbered.
shuffled = dog.take(np.random.default_rng(0).permutation(dog.n))
print(f"dog and lizard:       {ao.anchor_energy(dog, lizard):.4f}")
print(f"dog and shuffled dog: {ao.anchor_energy(dog, shuffled):.4f}")
