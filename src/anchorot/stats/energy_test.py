"""Energy distance and permutation test for two collections of measures, spaces or graphs.

Both collections are pooled (`PooledMeasures`). Collections of spaces are compared by a matrix of distances between
spaces, unless their anchors are pooled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Disconnected, Float64s, RngLike
from anchorot._validate import (
    at_hand,
    check_choice,
    check_device,
    check_list,
    check_rng,
    check_threads,
    point_values,
    shown,
)
from anchorot.anchors.fields import Field
from anchorot.distances.w2_energy import GROUNDS
from anchorot.exceptions import InputError
from anchorot.io.graphs import n_kept, note_collection, single, table_space
from anchorot.many.metrics import ARRANGEMENT
from anchorot.many.pairwise import pairwise
from anchorot.rows import Rows
from anchorot.space import Space
from anchorot.stats.dispersion import Units, subjects_of
from anchorot.stats.exchangeability import Names, exchange_of
from anchorot.stats.field_views import note_unlike_fields
from anchorot.stats.graphs import clustering, degrees, tables_of
from anchorot.stats.permutation import PermutationTest, less_rounding, permutation_test
from anchorot.stats.pooled import (
    HEIGHTS_ROUNDING,
    ROOTS_ROUNDING,
    SQUARES_ROUNDING,
    PooledMeasures,
    check_spaces,
    energy_statistics,
    matrix_energies,
    matrix_statistics,
    pooled_ground_energy,
    sweep_energies,
)

METHODS = ("auto", "sweep", "matrix")
SLICED = "saw"
GRAPH_STATISTICS = ("degree", "clustering", "anchors")


def energy_distance(
    rows_x: Sequence[ArrayLike | Space],
    rows_y: Sequence[ArrayLike | Space],
    weights_x: Sequence[ArrayLike] | None = None,
    weights_y: Sequence[ArrayLike] | None = None,
    *,
    ground: str = "w1",
    pooled: bool = False,
    threads: int = 1,
) -> float:
    r"""Energy distance between two collections of measures on the line, or of spaces, exactly.

    The ground distance is the 1-D Wasserstein distance: for items h, h' of rows_x and g, g' of rows_y

    .. math:: 2\,E[W_1(h, g)] - E[W_1(h, h')] - E[W_1(g, g')]

    For example, represent each graph by the distribution of its nodes' degrees to compare two collections of graphs
    (the paper's Q5). Items may also be spaces: then the distance between two spaces, the root of their Anchor Energy,
    replaces :math:`W_1`. With ``pooled=True`` a space is represented by its anchors, and those of all spaces of a side
    are pooled: the distance between two collections of one space each is then their Anchor Energy.

    The value is a *squared* distance and never negative. It can be zero for collections that differ: it depends on how
    the quantiles of each level are distributed over the measures, but not on which quantiles belong to the same
    measure. With ``ground="w2"``, the unsquared Wasserstein distance :math:`W_2` in place of :math:`W_1`, it is zero
    only for equal collections of measures. Pooled, both ignore which anchors belong to the same space.

    Parameters
    ----------
    rows_x, rows_y : sequence of array_like, or of Space
        The values of each measure; lengths may differ.
    weights_x, weights_y : sequence of array_like, optional
        The weights of the values of each measure; uniform by default.
    ground : {"w1", "w2"}
        The distance between measures, or between the anchors of spaces.
    pooled : bool
        For spaces: compare all anchors of one side with all of the other.
    threads : int
        The result does not depend on it.

    Returns
    -------
    float

    Notes
    -----
    For s measures of n values O(s n log(s n)) time and O(s n) memory, instead of the O(s² n) of the formula. If there
    are few distinct values, such as degrees, or few distinct sizes, no tree is needed after the sort. With
    ``ground="w2"`` O(s² n) time and O(s² + s n) memory.

    Examples
    --------
    >>> import anchorot as ao
    >>> paths = [[1, 2, 2, 1], [1, 2, 1]]
    >>> rings = [[2, 2, 2], [2, 2, 2, 2]]
    >>> round(ao.energy_distance(paths, rings), 4)
    1.0833
    >>> alike, crossed = [[0, 10], [1, 11]], [[0, 11], [1, 10]]
    >>> ao.energy_distance(alike, crossed), round(ao.energy_distance(alike, crossed, ground="w2"), 4)
    (0.0, 0.4142)
    """
    check_choice(ground, "ground", GROUNDS)
    threads = check_threads(threads)
    rows_x, rows_y, weights_x, weights_y = _listed(rows_x, rows_y, weights_x, weights_y)
    if _has_spaces(rows_x, rows_y, pooled):
        costs, labels = _space_distances(rows_x, rows_y, weights_x, weights_y, ground, threads, None, False)
        return float(matrix_energies(costs, labels[None])[0])
    measures, labels = _pool(rows_x, rows_y, weights_x, weights_y)
    if ground == "w2":
        return pooled_ground_energy(measures, labels, threads)
    return float(sweep_energies(measures, labels[None], threads)[0])


def energy_test(
    rows_x: Sequence[ArrayLike | Space],
    rows_y: Sequence[ArrayLike | Space],
    weights_x: Sequence[ArrayLike] | None = None,
    weights_y: Sequence[ArrayLike] | None = None,
    *,
    subjects: tuple[Names, Names] | None = None,
    strata: tuple[Names, Names] | None = None,
    within: bool = False,
    blocks: tuple[Names, Names] | None = None,
    ground: str = "w1",
    pooled: bool = False,
    metric: str = "ae",
    max_cost: float | None = None,
    n_resamples: int = 999,
    rng: RngLike = None,
    stop_after: int | None = None,
    method: str = "auto",
    threads: int = 1,
    device: str | None = None,
    progress: bool = True,
) -> PermutationTest:
    """Test whether two collections of measures, or of spaces, come from one distribution, by permuting their items.

    For spaces it is the energy test of distances between spaces (the roots of their Anchor Energies), DISCO: it detects
    every difference between distributions of spaces that Anchor Energy detects between spaces. With ``pooled=True`` it
    tests whether the mean measures over anchors agree. That is faster and needs no N x N matrix, but ignores which
    anchors belong to the same space.

    Parameters
    ----------
    rows_x, rows_y, weights_x, weights_y
        Two collections, as for :func:`energy_distance`. With ``metric="ae"`` types and features of spaces are ignored;
        to use them, call :func:`group_test` on the result of :func:`pairwise`. Subjects of two cohorts are used by
        default.
    subjects, strata : pair of sequences, optional
        Subject and stratum of each item: first for rows_x, then for rows_y. As for :func:`group_test`: subjects with
        items on one side only are permuted as a whole, and only within strata. The items of a subject are averaged,
        and subjects weigh equally.
    within : bool
        Every subject has items on both sides, and these are permuted within it: all that it has on a side together.
    blocks : pair of sequences, optional
        With `within`: what is permuted within a subject instead, such as slides, as for :func:`group_test`.
    ground : {"w1", "w2"}
        The distance between measures, as for :func:`energy_distance`. "w1" has no power against collections whose
        quantiles have the same distribution at every level; "w2" has power against all collections of measures that
        differ, and needs the matrix.
    pooled : bool
        For spaces: pool the anchors of all spaces of a side. The test has no power if the pooled anchors agree.
    metric : {"ae", "saw", "arrangement"}
        For spaces: the root of Anchor Energy; :func:`sliced_anchor_wasserstein`, which is zero between the same spaces
        and of negative type too; or the root of :func:`~anchorot.distances.arrangement_energy` of fields of view with
        types.
    max_cost : float, optional
        For spaces: compare costs up to here, as for :func:`pairwise`.
    n_resamples : int
        Number of random permutations. If no more are possible, all are enumerated, and the p-value is exact.
    rng : None, int or numpy.random.Generator
        Source of randomness for the permutations; the result of a seed does not depend on the method or the threads.
    stop_after : int, optional
        Stop as soon as this many permutations have reached the observed statistic: early, if there is no difference.
        The p-value is then #{null >= statistic} / #{null} and as valid as the full one (Besag and Clifford, Sequential
        Monte Carlo p-values, Biometrika 1991). 10 to 20 is usual.
    method : {"auto", "sweep", "matrix"}
        - "sweep": sort once, then sweep over many permutations together. Never holds a matrix of costs.
        - "matrix": all costs between measures, O(s² n) time and O(s²) memory; then a product of matrices per
          permutation. Not for the pooled anchors of spaces.
        - "auto": the one that should be faster; the matrix only up to a few thousand measures. With ``ground="w2"``,
          and for spaces that are not pooled, always the matrix.
    threads : int
        The result does not depend on it.
    device : str, optional
        "cuda" permutes on that device (extra ``torch``): the same permutations and, up to rounding, the same result.
        Sweeps need at most 2²⁹ numbers there: the measures times the distinct levels of their distribution functions
        (at most the distinct values of k / n without weights). Larger ones stay on the CPU.
    progress : bool
        Show a bar, on a terminal or in a notebook.

    Returns
    -------
    PermutationTest
        With `.statistic` (the energy distance), `.pvalue`, `.null`, `.unit` (what was permuted), `.n_assignments` and
        `.min_pvalue`.

    Notes
    -----
    For N spaces the Anchor Energies of all pairs, then O(N²) time per permutation. For s measures, or pooled anchors,
    O(s n log(s n)) time to sort, then per permutation O(k h), with k distinct values and h distinct levels or vice
    versa, and O(s n log(s n)) at most. On a device O(k s) for k distinct levels.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> x = [rng.poisson(3, size=20) for _ in range(30)]
    >>> y = [rng.poisson(4, size=25) for _ in range(30)]
    >>> ao.energy_test(x, y, rng=0).pvalue
    0.001
    """
    check_choice(method, "method", METHODS)
    check_choice(ground, "ground", GROUNDS)
    check_choice(metric, "metric", ("ae", SLICED, ARRANGEMENT))
    place = check_device(device)
    place = None if place == "cpu" else place  # there the native kernels are far faster
    threads, generator = check_threads(threads), check_rng(rng)
    subjects = _known_subjects(rows_x, rows_y) if subjects is None else subjects
    rows_x, rows_y, weights_x, weights_y = _listed(rows_x, rows_y, weights_x, weights_y)
    labels = np.repeat(np.array([1, 0], np.uint8), [len(rows_x), len(rows_y)])
    exchange = exchange_of(
        labels,
        subjects=_join_sides(subjects, labels, "subjects"),
        strata=_join_sides(strata, labels, "strata"),
        within=within,
        blocks=_join_sides(blocks, labels, "blocks"),
    )
    if _has_spaces(rows_x, rows_y, pooled):
        if method == "sweep":
            raise InputError("method='sweep' on spaces needs pooled=True; add it, or use another method")
        costs, _ = _space_distances(
            rows_x, rows_y, weights_x, weights_y, ground, threads, place, progress, metric, max_cost
        )
        fields = [Field.of(space, near=False) if isinstance(space, Space) else None for space in (*rows_x, *rows_y)]
        note_unlike_fields(fields, exchange, ("rows_y", "rows_x"), metric, has_types=False)
        statistics = matrix_statistics(Units.of(costs, exchange.unit).distances, place)
        rounding = _rounding([*rows_x, *rows_y], costs, ground, metric)
    else:
        if metric != "ae" or max_cost is not None:
            raise InputError("metric and max_cost are for collections of spaces that are not pooled; leave them out")
        measures, _ = _pool(rows_x, rows_y, weights_x, weights_y)
        statistics, share = energy_statistics(measures, exchange.unit, ground, n_resamples, method, threads, place)
        rounding = share * (float(measures.value.max()) - float(measures.value.min()))
    return permutation_test(
        exchange,
        statistics,
        n_resamples=n_resamples,
        rng=generator,
        stop_after=stop_after,
        least_equal=partial(less_rounding, rounding=rounding),
        progress=progress,
    )


def graph_model_test(
    graphs_a: Sequence[Any],
    graphs_b: Sequence[Any],
    statistic: str = "degree",
    *,
    subjects: tuple[Names, Names] | None = None,
    strata: tuple[Names, Names] | None = None,
    within: bool = False,
    blocks: tuple[Names, Names] | None = None,
    disconnected: Disconnected = "error",
    ground: str = "w1",
    pooled: bool = False,
    n_resamples: int = 999,
    rng: RngLike = None,
    stop_after: int | None = None,
    threads: int = 1,
    progress: bool = True,
) -> PermutationTest:
    """Test whether two collections of graphs come from one distribution, by the energy distance (the paper's Q5).

    Parameters
    ----------
    graphs_a, graphs_b : sequences of graphs
        networkx or igraph graphs, SciPy sparse matrices, lists of edges, or the result of :func:`~anchorot.io.read_tu`.
        Directions, loops, lengths and parallel edges are ignored.
    statistic : {"degree", "clustering", "anchors"}
        What represents a graph:

        - "degree": the distribution of its nodes' degrees;
        - "clustering": the distribution of its nodes' clustering coefficients;
        - "anchors": its anchors, the distributions of the lengths of shortest paths from each node; the distance of two
          graphs is the root of their Anchor Energy. With ``pooled=True`` the anchors of all graphs of a side are
          pooled, which is faster for thousands of graphs, but ignores which anchors belong to the same graph.
    subjects, strata, within, blocks
        The source of each graph, if some are not independent (several of one patient, one molecule, one seed); as for
        :func:`energy_test`.
    disconnected
        For "anchors": how to treat disconnected graphs, as for :func:`from_graph`.
    pooled
        For "anchors", as for :func:`energy_test`.
    ground, n_resamples, rng, stop_after, threads, progress
        As for :func:`energy_test`.

    Returns
    -------
    PermutationTest
        With `.statistic` (the energy distance), `.pvalue` and `.null`.

    Examples
    --------
    >>> import anchorot as ao
    >>> rings = [[(i, (i + 1) % n) for i in range(n)] for n in range(5, 25)]
    >>> stars = [[(0, i) for i in range(1, n)] for n in range(5, 25)]
    >>> ao.graph_model_test(rings, stars, rng=0).pvalue
    0.001
    """
    check_choice(statistic, "statistic", GRAPH_STATISTICS)
    a, b = (
        _graph_items(graphs, statistic, disconnected, name)
        for graphs, name in ((graphs_a, "graphs_a"), (graphs_b, "graphs_b"))
    )
    return energy_test(
        a,
        b,
        subjects=subjects,
        strata=strata,
        within=within,
        blocks=blocks,
        ground=ground,
        pooled=pooled,
        n_resamples=n_resamples,
        rng=rng,
        stop_after=stop_after,
        threads=threads,
        progress=progress,
    )


def _graph_items(graphs: Sequence[Any], statistic: str, disconnected: Disconnected, name: str) -> Sequence[Any]:
    tables = tables_of(graphs, name)
    if statistic == "degree":
        return degrees(tables)
    if statistic == "clustering":
        return clustering(tables)
    spaces: list[Space] = []
    for i, table in enumerate(tables):
        try:
            spaces.append(single(table_space(table, disconnected)))
        except InputError as error:
            raise InputError(f"{name}[{i}]: {error}") from None
    note_collection(name, tables, [n_kept(space) for space in spaces])
    return spaces


def _join_sides(given: tuple[Names, Names] | None, labels: NDArray[np.uint8], name: str) -> list[Any] | None:
    """Values of all items, from the values of both sides."""
    if given is None:
        return None
    given = at_hand(given)
    if not isinstance(given, Sequence) or len(given) != 2:
        raise InputError(f"{name} must be two sequences, for rows_x and for rows_y, but got {shown(given)}")
    sides = [point_values(side, f"{name}[{k}]") for k, side in enumerate(given)]
    for side, count, rows in zip(
        sides, (int(labels.sum()), int((labels == 0).sum())), ("rows_x", "rows_y"), strict=True
    ):
        if len(side) != count:
            raise InputError(f"{name} has {len(side)} values for the {count} items of {rows}")
    return [*sides[0], *sides[1]]


def _known_subjects(x: Any, y: Any) -> tuple[Names, Names] | None:
    """The subjects of two cohorts; an error if only one has subjects."""
    found = subjects_of(x, None), subjects_of(y, None)
    known = [own is not None for own in found]
    if known[0] != known[1]:
        one, other = ("rows_x", "rows_y") if known[0] else ("rows_y", "rows_x")
        raise InputError(
            f"{one} has subjects, but {other} has none, so it is unknown what to permute; give both, as "
            "subjects=(of_x, of_y) or by from_cohort(..., subject=)"
        )
    return found if known[0] else None


def _pool(
    rows_x: Sequence[ArrayLike | Space],
    rows_y: Sequence[ArrayLike | Space],
    weights_x: Sequence[ArrayLike] | None,
    weights_y: Sequence[ArrayLike] | None,
) -> tuple[PooledMeasures, NDArray[np.uint8]]:
    """Both collections pooled, and for each item 1 if it is from the first."""
    x, y = PooledMeasures.of(rows_x, weights_x, "rows_x"), PooledMeasures.of(rows_y, weights_y, "rows_y")
    return x + y, np.repeat(np.array([1, 0], np.uint8), [x.n_items, y.n_items])


def _listed(rows_x: Any, rows_y: Any, weights_x: Any, weights_y: Any) -> tuple[Any, ...]:
    """Return both collections as lists, and their weights, if any."""
    rows = (
        check_list(x, name, "measure", "measures or spaces") for x, name in ((rows_x, "rows_x"), (rows_y, "rows_y"))
    )
    weights = (
        None if w is None else check_list(w, name, "array of weights", "arrays of weights")
        for w, name in ((weights_x, "weights_x"), (weights_y, "weights_y"))
    )
    return *rows, *weights


def _has_spaces(rows_x: Sequence[Any], rows_y: Sequence[Any], pooled: bool) -> bool:
    """Whether the distances are between spaces."""
    spaces = any(isinstance(item, Space | Rows) for rows in (rows_x, rows_y) for item in rows)
    if pooled and not spaces:
        raise InputError("pooled=True is for collections of spaces, but got measures")
    return spaces and not pooled


def _space_distances(
    rows_x: Sequence[Any],
    rows_y: Sequence[Any],
    weights_x: Sequence[ArrayLike] | None,
    weights_y: Sequence[ArrayLike] | None,
    ground: str,
    threads: int,
    device: str | None,
    progress: bool,
    metric: str = "ae",
    max_cost: float | None = None,
) -> tuple[Float64s, NDArray[np.uint8]]:
    """Distances, or roots of energies, between all spaces, and for each 1 if it is from the first collection."""
    for rows, weights, name in ((rows_x, weights_x, "rows_x"), (rows_y, weights_y, "rows_y")):
        check_spaces(rows, weights, name)
    found = pairwise(
        [*rows_x, *rows_y],
        metric=metric,
        max_cost=max_cost,
        ground=ground,
        n_jobs=threads,
        device=device if ground == "w1" and metric == "ae" and max_cost is None else None,
        progress=progress,
    )
    return found if metric == SLICED else np.sqrt(found), np.repeat(
        np.array([1, 0], np.uint8), [len(rows_x), len(rows_y)]
    )


def _rounding(spaces: Sequence[Any], distances: Float64s, ground: str, metric: str) -> float:
    """Largest rounding error of a distance; that of SAW or of an energy is a share of the range of both spaces' costs.

    Distances are roots of energies, except for SAW.
    """
    exact = ground == "w1" and all(space.is_uniform for space in spaces)
    share = SQUARES_ROUNDING if exact else ROOTS_ROUNDING if ground == "w2" else HEIGHTS_ROUNDING
    costs = [space.values if isinstance(space, Rows) else space.cost for space in spaces]
    low, high = (np.array([float(end(cost)) for cost in costs]) for end in (np.min, np.max))
    error = share * (np.maximum.outer(high, high) - np.minimum.outer(low, low))
    np.fill_diagonal(error, 0.0)
    if metric == SLICED:
        return float(error.max())
    of_root = np.divide(error, np.maximum(distances, np.sqrt(error)), out=np.zeros_like(error), where=error > 0)
    return float(of_root.max())
