"""
How much of an energy is noise?
===============================

Two samples of the same shape have an Anchor Energy above zero, because they have different points: the fewer, the
larger it is. `anchor_energy_estimate` estimates the energy between the shapes themselves, with its error.
"""

# %%
# A torus against a torus, and against one that is a little thicker; samples of 40 to 640 points.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao


def torus(n, radius, rng):
    """Return the space of random points on a torus."""
    u, v = rng.uniform(0, 2 * np.pi, size=(2, n))
    max_cost = 3 + radius * np.cos(v)
    return ao.from_points(np.stack([max_cost * np.cos(u), max_cost * np.sin(u), radius * np.sin(v)], axis=1))


sizes = (40, 80, 160, 320, 640)
rng = np.random.default_rng(0)
estimates = {
    radius: [ao.anchor_energy_estimate(torus(n, 0.5, rng), torus(n, radius, rng), rng=0) for n in sizes]
    for radius in (0.5, 1.2)
}
print(estimates[1.2][-1])

# %%
# Grey: the plain energy, which is above zero even between equal shapes. Colour: the estimate with its 95 % interval.
# For equal shapes it contains zero at every size; for different ones it excludes zero once there are enough points.
truth = {0.5: 0.0, 1.2: ao.anchor_energy(torus(3000, 0.5, rng), torus(3000, 1.2, rng))}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained", sharey=True)
for ax, (radius, found), color in zip(axes, estimates.items(), ("#2f62ad", "#b5352f"), strict=True):
    low, high = np.array([estimate.interval() for estimate in found]).T
    value = np.array([estimate.value for estimate in found])
    place = np.arange(len(sizes))
    ax.plot(place, [estimate.plain for estimate in found], "s--", color="#9ca3af", label="plain energy")
    ax.errorbar(place, value, (value - low, high - value), fmt="o", color=color, capsize=4, label="estimate, 95 %")
    ax.axhline(truth[radius], color=color, linestyle=":", label="3000 points" if radius > 0.5 else "the truth: 0")
    ax.set_xticks(place, sizes)
    ax.set_xlabel("points of each sample")
    ax.set_title("twice the same torus" if radius == 0.5 else "a thicker torus", loc="left", weight="bold")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("Anchor Energy")
plt.show()
