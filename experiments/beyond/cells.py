"""Cells measured by two assays: which profile of one is which of the other, by the plan between two spaces."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

from experiments.common.clock import one_core

METHODS = ("AEP", "AW", "GW")
AW_EPSILONS = (1e-1, 1e-2, 1e-3, 0.0)
GW_EPSILONS = (5e-3, 1e-3, None)
MAX_ITER = 50  # of entropic GW, which SCOT's small epsilons keep from converging
TINY = ao.Space([[0.0, 1.0], [1.0, 0.0]])
VOTES = 5  # neighbours that decide a type, as in SCOT


@dataclass(frozen=True, eq=False)
class Pair:
    """The same cells seen by two assays; row i of one is row i of the other, which no method is told.

    Attributes
    ----------
    name : str
    assays : pair of str
    first, second : ndarray of shape (n, d) and (n, e)
        Profiles of length 1.
    types : ndarray of shape (n,)
    n_neighbors : int
        SCOT's published choice for its graphs.
    epsilon : float
        SCOT's published choice for GW.
    left_out : str
        What the library says of a cell that had to be left out, or an empty string.
    """

    name: str
    assays: tuple[str, str]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    types: NDArray[np.str_]
    n_neighbors: int
    epsilon: float
    left_out: str = ""


@dataclass(frozen=True, eq=False)
class Alignment:
    """What one method did at one setting."""

    data: str
    method: str
    n_neighbors: int | None
    epsilon: float | None
    converged: bool
    seconds: float
    projected: NDArray[np.float64]
    closer: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def spread(self) -> float:
        """How far apart the projected cells lie: the root of their total variance."""
        return float(np.sqrt(self.projected.var(axis=0).sum()))

    @property
    def setting(self) -> str:
        """The setting in words."""
        costs = "Euclidean" if self.n_neighbors is None else f"{self.n_neighbors} neighbours"
        if self.method == "AEP":
            return costs
        return costs + (", no epsilon" if not self.epsilon else f", epsilon {self.epsilon:g}")


def scgem(folder: Path) -> Pair:
    """Read scGEM: expression and methylation of 177 cells on their way to stem cells."""
    assays = ("expression", "methylation")
    first, second = (np.loadtxt(folder / f"scGEM_{assay}.csv", delimiter=",") for assay in assays)
    names = np.array(["", "BJ", "d8", "d16T+", "d24T+", "iPS"])
    types = names[np.loadtxt(folder / "scGEM_typeExpression.txt").astype(int)]
    try:
        ao.from_neighbors(second, 35)
        told = ""
    except ao.InputError as error:  # one cell's profile does not vary, so that it correlates with nothing
        told = str(error)
    kept = (np.ptp(first, axis=1) > 0) & (np.ptp(second, axis=1) > 0)
    return Pair("scGEM", assays, _unit(first[kept]), _unit(second[kept]), types[kept], 35, 5e-3, told)


def snare(folder: Path) -> Pair:
    """Read SNARE-seq: chromatin accessibility and expression of 1047 cells of four lines."""
    first, second = (np.load(folder / f"SNAREseq_{assay}_feat.npy") for assay in ("atac", "rna"))
    lines = (folder / "SNAREseq_metadata.txt").read_text(encoding="utf-8").split("\n")[1:]
    types = np.array([line.split()[1] for line in lines if line.strip()])
    return Pair("SNARE-seq", ("accessibility", "expression"), _unit(first), _unit(second), types, 110, 1e-3)


def align(pair: Pair, method: str, n_neighbors: int | None, epsilon: float | None) -> Alignment:
    """Compute a plan between the two assays, carry the first over to the second, and see how well that went."""
    x, y = (_space(profiles, n_neighbors) for profiles in (pair.first, pair.second))
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)  # reported with the figures
        PLANS[method](TINY, TINY, epsilon)  # imports take no part in the time
        start = time.perf_counter()
        plan, converged = PLANS[method](x, y, epsilon)
        seconds = time.perf_counter() - start
    mass = plan.sum(axis=1, keepdims=True)
    # where POT's solver underflows, cells lose all their mass: they are put in the middle
    projected = np.where(mass > 0, plan @ pair.second / np.where(mass > 0, mass, 1), pair.second.mean(axis=0))
    closer = foscttm(projected, pair.second)
    right = label_transfer(projected, pair.second, pair.types)
    return Alignment(pair.name, method, n_neighbors, epsilon, converged, seconds, projected, closer, right)


def foscttm(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each cell the fraction of samples closer than its true match, averaged over both directions."""
    from scipy.spatial.distance import cdist

    distances = cdist(x, y)
    true = np.diag(distances)
    n_others = len(x) - 1
    ahead = (distances < true[:, None]).sum(axis=1) / n_others
    behind = (distances < true[None, :]).sum(axis=0) / n_others
    return (ahead + behind) / 2


def label_transfer(
    projected: NDArray[np.float64], reference: NDArray[np.float64], types: NDArray[np.str_]
) -> NDArray[np.float64]:
    """Return for each projected cell whether neighbours in the reference name its type."""
    from sklearn.neighbors import KNeighborsClassifier

    return (KNeighborsClassifier(VOTES).fit(reference, types).predict(projected) == types).astype(np.float64)


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _unit(profiles: NDArray[np.float64]) -> NDArray[np.float64]:
    return profiles / np.linalg.norm(profiles, axis=1, keepdims=True)


def _space(profiles: NDArray[np.float64], n_neighbors: int | None) -> ao.Space:
    """Return the cells with shortest paths on their graph of neighbours, or Euclidean distances, of largest cost 1."""
    space = ao.from_points(profiles) if n_neighbors is None else ao.from_neighbors(profiles, n_neighbors)
    assert isinstance(space, ao.Space)  # of one graph; several would be a list
    return ao.Space(space.cost / space.cost.max())


def _energy_plan(x: ao.Space, y: ao.Space, _: float | None) -> tuple[NDArray[np.float64], bool]:
    return ao.anchor_energy_plan(x, y), True


def _wasserstein_plan(x: ao.Space, y: ao.Space, epsilon: float | None) -> tuple[NDArray[np.float64], bool]:
    found = ao.anchor_wasserstein(x, y, epsilon=epsilon or 0.0)
    return found.plan, found.converged


def _gromov_plan(x: ao.Space, y: ao.Space, epsilon: float | None) -> tuple[NDArray[np.float64], bool]:
    try:
        found = ao.gromov_wasserstein(x, y, epsilon, start="product", max_iter=None if epsilon is None else MAX_ITER)
    except ao.InputError:  # POT's solver underflowed: no mass goes anywhere
        return np.zeros((x.n, y.n)), False
    return found.plan, found.converged


PLANS: dict[str, Callable[[ao.Space, ao.Space, float | None], tuple[NDArray[np.float64], bool]]] = {
    "AEP": _energy_plan,
    "AW": _wasserstein_plan,
    "GW": _gromov_plan,
}
