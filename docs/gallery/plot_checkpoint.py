"""
Many spaces: a long run that survives being killed
==================================================

All pairs of thousands of spaces may take a night. `pairwise` works in tiles. With a ``checkpoint`` each finished tile
is kept in a folder, and a run that was killed resumes where it stopped, with the same bits.
"""

# %%
# Shapes and graphs of seven kinds, 63 in all, sorted by kind.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

sets = [ao.datasets.shapes_and_graphs(60, rng=seed) for seed in range(3)]
kinds = np.concatenate([own.labels for own in sets])
order = np.argsort(kinds, kind="stable")
spaces, kinds = [[space for own in sets for space in own][i] for i in order], kinds[order]


# %%
# The spaces are entries of a sequence that loads each when it is needed, as one that reads files would. Memory is
# limited, so spaces are loaded more than once. To simulate a power cut, the sequence fails after a while.
class Shelf:
    """A sequence of spaces that may break."""

    def __init__(self, lasts=np.inf):
        self.given, self.lasts = 0, lasts

    def __len__(self):
        return len(spaces)

    def __getitem__(self, place):
        if self.given >= self.lasts:
            raise OSError("the power is gone")
        self.given += 1
        return spaces[place]


folder = tempfile.TemporaryDirectory()
options = {"checkpoint": Path(folder.name), "robust": True, "tile": 9, "n_jobs": 1, "memory": "1MB"}
partial = np.full((len(spaces), len(spaces)), np.nan)
try:
    ao.pairwise(Shelf(lasts=300), out=partial, **options)
except ao.InputError as error:
    print(error)
print(f"{np.isfinite(partial).mean():.0%} of the matrix was done")

# %%
# The same call with the same folder does the rest. Had the spaces or options changed, it would be refused.
energies = ao.pairwise(Shelf(), **options)
print("as if nothing had happened:", np.array_equal(energies, ao.pairwise(spaces, robust=True)))
folder.cleanup()

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, values, title in zip(axes, (partial, energies), ("when the power went", "the second run"), strict=True):
    image = ax.imshow(np.sqrt(values), cmap="magma_r", vmin=0, vmax=np.sqrt(energies.max()))
    borders = np.flatnonzero(kinds[1:] != kinds[:-1]) + 0.5
    ax.hlines(borders, -0.5, len(spaces) - 0.5, color="white", linewidth=1.2)
    ax.vlines(borders, -0.5, len(spaces) - 0.5, color="white", linewidth=1.2)
    ax.set_yticks([np.flatnonzero(kinds == kind).mean() for kind in np.unique(kinds)], np.unique(kinds))
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_color("#d1d5db")
    ax.set_title(title, loc="left", weight="bold")
figure.colorbar(image, ax=axes, label="distance (root of robust AE)", shrink=0.85)
plt.show()
