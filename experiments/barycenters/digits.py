"""The paper's digits in space: its steps (1) to (4)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Digit:
    """One handwritten digit as points: in the plane, as it was drawn, and in space, turned and noisy."""

    label: int
    flat: np.ndarray
    cloud: np.ndarray


def draw_digit(label: int, image: np.ndarray, n_points: int, rng: np.random.Generator) -> Digit:
    """Make points of an image."""
    flat = sample(image, n_points, rng)
    return Digit(label, flat - flat.mean(axis=0), in_space(flat, rng))


def sample(image: np.ndarray, n_points: int, rng: np.random.Generator) -> np.ndarray:
    """Step 1: lattice points, drawn with a probability proportional to the brightness of their pixel."""
    brightness = image.ravel() / image.sum(dtype=float)
    rows, columns = np.divmod(rng.choice(brightness.size, n_points, p=brightness), image.shape[1])
    return np.column_stack([columns + 1, image.shape[0] - rows]).astype(float)


def in_space(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Steps 2 to 4: a uniform random rotation in space, and Gaussian noise of variance 0.25."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation = q * np.sign(np.diag(r))
    rotation[:, 0] *= np.linalg.det(rotation)
    flat = np.column_stack([points, np.zeros(len(points))])
    return flat @ rotation.T + rng.normal(scale=0.5, size=flat.shape)
