"""Read spaces from points, graphs, meshes, neurons and cells; collections of graphs; the origin of a space."""

from anchorot.geometry import Geometry
from anchorot.io.graph_sets import GraphSet, read_gin, read_tu
from anchorot.io.point_clouds import PointClouds
from anchorot.provenance import Origin

__all__ = ["Geometry", "GraphSet", "Origin", "PointClouds", "read_gin", "read_tu"]
