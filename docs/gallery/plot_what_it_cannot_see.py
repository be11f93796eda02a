"""
What Anchor Energy cannot see
=============================

Two different graphs can have an Anchor Energy of zero. AE compares the nearest costs of all points, their second
nearest, and so on, level by level; it does not use which of them belong to one point. Here is such a pair of graphs,
with only six nodes, and methods that detect the difference.
"""

# %%
# Two graphs that are not the same.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import anchorot as ao

edges = ("02 03 04 12 13 23 35", "04 12 13 14 23 24 45")
graphs = [nx.Graph([tuple(map(int, edge)) for edge in own.split()]) for own in edges]
x, y = (ao.from_graph(graph) for graph in graphs)
print("isomorphic:", nx.is_isomorphic(*graphs))

# %%
# ``ground="w2"`` compares whole anchors with each other, and is zero only if all anchors agree; it takes O(n³). So does
# the transport between anchors (AW), and Gromov-Wasserstein detects even more.
found = {
    "AE": ao.anchor_energy(x, y),
    'AE, ground="w2"': ao.anchor_energy(x, y, ground="w2"),
    "AW": ao.anchor_wasserstein(x, y, epsilon=0).cost,
    "GW": ao.gromov_wasserstein(x, y).value,
}
for name, value in found.items():
    print(f"{name:16} {value:.4f}")

# %%
# A row of a table has the distances of one node, sorted. Each *column*, sorted, is the same in both tables, and columns
# are all that AE compares; but the rows are not the same.
figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.6), layout="constrained", width_ratios=(1, 1, 1, 1))
for place, (graph, space) in enumerate(zip(graphs, (x, y), strict=True)):
    seen = np.sort(space.cost, axis=1).astype(int)
    order = np.lexsort(seen.T[::-1])
    drawing, table = axes[2 * place : 2 * place + 2]
    nx.draw_networkx(
        graph,
        nx.kamada_kawai_layout(graph),
        ax=drawing,
        node_color=ao.plot.PALETTE[place],
        font_color="white",
        edge_color="#6b7280",
    )
    drawing.axis("off")
    drawing.set_title("one graph" if place == 0 else "another", loc="left", weight="bold")
    drawing.margins(0.15)
    table.imshow(seen[order], cmap="Blues", vmax=6, vmin=0)
    for i, j in np.ndindex(6, 6):
        table.text(j, i, seen[order][i, j], ha="center", va="center")
    table.set_yticks(range(6), [f"node {space.labels[node]}" for node in order])
    table.set_xticks(range(6), ["self", "1st", "2nd", "3rd", "4th", "5th"])
    table.tick_params(length=0)
    table.spines[:].set_visible(False)
    table.set_title("what its nodes see", loc="left", weight="bold")
plt.show()

# %%
# Read the columns: as many ones, twos and threes in each column of the left table as in the same of the right.
columns = [np.sort(np.sort(space.cost, axis=1), axis=0) for space in (x, y)]
print("the same columns:", np.array_equal(*columns))
