"""
Who plays which role in two social networks
===========================================

A karate club of 34 members, and the 77 figures of *Les Misérables*: no node is in both. But the distances of a node to
all others describe its role: central, a link between two groups, or at the fringe. Anchor Wasserstein matches nodes
with similar distances.
"""

# %%
# Graphs come with networkx; costs are shortest paths.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import anchorot as ao

club, novel = ao.datasets.social_networks()[:2]
transport = ao.anchor_wasserstein(club, novel, robust=True, epsilon=0)
transport

# %%
# Each member of the club sends its mass to the figures of the novel that are most like it. The four with the smallest
# distances, and four at the fringe:
order = np.argsort(club.cost.mean(axis=1))
for member in (*order[:4], *order[-4:]):
    figure_of = transport.plan[member].argmax()
    print(f"member {club.labels[member]:2}  plays  {novel.labels[figure_of]}")

# %%
# Colours are carried over: the novel is coloured by how near each figure is to all others, and the club by the mean
# colour of whom its members are matched with. (What the club's own paths say is not used for the colours.)
nearness = 1 / novel.cost.mean(axis=1)
carried = transport.plan @ nearness / club.weights
own = 1 / club.cost.mean(axis=1)
print(f"rank correlation with the club's own nearness: {np.corrcoef(np.argsort(np.argsort([carried, own])))[0, 1]:.2f}")

figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
graphs = (nx.les_miserables_graph(), nx.karate_club_graph())
for ax, graph, space, values, title in zip(
    axes, graphs, (novel, club), (nearness, carried), ("Les Misérables", "the karate club, by its matches"), strict=True
):
    colour = dict(zip(space.labels, values, strict=True))
    places = nx.kamada_kawai_layout(graph)
    named = sorted(graph, key=colour.get)[-6:]
    nx.draw_networkx_edges(graph, places, ax=ax, edge_color="#d1d5db", width=0.8)
    dots = nx.draw_networkx_nodes(
        graph, places, ax=ax, node_size=90, node_color=[colour[node] for node in graph], cmap="viridis", linewidths=0
    )
    nx.draw_networkx_labels(
        graph,
        {node: np.add(place, (0, 0.055)) for node, place in places.items()},
        {node: node for node in named},
        ax=ax,
        font_size=9,
        font_weight="bold",
        font_color="#374151",
    )
    ax.set_title(title, loc="left", weight="bold")
    ax.axis("off")
    figure.colorbar(dots, ax=ax, shrink=0.6, label="near to all others")
plt.show()
