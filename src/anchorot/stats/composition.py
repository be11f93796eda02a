"""Test whether groups of spaces differ in how much of each type they have."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s
from anchorot._validate import check_list
from anchorot.anchors.attributes import types_of
from anchorot.anchors.type_blocks import sorted_types
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space
from anchorot.stats.dispersion import check_groups, column_of, subjects_of
from anchorot.stats.exchangeability import number_names
from anchorot.stats.group_comparison import GroupOptions, GroupTest, compare_groups
from anchorot.stats.permutation import percent


@dataclass(frozen=True, eq=False, repr=False)
class CompositionTest(GroupTest):
    """Result of a test of compositions.

    Attributes
    ----------
    types : tuple
        The T types that occur.
    shares : ndarray of shape (K, T)
        Mean share of each type in each group; subjects weigh equally.
    """

    types: tuple[Hashable, ...] = ()
    shares: Float64s = field(default_factory=lambda: np.empty((0, 0)))

    def _findings(self) -> list[str]:
        # the type whose roots of shares, which are compared, differ most
        roots = np.sqrt(self.shares)
        most = int(np.argmax(np.ptp(roots, axis=0)))
        low, high = int(np.argmin(roots[:, most])), int(np.argmax(roots[:, most]))
        shown = [f"{percent(self.shares[group, most])} in {self.groups[group]!r}" for group in (low, high)]
        groups, *others = super()._findings()
        return [groups, f"of {len(self.types)} types, most {self.types[most]!r}: {shown[0]}, {shown[1]}", *others[1:]]


def composition_test(
    spaces: Sequence[Space],
    labels: Sequence[Any] | NDArray[Any] | str,
    *,
    subjects: Sequence[Any] | NDArray[Any] | str | None = None,
    strata: Sequence[Any] | NDArray[Any] | str | None = None,
    blocks: Sequence[Any] | NDArray[Any] | str | None = None,
    **options: Any,
) -> CompositionTest:
    """Test whether groups differ in composition: in the shares of the types of their points.

    It compares how many points of each type there are, not where they are. Compositions are compared by the squared
    Hellinger distance, the sum of squared differences of square roots of shares. Roots give rare types more weight, and
    shares may be 0.

    Parameters
    ----------
    spaces : Cohort or sequence of N Space
        With types. Weights of points count.
    labels, subjects, strata, blocks, **options
        As for :func:`group_test`: `within`, `weight_items`, `welch`, `post_hoc`, `n_resamples`, `rng`, `stop_after` and
        `progress`.

    Returns
    -------
    CompositionTest
        As of :func:`group_test`, with the types that occur and the mean `.shares` of each in each group.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> def tissue(share):
    ...     return ao.from_points(rng.random((50, 2)), types=rng.choice(["T", "B"], 50, p=[share, 1 - share]))
    >>> tissues = [tissue(share) for share in [0.2] * 6 + [0.5] * 6]
    >>> ao.composition_test(tissues, ["ill"] * 6 + ["well"] * 6, rng=0)
    CompositionTest: the groups differ (p = 0.002165)
      groups: 'ill' 6, 'well' 6
      of 2 types, most 'T': 16 % in 'ill', 55.3 % in 'well'
      energy between 'ill' and 'well', 95 % interval: 0.3598 (0.2369 to 0.5142)
      permuted: items; all 462 assignments, smallest possible p = 0.002165
    """
    unknown = [name for name in ("metric", "attributes", "max_cost", "power") if name in options]
    if unknown:
        raise InputError(f"composition_test compares shares of types alone; leave {unknown[0]} out")
    names, owners = column_of(spaces, labels, "labels"), subjects_of(spaces, subjects)
    layers, parts = column_of(spaces, strata, "strata"), column_of(spaces, blocks, "blocks")
    listed = [as_space(space) for space in check_list(spaces, "spaces", "space")]
    groups, codes = check_groups(names, len(listed))
    kinds, shares = _compositions(listed)
    roots = np.sqrt(shares)
    distances = np.array([((roots - own) ** 2).sum(axis=1) for own in roots])
    found = compare_groups(distances, names, owners, layers, parts, GroupOptions(**options))
    owner = np.arange(len(listed)) if owners is None else number_names(owners, "subjects", len(listed))
    means = np.array([_mean_by(owner[codes == group], shares[codes == group]) for group in range(len(groups))])
    known = {each.name: getattr(found, each.name) for each in fields(found)}
    return CompositionTest(**known, types=kinds, shares=means)


def _compositions(spaces: Sequence[Space]) -> tuple[tuple[Hashable, ...], Float64s]:
    """All types, and the shares that each has of every space."""
    own = [types_of(space, f"spaces[{k}]") for k, space in enumerate(spaces)]
    kinds = sorted_types(kind for types in own for kind in types)
    place = {kind: k for k, kind in enumerate(kinds)}
    shares = [
        np.bincount([place[kind] for kind in types], space.weights, minlength=len(kinds))
        for types, space in zip(own, spaces, strict=True)
    ]
    return kinds, np.array(shares)


def _mean_by(owner: NDArray[np.int64], values: Float64s) -> Float64s:
    """Mean of the means of each owner's rows."""
    return np.mean([values[owner == one].mean(axis=0) for one in np.unique(owner)], axis=0)
