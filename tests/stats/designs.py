"""Designs of studies: images of subjects in groups."""

import numpy as np


def distances(points):
    points = np.asarray(points, float).reshape(len(points), -1)
    return np.linalg.norm(points[:, None] - points, axis=-1)


def nested(seed, groups=2, subjects=4, images=5, correlation=0.7, shift=0.0):
    """Numbers of images of subjects in groups: distances, labels, subjects."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(groups), subjects * images)
    subject = np.repeat(np.arange(groups * subjects), images)
    own = rng.normal(size=groups * subjects) * np.sqrt(correlation)
    return (
        distances(own[subject] + rng.normal(size=len(label)) * np.sqrt(1 - correlation) + shift * label),
        label,
        subject,
    )


def points_and_groups(seed, sizes=(6, 7, 8), shifts=(0.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.normal(size=(n, 2)) + shift for n, shift in zip(sizes, shifts, strict=True)])
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return distances, np.repeat(list("abc")[: len(sizes)], sizes)
