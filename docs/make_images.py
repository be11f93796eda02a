"""Make the pictures of this folder: `python docs/make_images.py`.

With a folder of the TOSCA shapes (non-rigid world, `.mat` files of a struct `surface` with X, Y, Z and TRIV) it also
makes the map of them all: `python docs/make_images.py FOLDER`. `python benchmarks/scale.py --write` makes `growth.png`.
"""

import argparse
import re
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import networkx as nx
import numpy as np
import unit_images
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import anchorot as ao
from anchorot import plot
from anchorot.cli import demo_picture
from anchorot.cli.demo import Demo, run_demo
from anchorot.datasets.shapes import sphere, spring, torus, tree
from anchorot.io.atomic import replacing

IMAGES = Path(__file__).parent / "images"
SAMPLED = 100  # points of each TOSCA shape
FOUR_SEED = 35  # of two small spaces between which all four distances differ clearly


def main() -> None:
    """Make all pictures for which there are data."""
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    parser.add_argument("tosca", nargs="?", type=Path, help="folder of the TOSCA shapes")
    folder = parser.parse_args().tosca
    save(plane(), "plane.png")
    save(four_distances(), "four_distances.png")
    save(cdfs(), "cdfs.png")
    save(matched_graphs(), "matched_graphs.png")
    save(plans(), "plan.png")
    save(crystals(), "crystals.png")
    found = run_demo()
    save(demo_picture.draw_demo(found), "demo.png")
    rows = zip(("creatures", "matched_poses", "scale"), demo_picture.ROWS, strict=True)
    for name, (draw, height) in rows:
        save(panel(draw, found, height), f"{name}.png")
    for draw in FIELDS:
        save(draw(), f"{draw.__name__}.png")
    for name in unit_images.DESIGNS:
        save(unit_images.unit_picture(name), f"unit_{name}.png")
    if folder is not None:
        save(tosca_map(folder), "tosca_map.png")


def crystals() -> Figure:
    """Draw periodic neighbours, the rows of three crystals, and SAW against how far atoms were moved."""
    figure = plot.new_figure(12.5, 4.0)
    lattice, rows, noise = figure.subplots(1, 3)
    _draw_neighbours(lattice, 12)
    edges = np.eye(3)
    cubic = {
        "face-centred": [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]],
        "body-centred": [[0, 0, 0], [0.5, 0.5, 0.5]],
    }
    cubic["diamond"] = cubic["face-centred"] + np.add(cubic["face-centred"], 0.25).tolist()
    for name, places in cubic.items():
        scale = 3.57 * (len(places) / 8) ** (1 / 3)  # of one density
        found = ao.from_crystal(scale * edges, places, k=50)
        rows.plot(np.arange(1, 51), found.values[0], drawstyle="steps-mid", label=name)
    rows.set(xlabel="nearest atom", ylabel="distance (Å)", title="one row each")
    rows.legend(frameon=False)
    _draw_noise(noise, 3.57 * edges, np.array(cubic["diamond"]))
    return figure


def _draw_neighbours(ax: Axes, k: int) -> None:
    """An atom of a square lattice and its k nearest over periodic images."""
    grid = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 2), axis=-1).reshape(-1, 2).astype(float)
    far = np.linalg.norm(grid, axis=1)
    near = np.argsort(far, kind="stable")[1 : k + 1]
    ax.scatter(*grid.T, s=30, color="0.8")
    ax.scatter(*grid[near].T, s=45, color="C0")
    for x, y in grid[near]:
        ax.plot([0, x], [0, y], color="C0", linewidth=0.6)
    ax.scatter(0, 0, s=70, color="C1", zorder=3)
    ax.add_patch(Rectangle((-0.5, -0.5), 1, 1, fill=False, linestyle="--", color="0.3"))
    ax.set(aspect="equal", xticks=[], yticks=[], title=f"the {k} nearest, over all images")


def _draw_noise(ax: Axes, cell: np.ndarray, places: np.ndarray) -> None:
    """SAW between a crystal and itself with atoms moved by at most e, and the bound 2e."""
    rng, first = np.random.default_rng(0), ao.from_crystal(cell, places, k=50)
    sizes = np.geomspace(1e-3, 0.5, 60)
    found = []
    for size in sizes:
        moves = rng.normal(size=places.shape)
        moves *= size / np.linalg.norm(moves, axis=1).max()
        found.append(ao.sliced_anchor_wasserstein(first, ao.from_crystal(cell, places + moves / cell[0, 0], k=50)))
    ax.loglog(sizes, 2 * sizes, color="0.5", linestyle="--", label="2e")
    ax.loglog(sizes, found, "o", markersize=3, label="SAW")
    ax.set(xlabel="atoms moved by at most e (Å)", ylabel="SAW (Å)", title="noise moves SAW by 2e at most")
    ax.legend(frameon=False)


def plane() -> Figure:
    """Draw the (x, t) plane of a space of five points: events, moves, a level, and a cell of the grid."""
    space = ao.from_points([[0.0, 0.0], [1.0, 0.2], [2.3, 0.0], [2.9, 1.6], [4.2, 0.9]])
    quantiles = np.sort(space.cost, axis=1)  # [i, k]: quantile of anchor i between the levels k / n and (k + 1) / n
    n, width = space.n, 4.6
    x = np.linspace(0, width, 600)
    shares = (quantiles.T[:, None, :] <= x[:, None]).mean(axis=2)  # F(x, t), one row a level
    figure = plot.new_figure(9.6, 5.2)
    ax = figure.subplots()
    image = ax.imshow(shares, origin="lower", extent=(0, width, 0, 1), aspect="auto", cmap="Greys", vmax=2.6, vmin=0)
    image.set_interpolation("nearest")
    for own, colour in zip(quantiles, plot.PALETTE, strict=False):
        ax.stairs(np.arange(1, n + 1) / n, np.append(own, width), baseline=0, color=colour, linewidth=1.8)
    _mark_plane(ax, quantiles)
    ax.set(xlim=(0, width), ylim=(0, 1.005), xlabel="x: a cost", ylabel="t: a share of the points")
    title(ax, "Five anchors in the (x, t) plane: their CDFs, and F(x, t) in grey")
    return figure


def _mark_plane(ax: Axes, quantiles: np.ndarray) -> None:
    """Point out one of everything that the kernels speak of."""
    n = quantiles.shape[1]
    ax.axhspan(1 / n, 2 / n, color="#e07b39", alpha=0.14, linewidth=0)
    ax.set_xticks(np.linspace(0, 4.6, 9)[1:-1], minor=True)
    ax.set_yticks(np.linspace(0, 1, 9)[1:-1], minor=True)
    ax.grid(which="minor", color="white", linewidth=0.8)
    ax.tick_params(length=0, which="both")
    ax.add_patch(Rectangle((2.875, 0.75), 0.575, 0.125, fill=False, edgecolor="#374151", linewidth=2.2, zorder=4))
    event, move = quantiles[3, 3], quantiles[4, 2]
    ax.plot([event, event], [3 / n, 4 / n], color="#374151", linewidth=4, solid_capstyle="butt")
    ax.plot([move, quantiles[4, 3]], [3 / n, 3 / n], color="#374151", linewidth=4, solid_capstyle="butt")
    for text, place, at in (
        ("event: at this x one CDF jumps", (event, 0.75), (0.15, 0.9)),
        ("move: at this t one quantile steps on", (move + 0.15, 3 / n), (0.05, 0.68)),
        ("level: the anchors' second smallest costs, sorted", (3.3, 1.4 / n), (2.55, 0.1)),
        ("cell of the grid: the average of F over it is kept", (3.25, 0.75), (2.55, 0.47)),
    ):
        arrow = {"arrowstyle": "-", "color": "#6b7280", "linewidth": 0.9}
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#d1d5db", "alpha": 0.95}
        ax.annotate(text, place, at, fontsize=9, color="#374151", arrowprops=arrow, bbox=box)


def six_points(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs of two spaces of six points: those of the page about the four distances."""
    points = np.random.default_rng(seed).normal(size=(2, 6, 2)) * [2.0, 1.0]
    one, two = (ao.from_points(each).cost for each in points)
    return one, two


def four_distances() -> Figure:
    """Draw what AE, SAW, AW and GW add up between two spaces of six points, all in the (x, t) plane."""
    x, y = six_points(FOUR_SEED)
    order_x, sorted_x, sorted_y = np.argsort(x, axis=1), np.sort(x, axis=1), np.sort(y, axis=1)
    levels_x, levels_y = (np.sort(each, axis=0) for each in (sorted_x, sorted_y))
    coupled = ao.anchor_wasserstein(x, y, epsilon=0).plan.argmax(axis=1)
    best = np.array(min(permutations(range(len(x))), key=lambda order: np.abs(x - y[np.ix_(order, order)]).sum()))
    matched = np.take_along_axis(y[best], best[order_x], axis=1)  # what the costs of x go to, by increasing cost
    figure = plot.new_figure(12, 8.6)
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    _draw_energy(axes[0, 0], levels_x, levels_y)
    title(axes[0, 0], f"AE: the square of F - G; AE / 2 = {ao.anchor_energy(x, y) / 2:.3f}")
    for ax, (name, starts, ends) in zip(
        axes.flat[1:],
        (
            ("SAW: every level sorts anew", levels_x, levels_y),
            ("AW: whole anchors are matched", sorted_x, sorted_y[coupled]),
            ("GW: points are matched", sorted_x, matched),
        ),
        strict=True,
    ):
        _draw_moves(ax, starts, ends)
        title(ax, f"{name}; mean length {np.abs(starts - ends).mean():.3f}")
    for ax in axes[1]:
        ax.set_xlabel("x: a cost")
    for ax in axes[:, 0]:
        ax.set_ylabel("t: a share of the points")
    axes[0, 0].set(xlim=(-0.1, 1.02 * max(x.max(), y.max())), ylim=(0, 1))
    return figure


def _draw_energy(ax: Axes, levels_x: np.ndarray, levels_y: np.ndarray) -> None:
    """Draw the square of F - G."""
    width = 1.02 * max(levels_x.max(), levels_y.max())
    x = np.linspace(0, width, 900)
    f, g = ((levels[:, :, None] <= x).mean(axis=1) for levels in (levels_x.T, levels_y.T))
    square = (f - g) ** 2
    image = ax.imshow(square, origin="lower", extent=(0, width, 0, 1), aspect="auto", cmap="Greys", vmin=0, vmax=0.5)
    image.set_interpolation("nearest")
    _draw_bands(ax, len(levels_x))


def _draw_moves(ax: Axes, starts: np.ndarray, ends: np.ndarray) -> None:
    """Draw a line from each cost of one side to that of the other, within the band of its level."""
    n = len(starts)
    for row, (own, other) in enumerate(zip(starts, ends, strict=True)):
        height = (np.arange(n) + (row + 0.5) / n) / n
        colour = plot.PALETTE[row % len(plot.PALETTE)]
        ax.hlines(height, own, other, color=colour, linewidth=2.2)
        ax.plot(own, height, "o", color=colour, markersize=3.5)
        ax.plot(other, height, "|", color=colour, markersize=8, markeredgewidth=1.6)
    _draw_bands(ax, n)


def _draw_bands(ax: Axes, n: int) -> None:
    """Draw lines between levels."""
    for height in np.arange(1, n) / n:
        ax.axhline(height, color="#d1d5db", linewidth=0.8, zorder=0.5)


def panel(draw: Callable[[SubFigure, Demo], None], found: Demo, height: float) -> Figure:
    """Draw one row of the demo's picture by itself."""
    figure = plot.new_figure(demo_picture.WIDTH, height)
    draw(figure.subfigures(1, 1), found)
    return figure


def cdfs() -> Figure:
    """Red and blue: a torus and a sphere."""
    rng = np.random.default_rng(0)
    ring, ball = (ao.from_points(make(400, rng)) for make in (torus, sphere))
    figure = plot.new_figure(8.4, 5.2)
    ax = plot.anchor_cdfs(ring, ball, names=("a torus", "a sphere"), ax=figure.subplots())
    title(ax, "Anchor Energy measures where red and blue CDFs differ")
    plot.shape(ring, color="#b5352f", ax=ax.inset_axes((0.03, 0.7, 0.19, 0.27)))
    plot.shape(ball, color="#2f62ad", ax=ax.inset_axes((0.23, 0.7, 0.19, 0.27)))
    return figure


def matched_graphs() -> Figure:
    """Match a tree with a copy of it whose nodes are shuffled, and three of whose leaves hang elsewhere."""
    rng = np.random.default_rng(4)
    edges = tree(45, rng)
    x, moved = ao.from_graph(edges), ao.from_graph([*edges[:-3], (42, 3), (43, 20), (44, 8)])
    shuffled = rng.permutation(moved.n)
    y = moved.take(shuffled)
    found = ao.match(ao.anchor_wasserstein(x, y, epsilon=0).plan)
    same = int((shuffled[found] == np.arange(x.n)).sum())
    figure = plot.new_figure(9, 4.4)
    ax = plot.matched_graphs(x, y, found, ax=figure.subplots())
    title(ax, f"A tree and its shuffled copy, three leaves moved: AW finds {same} of {x.n} nodes")
    return figure


def plans() -> Figure:
    """Two plans between a spring and a shaken copy of it."""
    rng = np.random.default_rng(0)
    points = spring(150, rng)
    points = points[np.argsort(points[:, 2])]
    x, y = ao.from_points(points), ao.from_points(rng.permutation(points + 0.1 * rng.normal(size=points.shape)))
    figure = plot.new_figure(11, 4.9)
    left, right = figure.subplots(1, 2)
    title(
        plot.plan(ao.anchor_energy_plan(x, y), order="match", ax=left), "AEP keeps both ways to read a spring", pad=24
    )
    entropic = ao.anchor_wasserstein(x, y, epsilon=0.05)
    title(plot.plan(entropic, order="match", ax=right), "AW decides on one", pad=24)
    return figure


def shapes() -> Figure:
    """Two poses of a giraffe; the second has the colours of its matches."""
    first, second = (ao.datasets.figures(("giraffe",), n_poses=4)[pose] for pose in (1, 2))
    heights = first.geometry.positions[first.geometry.index] @ (1.0, 0.0, 0.5)
    left, right = (figure := plot.new_figure(*FIELD)).subplots(1, 2)
    plot.shape(first, heights, colorbar=False, ax=left)
    plot.shape(second, ao.align(first, second).project(heights, onto="second"), colorbar=False, ax=right)
    return figure


def graphs() -> Figure:
    """A novel's network and a copy that lacks a tenth of its edges."""
    novel = nx.les_miserables_graph()
    rng = np.random.default_rng(0)
    edges = [(a, b) for a, b in novel.edges if min(novel.degree[a], novel.degree[b]) < 2 or rng.random() > 0.1]
    found = ao.align_graphs(list(novel.edges), edges, rng=0)
    x, y = (ao.from_graph(part) for part in (list(novel.edges), edges))
    return plot.matched_graphs(x, y, found, ax=plot.new_figure(*FIELD).subplots()).figure


def cells() -> Figure:
    """A tissue of each group."""
    tissues = ao.datasets.tissues(2, n_cells=150, clump=0.15, rng=1)
    figure = plot.new_figure(*FIELD)
    for ax, tissue, label in zip(figure.subplots(1, 2), tissues[::2], tissues.labels[::2], strict=True):
        colours = [demo_picture.TISSUE_COLOURS[str(kind)] for kind in tissue.types]
        ax.scatter(*tissue.geometry.positions.T, c=colours, s=26)
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_color("#d1d5db")
        title(ax, str(label))
    return figure


def neurons() -> Figure:
    """A real neuron and three that were grown."""
    grown = ao.datasets.grown_neurons(1, n_points=None)
    names = ("fruit fly, real", *grown.labels)
    figure = plot.new_figure(*FIELD)
    drawn = zip(figure.subplots(1, 4), (ao.datasets.neurons(None)[0], *grown), names, plot.PALETTE, strict=False)
    for ax, neuron, name, colour in drawn:
        ends = neuron.geometry.positions[neuron.geometry.edges][:, :, [0, 1] if "real" in name else [0, 2]]
        ax.add_collection(LineCollection(ends, colors=colour, linewidths=0.8))
        ax.autoscale()
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_visible(False)
        title(ax, name)
    return figure


def embeddings() -> Figure:
    """Two networks' embeddings of the same digits, brought into one plane."""
    images, digits = load_digits(return_X_y=True)
    seen, new = np.split(np.random.default_rng(0).permutation(len(images)), [1200])
    layers = []
    for seed, width in enumerate((32, 48)):
        network = MLPClassifier((width,), alpha=1e-3, tol=1e-3, random_state=seed).fit(images[seen] / 16, digits[seen])
        layers.append(np.maximum(images[new] / 16 @ network.coefs_[0] + network.intercepts_[0], 0))
    found = ao.align_embeddings(*layers, rng=0)
    kinds = digits[new]
    ax = plot.embedding_pair(found, *layers, (kinds, kinds), ax=plot.new_figure(*FIELD).subplots())
    return ax.figure


def error_curve() -> Figure:
    """Errors of two maps between a person in two poses, whose vertices were shuffled."""
    first, second = ((pose.geometry.positions, pose.geometry.faces) for pose in ao.datasets.figures(["person"], 3)[::2])
    order = np.random.default_rng(0).permutation(len(first[0]))
    truth = np.argsort(order)
    shuffled = second[0][order], truth[second[1]]
    sides = [ao.distances.MeshDistances(mesh) for mesh in (first, shuffled)]
    maps = {"align_meshes": ao.align_meshes(first, shuffled, rng=0)}
    maps["align, by landmarks"] = ao.align(*sides, n_landmarks=100, rng=0)
    scores = {name: ao.alignment_scores(found, truth, shuffled) for name, found in maps.items()}
    return plot.error_curve(scores, ax=plot.new_figure(7.4, 3.8).subplots()).figure


def generators() -> Figure:
    """Draw a statistic of a generator beside what chance gives."""
    real, weak = (
        [draw(k) for k in range(40)]
        for draw in (
            lambda k: nx.barabasi_albert_graph(30 + k, 2, seed=k),
            lambda k: nx.connected_watts_strogatz_graph(30 + k, 4, 0.5, seed=k),
        )
    )
    test = ao.graph_model_test(real, weak, "clustering", rng=0)
    return plot.null_distribution(test, ax=plot.new_figure(*FIELD).subplots()).figure


FIELD = (7.2, 3.6)  # inches; the pictures of the fields on the home page and in the guides
FIELDS = (shapes, graphs, cells, neurons, embeddings, generators, error_curve)


def tosca_map(folder: Path) -> Figure:
    """All TOSCA shapes: their matrix and their map."""
    paths = sorted(folder.glob("*.mat"), key=lambda path: (kind(path), int(re.sub(r"\D", "", path.stem))))
    energies = ao.pairwise([ao.read(path, n_points=SAMPLED, sampling="uniform", rng=0) for path in paths])
    kinds = [kind(path) for path in paths]
    figure = plot.new_figure(13.5, 5.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    title(plot.distance_matrix(np.sqrt(energies), kinds, ax=left), f"root of AE, {SAMPLED} points a shape")
    title(plot.distance_map(energies, kinds, squared=True, ax=right), f"{len(paths)} shapes on the map")
    return figure


def kind(path: Path) -> str:
    """Return "cat" for cat10.mat."""
    return re.sub(r"\d", "", path.stem)


def title(ax: Axes, text: str, pad: float = 8) -> None:
    """Write a title in the style of the other pictures."""
    ax.set_title(text, fontsize=12, loc="left", weight="bold", color="#374151", pad=pad)


def save(figure: Figure, name: str) -> None:
    """Write a picture, and say how large it is."""
    path = IMAGES / name
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, facecolor="white")
    print(f"{name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
