"""
Units and stray points: what ranks forgive
==========================================

The units of a scan may be unknown, and scanners leave stray points far from the body. Anchor Energy depends on both.
Its robust form compares ranks of costs instead: units do not matter, and a stray point is just the farthest, however
far it is.
"""

# %%
# Twelve creatures of four kinds. Of each we make spoiled copies: measured in other units, or with four of its 120
# points moved away from all others.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

creatures = ao.datasets.figures(n_poses=3, n_points=120)
labels = np.array(creatures.labels)


def with_strays(space, far):
    """Return the space with some points moved away, by up to `far` times its size."""
    rng = np.random.default_rng(0)
    cost, strays = np.array(space.cost), rng.choice(space.n, 4, replace=False)
    away = cost.max() * far * rng.uniform(0.5, 1, len(strays))
    cost[strays] += away[:, None]
    cost[:, strays] += away
    np.fill_diagonal(cost, 0)
    return ao.Space(cost)


# %%
# In other units: is the nearest creature of the right kind? With strays: how far is a creature from its own spoiled
# copy, where 1 is the median distance between creatures of different kinds?
scales, fars = (0.25, 0.5, 0.8, 1, 1.25, 2, 4), (0, 0.5, 1, 2, 4, 8, 16)
right_kind, drift = {}, {}
for robust in (False, True):
    nearest = [
        ao.pairwise([ao.Space(scale * x.cost) for x in creatures], creatures, robust=robust).argmin(axis=1)
        for scale in scales
    ]
    right_kind[robust] = [100 * (labels[found] == labels).mean() for found in nearest]
    among = np.sqrt(ao.pairwise(creatures, robust=robust))
    unit = np.median(among[labels[:, None] != labels])
    drift[robust] = [
        np.sqrt(np.mean([ao.anchor_energy(x, with_strays(x, far), robust=robust) for x in creatures])) / unit
        for far in fars
    ]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for robust, name in ((False, "AE"), (True, "robust AE")):
    style = {
        "color": ao.plot.PALETTE[2 if robust else 3],
        "marker": "s" if robust else "o",
        "linewidth": 2,
        "label": name,
    }
    left.plot(range(len(scales)), right_kind[robust], **style)
    right.plot(range(len(fars)), drift[robust], **style)
left.set_xticks(range(len(scales)), [f"{scale:g}" for scale in scales])
left.set(xlabel="what a unit is taken for", ylabel="% whose nearest is of their kind", ylim=(0, 105))
left.set_title("in other units", loc="left", weight="bold")
right.axhline(1, color="#9ca3af", linestyle=":")
right.annotate("between kinds", (0, 1.04), color="#6b7280", fontsize=9)
right.set_xticks(range(len(fars)), [f"{far:g}" for far in fars])
right.set(xlabel="how far strays are, in sizes of the body", ylabel="distance from the unspoiled")
right.set_title("with 4 of 120 points astray", loc="left", weight="bold")
for ax in (left, right):
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
