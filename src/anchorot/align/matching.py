"""Matches read from any plan, and from files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Int64s, RngLike
from anchorot._validate import check_choice, check_rng
from anchorot.align.correspondence import Correspondence
from anchorot.align.plans import TIE_TOLERANCE, check_plan
from anchorot.distances.wasserstein import Transport
from anchorot.exceptions import InputError, printable
from anchorot.io.safe_open import MAX_BYTES, about, content_of
from anchorot.space import Space


def match(
    plan: Correspondence | Transport | ArrayLike, method: str = "argmax", *, ties: str = "first", rng: RngLike = None
) -> Int64s:
    """Match of every point of the first space in the second, from a plan.

    Parameters
    ----------
    plan : Correspondence, Transport or array_like of shape (n, m)
        Mass between every point of one space and every point of the other, not negative. An alignment has its
        own matches, which are returned.
    method : {"argmax", "assignment"}
        "argmax": where most of the point's mass goes; several points may have the same match. "assignment": one to one,
        with the largest total mass.
    ties : {"first", "random"}
        Which of several equally good matches "argmax" takes.
    rng : None, int or numpy.random.Generator
        Source of randomness for ``ties="random"``.

    Returns
    -------
    ndarray of shape (n,)
        Index of the match; -1 for the n - m points that a one-to-one assignment must leave out if n > m, and for those
        that an alignment leaves unmatched.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.match([[0.4, 0.1], [0.3, 0.2]]).tolist(), ao.match([[0.4, 0.1], [0.3, 0.2]], "assignment").tolist()
    ([0, 0], [0, 1])
    """
    if isinstance(plan, Space):
        raise InputError("got a Space, but a plan between two spaces is needed, such as: match(align(x, y))")
    check_choice(method, "method", ("argmax", "assignment"))
    check_choice(ties, "ties", ("first", "random"))
    if isinstance(plan, Correspondence) and (method == "argmax" or plan.is_one_to_one):
        return plan.matches
    array = check_plan(plan)
    if method == "assignment":
        from scipy.optimize import linear_sum_assignment

        found = np.full(len(array), -1)
        points, matches = linear_sum_assignment(array, maximize=True)
        found[points] = matches
        return np.where(plan.matches >= 0, found, -1) if isinstance(plan, Correspondence) else found
    best = array >= array.max(axis=1, keepdims=True) * (1 - TIE_TOLERANCE)
    if ties == "first":
        return best.argmax(axis=1)
    return np.where(best, check_rng(rng).uniform(size=best.shape), -1.0).argmax(axis=1)


def read_matches(path: str | os.PathLike[str]) -> Int64s:
    """Read matches as an alignment writes them: one to a line, counted from 0, -1 for a point without one.

    Parameters
    ----------
    path : path

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> import tempfile
    >>> import anchorot as ao
    >>> x = ao.from_points([[0.0], [1.0], [3.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ao.align(x, x.take([2, 0, 1])).write(f"{folder}/map.txt")
    ...     ao.read_matches(f"{folder}/map.txt").tolist()
    [1, 2, 0]
    """
    file = Path(path)
    with about(file):
        lines = content_of(file, MAX_BYTES).decode("utf-8", "replace").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        for number, line in enumerate(lines, 1):
            if not re.fullmatch(r"-1|[0-9]{1,18}", line.strip(), re.ASCII):
                shown = printable(line[:40])
                raise InputError(f"line {number} is {shown!r}, but the number of a match is needed, -1 for none")
    return np.array([int(line) for line in lines], np.int64)
