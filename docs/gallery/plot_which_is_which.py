"""
Which point is which, on a bent shape
=====================================

Two scans of one person who has moved: which point of the first is which of the second? `align` looks only at distances
along the skin, which hardly change when limbs bend. No landmarks, no parameters.
"""

# %%
# Both scans are meshes, of which we keep 200 vertices each, not the same ones.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

meshes = [(person.geometry.positions, person.geometry.faces) for person in ao.datasets.figures(["person"], n_poses=4)]
first = ao.from_mesh(meshes[0], n_points=200, geodesic="edge", rng=1)
second = ao.from_mesh(meshes[3], n_points=200, geodesic="edge", rng=2)
found = ao.align(first, second)
found

# %%
# Distances do not distinguish left from right, so a mirror image may be found that is about as good: `runner_up` holds
# the other alignment. Here the first scan is coloured by hand, and the second takes its colours over from its matches.
places = first.geometry.positions[first.geometry.index]
colour = places[:, 2] + 0.5 * places[:, 0]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained", width_ratios=(1, 1, 0.9))
ao.plot.shape(first, colour, colorbar=False, ax=left)
ao.plot.shape(second, found.project(colour, onto="second"), colorbar=False, ax=middle)
left.set_title("the first scan, coloured", loc="left", weight="bold")
middle.set_title("the second, by its matches", loc="left", weight="bold")

alignments = {"the best": found.matches}
if found.runner_up is not None:
    alignments["the runner-up"] = found.runner_up.matches
along = ao.from_mesh(meshes[3], geodesic="edge").cost  # between all vertices, for the truth: vertex k is vertex k
for (name, matches), line in zip(alignments.items(), ("-", "--"), strict=False):
    off = along[first.labels, np.array(second.labels)[matches]] / along.max()
    right.ecdf(100 * off, color=ao.plot.PALETTE[0], linestyle=line, linewidth=2.2, label=name)
right.set(xlabel="distance from the true place, % of the largest", ylabel="share of the points", xlim=(0, 60))
right.set_title("how far off", loc="left", weight="bold")
right.legend(frameon=False, loc="lower right")
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# `value` is the Gromov-Wasserstein loss that was reached, and `bound` is a lower bound for all alignments: it limits
# how far the loss is from the least, but does not show whether the matches are right. All candidates:
print(f"loss {found.value:.4f}, at least {found.bound:.4f}")
for start in found.candidates:
    print(f"from {start.name:16} {start.objective:.4f}")
