"""
A scan with a missing part
==========================

A scanner has lost the dog's head and one of its legs. A full alignment must put every point somewhere; with
``mass="free"`` points that fit nowhere are left out. ``align`` warns of the full alignment: it cannot be trusted.
"""

# %%
# Every vertex of the mesh is labelled with its limb: 1 and 2 are neck and head, 4 and 5 a front leg. Without their
# faces the rest of the dog, in another pose, is our damaged scan.
import warnings

import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

straight, bent = ao.datasets.figures(["dog"], n_poses=3, n_points=10_000)[::2]  # all vertices
limb = np.empty(bent.n, int)
limb[list(bent.labels)] = bent.types
faces = bent.geometry.faces[~np.isin(limb, (1, 2, 4, 5))[bent.geometry.faces].any(axis=1)]
seen, faces = np.unique(faces, return_inverse=True)

whole = ao.from_mesh((straight.geometry.positions, straight.geometry.faces), n_points=130, geodesic="edge", rng=0)
scan = ao.from_mesh((bent.geometry.positions[seen], faces.reshape(-1, 3)), n_points=100, geodesic="edge", rng=1)

# %%
# Both ways to align them, and how much of the whole dog each of them uses.
warnings.simplefilter("ignore", ao.ConvergenceWarning)  # that the full alignment cannot be trusted
full, free = ao.align(whole, scan), ao.align(whole, scan, mass="free")
lost = np.isin(limb[list(whole.labels)], (1, 2, 4, 5))
for name, found in (("full", full), ("free", free)):
    used = whole.n * found.plan.sum(axis=1)
    print(f"{name}: {used[lost].mean():.0%} of the missing parts are matched, and {used[~lost].mean():.0%} of the rest")

# %%
# The whole dog is coloured from tail to nose, and the scan takes its colours from its matches. If all points must be
# matched, the alignment turns the dog round and maps its tail to the head. If points may be left out, it finds what is
# missing and gets the rest right.
place = whole.geometry.positions[whole.geometry.index, 0]
figure, axes = plt.subplots(2, 2, figsize=(10.5, 6.4), layout="constrained")
ao.plot.shape(whole, place, colorbar=False, ax=axes[0, 0])
ao.plot.shape(whole, whole.n * free.plan.sum(axis=1), label="share that is matched", ax=axes[0, 1])
for ax, found in zip(axes[1], (full, free), strict=True):
    ao.plot.shape(scan, found.project(place, onto="second"), colorbar=False, ax=ax)  # grey where points are left out
titles = (
    "the whole dog",
    'mass="free": what is matched of it',
    "the scan, everything matched",
    'the scan, mass="free"',
)
for ax, title in zip(axes.flat, titles, strict=True):
    ax.set_title(title, loc="left", weight="bold")
plt.show()
