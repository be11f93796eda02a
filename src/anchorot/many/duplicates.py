"""Groups of spaces that are nearly the same: lower bounds rule out most pairs, and no matrix of all pairs is made.

Every space has a vector, and gaps of vectors bound what spaces are compared by. Pairs that sums of a few coordinates do
not rule out, by a k-d tree, have their whole vectors compared, then themselves.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from anchorot._html import WithFacts
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_bytes, check_choice, check_nonnegative
from anchorot.anchors.attributes import AttributeRule, AttributesLike, attribute_rule_of
from anchorot.anchors.cell_averages import Parts, part_averages, parts_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.io.options import check_keywords
from anchorot.many.job import Job
from anchorot.many.metric import Metric
from anchorot.many.metrics import lists_metrics, metric_of, metric_options
from anchorot.many.sliced_bounds import ABSOLUTE, CELLS, RELATIVE, CoarseSignature, sliced_vector
from anchorot.many.spaces import Inputs, LocalSpaces, Outlines, each_space, n_workers, open_spaces

LINKAGES = ("single", "complete")
TREE_SUMS = 8  # sums of coordinates that the k-d tree holds
TOGETHER = 1 << 10  # spaces whose neighbours are looked up at a time
COMPARED = 16  # spaces that are compared with one in one call


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(WithFacts):
    """Spaces in groups.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        The number of each space's group; groups are numbered by their first spaces.
    groups : tuple of tuple of int
        Groups of two or more spaces: their indices, ascending.
    threshold : float
        What values of the metric were compared with.
    metric, linkage : str
    n_exact : int
        How many pairs were compared; bounds decided on the others.
    """

    labels: Int64s
    groups: tuple[tuple[int, ...], ...]
    threshold: float
    metric: str
    linkage: str
    n_exact: int

    @property
    def representatives(self) -> list[int]:
        """The first space of every group, and every space that has no duplicates: one of each."""
        return np.unique(self.labels, return_index=True)[1].tolist()

    def facts(self) -> dict[str, str]:
        """Summarise the groups in words; what `repr` and notebooks show."""
        n = sum(map(len, self.groups))
        return {
            "duplicates": f"{n} of {len(self.labels)} spaces in {len(self.groups)} groups",
            "different": str(len(self.labels) - n + len(self.groups)),
            "rule": f"{self.metric} <= {self.threshold:g}, {self.linkage} linkage",
            "pairs compared": str(self.n_exact),
        }


@lists_metrics
def duplicates(
    spaces: Sequence[Any],
    threshold: float,
    metric: str = "saw",
    linkage: str = "single",
    *,
    p: int | None = None,
    robust: bool = False,
    epsilon: float | None = None,
    attributes: AttributesLike = None,
    max_cost: float | None = None,
    n_jobs: int = -1,
    progress: bool = True,
    memory: int | str = "2GiB",
    **reading: Any,
) -> Duplicates:
    """Group spaces that are nearly the same: whose values are at most a threshold. Exact, without a matrix.

    Of crystals (:func:`from_crystal`), and of any points in one space, "saw" says what a threshold means: moving every
    point by at most e changes all distances by at most 2 e, and hence SAW by at most 2 e.

    Parameters
    ----------
    spaces : sequence of Space, Rows, array_like of shape (n, n) or path
        As for :func:`pairwise`; with types if `attributes` ask for them.
    threshold : float >= 0
        In the unit of the metric: of the costs for "saw", their squares for "gw".
    metric : METRIC_NAMES
        METRIC_LIST
    linkage : {"single", "complete"}
        - "single": spaces are in one group if a chain of pairs within the threshold joins them.
        - "complete": all pairs of a group are within the threshold. The two groups whose farthest spaces are nearest
          are joined first.
    p, robust, epsilon, attributes, max_cost
        See :func:`pairwise`.
    n_jobs : int
        Workers that load and prepare spaces; -1 for one per core.
    progress : bool
        Show a bar, on a terminal or in a notebook.
    memory : int or str
        Bytes of prepared spaces to keep; others are loaded again.
    **reading
        Options of :func:`read` for paths, and options that only some metrics take.

    Returns
    -------
    Duplicates

    Notes
    -----
    Bounds rule out pairs for "saw" and "ae", and, without regularisation and attributes, for "aw", "gw" and "tlb".
    For anything else all pairs are compared; memory never grows with their number, but that of the pairs within the
    threshold if the linkage is complete.

    Examples
    --------
    >>> import anchorot as ao
    >>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> moved, other = [[5, 5], [5, 6], [6, 5], [6, 6.001]], [[0, 0], [0, 2], [1, 0], [1, 1]]
    >>> found = ao.duplicates([ao.from_points(points) for points in (square, moved, other)], 0.01)
    >>> found.groups, found.labels.tolist()
    (((0, 1),), [0, 0, 1])
    """
    options = {name: reading.pop(name) for name in metric_options() if name in reading}
    check_keywords("duplicates", reading)
    limit = check_nonnegative(threshold, "threshold")
    check_choice(linkage, "linkage", LINKAGES)
    inputs = Inputs.of(spaces, None, **reading)
    with open_spaces(inputs, n_jobs) as some:
        outlines = Outlines(some, robust=robust, progress=progress)
        rule = attribute_rule_of(outlines, attributes, max_cost, robust=robust)
        chosen = metric_of(metric, p, robust, epsilon, attribute_rule=rule, **options)
        bound = _bound_of(chosen, limit, outlines, rule)
    prepare = _Prepare(chosen, bound)
    with LocalSpaces(replace(inputs, prepare=prepare), n_workers(n_jobs), check_bytes(memory, "memory")) as loaded:
        found = dict(each_space(loaded, _vector_of, "preparing", progress=progress))
        vectors, sizes = (np.array(part) for part in zip(*(found[i] for i in range(inputs.n)), strict=True))
        pairs = Pairs(Job(chosen, inputs), loaded, limit)
        near = _near_pairs(vectors, bound.p, bound.largest_gap(float(sizes.max())))
        join = _single if linkage == "single" else _complete
        with progress_bar(inputs.n, "comparing", "spaces", progress) as advance:
            first = join(inputs.n, near, pairs, advance)
    labels = np.unique(first, return_inverse=True)[1]
    return Duplicates(labels, _groups(labels), limit, metric, linkage, pairs.n_compared)


def _groups(labels: Int64s) -> tuple[tuple[int, ...], ...]:
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return tuple(tuple(part.tolist()) for part in parts if len(part) > 1)


# -- bounds ------------------------------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """Vectors of spaces, whose gaps in the p-norm are at most `radius` where values are within the threshold."""

    vector: Callable[[Any, Any], CoarseSignature]  # of a space, and of what the metric makes of it
    p: int
    radius: float

    def largest_gap(self, size: float) -> float:
        """The radius, and what rounding may add for costs of that size."""
        return self.radius * (1 + 4 * RELATIVE) + ABSOLUTE * size


def _bound_of(metric: Metric, limit: float, outlines: Outlines, rule: AttributeRule | None) -> Bound:
    name, p, robust = (metric.options[key] for key in ("metric", "p", "robust"))
    if metric.bound is not None:  # by Sliced Anchor Wasserstein: see `sliced_bounds`
        radius = {"saw": limit, "aw": limit ** (1 / p), "tlb": 2 * limit, "gw": math.sqrt(limit)}[name]
        return Bound(partial(_signature, robust=robust, p=p), p, radius)
    if name not in ("ae", "saw") or p != 1:
        return Bound(_nothing, 1, 0.0)
    grid = Grid.around(outlines, CELLS[::-1], robust=robust, max_cost=None if rule is None else rule.max_cost)
    parts = parts_of(outlines, rule)
    if name == "saw":
        return Bound(partial(_averages, grid, parts, grid.cell_area), 1, limit)
    # the slack for rounding is that of squares
    radius = math.sqrt(limit * (1 + RELATIVE) + ABSOLUTE * (grid.high - grid.low))
    return Bound(partial(_averages, grid, parts, math.sqrt(2 * grid.cell_area)), 2, radius)


def _signature(x: Any, item: Any, robust: bool, p: int) -> CoarseSignature:
    return sliced_vector(item if isinstance(item, AnchorFeatures) else x, CELLS, robust, p)


def _averages(grid: Grid, parts: Parts, weight: float, x: Any, item: AnchorFeatures) -> CoarseSignature:
    """Averages of F over cells: the integral of gaps over a cell is at least the gap of averages times its area."""
    return CoarseSignature(weight * part_averages(item, grid.cells, parts), grid.high - grid.low)


def _nothing(x: Any, item: Any) -> CoarseSignature:
    return CoarseSignature(np.zeros(1), 0.0)


@dataclass(frozen=True)
class _Prepare:
    """What is done to a space when it is loaded."""

    metric: Metric
    bound: Bound

    def __call__(self, x: Any) -> tuple[Any, CoarseSignature]:
        item = self.metric.prepare(x)
        return item, self.bound.vector(x, item)


def _vector_of(prepared: tuple[Any, CoarseSignature], index: int) -> CoarseSignature:
    return prepared[1]


def _near_pairs(vectors: Float64s, p: int, radius: float) -> Iterator[tuple[int, Int64s]]:
    """Yield every space with those before it whose gap is at most the radius, by increasing gap."""
    from scipy.spatial import cKDTree

    width = -(-vectors.shape[1] // TREE_SUMS)
    sums = np.add.reduceat(vectors, np.arange(0, vectors.shape[1], width), axis=1)
    if p == 2:
        sums /= math.sqrt(width)
    reach = radius * (1 + RELATIVE) + ABSOLUTE * float(np.abs(sums).max())  # sums are rounded
    tree = cKDTree(sums)
    for start in range(0, len(vectors), TOGETHER):
        found = tree.query_ball_point(sums[start : start + TOGETHER], reach, p=p)
        for i, near in enumerate(found, start):
            before = np.array(near, np.int64)
            before = np.sort(before[before < i])
            gaps = np.linalg.norm(vectors[before] - vectors[i], p, axis=1)
            kept = gaps <= radius
            yield i, before[kept][np.argsort(gaps[kept], kind="stable")]


class Pairs:
    """Compares spaces, and counts how many pairs."""

    def __init__(self, job: Job, spaces: LocalSpaces, limit: float) -> None:
        self.n_compared = 0
        self._job, self._spaces, self._limit = job, spaces, limit

    def within(self, i: int, others: Int64s) -> tuple[Int64s, Float64s]:
        """Those of some earlier spaces whose values to space i are within the threshold, and the values."""
        rows = [(j, self._spaces.item(j)[0]) for j in others.tolist()]
        values = self._job.compare_all(rows, [(i, self._spaces.item(i)[0])], [len(rows)]).values[:, 0]
        self.n_compared += len(rows)
        near = values <= self._limit
        return others[near], values[near]


# -- linkage -----------------------------------------------------------------------------------------------------------


def _single(n: int, near: Iterator[tuple[int, Int64s]], pairs: Pairs, advance: Callable[[int], None]) -> list[int]:
    """The first space of each one's group; a pair that a chain joins already is not compared."""
    parent = list(range(n))

    def first_of(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, others in near:
        left = others.tolist()
        while left := [j for j in left if first_of(j) != first_of(i)]:
            chosen = list({first_of(j): j for j in reversed(left)}.values())[-COMPARED:]  # the nearest of each group
            for j in pairs.within(i, np.array(chosen))[0].tolist():
                one, two = sorted((first_of(i), first_of(j)))
                parent[two] = one
            left = [j for j in left if j not in chosen]
        advance(1)
    return [first_of(i) for i in range(n)]


def _complete(n: int, near: Iterator[tuple[int, Int64s]], pairs: Pairs, advance: Callable[[int], None]) -> list[int]:
    """Join groups, nearest first, all of whose pairs are within the threshold: the sparse graph of those is enough."""
    links: dict[int, dict[int, float]] = {}
    queue: list[tuple[float, int, int]] = []
    for i, others in near:
        for start in range(0, len(others), COMPARED):
            found, values = pairs.within(i, others[start : start + COMPARED])
            for j, value in zip(found.tolist(), values.tolist(), strict=True):
                links.setdefault(i, {})[j] = links.setdefault(j, {})[i] = value
                queue.append((value, j, i))
        advance(1)
    heapq.heapify(queue)
    first = list(range(n))
    while queue:
        value, a, b = heapq.heappop(queue)
        if links.get(a, {}).get(b) != value:  # one of them has changed since
            continue
        first[b] = a
        of_a, of_b = links.pop(a), links.pop(b)
        for c in {*of_a, *of_b} - {a, b}:
            links[c].pop(a, None)
            links[c].pop(b, None)
        joined = {c: max(of_a[c], of_b[c]) for c in of_a.keys() & of_b.keys()}
        links[a] = joined
        for c, farthest in joined.items():
            links[c][a] = farthest
            heapq.heappush(queue, (farthest, min(a, c), max(a, c)))
    for i in range(n):  # a group was joined to one with an earlier first space
        first[i] = first[first[i]]
    return first
