r"""Arrangement alone: who is near whom, whatever the number of points of each type and the size of the field of view.

Types of different spaces are made comparable by *thinning* each at random to the least intensity that it has in any
space of the collection. With λ_b = n_b / area the intensity of type b, q_b = (least λ_b of all spaces) / λ_b, and
C_ib(x) the number of other points of type b within x of point i,

    F_cb(x, k) = mean over the points i of type c of P(Bin(C_ib(x), q_b) >= k)

is what an anchor of type c is expected to see of a thinned type b, and the energy of two spaces is

    Σ_cb Σ_k 2 ∫_0^max_cost (F_cb - G_cb)² dx ,

a squared L2 distance. When the m-th neighbour comes at a distance d, P(Bin(C, q) >= k) rises by q P(Bin(m - 1, q) =
k - 1): so the sorted distances to the m-th neighbours, and one table of such vectors over k for each pair of types, are
all that is kept of a space.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import VectorLevels
from anchorot._typing import Float64s
from anchorot._validate import check_finite_number, check_memory
from anchorot.anchors.attribute_features import ENERGY_POWER, AttributeFeatures, PairCurves, sum_energies
from anchorot.anchors.attributes import AttributeRule, Outline
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.fields import Field, local_cost
from anchorot.anchors.type_blocks import sorted_types
from anchorot.exceptions import InputError, note_input, type_of
from anchorot.rows import Rows
from anchorot.space import Space

NEGLIGIBLE = 1e-12  # a probability: its part of an energy is the square
MAX_NAMED = 5  # types in a message


@dataclass(frozen=True)
class ArrangementRule(AttributeRule):
    """One way to look at the arrangement of all spaces of a comparison.

    Attributes
    ----------
    intensities : tuple of (type, float)
        The least intensity of each type that all spaces have.
    """

    intensities: tuple[tuple[Hashable, float], ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return what there is to know, as plain values."""
        return super().describe() | {"intensities": [[repr(kind), least] for kind, least in self.intensities]}


def arrangement_rule_of(spaces: Iterable[Any], max_cost: float | None = None) -> ArrangementRule:
    """Return how to look at a collection, whose spaces or outlines are gone through once.

    By default `max_cost` is local (`local_cost`). Types that a space lacks are left out, with a warning.
    """
    fields = [_field(Outline.of(x, robust=False), f"spaces[{k}]") for k, x in enumerate(spaces)]
    known = sorted_types(kind for field in fields for kind in field.counts)
    shared = [kind for kind in known if all(kind in field.counts for field in fields)]
    if not shared:
        raise InputError("no type occurs in all spaces, but arrangement compares types that all have; join rare types")
    if len(shared) < len(known):
        names = [repr(kind) for kind in known if kind not in shared]
        more = f" and {len(names) - MAX_NAMED} more" * (len(names) > MAX_NAMED)
        note_input(
            f"arrangement leaves out {len(names)} of {len(known)} types, since some spaces lack them: "
            f"{', '.join(names[:MAX_NAMED])}{more}"
        )
    least = tuple((kind, min(field.counts[kind] / field.area for field in fields)) for kind in shared)
    limit = local_cost(fields) if max_cost is None else check_finite_number(max_cost, "max_cost")
    assert limit is not None
    return ArrangementRule("types", limit, intensities=least)


def _field(seen: Outline, name: str) -> Field:
    """The field of view of a space; refuse one without types or area."""
    if seen.types is None:
        raise InputError(f"{name} has no types, but arrangement needs one for each point; give Space(types=...)")
    if seen.field is None:
        raise InputError(
            f"{name} has no area, but arrangement needs that of the field of view; give Space(area=...), or make "
            "spaces by from_cohort or from_points(..., area='extent')"
        )
    return seen.field


class ArrangementFeatures(AttributeFeatures):
    """What points of each type see of each thinned type; see the module.

    Attributes
    ----------
    blocks : list of VectorLevels
        For every pair of types c, b of the rule: one level with the distances to the m-th neighbours, and what each
        adds to F_cb(x, 1), F_cb(x, 2), …
    """

    def __init__(self, blocks: list[VectorLevels], rule: ArrangementRule) -> None:
        super().__init__(rule)
        self.blocks = blocks
        self.alphabet = tuple(kind for kind, _ in rule.intensities)

    @classmethod
    def of_space(cls, x: Any, rule: ArrangementRule, name: str = "the space") -> Self:
        """Features of a space by a rule that its collection shares."""
        if isinstance(x, AnchorFeatures | Rows):
            raise InputError(f"{name}: arrangement needs a Space with an area, but got {type_of(x)}")
        space = rule.seen(x, robust=False, name=name)
        if not space.is_uniform:
            raise InputError(f"{name} has weights, but arrangement counts points; leave the weights out")
        check_memory(space.n, 24, "features of")
        return cls(_blocks(space, rule, name), rule)

    @property
    def span(self) -> tuple[float, float]:
        """The smallest cost, and max_cost."""
        return min(float(block.levels[0, 0]) for block in self.blocks), self.max_cost

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Energy between two arrangements by the same rule."""
        curves = self.pair_curves(self._checked(other, p), np.array([self.max_cost]), threads=threads)
        return sum_energies(float(curve[0]) for _, curve in curves)

    def profile_to(
        self, other: AnchorFeatures, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> Float64s:
        """Energy up to each of the ascending `max_costs`, none above that of the features."""
        curves = self.pair_curves(self._checked(other, 1), max_costs, power, threads=threads)
        return np.sum([curve for _, curve in curves], axis=0)

    def pair_curves(
        self, other: Self, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> PairCurves:
        """The same of every pair of types."""
        assert power == ENERGY_POWER
        pairs = [(c, b) for c in self.alphabet for b in self.alphabet]
        for pair, x, y in zip(pairs, self.blocks, other.blocks, strict=True):
            size = max(x.vectors.shape[1], y.vectors.shape[1])
            yield pair, kernels.vector_profile(_widened(x, size), _widened(y, size), max_costs, threads)

    def arrays(self) -> list[np.ndarray]:
        """All numbers that are kept of the space."""
        return [array for block in self.blocks for array in block]

    def __repr__(self) -> str:
        return f"ArrangementFeatures({len(self.alphabet)} types, {self.attribute_rule})"


def _blocks(space: Space, rule: ArrangementRule, name: str) -> list[VectorLevels]:
    members: dict[Hashable, list[int]] = {kind: [] for kind, _ in rule.intensities}
    for place, kind in enumerate(space.types or ()):
        if kind in members:
            members[kind].append(place)
    area = _field(Outline.of(space, robust=False), name).area
    kept = {kind: min(1.0, least * area / len(members[kind])) for kind, least in rule.intensities}
    blocks = []
    for c, anchors in members.items():
        for b, targets in members.items():
            costs = space.cost[np.ix_(anchors, targets)].astype(np.float64)
            if c == b:
                np.fill_diagonal(costs, np.inf)  # a point is not its own neighbour
            blocks.append(_block(costs, kept[b], rule.max_cost))
    return blocks


def _block(costs: Float64s, kept: float, max_cost: float) -> VectorLevels:
    """Distances from anchors (rows) to points that stay with the probability `kept`, as events with vectors over k."""
    costs.sort(axis=1)
    row, nearer = np.nonzero(costs < max_cost)  # `nearer`: how many points of this type are nearer to the anchor
    position = costs[row, nearer]
    order = np.argsort(position, kind="stable")
    table = _rises(int(nearer.max(initial=-1)) + 1, kept) / len(costs)
    return VectorLevels(
        np.append(position[order], max_cost)[None],
        np.append(nearer[order], len(table)).astype(np.uint32)[None],
        np.concatenate([table, np.zeros((1, table.shape[1]))]),  # nothing is added at max_cost
    )


def _rises(count: int, kept: float) -> Float64s:
    """Rows m from 0: q P(Bin(m, q) = k - 1) for k = 1, 2, …, without columns that no probability reaches."""
    rows = np.zeros((count, max(count, 1)))
    row = np.zeros(max(count, 1))
    row[0] = 1.0
    for m in range(count):
        rows[m] = kept * row
        row[1:] = (1 - kept) * row[1:] + kept * row[:-1]
        row[0] *= 1 - kept
    reached = np.count_nonzero(rows.sum(axis=0) > NEGLIGIBLE)
    return rows[:, : max(reached, 1)]


def _widened(block: VectorLevels, size: int) -> VectorLevels:
    missing = size - block.vectors.shape[1]
    return block._replace(vectors=np.pad(block.vectors, ((0, 0), (0, missing)))) if missing else block
