"""Pairs of cost matrices at the ends of what is legal."""

import numpy as np

EXTREMES = {
    "constant": (np.ones((4, 4)), np.ones((3, 3))),
    "single points": (np.zeros((1, 1)), np.full((1, 1), 3.0)),
    "one and many": (np.zeros((1, 1)), np.eye(5)),
    "duplicates": (np.zeros((4, 4)), np.repeat(np.repeat(np.eye(2), 2, 0), 2, 1)),
    "tiny": (1e-300 * np.eye(4), 1e-300 * np.ones((3, 3))),
    "huge": (1e300 * np.eye(4), 1e300 * np.ones((3, 3))),
    "huge and square": (1e300 * np.eye(4), 1e300 * np.ones((4, 4))),
}
