"""Anchors: how the costs that each point sees are distributed, sorted once; with the attributes of those points."""

from anchorot.anchors.attributes import FeatureMap, FourierMap, LinearMap, OneHotMap, feature_map
from anchorot.anchors.grid import Grid
from anchorot.anchors.line import ot_1d

__all__ = ["FeatureMap", "FourierMap", "Grid", "LinearMap", "OneHotMap", "feature_map", "ot_1d"]
