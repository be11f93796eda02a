"""Test at which distances groups of spaces differ: one permutation test for all distances together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._parallel import Threads
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._validate import (
    check_choice,
    check_integer,
    check_list,
    check_overflow,
    check_rng,
    check_threads,
    check_values,
)
from anchorot.anchors.arrangement import ArrangementFeatures, arrangement_rule_of
from anchorot.anchors.attribute_features import (
    ENERGY_POWER,
    SLICED_POWER,
    AttributeFeatures,
    TypedFeatures,
    VectorFeatures,
    attribute_features,
    cost_profile,
    pair_profiles,
)
from anchorot.anchors.attributes import AttributesLike, attribute_rule_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.fields import Field
from anchorot.anchors.type_blocks import sorted_types
from anchorot.distances.sliced import check_sliced_rule
from anchorot.exceptions import InputError
from anchorot.many.metrics import ARRANGEMENT
from anchorot.space import Space, as_space
from anchorot.stats.dispersion import (
    Comparison,
    Units,
    UnitSums,
    check_groups,
    column_of,
    compare_together,
    dispersions,
    subjects_of,
)
from anchorot.stats.exchangeability import Exchange, exchange_of, number_names
from anchorot.stats.field_views import note_unlike_fields
from anchorot.stats.permutation import BATCH, others_if_few
from anchorot.stats.scale_result import ScaleTest

N_BANDS = 32  # of distances, by default; chosen by hand: memory grows with them
EDGE_SHARE = 0.25  # of a field of view: farther neighbours of most points are outside (a rule of spatial statistics)
N_QUANTILES = 1025  # of each space's costs, from which the ends of bands are chosen
MIN_GAP = 1e-9  # of the height above the smallest cost: costs that differ by less are equal up to rounding
ENERGY_ROUNDING = 1e-14  # of the largest possible energy in the range of costs: less is rounding
FAR_ROUNDING = 1e-12  # with attributes, the same beyond all costs, where |F - G| may be a rounding error: to its power
POWERS = {"ae": ENERGY_POWER, "saw": SLICED_POWER, ARRANGEMENT: ENERGY_POWER}  # of |F - G|, by metric


def scale_test(
    spaces: Sequence[Space | ArrayLike],
    labels: Sequence[Any] | NDArray[Any] | str,
    max_costs: ArrayLike | None = None,
    *,
    subjects: Sequence[Any] | NDArray[Any] | str | None = None,
    strata: Sequence[Any] | NDArray[Any] | str | None = None,
    within: bool = False,
    blocks: Sequence[Any] | NDArray[Any] | str | None = None,
    weight_items: bool = False,
    metric: str = "ae",
    attributes: AttributesLike = None,
    type_pairs: bool = False,
    robust: bool = False,
    n_resamples: int = 999,
    rng: RngLike = None,
    threads: int = 1,
    progress: bool = True,
) -> ScaleTest:
    r"""Test at which distances groups of spaces differ, for all distances together.

    Anchor Energy is an integral over distances x. Its part in a band of distances,

    .. math:: AE(R_k) - AE(R_{k - 1}) = 2 \int_{R_{k-1}}^{R_k} \int_0^1 |F(x, t) - G(x, t)|^2 dt\, dx,

    is itself a squared distance: it compares how many points (of which types, with `attributes`) the points of a space
    have within x, for x in that band. For each band the share of the dispersion that lies between the groups,
    :math:`1 - W / T` as in :func:`group_test`, is compared with its values under permuted labels. All bands use the
    same permutations. Shares are standardised by their mean and deviation under permutation, so that bands with many
    and with few points are comparable; p-values are adjusted by the largest of all bands.

    With ``metric="saw"`` the integrand is :math:`|F - G|`, and the parts of all bands add up to SAW_1. As an L1
    distance it is of negative type in every band, so its dispersion is one too. It weighs small differences between
    many heights t more than squares do.

    This is the test to begin with where the scale of a difference is unknown. Bands are more informative than energies
    up to a maximal cost, which stay large beyond the distance at which spaces differ. For a single maximal cost use
    ``group_test(pairwise(spaces, max_cost=...), labels)``.

    Parameters
    ----------
    spaces : sequence of N Space or array_like of shape (n, n)
    labels : sequence of length N
        The group of each space; as for :func:`group_test`.
    subjects, strata, within, blocks, weight_items
        As for :func:`group_test`.
    max_costs : array_like of shape (K,), optional
        Ascending ends of the bands. The first band begins at the smallest cost of all spaces. By default there are 32
        costs from the spaces, denser at short distances; the last is the largest cost, or, for arrangement, a quarter
        of the largest cost in the smallest space. If the spaces have fewer distinct costs, as graphs do, all are used.
    metric : {"ae", "saw", "arrangement"}
        "ae" and "saw" with ``attributes="types"`` depend on composition, density and arrangement together,
        "arrangement" on arrangement alone, see :func:`~anchorot.distances.arrangement_energy`.
    attributes : {"types", "features"}, FeatureMap, optional
        As for :func:`anchor_energy`; for "saw" types or none.
    type_pairs : bool
        With ``attributes="types"`` or ``metric="arrangement"``: also test every pair of types, by its part of the
        energy. These p-values are adjusted for all pairs of types and all bands together.
    robust : bool
        Compare ranks of costs; `max_costs` are then ranks from 0 to 1.
    n_resamples : int
        Number of random permutations. No p-value is below 1 / (n_resamples + 1).
    rng : None, int or numpy.random.Generator
        Source of randomness for the permutations.
    threads : int
        Pairs of spaces to compare at the same time; the result does not depend on it.
    progress : bool
        Show a bar, on a terminal or in a notebook.

    Returns
    -------
    ScaleTest
        With `.pvalue`, `.band` (the distances at which the groups differ most) and `.where()` (all such distances);
        :func:`anchorot.plot.scale_curve` draws it. With ``type_pairs=True`` also `.which()` (the types and distances
        that are significant) and ``.table()`` (all of them), which :func:`anchorot.plot.type_pairs` draws.

    Notes
    -----
    One pass over a pair of spaces computes its energies in all bands. O(S² K) memory for S subjects, or spaces if there
    are no subjects; times the number of pairs of types with ``type_pairs=True``.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> alone = [rng.random(40) for _ in range(6)]
    >>> paired = [np.repeat(rng.random(20), 2) + np.tile([0, 0.02], 20) for _ in range(6)]
    >>> spaces = [ao.Space(np.abs(np.subtract.outer(line, line))) for line in alone + paired]
    >>> ao.scale_test(spaces, ["alone"] * 6 + ["paired"] * 6, rng=0)
    ScaleTest: the groups differ (p = 0.01082) at distances 0.01967 to 0.0272
      most at 0.02 to 0.0272: 48.2 % of the dispersion between groups (standard error 10.5 %), 9.09 % by chance
      32 bands from 0 to 1.002
      permuted: items; all 462 assignments, smallest possible p = 0.002165
    """
    names, layers = column_of(spaces, labels, "labels"), column_of(spaces, strata, "strata")
    owners, parts = subjects_of(spaces, subjects), column_of(spaces, blocks, "blocks")
    spaces = check_list(spaces, "spaces", "space")
    seen = [as_space(space, robust=robust).support() for space in spaces]
    groups, codes = check_groups(names, len(seen))
    exchange = exchange_of(
        codes.astype(np.min_scalar_type(len(groups))),
        subjects=owners,
        strata=layers,
        within=within,
        blocks=parts,
    )
    count = check_integer(n_resamples, "n_resamples", 1)
    threads, generator = check_threads(threads), check_rng(rng)
    power = POWERS[check_choice(metric, "metric", tuple(POWERS))]
    ends = (
        _default_max_costs(seen, EDGE_SHARE if metric == ARRANGEMENT else 1.0)
        if max_costs is None
        else _check_max_costs(max_costs)
    )
    features = _features(spaces, metric, attributes, float(ends[-1]), robust)
    fields = [Field.of(as_space(space), near=False) for space in spaces]
    note_unlike_fields(fields, exchange, groups, metric, has_types=attributes == "types")
    start = min(float(ends[0]), min(float(space.cost.min()) for space in seen))
    alphabet = _alphabet(features) if type_pairs else ()
    least = _rounding(features, ends, start, max(float(space.cost.max()) for space in seen), power)
    sums = _band_sums(features, ends, alphabet, exchange.unit, least, power, threads, progress)
    others = others_if_few(exchange, count)
    if others is None:
        others = exchange.draw(count, generator)
    drawn = np.concatenate([exchange.labels[None], others])
    weighting = "items" if weight_items else "equal" if within else "precision"
    sizes = np.bincount(exchange.unit).astype(np.float64)
    counts = np.outer(sizes, sizes)
    by_band = [Units(_square(part) / counts, sizes, weighting).sums() for part in sums]
    shares = np.stack([_shares_between(own, drawn) for own in by_band])
    whole, by_pair = compare_together(shares[: len(ends)]), compare_together(shares[len(ends) :]) if alphabet else None
    owner = exchange.unit if owners is None or within is False else number_names(owners, "subjects", len(seen))
    errors = [_jackknife_error(own, exchange, owner) for own in by_band[: len(ends)]]
    adjusted = whole.adjusted
    return ScaleTest(
        statistic=float(whole.scores.max()),
        pvalue=float(adjusted.min()),
        null=whole.null,
        unit=exchange.name,
        n_assignments=exchange.n_assignments,
        min_pvalue=1 / len(drawn),
        edges=np.append(start, ends),
        share=shares[: len(ends), 0],
        expected=whole.expected,
        spread=whole.spread,
        pvalues=whole.pvalues,
        adjusted_pvalues=adjusted,
        error=np.array(errors),
        groups=groups,
        sizes=tuple(np.bincount(codes).tolist()),
        **({} if by_pair is None else _pair_facts(alphabet, shares[len(ends) :, 0], by_pair, len(ends))),
    )


def _features(
    spaces: Sequence[Any], metric: str, attributes: AttributesLike, max_cost: float, robust: bool
) -> list[AnchorFeatures]:
    """Features of all spaces by one rule."""
    names = [f"spaces[{i}]" for i in range(len(spaces))]
    if metric != ARRANGEMENT:
        rule = attribute_rule_of(spaces, attributes, max_cost, robust=robust)
        if metric == "saw":
            check_sliced_rule(rule, 1)
        return [
            attribute_features(space, rule, robust=robust, name=name) for space, name in zip(spaces, names, strict=True)
        ]
    if robust or attributes not in (None, "types"):
        raise InputError(f"metric={ARRANGEMENT!r} compares types at distances; leave robust and attributes out")
    own = arrangement_rule_of(spaces, max_cost)
    return [ArrangementFeatures.of_space(space, own, name) for space, name in zip(spaces, names, strict=True)]


def _alphabet(features: Sequence[AnchorFeatures]) -> tuple[Hashable, ...]:
    """All types that occur."""
    typed = [own for own in features if isinstance(own, TypedFeatures | ArrangementFeatures)]
    if len(typed) < len(features):
        raise InputError("type_pairs=True needs attributes='types' or metric='arrangement'")
    return sorted_types(kind for own in typed for kind in own.alphabet)


def _pair_facts(alphabet: tuple[Hashable, ...], shares: Float64s, found: Comparison, bands: int) -> dict[str, Any]:
    pairs = tuple(combinations_with_replacement(alphabet, 2))
    numbers = {
        "pair_effects": shares - found.expected,
        "pair_pvalues": found.pvalues,
        "pair_adjusted_pvalues": found.adjusted,
    }
    return {"pairs": pairs, **{name: values.reshape(len(pairs), bands) for name, values in numbers.items()}}


def _check_max_costs(max_costs: ArrayLike) -> Float64s:
    ends = check_values(max_costs, "max_costs")
    if (np.diff(ends) <= 0).any():
        raise InputError(
            "max_costs must be strictly ascending, but got one that is not above its predecessor; "
            "pass np.unique(max_costs)"
        )
    return ends


def _default_max_costs(spaces: Sequence[Space], share: float) -> Float64s:
    """Quantiles of the costs between different points, with equal weight for all spaces.

    Up to a share of the largest cost of the smallest space, if it is below 1.

    Levels are squares: in the plane, where the number of neighbours grows with the square of the distance, all bands
    are about equally wide.
    """
    levels = np.linspace(0.0, 1.0, N_QUANTILES)
    pooled = np.concatenate([np.quantile(_other_costs(space), levels, method="inverted_cdf") for space in spaces])
    if share < 1:
        limit = share * min(float(space.cost.max()) for space in spaces)
        pooled = pooled[pooled <= limit] if (pooled <= limit).any() else pooled
    different = _distinct_values(pooled)
    if len(different) <= N_BANDS:
        return different
    return _distinct_values(np.quantile(pooled, (np.arange(1, N_BANDS + 1) / N_BANDS) ** 2, method="inverted_cdf"))


def _distinct_values(values: Floats) -> Float64s:
    """Return the distinct values, sorted; of values that differ only by rounding the largest."""
    different: Float64s = np.unique(values).astype(np.float64)
    with np.errstate(over="ignore"):
        span = float(different[-1] - different[0])
    check_overflow(span, 1)
    return different[np.append(np.diff(different) > MIN_GAP * (different[1:] - different[0]), True)]


def _other_costs(space: Space) -> Floats:
    """Costs between different points; for a space of one point its only cost."""
    return space.cost[~np.eye(space.n, dtype=bool)] if space.n > 1 else space.cost.ravel()


def _band_sums(
    features: Sequence[AnchorFeatures],
    max_costs: Float64s,
    alphabet: tuple[Hashable, ...],
    unit: Int64s,
    least: Float64s,
    power: int,
    threads: int,
    progress: bool,
) -> Float64s:
    """Energies of all pairs of spaces in each band, summed for every pair of units u <= v, (bands, pairs of units).

    With an alphabet the energies of every pair of types follow, band after band. A band in which no energy exceeds
    `least` has only rounding errors, and is set to zero.
    """
    count, n_units = len(features), int(unit.max()) + 1
    parts = 1 + len(alphabet) * (len(alphabet) + 1) // 2 * bool(alphabet)
    sums = np.zeros((n_units * (n_units + 1) // 2, parts * len(max_costs)))

    has_energy = np.zeros((parts, len(max_costs)), bool)

    def compare(i: int) -> tuple[Float64s, NDArray[np.bool_]]:
        found = np.empty((count - i - 1, parts, len(max_costs)))
        for k, other in enumerate(features[i + 1 :]):
            found[k, 0] = cost_profile(features[i], other, max_costs, power)
            if alphabet:
                found[k, 1:] = pair_profiles(features[i], other, max_costs, alphabet, power)
        check_overflow(found, 1)
        bands = np.diff(found, axis=2, prepend=0.0)
        above = bands > least + ENERGY_ROUNDING * found  # of which a band is a difference
        return np.maximum(bands, 0.0).reshape(len(bands), -1), np.logical_or.reduce(above, axis=0)

    n_pairs = count * (count - 1) // 2
    with progress_bar(n_pairs, "comparing", "pairs", progress) as advance, Threads(threads) as pool:
        for i, (_, (found, above)) in enumerate(pool.map(compare, range(count - 1), in_order=True)):
            has_energy |= above
            low, high = np.minimum(unit[i], unit[i + 1 :]), np.maximum(unit[i], unit[i + 1 :])
            np.add.at(sums, high * (high + 1) // 2 + low, found)
            advance(len(found))
    return sums.T * has_energy.reshape(-1, 1)


def _rounding(
    features: Sequence[AnchorFeatures], max_costs: Float64s, start: float, largest: float, power: int
) -> Float64s:
    """Largest rounding error of the energy of a band, which depends on costs up to its end but not on other bands.

    2 |F - G|² is at most 8 |F|², and |F| is 1 except for vectors.
    """
    vectors = [own.vectors for own in features if isinstance(own, VectorFeatures)]
    most = 8 * max((float(np.linalg.norm(own, axis=1).sum()) ** 2 for own in vectors), default=1.0)
    near = np.minimum(max_costs, max(largest, start))
    # term by term, since the difference may overflow
    near_rounding = ENERGY_ROUNDING * near - ENERGY_ROUNDING * start
    far = FAR_ROUNDING**power if any(isinstance(own, AttributeFeatures) for own in features) else 0.0
    return most * (near_rounding + far * max_costs - far * start)


def _square(lower: Float64s) -> Float64s:
    """Sums over ordered pairs of items for every pair of units, from sums over unordered pairs."""
    count = math.isqrt(2 * len(lower))
    square = np.zeros((count, count))
    square[np.tril_indices(count)] = lower
    return square + square.T


def _shares_between(sums: UnitSums, labels: NDArray[Any]) -> Float64s:
    """1 - W / T of every labelling; 0 if all energies are zero."""
    batches = [dispersions(sums, labels[i : i + BATCH]) for i in range(0, len(labels), BATCH)]
    total, within = batches[0][0], np.concatenate([own for _, own in batches])
    return 1 - within / total if total > 0 else np.zeros(len(labels))


def _jackknife_error(sums: UnitSums, exchange: Exchange, owner: Int64s) -> float:
    """Jackknife standard error of the share between groups, leaving out each subject."""
    of_unit = np.empty(exchange.n_units, np.int64)
    of_unit[exchange.unit] = owner
    same = sums.distances * (of_unit[:, None] == of_unit)

    def dispersions_without(member: Float64s) -> Float64s:
        rows, own = (np.bincount(of_unit, (part @ member) * member) for part in (sums.distances, same))
        left = member.sum() - np.bincount(of_unit, member)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (member @ sums.distances @ member - 2 * rows + own) / (2 * left)

    groups = [np.where(exchange.labels == group, sums.weights, 0.0) for group in range(int(exchange.labels.max()) + 1)]
    total, within = dispersions_without(sums.weights), sum(map(dispersions_without, groups))
    if not np.all(np.isfinite(within)):
        return np.nan
    shares = np.where(total > 0, 1 - within / np.where(total > 0, total, 1.0), 0.0)
    return float(np.sqrt((len(shares) - 1) * shares.var()))
