"""
Which node is which in two networks
===================================

Two records of one network: the second has lost a sixth of its edges, has some false ones, and has other names for its
nodes. Shortest paths are of little use here, since one false edge shortens many of them. `align_graphs` looks for the
matching with the most common edges.
"""

# %%
# Characters of *Les Misérables*, joined where they meet; and a noisy copy.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import anchorot as ao

novel = nx.les_miserables_graph()
rng = np.random.default_rng(4)
edges, people = list(novel.edges), list(novel)
copy = nx.Graph()
copy.add_nodes_from(rng.permutation(people).tolist())
copy.add_edges_from([edge for edge in edges if rng.random() > 0.16])
copy.add_edges_from([tuple(rng.choice(people, 2, replace=False).tolist()) for _ in range(12)])
copy = nx.relabel_nodes(copy, {name: f"person {number}" for number, name in enumerate(copy)})

found = ao.align_graphs(novel, copy, weight=False, rng=0)
found

# %%
# How sure is each match? Nodes with the same neighbours are twins, which cannot be distinguished, so they share their
# chance.
surest, *_, least = sorted(zip(found.confidence, found.pairs(), strict=True), key=lambda pair: -pair[0])
print("surest:", *surest[1], f"{surest[0]:.3f}")
print("least sure:", *least[1], f"{least[0]:.3f}")
twins = np.bincount(found.twins[0])
print(f"{found.common_edges} common edges; {twins[twins > 1].sum()} characters have twins")

# %%
# Both networks drawn alike, matched nodes at the same places: common edges are grey, those that only one has are
# coloured. `anchorot.report.write_report` makes a page of it to click on.
places = nx.kamada_kawai_layout(novel)
partner = dict(found.pairs())
figure, axes = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
sides = (
    (axes[0], novel, copy, partner, "#e07b1a", "the novel, and what the copy lacks"),
    (axes[1], copy, novel, {j: i for i, j in partner.items()}, "#2f7fd6", "the copy, and what the novel lacks"),
)
for ax, graph, other, match, colour, title in sides:
    at = places if graph is novel else {j: places[i] for j, i in match.items()}
    is_common = [other.has_edge(match[i], match[k]) for i, k in graph.edges]
    for state, shade, width in ((True, "#9aa2ad", 0.7), (False, colour, 1.6)):
        own = [edge for edge, common in zip(graph.edges, is_common, strict=True) if common == state]
        nx.draw_networkx_edges(graph, at, edgelist=own, ax=ax, edge_color=shade, width=width)
    chance = dict(zip(novel, found.confidence, strict=True))
    shown = [chance[node] if graph is novel else chance[match[node]] for node in graph]
    dots = nx.draw_networkx_nodes(graph, at, ax=ax, node_size=55, node_color=shown, cmap="viridis", vmin=0, vmax=1)
    ax.set_title(title, loc="left", weight="bold")
    ax.axis("off")
figure.colorbar(dots, ax=axes, shrink=0.6, label="confidence")
plt.show()
