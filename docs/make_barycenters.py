"""Make images/barycenters.png: barycenters in the plane of handwritten digits in space, as in the paper's appendix.

    python docs/make_barycenters.py MNIST.npz

The file holds images `x` (k, 28, 28) and digits `y` (k,). A few minutes on one core.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import anchorot as ao
from anchorot import plot
from anchorot.io.atomic import replacing

IMAGES = Path(__file__).parent / "images"
DIGITS = (2, 3)
SHAPES = 10  # of each digit
POINTS = 100
RESTARTS = 16
COLORS = {"ae": "#b5352f", "aw": "#2f62ad"}
NAMES = {"ae": "Anchor Energy", "aw": "Anchor Wasserstein"}


def main() -> None:
    """Read, optimise, draw."""
    with np.load(sys.argv[1]) as file:
        images, labels = file["x"], file["y"]
    rng = np.random.default_rng(0)
    figure = plot.new_figure(13.5, 5.0)
    axes = figure.subplots(len(DIGITS), 6, width_ratios=(1, 1, 1, 1.1, 1.1, 1.3))
    for row, digit in zip(axes, DIGITS, strict=True):
        chosen = images[labels == digit][:SHAPES]
        flat = [sample(image, rng) for image in chosen]
        clouds = [in_space(points, rng) for points in flat]
        for ax, points, cloud in zip(row[:3], flat, clouds, strict=False):
            ax.axis("off")
            draw_cloud(ax.inset_axes((0.28, 0.0, 0.72, 1.0)), in_view(cloud), "#9aa1ab")
            draw_cloud(ax.inset_axes((0.0, 0.62, 0.34, 0.34)), points, "#374151", size=1.5)
        spaces = [ao.from_points(cloud) for cloud in clouds]
        for ax, geometry in zip(row[3:5], NAMES, strict=True):
            found = ao.barycenter(spaces, POINTS, 2, geometry, restarts=RESTARTS, max_iter=200, rng=rng, progress=True)
            print(f"digit {digit}, {geometry}: {found}, restarts {np.sort(found.restarts).round(4)}")
            draw_cloud(ax, upright(found.points, flat), COLORS[geometry], size=16)
            row[5].plot(found.losses / found.losses[0], color=COLORS[geometry], lw=1.8, label=NAMES[geometry])
        style_losses(row[5])
    titles = [f"{SHAPES} digits as clouds in space", "", "", "AE barycenter", "AW barycenter", "loss, start = 1"]
    for ax, text in zip(axes[0], titles, strict=True):
        ax.set_title(text, fontsize=11, loc="left", weight="bold", color="#374151")
    axes[0, 5].legend(frameon=False, fontsize=9)
    save(figure)


def sample(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Step 1: lattice points, drawn with a probability proportional to the brightness of their pixel."""
    brightness = image.ravel() / image.sum(dtype=float)
    rows, columns = np.divmod(rng.choice(brightness.size, POINTS, p=brightness), image.shape[1])
    return np.column_stack([columns + 1, image.shape[0] - rows]).astype(float)


def in_space(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Steps 2 to 4: a uniform random rotation in space, and Gaussian noise of variance 0.25."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation = q * np.sign(np.diag(r))
    rotation[:, 0] *= np.linalg.det(rotation)
    flat = np.column_stack([points, np.zeros(len(points))])
    return flat @ rotation.T + rng.normal(scale=0.5, size=flat.shape)


def in_view(cloud: np.ndarray) -> np.ndarray:
    """A cloud in space as seen from one side."""
    return cloud[:, :2] + 0.35 * cloud[:, 2:]


def upright(points: np.ndarray, goals: list[np.ndarray]) -> np.ndarray:
    """Turn and mirror points so that they lie on the digits' points: distances fix a shape up to that only."""
    centred = [goal - goal.mean(axis=0) for goal in goals]
    angles = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    turned = [
        points * (1, mirror) @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        for angle in angles
        for mirror in (1, -1)
    ]
    return min(turned, key=lambda moved: sum(distance(moved, goal) for goal in centred))


def distance(one: np.ndarray, two: np.ndarray) -> float:
    """Mean distance of a point to the nearest point of the other cloud, both ways."""
    between = np.linalg.norm(one[:, None] - two, axis=-1)
    return float(between.min(axis=0).mean() + between.min(axis=1).mean())


def draw_cloud(ax: Axes, points: np.ndarray, color: str, size: float = 8) -> None:
    """Draw points, without a frame, all of a row at their own scale."""
    ax.scatter(*points.T, s=size, color=color, linewidths=0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.axis("off")


def style_losses(ax: Axes) -> None:
    """Show how the losses fall from 1."""
    ax.set_ylim(0, 1.05)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("iteration", fontsize=9)
    ax.tick_params(labelsize=8)


def save(figure: Figure) -> None:
    """Write the picture."""
    with replacing(IMAGES / "barycenters.png") as temporary:
        figure.savefig(temporary, dpi=120, facecolor="white")


if __name__ == "__main__":
    main()
