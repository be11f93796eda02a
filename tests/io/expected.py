"""What readers must do: refuse what they cannot read, and give the distances that are known."""

import time

import numpy as np
import pytest
import trimesh

import anchorot as ao

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])


def refused(path, message, **options):
    """Reading a file fails in one line that begins with its name, within seconds."""
    start = time.monotonic()
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.read(path, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(path.name)
    assert time.monotonic() - start < 20


def icosphere(level):
    mesh = trimesh.creation.icosphere(level)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def arcs(points):
    """Distances between points of the unit sphere, along it."""
    return np.arccos(np.clip(points @ points.T, -1, 1))
