"""Whether groups differ in their fields of view, densities or compositions, which Anchor Energies see too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anchorot._typing import Float64s
from anchorot.anchors.fields import Field
from anchorot.anchors.type_blocks import sorted_types
from anchorot.exceptions import note_input
from anchorot.stats.dispersion import holm
from anchorot.stats.exchangeability import Exchange

MIN_RATIO = 1.1  # of the means of two groups, for a warning
LEVEL = 0.05  # of the test that the warning rests on
MAX_NAMED = 3  # types in a message


def note_unlike_fields(
    fields: Sequence[Field | None], exchange: Exchange, groups: Sequence[Any], metric: str, *, has_types: bool
) -> None:
    """Warn if groups differ in what a metric sees besides arrangement.

    Means of two groups differ by more than 10 %, and by an F-test over units at 5 %, which is a t-test for two groups.
    """
    known = [field for field in fields if field is not None]
    if not known or len(known) < len(fields):
        return
    areas = np.array([field.area for field in known])
    found = [_difference("fields of view", np.log(areas), exchange, groups)]
    is_arrangement = metric == "arrangement"
    if not is_arrangement:
        numbers = np.array([field.n_points for field in known])
        found.append(_difference("densities", np.log(numbers / areas), exchange, groups))
        found.append(_compositions(known, exchange, groups) if has_types else "")
    differences = [text for text in found if text]
    if not differences:
        return
    advice = (
        "points near edges see fewer others, so compare fields of one size"
        if is_arrangement
        else "these distances depend on that too; metric='arrangement' compares arrangement alone"
        + ", and composition_test composition" * has_types
    )
    note_input(f"groups differ in {'; in '.join(differences)}: {advice}")


def _difference(name: str, logs: Float64s, exchange: Exchange, groups: Sequence[Any]) -> str:
    """What to say about geometric means of items, if these differ."""
    low, high, ratio = _extremes(np.exp(_group_means(logs, exchange)))
    if ratio <= MIN_RATIO or difference_pvalue(_unit_means(logs, exchange), exchange) > LEVEL:
        return ""
    return f"{name} ({ratio:.3g} times as large in {groups[high]!r} as in {groups[low]!r})"


def _compositions(fields: Sequence[Field], exchange: Exchange, groups: Sequence[Any]) -> str:
    """The same of the types whose shares differ, by Holm's method: square roots of shares are tested."""
    kinds = sorted_types(kind for field in fields for kind in field.counts)
    shares = np.array([[field.counts.get(kind, 0) / field.n_points for kind in kinds] for field in fields])
    adjusted = holm([difference_pvalue(_unit_means(np.sqrt(own), exchange), exchange) for own in shares.T])
    texts = []
    for kind, own, pvalue in zip(kinds, shares.T, adjusted, strict=True):
        means = _group_means(own, exchange)
        low, high, ratio = _extremes(means)
        if ratio > MIN_RATIO and pvalue <= LEVEL:
            shown = (
                f"{kind!r} {100 * means[low]:.3g} % in {groups[low]!r}, {100 * means[high]:.3g} % in {groups[high]!r}"
            )
            texts.append((pvalue, shown))
    if not texts:
        return ""
    texts.sort()
    more = f" and {len(texts) - MAX_NAMED} more types" * (len(texts) > MAX_NAMED)
    return f"composition ({', '.join(text for _, text in texts[:MAX_NAMED])}{more})"


def _unit_means(values: Float64s, exchange: Exchange) -> Float64s:
    """Means over the items of each unit."""
    return np.bincount(exchange.unit, values) / np.bincount(exchange.unit)


def _group_means(values: Float64s, exchange: Exchange) -> Float64s:
    """Means over the units of each group, which weigh equally."""
    return np.bincount(exchange.labels, _unit_means(values, exchange)) / np.bincount(exchange.labels)


def _extremes(means: Float64s) -> tuple[int, int, float]:
    """The groups with the least and the largest mean, and the ratio of these."""
    low, high = int(np.argmin(means)), int(np.argmax(means))
    return low, high, float(means[high] / means[low]) if means[low] > 0 else np.inf if means[high] > 0 else 1.0


def difference_pvalue(values: Float64s, exchange: Exchange) -> float:
    """P-value of an F-test of groups, beside strata or subjects if labels are permuted within; 1 if there is none.

    For two groups of subjects it is Student's t-test, for two visits of each subject that of their differences.
    """
    from scipy.stats import f as fisher

    own = _within_layers(values[:, None], exchange)[:, 0]
    groups = _within_layers((exchange.labels[:, None] == np.unique(exchange.labels)).astype(np.float64), exchange)
    solution, _, gained, _ = np.linalg.lstsq(groups, own, rcond=None)
    small, large = float(own @ own), float(np.sum((own - groups @ solution) ** 2))
    left = len(values) - len(np.unique(exchange.layer)) - int(gained)
    rounding = 1e-12 * float(values @ values)
    if gained == 0 or left == 0 or small <= rounding:
        return 1.0
    if large <= rounding:
        return 0.0
    return float(fisher.sf((small - large) / gained / (large / left), gained, left))


def _within_layers(columns: Float64s, exchange: Exchange) -> Float64s:
    """Differences from the means of each stratum, or subject."""
    sums = np.zeros((int(exchange.layer.max()) + 1, columns.shape[1]))
    np.add.at(sums, exchange.layer, columns)
    return columns - (sums / np.bincount(exchange.layer)[:, None])[exchange.layer]
