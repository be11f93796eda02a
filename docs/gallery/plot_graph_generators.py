"""
Does a model generate graphs like the real ones?
================================================

A generator of graphs is good if its graphs cannot be distinguished from real ones. The energy distance between two
*collections* of graphs, with permutations of their labels, tests this; it is quick enough for thousands of graphs.
"""

# %%
# The "real" graphs are small worlds. Three models try to imitate them with as many nodes and edges: random edges,
# preferential attachment, and a small world that rewires a little too much.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import anchorot as ao

n, seeds = 40, range(60)
real = [nx.connected_watts_strogatz_graph(n, 4, 0.1, seed=seed) for seed in seeds]
models = {
    "the same model": [nx.connected_watts_strogatz_graph(n, 4, 0.1, seed=1000 + seed) for seed in seeds],
    "rewires more": [nx.connected_watts_strogatz_graph(n, 4, 0.16, seed=2000 + seed) for seed in seeds],
    "random edges": [nx.gnm_random_graph(n, 2 * n, seed=3000 + seed) for seed in seeds],
    "attachment": [nx.barabasi_albert_graph(n, 2, seed=4000 + seed) for seed in seeds],
}
models["random edges"] = [
    graph.subgraph(max(nx.connected_components(graph), key=len)) for graph in models["random edges"]
]

# %%
# A graph can be represented by the degrees of its nodes, by their clustering, or by all shortest paths.
statistics = ("degree", "clustering", "anchors")
tests = {
    (model, statistic): ao.graph_model_test(real, graphs, statistic, rng=0)
    for model, graphs in models.items()
    for statistic in statistics
}

# %%
# Above, one graph of each kind; below, for each model the observed energy distance, as a multiple of what permuted
# labels give on average. A filled dot is a significant difference (p < 0.05).
figure = plt.figure(figsize=(11, 6.4), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.25))
for ax, (name, graphs) in zip(top.subplots(1, 5), {"real": real, **models}.items(), strict=True):
    nx.draw_networkx_edges(graphs[0], nx.kamada_kawai_layout(graphs[0]), ax=ax, edge_color="#6b7280", width=1)
    nx.draw_networkx_nodes(graphs[0], nx.kamada_kawai_layout(graphs[0]), ax=ax, node_size=16, node_color="#2f62ad")
    ax.set_title(name, fontsize=11, weight="bold")
    ax.axis("off")
ax = bottom.subplots()
for place, (statistic, color, marker) in enumerate(zip(statistics, ao.plot.PALETTE, "os^", strict=False)):
    for row, model in enumerate(models):
        test = tests[model, statistic]
        filled = test.pvalue < 0.05
        ax.plot(
            test.statistic / np.mean(test.null),
            row + 0.2 * (place - 1),
            marker,
            color=color,
            markerfacecolor=color if filled else "white",
            markersize=9,
            label=statistic if row == 2 else None,
        )
ax.axvline(1, color="#d1d5db", zorder=0)
ax.set_xscale("log")
ax.set_yticks(range(len(models)), models)
ax.invert_yaxis()
ax.set_xlabel("energy distance to the real graphs, as a multiple of chance")
ax.legend(frameon=False, loc="upper right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# All three tests reject every wrong model, and none rejects other graphs of the same model.
for model in models:
    print(f"{model:15}", *(f"{statistic}: p = {tests[model, statistic].pvalue:.3f}" for statistic in statistics))
