"""Rows that stand at places on a line and move as time goes on, and the energy distances of their labellings."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s

ROW_STEPS = 30  # one row, in passes of the C++ kernel over one place
BLOCK_NUMBERS = 1 << 20  # masses summed at a time: 8 MB


class Moves(NamedTuple):
    """CDF heights that rise while x runs over the line, or quantiles while the level t runs from 0 to 1."""

    time: Float64s  # (L,) ascending; a row moves once at a time
    row: NDArray[np.uint32]  # (L,) which row moves
    target: NDArray[np.uint32]  # (L,) to which place
    start: NDArray[np.uint32]  # (rows,) places at the beginning
    place: Float64s  # (places,) ascending
    begin: float  # of the time; all moves lie between
    end: float


class Items(NamedTuple):
    """Rows belong to items, which change sides as a whole."""

    item: NDArray[np.uint32]  # (rows,)
    mass: Float64s  # (rows,) of sum 1 over the rows of an item


def labelled_energies(moves: Moves, items: Items, in_x: NDArray[np.uint8], threads: int) -> Float64s:
    """Energy distance of the two collections that each labelling makes of a pool.

    At every moment: sort the places, then for every labelling sum up the signed masses D in that order and add
    duration * Σ (z_{k+1} - z_k) D². O(moments * rows * labellings).
    """
    time, row, target, start, place, begin, end = moves
    size_x = int(in_x[0].sum())
    size_y = in_x.shape[1] - size_x
    step = max(1, BLOCK_NUMBERS // len(start))
    energies = np.zeros(len(in_x))
    now = start.copy()
    moments = np.unique(np.append(begin, time))
    for moment, later in zip(moments, np.append(moments[1:], end), strict=True):
        moving = slice(*np.searchsorted(time, [moment, later])) if later > moment else slice(0, 0)
        now[row[moving]] = target[moving]
        order = np.argsort(now, kind="stable")
        area = np.diff(place[now[order]]) * (later - moment)
        for first in range(0, len(in_x), step):
            block = slice(first, first + step)
            signed = np.where(in_x[block][:, items.item[order]], size_y, -size_x) * items.mass[order]
            energies[block] += np.cumsum(signed, axis=1)[:, :-1] ** 2 @ area
    return 2 * (energies / size_x / size_y / size_x / size_y)


def labelled_steps(moves: Moves) -> float:
    """Tell how long `labelled_energies` takes: a sum over all rows at every moment."""
    moments = 1 + np.count_nonzero(np.diff(moves.time))
    return float(ROW_STEPS * moments * len(moves.start))
