"""How groups are compared on a matrix of distances: the statistic, what is permuted, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._html import rows
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_finite, check_nonnegative, check_rng, check_square
from anchorot.exceptions import InputError
from anchorot.many.cohort_distances import CohortDistances
from anchorot.stats.dispersion import (
    ROUNDING,
    Units,
    UnitSums,
    blocks_of,
    check_groups,
    column_of,
    dispersions,
    holm,
    subjects_of,
)
from anchorot.stats.effects import Effect, effect_between
from anchorot.stats.exchangeability import Exchange, exchange_of, number_names
from anchorot.stats.field_views import note_unlike_fields
from anchorot.stats.permutation import PermutationTest, less_rounding, percent, permutation_test, plain
from anchorot.stats.welch import welch_ratios

MAX_SHOWN = 4  # groups in a repr
MAX_ASYMMETRY = 1e-9  # of the largest distance: more is not rounding


@dataclass(frozen=True)
class PairOfGroups:
    """Comparison of two groups.

    Attributes
    ----------
    first, second : object
        Their labels.
    statistic, pvalue : float
        Result of :func:`~anchorot.group_test` on these two groups.
    adjusted_pvalue : float
        Corrected for the number of pairs by Holm's method: if all pairs below 0.05 are rejected, the probability of any
        false rejection is at most 5 %.
    share : float
        Share of the dispersion of both groups that lies between them: from 0 to 1.
    effect : Effect
        `energy` and what its interval needs.
    """

    first: Any
    second: Any
    statistic: float
    pvalue: float
    adjusted_pvalue: float
    share: float
    effect: Effect = field(repr=False)

    @property
    def energy(self) -> float:
        """Distance between the groups, 2 E[d(x, y)] - E[d(x, x')] - E[d(y, y')] over pairs of different subjects.

        In units of the distances to the given power; 0 on average for groups that do not differ. Subjects weigh
        equally. With ``within=True`` from the subjects with members of both groups; with strata from differences within
        strata. NaN if there are too few subjects.
        """
        return self.effect.energy

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the energy, over subjects (or items); NaN for fewer than three in a group.

        At 0.95 it contained the true energy in 93 to 99 % of simulated cohorts of 4, 8 or 16 subjects per group, of
        every design (``docs/test_levels.md``).
        """
        return self.effect.interval(level)


@dataclass(frozen=True, eq=False, repr=False)
class GroupTest(PermutationTest):
    """Result of a test of several groups.

    Attributes
    ----------
    groups : tuple
        The labels of the groups, sorted.
    sizes : tuple of int
        Number of members of each.
    n_subjects : tuple of int
        Number of subjects of each; without subjects the number of members.
    share : float
        Share of the total dispersion that lies between the groups, 1 - W / T: from 0 to 1, above 0 even by chance.
    pairs : tuple of PairOfGroups
        Comparisons of all pairs of groups; empty with ``post_hoc=False``.
    max_cost : float, optional
        Of a cohort: up to which cost its spaces were compared, if there is a limit.
    """

    groups: tuple[Any, ...] = ()
    sizes: tuple[int, ...] = ()
    n_subjects: tuple[int, ...] = ()
    share: float = 0.0
    pairs: tuple[PairOfGroups, ...] = ()
    max_cost: float | None = None

    def _findings(self) -> list[str]:
        counts = list(zip(self.groups, self.sizes, self.n_subjects, strict=True))
        members = ", ".join(f"{group!r} {n}{f' of {m} subjects' * (m < n)}" for group, n, m in counts[:MAX_SHOWN])
        more = f" and {len(counts) - MAX_SHOWN} more" * (len(counts) > MAX_SHOWN)
        limit = "" if self.max_cost is None else f", of costs up to {self.max_cost:.4g}"
        lines = [
            f"groups: {members}{more}",
            f"share of the dispersion between groups: {percent(self.share)}, F = {self.statistic:.4g}{limit}",
        ]
        if self.pairs:
            pair = min(self.pairs, key=lambda pair: (pair.adjusted_pvalue, -pair.share))
            adjusted = f", adjusted p = {pair.adjusted_pvalue:.4g}" if len(self.pairs) > 1 else ""
            names = f"{pair.first!r} and {pair.second!r}"
            lines.append(f"energy between {names}, 95 % interval: {_with_interval(pair)}{adjusted}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, texts and arrays, which `AnnData.uns` can hold; pairs of groups by columns."""
        found = {name: value for name, value in super().to_dict().items() if name != "pairs"}
        if not self.pairs:
            return found
        names = ("first", "second", "statistic", "pvalue", "adjusted_pvalue", "share", "energy")
        rows = [[getattr(pair, name) for name in names] + list(pair.interval()) for pair in self.pairs]
        columns = zip((*names, "low", "high"), zip(*rows, strict=True), strict=True)
        return found | {"pairs": {name: plain(values) for name, values in columns}}

    def facts(self) -> dict[str, str]:
        """Summarise the test in words; what notebooks and the command line show."""
        limit = {} if self.max_cost is None else {"costs up to": f"{self.max_cost:.4g}"}
        return super().facts() | {"share between groups": f"{self.share:.3g}"} | limit

    def _details(self) -> str:
        members = zip(self.groups, self.sizes, self.n_subjects, strict=True)
        sizes = rows(["group", "members", "subjects"], [list(map(str, row)) for row in members])
        shown = [
            [
                f"{pair.first} and {pair.second}",
                f"{pair.adjusted_pvalue:.4g}",
                _with_interval(pair),
            ]
            for pair in self.pairs
        ]
        return sizes + (rows(["pair", "adjusted p-value", "energy, 95 % interval"], shown) if shown else "")


def _with_interval(pair: PairOfGroups) -> str:
    low, high = pair.interval()
    if np.isnan(pair.energy):
        return "too few subjects"
    return f"{pair.energy:.4g}" + ("" if np.isnan(low) else f" ({low:.4g} to {high:.4g})")


@dataclass(frozen=True)
class GroupOptions:
    """Options of a test of groups, see :func:`~anchorot.group_test`; checked before distances are computed."""

    within: bool = False
    weight_items: bool = False
    welch: bool = False
    power: float = 1.0
    post_hoc: bool = True
    n_resamples: int = 999
    rng: RngLike = None
    stop_after: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        if self.welch and (self.within or self.weight_items):
            raise InputError("welch=True compares independent subjects; drop within=True and weight_items=True")
        object.__setattr__(self, "rng", check_rng(self.rng))
        object.__setattr__(self, "power", check_nonnegative(self.power, "power"))
        if self.power == 0:
            raise InputError("power must be positive, but got 0")

    @property
    def weighting(self) -> str:
        """How much units weigh."""
        return "items" if self.weight_items else "equal" if self.within else "precision"


def compare_groups(
    distances: ArrayLike,
    labels: Sequence[Any] | NDArray[Any] | str,
    subjects: Sequence[Any] | NDArray[Any] | str | None,
    strata: Sequence[Any] | NDArray[Any] | str | None,
    blocks: Sequence[Any] | NDArray[Any] | str | None,
    options: GroupOptions,
) -> GroupTest:
    """Test whether groups differ, from the distances between all their members, see :func:`~anchorot.group_test`."""
    names, owners, layers, parts = (
        column_of(distances, labels, "labels"),
        subjects_of(distances, subjects),
        column_of(distances, strata, "strata"),
        column_of(distances, blocks, "blocks"),
    )
    powers = _check_distances(distances)
    groups, codes = check_groups(names, len(powers), "distances between ")
    exchange = exchange_of(
        codes.astype(np.min_scalar_type(len(groups))),
        subjects=owners,
        strata=layers,
        within=options.within,
        blocks=parts,
    )
    if isinstance(distances, CohortDistances) and distances.table is not None:
        known = distances.table
        note_unlike_fields(known.fields, exchange, groups, known.metric, has_types=known.has_types)
    scale = powers.max(initial=0) or 1.0
    powers /= scale  # the statistic does not depend on scale, and at this one nothing overflows
    if options.power != 1:
        np.power(powers, options.power, out=powers)
    owner = np.arange(len(codes)) if owners is None else number_names(owners, "subjects", len(codes))
    tests = _UnitTests(Units.of(powers, exchange.unit, options.weighting), exchange, options)
    del powers

    whole, share = tests.among(np.arange(exchange.n_units), options.progress)
    sizes = np.bincount(codes)
    pairs: tuple[PairOfGroups, ...] = ()
    if options.post_hoc:
        of_unit = np.empty(exchange.n_units, np.intp)
        of_unit[exchange.unit] = owner
        with np.errstate(over="ignore", invalid="ignore"):
            unit = float(np.float64(scale) ** options.power)
        both = [(a, b) for a, b in combinations(range(len(groups)), 2) if sizes[a] + sizes[b] > 2]
        found = [tests.of_pair(a, b, of_unit) for a, b in both]
        adjusted = holm([test.pvalue for test, _, _ in found])
        pairs = tuple(
            PairOfGroups(groups[a], groups[b], test.statistic, test.pvalue, p, own_share, effect.scaled(unit))
            for (a, b), (test, own_share, effect), p in zip(both, found, adjusted, strict=True)
        )
    return GroupTest(
        **vars(whole),
        groups=groups,
        sizes=tuple(sizes.tolist()),
        n_subjects=tuple(len(np.unique(owner[codes == group])) for group in range(len(groups))),
        share=share,
        pairs=pairs,
        max_cost=distances.max_cost if isinstance(distances, CohortDistances) else None,
    )


@dataclass(frozen=True, eq=False)
class _UnitTests:
    """Permutation tests among some units."""

    units: Units
    exchange: Exchange
    options: GroupOptions

    def among(self, places: NDArray[np.intp], show: bool) -> tuple[PermutationTest, float]:
        """Test these units; return the share of the dispersion between groups as well."""
        own, part, options = self.units.among(places).sums(), self.exchange.among(places), self.options
        ratios = welch_ratios if options.welch else within_ratios
        freedom = 1.0 if options.welch else _freedom(own, part.labels)
        found = permutation_test(
            part,
            lambda drawn: -ratios(own, drawn),
            n_resamples=options.n_resamples,
            rng=options.rng,
            stop_after=options.stop_after,
            least_equal=partial(less_rounding, rounding=ROUNDING),
            progress=show,
        )
        statistic, null = (_f_of(-np.asarray(value), freedom) for value in (found.statistic, found.null))
        share = 1 - float(within_ratios(own, part.labels[None])[0])
        return replace(found, statistic=float(statistic), null=null), share

    def of_pair(self, a: int, b: int, owner: NDArray[np.intp]) -> tuple[PermutationTest, float, Effect]:
        """Test the units of two groups; `owner` is the subject of every unit."""
        labels = self.exchange.labels
        places = np.flatnonzero((labels == a) | (labels == b))
        own = np.unique(owner[places], return_inverse=True)[1] if self.options.within else None
        is_second = (labels[places] == b).astype(np.intp)
        effect = effect_between(self.units.among(places), is_second, own, self.exchange.layer[places])
        return *self.among(places, False), effect


def within_ratios(sums: UnitSums, labels: NDArray[Any]) -> Float64s:
    """W / T of every labelling (labellings, U); 1 if there is no dispersion at all."""
    total, within = dispersions(sums, labels)
    return np.maximum(within / total, 0.0) if total > 0 else np.ones(len(labels))


def _f_of(ratios: Float64s, freedom: float) -> Float64s:
    """F, from W / T = freedom / (freedom + F); infinite if there is no dispersion within groups."""
    with np.errstate(divide="ignore"):
        return freedom * ((1 - ratios) / ratios)


def _freedom(sums: UnitSums, labels: NDArray[Any]) -> float:
    """(N - K) / (K - 1), for N units in K groups."""
    groups = int(labels.max()) + 1
    return float(sums.n - groups) / (groups - 1)


def _check_distances(distances: ArrayLike) -> Float64s:
    """Return a copy with a diagonal of zeros, checked in blocks of rows, since the matrix may be large."""
    matrix: Float64s = np.array(check_square(distances, "distances"), np.float64)
    np.fill_diagonal(matrix, 0.0)
    parts = blocks_of(len(matrix))
    for part in parts:
        check_finite(matrix[part], "distances", "; remove the spaces that could not be compared")
    if matrix.min(initial=0) < 0:
        raise InputError(f"distances must not be negative, but the least is {matrix.min():g}")
    allowed = MAX_ASYMMETRY * matrix.max(initial=0)
    if any(np.abs(matrix[part] - matrix[:, part].T).max(initial=0) > allowed for part in parts):
        raise InputError("distances must be symmetric, as `pairwise` returns them")
    return matrix
