"""
A first comparison
==================

Rings, blobs and lines, three of each in different sizes. Anchor Energy depends on shape and size; its robust form, on
ranks, on shape alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

rng = np.random.default_rng(0)
angles = rng.uniform(0, 2 * np.pi, 80)
shapes = {
    "ring": np.stack([np.cos(angles), np.sin(angles)], axis=1),
    "blob": rng.normal(size=(80, 3)),
    "line": rng.uniform(-2, 2, size=(80, 1)),
}
spaces = [ao.from_points(size * points) for points in shapes.values() for size in (1, 1.6, 2.4)]
kinds = np.repeat(list(shapes), 3)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
ao.plot.distance_map(ao.pairwise(spaces), kinds, ax=left)
left.set_title("Anchor Energy")
ao.plot.distance_map(ao.pairwise(spaces, robust=True), kinds, ax=right)
right.set_title("robust")

plt.show()
