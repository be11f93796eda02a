"""Energy distances of one pool of measures under many labellings, moment by moment, in NumPy."""

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import PlaceMoves, RowItems
from anchorot._typing import Float64s

ROW_STEPS = 30  # one row, in passes of the C++ kernel over one place
BLOCK_MASSES = 1 << 20  # summed at a time: 8 MB


def labelled_energies(moves: PlaceMoves, items: RowItems, in_x: NDArray[np.uint8], threads: int) -> Float64s:
    """Energy distance of the two collections that each labelling makes of a pool.

    At every moment: sort the places, then for every labelling sum up the signed masses D in that order and add
    duration * Σ (z_{k+1} - z_k) D². O(moments * rows * labellings).
    """
    time, row, target, start, place, begin, end = moves
    size_x = int(in_x[0].sum())
    size_y = in_x.shape[1] - size_x
    step = max(1, BLOCK_MASSES // len(start))
    if np.inf in (end - begin, float(place[-1]) - float(place[0])):
        return np.full(len(in_x), np.inf)
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


def labelled_steps(moves: PlaceMoves) -> float:
    """Tell how long `labelled_energies` takes: a sum over all rows at every moment."""
    moments = 1 + np.count_nonzero(np.diff(moves.time))
    return float(ROW_STEPS * moments * len(moves.start))
