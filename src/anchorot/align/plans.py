"""Plans between two sets of points: what matches make of them, and what they make of matches and labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_finite, check_numbers, point_values
from anchorot.exceptions import InputError

TIE_TOLERANCE = 1e-9  # entries of a plan that differ by less than this, relatively, are equal
MIN_MATCHED_SHARE = 0.5  # of a point's weight must be matched for the point to have a match


def sparse_plan(matches: Int64s, m: int) -> Any:
    """A plan that sends all of each point's mass, 1, to its match: a sparse array (n, m)."""
    from scipy.sparse import csr_array

    is_matched = matches >= 0
    ends = np.append(0, np.cumsum(is_matched))
    return csr_array((np.ones(ends[-1]), matches[is_matched], ends), shape=(len(matches), m))


def matches_of(plan: Float64s, weights: Float64s) -> Int64s:
    """Column of the largest entry of every row; -1 where less than half of the point's weight is matched."""
    found = plan.argmax(axis=1)
    return np.where((plan.sum(axis=1) > MIN_MATCHED_SHARE * weights) & (weights > 0), found, -1)


def spread_of(plan: Float64s) -> Float64s:
    """Effective number of matches of every row: the exponential of the entropy of its mass; NaN for rows of zeros."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = plan / plan.sum(axis=1, keepdims=True)
    terms = np.multiply(share, np.log(share, out=np.zeros_like(share), where=share > 0))
    return np.exp(-terms.sum(axis=1))


def share_differing(first: Int64s, second: Int64s) -> float:
    """Share of the points that two sets of matches disagree on."""
    return float(np.mean(first != second))


def top_of(masses: Any, k: int) -> Int64s:
    """Columns of the k largest entries of every row, the largest first; -1 where there are not as many."""
    from scipy.sparse import issparse

    n, m = masses.shape
    found = np.full((n, k), -1)
    if not issparse(masses):
        count = min(k, m)
        found[:, :count] = np.argsort(-masses, axis=1, kind="stable")[:, :count]
        return found
    order = np.lexsort((-masses.data, np.repeat(np.arange(n), np.diff(masses.indptr))))
    columns = masses.indices[order]
    place = np.arange(len(columns)) - np.repeat(masses.indptr[:-1], np.diff(masses.indptr))
    kept = place < k
    found[np.repeat(np.arange(n), np.diff(masses.indptr))[kept], place[kept]] = columns[kept]
    return found


def carried_labels(masses: Any, labels: Iterable[Any]) -> tuple[NDArray[Any], Float64s]:
    """The label that most of every row's mass goes to, None for a row without mass; and its share of the mass."""
    from scipy.sparse import csr_array, issparse

    kinds, codes = encode_labels(labels, masses.shape[1])
    members = csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), len(kinds)))
    votes = masses @ members
    most = votes.max(axis=1)
    most, best = (most.toarray(), votes.tocsr().argmax(axis=1)) if issparse(votes) else (most, votes.argmax(axis=1))
    total = masses.sum(axis=1)
    share = np.divide(most, total, out=np.zeros(len(total)), where=total > 0)
    found = kinds[best]
    if not (total > 0).all():
        found = found.astype(object)
        found[total <= 0] = None
    return found, np.minimum(share, 1.0)


def encode_labels(labels: Iterable[Any], count: int) -> tuple[NDArray[Any], Int64s]:
    """Different labels, in order where they have one, and the place of each point's label among them."""
    if isinstance(labels, str | bytes):
        raise InputError(f"labels must be one label for each of {count} points, but got {labels!r}")
    items = point_values(labels, "labels")
    if len(items) != count:
        raise InputError(f"labels has {len(items)} entries, but there are {count} points")
    try:
        names = list(dict.fromkeys(items))
    except TypeError:
        raise InputError("labels must be hashable, such as texts or integers, one for each point") from None
    if {type(name) for name in names} in ({str}, {int}, {float}, {bool}):
        names.sort()  # so that equal votes do not depend on how points are numbered
        kinds = np.array(names)
    else:
        kinds = np.empty(len(names), object)
        kinds[:] = names
    place = {name: number for number, name in enumerate(names)}
    return kinds, np.array([place[item] for item in items], np.int64)


def check_plan(plan: Any, shape: tuple[int, int] | None = None) -> Float64s:
    """Turn a plan, or what has one, into a float64 matrix of finite masses, of the given shape if there is one."""
    if hasattr(plan, "matches") and not hasattr(plan, "plan"):
        raise InputError(f"a {type(plan).__name__} has one match for each point but no plan; take its .matches")
    array: Float64s = check_numbers(getattr(plan, "plan", plan), "plan").astype(np.float64, copy=False)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"plan has shape {array.shape}, but (n, m) with n, m >= 1 is needed")
    if shape is not None and array.shape != shape:
        raise InputError(f"plan has shape {array.shape}, but the spaces have {shape[0]} and {shape[1]} points")
    check_finite(array, "plan")
    least = array.min()
    if least < -TIE_TOLERANCE * array.max():  # more than rounding leaves
        i, j = (int(k) for k in np.unravel_index(array.argmin(), array.shape))
        raise InputError(f"plan must not be negative, but plan[{i}, {j}] is {least}")
    return np.maximum(array, 0) if least < 0 else array
