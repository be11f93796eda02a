"""Shapes of the TOSCA set as spaces, and how often a shape's nearest neighbours are of its class."""

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.progress import progress_bar

RANKS = (1, 3, 5)


@dataclass(frozen=True, eq=False)
class Shapes:
    """Sampled shapes and the names of their classes."""

    spaces: list[ao.Space]
    classes: NDArray[np.str_]

    def part(self, k: int, n: int) -> "Shapes":
        """Return the k-th n points of every shape: each part is a uniform draw, and no two share a point."""
        return Shapes([space.take(range(k * n, (k + 1) * n)) for space in self.spaces], self.classes)


def read_shapes(
    folder: Path, n_points: int, rng: np.random.Generator, n_classes: int | None = None, per_class: int | None = None
) -> Shapes:
    """Read all shapes but the only shark, or some of the first classes, with points in random order."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.mat")):
        name = re.match("[a-z]+", path.name)
        if name is not None and name[0] != "shark":
            found.setdefault(name[0], []).append(path)
    chosen = [(name, path) for name, group in list(found.items())[:n_classes] for path in group[:per_class]]
    paths = [path for _, path in chosen]
    spaces = []
    with warnings.catch_warnings(), progress_bar(len(paths), "measuring", "shapes") as advance:
        warnings.simplefilter("ignore", ao.InputWarning)  # of crumbs beside the largest component
        for path, child in zip(paths, rng.spawn(len(paths)), strict=True):
            space = ao.read(path, n_points=n_points, sampling="uniform", rng=child)
            spaces.append(space.take(child.permutation(space.n)))
            advance(1)
    return Shapes(spaces, np.array([name for name, _ in chosen]))


def hits(distances: NDArray[np.float64], classes: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return for each shape whether its class is among those of the 1, 3 and 5 nearest others."""
    others = np.nan_to_num(distances, nan=np.finfo(np.float64).max)  # pairs without a result are far apart
    np.fill_diagonal(others, np.inf)
    nearest = np.argsort(others, axis=1, kind="stable")[:, : max(RANKS)]
    right = classes[nearest] == classes[:, None]
    return np.stack([right[:, :rank].any(axis=1) for rank in RANKS], axis=1)
