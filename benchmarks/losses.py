"""What shape comes out when a cloud descends a loss? Anchor Energy, SAW and AW beside a loss on matched costs.

    python benchmarks/losses.py              print the table, in about ten minutes of one core
    python benchmarks/losses.py --write      write it into the record too
    python benchmarks/losses.py --picture    only draw docs/images/losses.png: one start for two of the targets

Each run starts from a random cloud and takes the same steps of Adam. The target is known by its distances only, in
units of their mean. *GW* is the Gromov-Wasserstein loss between result and target, in POT's scale, the best of all
starts of `align`: 0 for the same shape.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import anchorot as ao
import anchorot.torch as aot
from record import put

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "losses.png"
N_POINTS, N_STARTS, N_STEPS, RATE = 60, 5, 600, 0.03
MATCH_EVERY = 10  # steps
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def heart() -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, N_POINTS, endpoint=False)
    return np.stack([16 * np.sin(t) ** 3, 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t)], axis=1)


def star() -> np.ndarray:
    corners = np.arange(11) * np.pi / 5
    radius = np.where(np.arange(11) % 2 == 0, 1.8, 0.75)
    along = np.linspace(0, 10, N_POINTS, endpoint=False)
    return np.stack([np.interp(along, range(11), radius * wave(corners)) for wave in (np.cos, np.sin)], axis=1)


def spiral() -> np.ndarray:
    t = np.linspace(0.2, 1, N_POINTS)
    return np.stack([t * np.cos(4 * np.pi * t), t * np.sin(4 * np.pi * t)], axis=1)


def dog() -> np.ndarray:
    (space,) = ao.datasets.figures(("dog",), n_poses=1, n_points=N_POINTS)
    return space.geometry.positions[space.geometry.index]


TARGETS = {"heart": heart, "star": star, "spiral": spiral, "dog, in space": dog}
LOSSES: dict[str, Loss] = {
    "AE": aot.anchor_energy,
    "AE_2": lambda x, y: aot.anchor_energy(x, y, p=2),
    "SAW": aot.sliced_anchor_wasserstein,
    "SAW_2": lambda x, y: aot.sliced_anchor_wasserstein(x, y, p=2),
    "AW": lambda x, y: aot.anchor_wasserstein(x, y, epsilon=0).value,
}


class Matched:
    """Mean square difference between matched costs; points are matched anew every few steps."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the difference, and match first if it is time to."""
        if self.calls % MATCH_EVERY == 0:
            self.matches = aot.align(x.detach(), y, progress=False).matches
        self.calls += 1
        return ((x - y[self.matches][:, self.matches]) ** 2).mean()


def descended(loss: Loss, target: torch.Tensor, points: torch.Tensor, steps: int) -> tuple[torch.Tensor, float, float]:
    """Return where the points go, and the loss at first and in the end."""
    points = points.clone().requires_grad_()
    optimiser = torch.optim.Adam([points], lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    values = []
    for _ in range(steps):
        optimiser.zero_grad()
        value = loss(aot.from_points(points), target)
        value.backward()
        optimiser.step()
        schedule.step()
        values.append(float(value.detach()))
    return points.detach(), values[0], values[-1]


def fitted(name: str, target: torch.Tensor, points: torch.Tensor) -> tuple[torch.Tensor, float, float]:
    if name == "matched":
        return descended(Matched(), target, points, N_STEPS)
    if name == "AE, then matched":
        points, _, _ = descended(LOSSES["AE"], target, points, N_STEPS // 2)
        return descended(Matched(), target, points, N_STEPS // 2)
    return descended(LOSSES[name], target, points, N_STEPS)


def gromov(points: torch.Tensor, target: torch.Tensor) -> float:
    return ao.gromov_wasserstein(aot.from_points(points).numpy(), target.numpy()).value


def rows() -> list[str]:
    found = []
    for shape, make in TARGETS.items():
        outline = torch.as_tensor(make())
        target = aot.from_points(outline)
        unit = target.mean()
        target = target / unit
        starts = [
            0.5 * torch.randn(outline.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
            for seed in range(N_STARTS)
        ]
        begun = [gromov(points, target) for points in starts]
        found.append(f"| {shape} | none | | {np.median(begun):.4f} | {min(begun):.4f} | {max(begun):.4f} | |")
        for name in (*LOSSES, "matched", "AE, then matched"):
            began = time.process_time()
            runs = [fitted(name, target, points) for points in starts]
            taken = (time.process_time() - began) / len(runs)
            falls = np.median([last / first for _, first, last in runs])
            losses = [gromov(points, target) for points, _, _ in runs]
            low, high = min(losses), max(losses)
            found.append(
                f"| {shape} | {name} | {falls:.4f} | {np.median(losses):.4f} | {low:.4f} | {high:.4f} | {taken:.1f} s |"
            )
            print(found[-1], flush=True)
    return found


def draw() -> None:
    """Draw two targets, and what the first start has become by each loss, moved onto the target."""
    from anchorot import plot

    shown = ("AE", "SAW", "AW", "matched")
    figure = plot.new_figure(12, 5)
    axes = figure.subplots(2, 1 + len(shown), squeeze=False)
    for row, shape in zip(axes, ("heart", "spiral"), strict=True):
        outline = torch.as_tensor(TARGETS[shape]())
        outline = outline / aot.from_points(outline).mean()
        target = aot.from_points(outline)
        start = 0.5 * torch.randn(outline.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        row[0].scatter(*outline.numpy().T, s=14, color="#374151")
        row[0].set_title(f"target: {shape}", loc="left", weight="bold")
        for ax, name, colour in zip(row[1:], shown, plot.PALETTE, strict=False):
            points, _, _ = fitted(name, target, start)
            ax.scatter(*_moved(points, outline, target).T, s=14, color=colour)
            ax.set_title(f"{name}: GW {gromov(points, target):.4f}", loc="left", weight="bold")
        reach = 1.15 * float((outline - outline.mean(dim=0)).abs().max())
        middle = outline.mean(dim=0).tolist()
        for ax in row:
            ax.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
            ax.set(aspect="equal", xticks=[], yticks=[])
            ax.spines[:].set_color("#d1d5db")
    figure.savefig(PICTURE, dpi=110)


def _moved(points: torch.Tensor, outline: torch.Tensor, target: torch.Tensor) -> np.ndarray:
    """Rotate, mirror if need be, and shift points onto their matches."""
    matches = aot.align(aot.from_points(points), target, progress=False).matches
    own, goal = points - points.mean(dim=0), outline[matches] - outline[matches].mean(dim=0)
    left, _, right = torch.linalg.svd(own.T @ goal)
    return (own @ left @ right + outline[matches].mean(dim=0)).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="What shape comes out when a cloud descends a loss?")
    parser.add_argument("--picture", action="store_true", help="only draw the picture of the guide")
    parser.add_argument("--write", action="store_true", help="write the record")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.picture:
        draw()
        return
    head = "| target | loss | last over first loss | GW, median | GW, least | GW, largest | time |"
    text = (
        f"{N_POINTS} points, {N_STARTS} random starts, {N_STEPS} steps of Adam each; *matched* is the mean square\n"
        f"difference between matched costs, matched anew by `aot.align` every {MATCH_EVERY} steps; time is CPU time."
    )
    table = "\n".join([head, "|" + "---|" * 7, *rows()])
    print(f"{text}\n\n{table}")
    if options.write:
        put("python benchmarks/losses.py --write", f"{text}\n\n{table}")


if __name__ == "__main__":
    main()
