"""Averages of F over the cells of a grid: of all anchors alike, of every pair of types, or of every coordinate."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import GridSpec
from anchorot._typing import Float64s
from anchorot.anchors.attribute_features import TypedFeatures, VectorFeatures
from anchorot.anchors.attributes import AttributeRule, Outline, rows_types, types_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import plain_averages
from anchorot.anchors.type_blocks import Alphabet, block_pairs, sorted_types
from anchorot.rows import Rows
from anchorot.space import as_space


@dataclass(frozen=True)
class Parts:
    """Which parts of F there are: one, one for every pair of types, or one for every coordinate of a map."""

    count: int
    alphabet: Alphabet = ()


def parts_of(spaces: Iterable[Any], attribute_rule: AttributeRule | None) -> Parts:
    """Return the parts that all these spaces have together; going through them if they have types."""
    if attribute_rule is None or attribute_rule.attributes is None:
        return Parts(1)
    if attribute_rule.phi is not None:
        return Parts(attribute_rule.phi.size)
    alphabet = sorted_types(kind for k, x in enumerate(spaces) for kind in _types(x, f"spaces[{k}]"))
    return Parts(len(alphabet) ** 2, alphabet)


def _types(x: Any, name: str) -> Alphabet:
    if isinstance(x, TypedFeatures):
        return x.alphabet
    if isinstance(x, Rows):
        return rows_types(x, name)
    return types_of(x if isinstance(x, Outline) else as_space(x).support(), name)


def part_averages(features: AnchorFeatures, grid: GridSpec, parts: Parts) -> Float64s:
    """Averages of all parts over the cells, one after the other. Types that are no part are left out."""
    if isinstance(features, TypedFeatures):
        return _typed_averages(features, grid, parts)
    if isinstance(features, VectorFeatures):
        return np.concatenate([kernels.event_averages(part, grid).ravel() for part in features.coordinates()])
    return plain_averages(features, grid).ravel()


def _typed_averages(features: TypedFeatures, grid: GridSpec, parts: Parts) -> Float64s:
    out = np.zeros((parts.count, grid.cells_x * grid.cells_t))
    for own, part in block_pairs(features.alphabet, parts.alphabet).tolist():
        if own < 0 or part < 0:
            continue
        if features.blocks is None:
            out[part] = kernels.event_averages(features.block_events[own], grid).ravel()
        else:
            start, levels, count = features.blocks.shape[own].tolist()
            numbers = features.blocks.numbers[start : start + levels * count].reshape(levels, count)
            out[part] = features.blocks.mass[own] * count * kernels.level_averages(numbers, grid).ravel()
    return out.ravel()
