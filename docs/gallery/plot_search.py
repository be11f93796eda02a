"""
Find the nearest shapes in a collection
=======================================

Anchor Energy embeds: a space becomes a vector once, and an index finds the nearest of very many spaces by their
vectors, then computes exact energies until no other space can be nearer. Here the query is the forty-first of
forty-one creatures.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import anchorot as ao

creatures = ao.datasets.figures(n_poses=11, n_points=150)
query_places = [creatures.names.index(f"{kind} 10") for kind in ("person", "dog", "giraffe", "lizard")]
shelf = [place for place in range(len(creatures)) if place not in query_places]
index = ao.SearchIndex.build([creatures[i] for i in shelf], [creatures.names[i] for i in shelf])
print(index)

# %%
# `exact=True`, the default, is no approximation: the vectors bound the energy from below, so that an entry whose bound
# is already too large need not be compared at all. `n_exact` says how many were.
found = [index.query(creatures[place], k=4) for place in query_places]
for place, result in zip(query_places, found, strict=True):
    print(f"{creatures.names[place]}: {result.n_exact} of {len(shelf)} compared exactly")

# %%
# Every row: a creature that is not in the index, and the four nearest that are.
figure, axes = plt.subplots(4, 5, figsize=(11, 8.4), layout="constrained")
for row, place, result in zip(axes, query_places, found, strict=True):
    ao.plot.shape(creatures[place], color="#374151", ax=row[0])
    row[0].set_title(f"asked: {creatures.names[place]}", fontsize=10, weight="bold")
    for ax, i, energy in zip(row[1:], result.index, result.value, strict=True):
        ao.plot.shape(creatures[shelf[i]], color=ao.plot.PALETTE[0], ax=ax)
        ax.set_title(f"{creatures.names[shelf[i]]}   AE {energy:.4f}", fontsize=10)
plt.show()

# %%
# An index is one file, which other processes can open without reading all of it.
with tempfile.TemporaryDirectory() as folder:
    index.save(Path(folder) / "creatures.index")
    again = ao.SearchIndex.load(Path(folder) / "creatures.index").query(creatures[query_places[0]], k=1)
print(again)
