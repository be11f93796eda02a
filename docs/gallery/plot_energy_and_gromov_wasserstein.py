"""
Anchor Energy beside Gromov-Wasserstein: value and time
=======================================================

Both compare spaces by their distances alone. Gromov-Wasserstein looks for the best correspondence of points, which is
NP-hard, and stops in a local optimum; Anchor Energy needs no correspondence, and is exact after a sort.
"""

# %%
# All pairs of sixteen creatures, by both. (`gromov_wasserstein` needs the extra ``pot`` for spaces with weights or of
# different sizes; these have 60 points each.)
import time

import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

creatures = ao.datasets.figures(n_poses=4, n_points=60)
values, seconds = {}, {}
for metric in ("ae", "slb", "gw"):
    start = time.perf_counter()
    values[metric] = ao.pairwise(creatures, metric=metric, n_jobs=1, backend="threads")
    seconds[metric] = time.perf_counter() - start
print({metric: f"{taken:.3f} s" for metric, taken in seconds.items()})

# %%
# How long does one pair take as spaces grow?
sizes = (50, 100, 200, 400)
rng = np.random.default_rng(0)
times = {"AE": [], "GW": []}
for n in sizes:
    x, y = (ao.from_points(rng.normal(size=(n, 3)) * (1, 1, stretch)) for stretch in (1, 2))
    for name, compare in (
        ("AE", ao.anchor_energy),
        ("GW", lambda x, y: ao.gromov_wasserstein(x, y, start="quick")),
    ):
        start = time.perf_counter()
        compare(x, y)
        times[name].append(time.perf_counter() - start)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
upper = np.triu_indices(len(creatures), 1)
labels = np.array(creatures.labels)
same = (labels[:, None] == labels)[upper]
for own, color, marker, name in ((~same, "#b5352f", "o", "different kinds"), (same, "#2f62ad", "s", "the same kind")):
    left.scatter(
        np.sqrt(values["ae"][upper][own]),
        np.sqrt(values["gw"][upper][own]),
        color=color,
        marker=marker,
        s=26,
        alpha=0.8,
        label=name,
    )
left.set(xlabel="root of Anchor Energy", ylabel="root of the Gromov-Wasserstein loss")
left.set_title(f"{len(same)} pairs of creatures", loc="left", weight="bold")
for (name, taken), color, marker in zip(times.items(), ("#4f9d69", "#8167a9"), "os", strict=True):
    right.loglog(sizes, 1000 * np.array(taken), marker=marker, color=color, linewidth=2, label=name)
right.set_xticks(sizes, sizes, minor=False)
right.minorticks_off()
right.set(xlabel="points of each space", ylabel="milliseconds per pair")
right.set_title("time, as spaces grow", loc="left", weight="bold")
for ax in (left, right):
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
