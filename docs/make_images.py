"""Make the pictures of this folder: `python docs/make_images.py`.

With a folder of the TOSCA shapes (non-rigid world, `.mat` files of a struct `surface` with X, Y, Z and TRIV) it also
makes the map of them all: `python docs/make_images.py FOLDER`. `demo.png` is what `anchorot demo` writes,
and `growth.png` what `python benchmarks/scale.py --write` measures.
"""

import argparse
import re
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import anchorot as ao
from anchorot import plot
from anchorot.datasets.shapes import sphere, spring, torus, tree
from anchorot.io.atomic import replacing

IMAGES = Path(__file__).parent / "images"
SAMPLED = 100  # points of each TOSCA shape


def main() -> None:
    """Make all pictures for which there are data."""
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    parser.add_argument("tosca", nargs="?", type=Path, help="folder of the TOSCA shapes")
    folder = parser.parse_args().tosca
    save(plane(), "plane.png")
    save(cdfs(), "cdfs.png")
    save(matched_graphs(), "matched_graphs.png")
    save(plans(), "plan.png")
    save(scales(), "scale.png")
    save(creatures_map(), "creatures.png")
    save(matched_poses(), "matched_poses.png")
    if folder is not None:
        save(tosca_map(folder), "tosca_map.png")


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


def scales() -> Figure:
    """Draw two tissues, mixed and with one type in clumps, and the distances at which eight of each differ."""
    tissues = ao.datasets.tissues(8, 80, 0.1, rng=4)
    found = ao.scale_test(tissues, tissues.labels, attributes="types", rng=0)
    colours = dict(zip(("immune", "tumour", "stroma"), (*plot.PALETTE[1::-1], "#d1d5db"), strict=True))
    figure = plot.new_figure(12, 3.6)
    *places, curve = figure.subplots(1, 3, width_ratios=(1, 1, 1.7))
    for ax, place in zip(places, (0, 8), strict=True):
        space = tissues[place]
        assert space.geometry is not None
        ax.scatter(*space.geometry.positions.T, c=[colours[str(kind)] for kind in space.types or ()], s=22)
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_color("#d1d5db")
        title(ax, tissues.labels[place])
    plot.scale_curve(found, ax=curve)
    title(curve, "Eight of each: where do they differ?")
    return figure


def creatures_map() -> Figure:
    """Draw four creatures in four poses each, and the map of all pairs of them."""
    creatures = ao.datasets.figures(n_poses=4)
    colours = dict(zip(dict.fromkeys(creatures.labels), plot.PALETTE, strict=False))
    figure = plot.new_figure(12, 4)
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.15))
    poses = left.subplots(4, 4).ravel()
    for ax, creature, label in zip(poses, creatures, creatures.labels, strict=True):
        plot.shape(creature, color=colours[label], ax=ax)
    left.suptitle("Four creatures in four poses", x=0.03, ha="left", fontsize=12, weight="bold", color="#374151")
    chart = plot.distance_map(ao.pairwise(creatures), creatures.labels, ax=right.subplots())
    title(chart, "Anchor Energy puts the poses of a creature together")
    return figure


def matched_poses() -> Figure:
    """Align two poses of one creature, by vertices drawn apart from each other, and carry the colours over."""
    dogs = ao.datasets.figures(["dog"], n_poses=3)
    meshes = [(dog.geometry.positions, dog.geometry.faces) for dog in dogs if dog.geometry is not None]
    first, second = (ao.from_mesh(meshes[k], n_points=300, rng=k) for k in (0, 2))
    found = ao.align(first, second)
    assert first.geometry is not None
    places = first.geometry.positions[first.geometry.index]
    colours = places[:, 0] + 0.5 * places[:, 2]
    figure = plot.new_figure(12, 3.6)
    left, right = figure.subplots(1, 2)
    plot.shape(first, colours, colorbar=False, ax=left)
    plot.shape(second, found.project(colours, onto="second"), colorbar=False, ax=right)
    title(left, "One pose, coloured by hand")
    title(right, "Another: every point has the colour of its match")
    return figure


def cdfs() -> Figure:
    """Red and blue: a torus and a sphere."""
    rng = np.random.default_rng(0)
    ring, ball = (ao.from_points(make(400, rng)) for make in (torus, sphere))
    figure = plot.new_figure(8.4, 5.2)
    ax = plot.anchor_cdfs(ring, ball, names=("a torus", "a sphere"), ax=figure.subplots())
    title(ax, "The ink between red and blue CDFs is the Anchor Energy")
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
