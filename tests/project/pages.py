"""Things to show in a report, and pages read back without a browser."""

import base64
import json
import re
import zlib
from dataclasses import replace
from html import unescape

import numpy as np
from scipy.spatial import ConvexHull

import anchorot as ao
from anchorot.geometry import Geometry


def egg(n, seed, stretch=(3, 1, 2)):
    """A closed surface, all of whose vertices are points of the space."""
    directions = np.random.default_rng(seed).normal(size=(n, 3))
    vertices = directions / np.linalg.norm(directions, axis=1, keepdims=True) * stretch
    faces = ConvexHull(vertices).simplices.astype(np.int64)
    inwards = np.linalg.det(vertices[faces]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return ao.Space(ao.from_points(vertices).cost, geometry=Geometry(np.arange(n), n, vertices, faces))


def unpacked(packed):
    return np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), "<" + packed["dtype"])


def embedded(path):
    """What the page at `path` carries for its script."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def reported(page):
    """What the top of a page says, by name."""
    return {unescape(key): unescape(value) for key, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)}


def versions(path):
    """The versions that the page at `path` shows: the result, and its runner-up."""
    return embedded(path)["versions"]


def decoded_plan(whole):
    """The whole plan, as the page's script reads it."""
    rows, columns = unpacked(whole["rows"]), unpacked(whole["columns"])
    codes = unpacked(whole["codes"]).reshape(len(rows), len(columns))
    values = np.exp(whole["low"] + whole["step"] * (codes.astype(float) - 1))
    return np.where(codes > 0, values * rows[:, None] * columns, 0)


def butterflies():
    """Two clouds in the plane, each all but its own mirror image; point i is the mirror of point i + 6, modulo 12."""
    rng = np.random.default_rng(0)
    wing = rng.uniform([0.2, 0], [1, 2], size=(6, 2))
    points = np.concatenate([wing, wing * [-1, 1]])
    return ao.from_points(points), ao.from_points(points + 0.04 * rng.normal(size=points.shape))


def rivals():
    """Two butterflies, and an alignment of them whose runner-up takes every point for its mirror image."""
    x, y = butterflies()
    found = ao.align(x, y, rng=0)
    mirror = np.roll(np.arange(12), 6)
    objective, plan = 1.01 * found.objective, found.plan[mirror]
    other = ao.Candidate("mirrored", objective, 0.1, found.matches[mirror], 1.0, {"plan": plan})
    return x, y, replace(found, runner_up=other)
