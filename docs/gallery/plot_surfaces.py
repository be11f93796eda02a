"""
A dense map between two surfaces
================================

Two poses of one body, every vertex of the one on every vertex of the other: `align_meshes` aligns landmarks, refines
the map by eigenfunctions of the surface, and compares several maps, so that left is not taken for right, or front
for back. `reliable` says how likely that has succeeded.
"""

# %%
# Two meshes of 1234 vertices. The second one's vertices are shuffled, so that numbers tell nothing.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

poses = [(pose.geometry.positions, pose.geometry.faces) for pose in ao.datasets.figures(["person"], n_poses=3)]
order = np.random.default_rng(0).permutation(len(poses[2][0]))
truth = np.argsort(order)
first, second = poses[0], (poses[2][0][order], truth[poses[2][1]])
found = ao.align_meshes(first, second, rng=0)
found

# %%
# The maps that were compared, the chosen one first. Orientation is negative where a map mirrors the surface.
for one in found.candidates:
    turned, distortion = one.details["orientation"], one.details["distortion"]
    turned = "unknown" if turned is None else f"{turned:5.2f}"
    print(f"{one.name:28} chance {1 - one.objective:.2f}, orientation {turned}, distortion {distortion:.3f}")

# %%
# Colours of the second pose are carried over to the first. The curve is how the field reports such maps: the share of
# points whose match is at most so far from the true one, along the surface. Beside it a map by distances to
# landmarks alone.
scores = {"align_meshes": ao.alignment_scores(found, truth, second)}
by_landmarks = ao.align(ao.distances.MeshDistances(first), ao.distances.MeshDistances(second), n_landmarks=200, rng=0)
scores["landmarks alone"] = ao.alignment_scores(by_landmarks, truth, second)
colour = second[0][:, 2] + 0.5 * second[0][:, 0]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained", width_ratios=(1, 1, 1.1))
ao.plot.shape(second, colour, colorbar=False, ax=left)
ao.plot.shape(first, found.project(colour), colorbar=False, ax=middle)
ao.plot.error_curve(scores, ax=right)
left.set_title("the second pose, coloured", loc="left", weight="bold")
middle.set_title("the first, by the map", loc="left", weight="bold")
right.set_title("how far off", loc="left", weight="bold")
plt.show()

# %%
# ``found.write("map.txt")`` writes the map, one match to a line, and `read_matches` reads it back;
# ``write_report("page.html", first, second, found)`` makes a page on which a click on either body shows the match.
