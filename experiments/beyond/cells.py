"""Cells measured by two assays: which profile of one is which of the other, by the plan between two spaces."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.beyond.cell_plans import PLANS, gromov_loss
from experiments.common.clock import one_core, processor_time
from experiments.common.rules import RULES

TINY = ao.Space([[0.0, 1.0], [1.0, 0.0]])
VOTES = 5  # neighbours that decide a type, as in SCOT
BATCHES = RULES["beyond.align_scot"].draws  # of cells, whose scores' spread gives the standard error


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


@dataclass(frozen=True)
class Estimate:
    """A mean over cells, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Estimate":
        """Return the mean of independent values."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}"


@dataclass(frozen=True, eq=False)
class Alignment:
    """What one method did at one setting.

    Attributes
    ----------
    data, method : str
    n_neighbors : int or None
        None for Euclidean costs.
    epsilon : float or None
        None for none, or the library's own choice.
    converged : bool
    seconds : float
    loss : float
        Gromov-Wasserstein loss of the plan; of align, which gives both a sharp and a soft one, of the sharp.
    foscttm, transfer : Estimate
        Of the plan itself, by `anchorot.alignment_scores`.
    batches : ndarray of shape (BATCHES,)
        FOSCTTM of batches of cells, the same for all methods.
    projected : ndarray of shape (n, e)
        Cells of the first assay carried over to the second.
    projected_foscttm, projected_transfer : Estimate
        SCOT's scores: of the projected cells, over both directions, and by nearest neighbours.
    """

    data: str
    method: str
    n_neighbors: int | None
    epsilon: float | None
    converged: bool
    seconds: float
    loss: float
    foscttm: Estimate
    batches: NDArray[np.float64]
    transfer: Estimate
    projected: NDArray[np.float64]
    projected_foscttm: Estimate
    projected_transfer: Estimate

    @property
    def spread(self) -> float:
        """How far apart the projected cells lie: the root of their total variance."""
        return float(np.sqrt(self.projected.var(axis=0).sum()))

    @property
    def costs(self) -> str:
        """The costs in words."""
        return name_costs(self.n_neighbors)

    @property
    def setting(self) -> str:
        """The setting in words."""
        return self.costs + (f", epsilon {self.epsilon:g}" if self.epsilon else "")


@dataclass(frozen=True)
class Optimum:
    """Whether the true matches are what Gromov-Wasserstein looks for.

    Attributes
    ----------
    data : str
    n_neighbors : int or None
    truth : float
        Loss of the true matches.
    from_truth : float
        Loss of the best plan that a descent from the true matches finds,
    kept : float
        and the share of the true matches that this plan keeps.
    """

    data: str
    n_neighbors: int | None
    truth: float
    from_truth: float
    kept: float


def name_costs(n_neighbors: int | None) -> str:
    """Return the costs in words."""
    return "Euclidean" if n_neighbors is None else f"{n_neighbors} neighbours"


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
    x, y = spaces(pair, n_neighbors)
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)  # reported with the figures
        PLANS[method](TINY, TINY, epsilon)  # imports take no part in the time
        found, seconds = processor_time(lambda: PLANS[method](x, y, epsilon))
    mass = found.soft.sum(axis=1, keepdims=True)
    # where POT's solver underflows, cells lose all their mass: they are put in the middle
    projected = np.where(mass > 0, found.soft @ pair.second / np.where(mass > 0, mass, 1), pair.second.mean(axis=0))
    return Alignment(
        pair.name,
        method,
        n_neighbors,
        epsilon,
        found.converged,
        seconds,
        gromov_loss(x, y, found.sharp),
        *plan_scores(pair, found.soft),
        projected,
        Estimate.of(foscttm(projected, pair.second)),
        Estimate.of(label_transfer(projected, pair.second, pair.types)),
    )


def truth_as_optimum(pair: Pair, n_neighbors: int | None) -> Optimum:
    """Compare the loss of the true matches with what a descent from them finds."""
    x, y = spaces(pair, n_neighbors)
    true = np.eye(x.n) / x.n
    with one_core():
        found = ao.align(x, y, start=true, rng=0)
    kept = float(np.mean(found.matches == np.arange(x.n)))
    return Optimum(pair.name, n_neighbors, gromov_loss(x, y, true), found.value, kept)


def plan_scores(pair: Pair, plan: NDArray[np.float64]) -> tuple[Estimate, NDArray[np.float64], Estimate]:
    """Return FOSCTTM, of batches too, and label transfer of a plan, by distances and types in the second assay."""
    n = len(pair.types)
    true, cost = np.arange(n), _euclidean(pair.second)
    scores = ao.alignment_scores(plan, true, cost, labels=(list(pair.types), list(pair.types)))
    assert scores.foscttm is not None  # both were given what they need
    assert scores.label_transfer is not None
    batch = np.random.default_rng(0).permutation(n) % BATCHES
    parts = [ao.alignment_scores(plan, np.where(batch == k, true, -1), cost).foscttm for k in range(BATCHES)]
    batches = np.array(parts, dtype=np.float64)
    share = scores.label_transfer
    spread = float(np.sqrt(share * (1 - share) / (n - 1)))
    return Estimate(scores.foscttm, Estimate.of(batches).error), batches, Estimate(share, spread)


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


def _unit(profiles: NDArray[np.float64]) -> NDArray[np.float64]:
    return profiles / np.linalg.norm(profiles, axis=1, keepdims=True)


def spaces(pair: Pair, n_neighbors: int | None) -> tuple[ao.Space, ao.Space]:
    """Return both assays with shortest paths on graphs of neighbours, or Euclidean distances, of largest cost 1."""
    return _space(pair.first, n_neighbors), _space(pair.second, n_neighbors)


def _space(profiles: NDArray[np.float64], n_neighbors: int | None) -> ao.Space:
    if n_neighbors is None:
        cost = _euclidean(profiles)
    else:
        space = ao.from_neighbors(profiles, n_neighbors)
        assert isinstance(space, ao.Space)  # of one graph; several would be a list
        cost = space.cost.astype(np.float64)
    return ao.Space(cost / cost.max())


def _euclidean(profiles: NDArray[np.float64]) -> NDArray[np.float64]:
    return ao.from_points(profiles).cost.astype(np.float64)
