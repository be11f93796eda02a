"""The distances whose time is measured, each a function of two spaces that returns a number."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

import anchorot as ao
from experiments.common.pot import entropic_by_pot
from experiments.scalability.sl_ae import paper_energy

PAPER_AW_EPSILON = 1e-5  # of a program that multiplies costs by a_i b_j: times n m in AW's own definition
AW_SHARE = 0.01  # of the mean cost
PAPER_GW_EPSILON = 10.0  # alpha of Solomon et al.; POT's is 4 alpha


@dataclass(frozen=True)
class Method:
    """One way to compare two spaces."""

    label: str
    compare: Callable[[ao.Space, ao.Space], float]
    is_energy: bool  # whether it computes AE, so that its values must be those of all others that do
    on_numpy: bool = False
    converges: bool = True  # if not, its times say nothing of how it grows


def naive_energy(x: ao.Space, y: ao.Space) -> float:
    """AE (Eq. 3) with every optimal transport on its own: sorted rows, then all pairs of them, in O(n³).

    The sums of absolute differences are SciPy's, in C++ and without temporary arrays. For uniform weights and spaces of
    one size.
    """
    rows_x, rows_y = np.sort(x.cost, axis=1), np.sort(y.cost, axis=1)

    def mean_transport(rows: np.ndarray, others: np.ndarray) -> float:
        return float(cdist(rows, others, "cityblock").mean()) / rows.shape[1]

    return 2 * mean_transport(rows_x, rows_y) - mean_transport(rows_x, rows_x) - mean_transport(rows_y, rows_y)


def wasserstein(x: ao.Space, y: ao.Space) -> float:
    """AW at the paper's epsilon."""
    return ao.anchor_wasserstein(x, y, epsilon=PAPER_AW_EPSILON * x.n * y.n).value


def wasserstein_at_a_share(x: ao.Space, y: ao.Space) -> float:
    """AW at an epsilon that is always as far from the product plan: a share of the mean cost between points."""
    scale = float(x.cost.mean() + y.cost.mean()) / 2
    return ao.anchor_wasserstein(x, y, epsilon=AW_SHARE * scale).value


def gromov(x: ao.Space, y: ao.Space) -> float:
    """GW at the paper's epsilon, by POT, whose inner loop stops at its limit of iterations."""
    return entropic_by_pot(x, y, 4 * PAPER_GW_EPSILON, 1000).loss


METHODS = {
    "ae": Method("AE, anchorot", ao.anchor_energy, is_energy=True),
    "ae_numpy": Method("AE, anchorot without C++", ao.anchor_energy, is_energy=True, on_numpy=True),
    "ae_fenwick": Method("AE, the paper's SL-AE", paper_energy, is_energy=True),
    "ae_naive": Method("AE, naive", naive_energy, is_energy=True),
    "aw": Method("AW, epsilon 1e-5 n m", wasserstein, is_energy=False),
    "aw_share": Method(f"AW, epsilon {AW_SHARE:g} of the mean cost", wasserstein_at_a_share, is_energy=False),
    "gw": Method("GW, epsilon 40 (POT), unconverged", gromov, is_energy=False, converges=False),
}
