"""Make the pictures of this folder: `python docs/make_images.py`.

With a folder of the TOSCA shapes (non-rigid world, `.mat` files of a struct `surface` with X, Y, Z and TRIV) it also
makes the map of them all: `python docs/make_images.py FOLDER`. `demo.png` is what `anchorot demo` writes.
"""

import argparse
import re
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import anchorot as ao
from anchorot import plot
from anchorot.examples import sphere, spring, torus, tree
from anchorot.io.atomic import replacing

IMAGES = Path(__file__).parent / "images"
SAMPLED = 100  # points of each TOSCA shape


def main() -> None:
    """Make all pictures for which there are data."""
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    parser.add_argument("tosca", nargs="?", type=Path, help="folder of the TOSCA shapes")
    folder = parser.parse_args().tosca
    save(cdfs(), "cdfs.png")
    save(matched_graphs(), "matched_graphs.png")
    save(plans(), "plan.png")
    if folder is not None:
        save(tosca_map(folder), "tosca_map.png")


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
    energies = ao.pairwise([ao.read(path, n_points=SAMPLED, rng=0) for path in paths])
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
    """Write a title in the house's way."""
    ax.set_title(text, fontsize=12, loc="left", weight="bold", color="#374151", pad=pad)


def save(figure: Figure, name: str) -> None:
    """Write a picture, and say how large it is."""
    path = IMAGES / name
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, facecolor="white")
    print(f"{name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
