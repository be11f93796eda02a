"""
The mean of shapes that were never aligned
==========================================

Six wobbly drawings of a heart and six of a star, each rotated differently, with no known matches between points. What
is their mean? A *barycenter* is a cloud of points whose own distances are nearest to those of all six: nothing has to
be aligned.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

rng = np.random.default_rng(0)
n = 40


def heart():
    """Return points along a heart."""
    t = 2 * np.pi * np.arange(n) / n
    return np.stack([16 * np.sin(t) ** 3, 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t)], axis=1) / 10


def star():
    """Return points along a star of five points."""
    corners = np.arange(11) * np.pi / 5
    max_cost = np.where(np.arange(11) % 2 == 0, 1.8, 0.75)
    along = np.linspace(0, 10, n, endpoint=False)
    return np.stack([np.interp(along, range(11), max_cost * wave(corners)) for wave in (np.cos, np.sin)], axis=1)


def drawn(outline):
    """Return a wobbly, turned and shuffled drawing."""
    angle = rng.uniform(0, 2 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return ao.from_points(rng.permutation((outline + 0.13 * rng.normal(size=outline.shape)) @ turn))


drawings = {"hearts": [drawn(heart()) for _ in range(6)], "stars": [drawn(star()) for _ in range(6)]}

# %%
# By Anchor Wasserstein; ``metric="ae"`` is the other choice, quicker for many points. It needs the extra ``torch``.
means = {name: ao.barycenter(own, n, metric="aw", max_iter=250, rng=0) for name, own in drawings.items()}
for name, mean in means.items():
    print(f"{name}: loss {mean.losses[0]:.2f} at first, {mean.loss:.3f} in the end")

# %%
# Four of the drawings of each, and the barycenter, which may be rotated or mirrored.
figure, axes = plt.subplots(2, 5, figsize=(11, 4.6), layout="constrained")
for row, (name, own), color in zip(axes, drawings.items(), ("#b5352f", "#2f62ad"), strict=True):
    for ax, drawing in zip(row[:4], own, strict=False):
        ax.scatter(*drawing.geometry.positions.T, s=18, color="#9ca3af")
    row[4].scatter(*means[name].points.T, s=30, color=color)
    for ax in row:
        ax.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_color("#374151" if ax is row[4] else "#e5e7eb")
axes[0, 0].set_title("drawings", loc="left", weight="bold")
axes[0, 4].set_title("their barycenter", loc="left", weight="bold")
plt.show()
