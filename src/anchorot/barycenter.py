"""Barycenters: points whose distances minimise the sum of distances to several spaces."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import WithFacts
from anchorot._progress import progress_bar
from anchorot._typing import Float64s, RngLike
from anchorot._validate import (
    check_choice,
    check_integer,
    check_list,
    check_low_power,
    check_nonnegative,
    check_numbers,
    check_power,
    check_rng,
    check_weights,
    uniform_weights,
)
from anchorot.anchors.attributes import AttributeRule, attribute_rule_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import signature_of
from anchorot.anchors.type_blocks import sorted_types
from anchorot.exceptions import InputError
from anchorot.io.points import from_points
from anchorot.many.metrics import WITH_GRADIENT
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from torch import Tensor

STEP = 0.05  # of Adam, in units of the mean cost
AW_EPSILON = 0.01  # default epsilon of AW, in units of the mean cost to the power p
MOST_CELLS = 64  # of a signature, each way
MOVED = 1e-3  # of the mean cost: parts points that begin at one place, and lifts flat clouds into further dimensions


Loss = Callable[["Tensor"], "Tensor"]


@dataclass(frozen=True, eq=False, repr=False)
class Barycenter(WithFacts):
    """Result of :func:`barycenter`.

    Attributes
    ----------
    points : ndarray of shape (n_points, dim)
        Centred; unique up to rotation and reflection.
    space : Space
        Their Euclidean distances, uniform weights, with the points as geometry; and with types, if any.
    losses : ndarray of shape (iterations,)
        Weighted sum of the distances to the spaces before every iteration of the best restart.
    loss : float
        The smallest of `losses`, which is that of `points`.
    restarts : ndarray of shape (restarts,)
        The smallest loss of every restart.
    converged : bool
        Whether the best restart stopped because the loss no longer fell.
    """

    points: Float64s
    space: Space
    losses: Float64s
    loss: float
    restarts: Float64s
    converged: bool

    def facts(self) -> dict[str, str]:
        """Summarise the barycenter in words; what `repr`, notebooks and the command line show."""
        n, dim = self.points.shape
        state = "converged" if self.converged else "NOT converged"
        return {
            "points": f"{n} in {dim} dimensions",
            "first loss": f"{self.losses[0]:.6g}",
            "loss": f"{self.loss:.6g}",
            "solver": f"{state} in {len(self.losses)}, best of {len(self.restarts)}",
        }


@dataclass(frozen=True)
class _Descent:
    """Result of one restart."""

    points: Float64s
    losses: Float64s
    converged: bool

    @property
    def loss(self) -> float:
        return float(self.losses.min())


def barycenter(
    spaces: Sequence[Space | ArrayLike],
    n_points: int,
    dim: int = 2,
    metric: str = "ae",
    *,
    weights: ArrayLike | None = None,
    p: int = 1,
    epsilon: float | None = None,
    attributes: str | None = None,
    max_cost: float | None = None,
    optimizer: str = "adam",
    max_iter: int = 500,
    patience: int = 100,
    tolerance: float = 1e-4,
    restarts: int = 1,
    start: ArrayLike | str | None = None,
    rng: RngLike = None,
    device: str = "cpu",
    progress: bool = True,
) -> Barycenter:
    """Points in R^dim that minimise the weighted sum of distances to several spaces.

    Only costs within each space are used, so the spaces need no common coordinates, and the barycenter may have another
    dimension (the paper's appendix: planar barycenters of digits in 3-D). The objective is not convex in the points:
    restarts from random clouds help. Needs PyTorch (extra ``torch``).

    Parameters
    ----------
    spaces : sequence of Space or array_like of shape (m, m)
    n_points, dim : int
        Number of points, and of their coordinates.
    metric : {"ae", "saw", "aw"}
        The distance: Anchor Energy, Sliced Anchor Wasserstein to the power p (p = 1 or 2), or Anchor Wasserstein, which
        is slower and distinguishes parts of a shape better.
    weights : array_like, optional
        Weight of every space; equal by default.
    p : int from 1 to 64
    epsilon : float >= 0, optional
        Strength of the entropic regularisation of "aw"; 0 is exact transport. By default 0 if all spaces are uniform
        with `n_points` points, which is as fast; else 0.01 of the mean cost (to the power p).
    attributes : {"types"}, optional
        For "ae", p = 1: the points have types too, in the spaces' mean proportions; see :func:`anchor_energy`.
    max_cost : float, optional
        For "ae", p = 1: compare costs up to this value; with attributes the default is the largest cost of the spaces.
    optimizer : {"adam", "lbfgs"}
        Adam's step size falls to zero over `max_iter` iterations.
    max_iter, patience, tolerance : int, int, float
        Stop if the loss has not fallen by the relative `tolerance` for `patience` iterations, or after `max_iter`.
    restarts : int
        Number of starts; the best result is returned.
    start : "typical", or array_like of shape (n_points, dim), optional
        Initial points of the first start; by default a Gaussian cloud scaled to the spaces' mean cost, as for the
        others. "typical" draws nothing: the space whose :func:`signature` is nearest to the mean of all, which is
        their barycenter in closed form, laid out by classical scaling.
    rng : None, int or numpy.random.Generator
        Source of randomness for the clouds.
    device : str
        PyTorch device: "cpu", "cuda".
    progress : bool
        Show a progress bar, on a terminal or in a notebook.

    Returns
    -------
    Barycenter

    Examples
    --------
    >>> import anchorot as ao
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> found = ao.barycenter([triangle], n_points=3, rng=0)
    >>> found.space.cost[0, 1].round(2)
    np.float64(1.0)
    """
    metric = check_choice(metric, "metric", WITH_GRADIENT)
    check_choice(optimizer, "optimizer", ("adam", "lbfgs"))
    p = check_low_power(p) if metric == "saw" else check_power(p)
    n_points, dim, restarts, max_iter, patience = (
        check_integer(value, name, 1)
        for value, name in (
            (n_points, "n_points"),
            (dim, "dim"),
            (restarts, "restarts"),
            (max_iter, "max_iter"),
            (patience, "patience"),
        )
    )
    tolerance = check_nonnegative(tolerance, "tolerance")
    if epsilon is not None and metric != "aw":
        raise InputError(f"metric {metric!r} has no epsilon, but got epsilon={epsilon!r}; 'aw' has one")
    checked = [as_space(space) for space in check_list(spaces, "spaces", "space")]
    shares = uniform_weights(len(checked)) if weights is None else check_weights(weights, len(checked), "spaces")
    scale = float(np.mean([space.weights @ space.cost @ space.weights for space in checked])) or 1.0
    if epsilon is None:
        is_assignment = all(space.is_uniform and space.n == n_points for space in checked)
        epsilon = 0.0 if is_assignment else AW_EPSILON * abs(scale) ** p
    eps = check_nonnegative(epsilon, "epsilon")
    import anchorot.torch  # noqa: F401  # raises an error that names the extra if PyTorch is missing

    attribute_rule = _check_attributes(checked, attributes, max_cost, metric, p)
    types = (
        None if attribute_rule is None or attribute_rule.attributes is None else mean_types(checked, shares, n_points)
    )
    loss = barycenter_loss(checked, shares, metric, p, eps, attribute_rule, types, device)
    generator = check_rng(rng)
    # the mean distance of two standard Gaussian points is about sqrt(2 dim)
    clouds = [abs(scale) / np.sqrt(2 * dim) * generator.normal(size=(n_points, dim)) for _ in range(restarts)]
    if isinstance(start, str):
        check_choice(start, "start", ("typical",))
        clouds[0] = typical_cloud(checked, shares, n_points, dim)
    elif start is not None:
        clouds[0] = _check_start(start, n_points, dim)
    found = []
    with progress_bar(restarts * max_iter, "barycenter", "steps", progress) as advance:
        for cloud in clouds:
            found.append(
                _descend(loss, cloud, optimizer, STEP * abs(scale), max_iter, patience, tolerance, device, advance)
            )
    best = min(found, key=lambda descent: descent.loss)
    points = best.points - best.points.mean(axis=0)
    smallest = np.array([descent.loss for descent in found])
    return Barycenter(points, from_points(points, types=types), best.losses, best.loss, smallest, best.converged)


def _check_attributes(
    spaces: list[Space], attributes: str | None, max_cost: float | None, metric: str, p: int
) -> AttributeRule | None:
    if attributes not in (None, "types"):
        raise InputError(f"attributes of a barycenter must be 'types' or None, but got {attributes!r}")
    attribute_rule = attribute_rule_of(spaces, attributes, max_cost)
    if attribute_rule is not None:
        if metric != "ae" or p != 1:
            raise InputError(f"attributes and max_cost need metric='ae' and p=1, but got {metric!r} and p={p}")
        for k, space in enumerate(spaces):
            attribute_rule.seen(space, robust=False, name=f"spaces[{k}]")
    return attribute_rule


def mean_types(spaces: list[Space], shares: Float64s, n_points: int) -> tuple[Hashable, ...]:
    """Return types of n points in the spaces' mean proportions (largest remainders)."""
    mass: dict[Hashable, float] = {}
    for space, share in zip(spaces, shares, strict=True):
        for kind, weight in zip(space.types or (), space.weights, strict=True):
            mass[kind] = mass.get(kind, 0.0) + share * weight
    kinds = sorted_types(mass)
    wanted = np.array([mass[kind] for kind in kinds]) * n_points
    counts = np.floor(wanted).astype(int)
    for k in np.argsort(counts - wanted, kind="stable")[: n_points - counts.sum()]:
        counts[k] += 1
    return tuple(kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count))


def barycenter_loss(
    spaces: list[Space],
    shares: Float64s,
    metric: str,
    p: int,
    epsilon: float,
    attribute_rule: AttributeRule | None,
    types: tuple[Hashable, ...] | None,
    device: str,
) -> Loss:
    """Return the objective: the weighted sum of distances to the spaces, batched by size and uniformity."""
    import torch

    from anchorot.torch import anchor_energy, anchor_wasserstein, sliced_anchor_wasserstein
    from anchorot.torch import from_points as distances

    def tensor(arrays: list[Any]) -> Tensor:
        return torch.tensor(np.stack(arrays), dtype=torch.float64, device=device)

    batches: dict[tuple[int, bool], list[int]] = {}
    for index, space in enumerate(spaces):
        batches.setdefault((space.n, space.is_uniform), []).append(index)
    kinds = sorted_types(kind for space in spaces for kind in space.types or ())

    def codes(of: tuple[Hashable, ...]) -> list[int]:
        return [kinds.index(kind) for kind in of]

    own_types = None if types is None else torch.tensor(codes(types), device=device)
    max_cost = None if attribute_rule is None else attribute_rule.max_cost
    groups = [
        (
            tensor([spaces[i].cost for i in members]),
            None if uniform else tensor([spaces[i].weights for i in members]),
            tensor([shares[i] for i in members]),
            None if own_types is None else (own_types, tensor([codes(spaces[i].types or ()) for i in members]).long()),
        )
        for (_, uniform), members in batches.items()
    ]

    def loss(points: Tensor) -> Tensor:
        own, total = distances(points), points.new_zeros(())
        for costs, weights, share, both_types in groups:
            if metric == "ae":
                distance = anchor_energy(own, costs, None, weights, p, types=both_types, max_cost=max_cost)
            elif metric == "saw":
                distance = sliced_anchor_wasserstein(own, costs, None, weights, p) ** p
            else:
                distance = anchor_wasserstein(own, costs, None, weights, p, epsilon).value
            total = total + share @ distance
        return total

    return loss


def typical_cloud(spaces: list[Space], shares: Float64s, n_points: int, dim: int) -> Float64s:
    """Return points laid out like the space whose signature is nearest to the mean of all signatures."""
    shape = (min(n_points, MOST_CELLS),) * 2
    signatures = np.array([signature_of(AnchorFeatures.of(space), shape).ravel() for space in spaces])
    gaps = np.linalg.norm(signatures - shares @ signatures, axis=1)
    space = spaces[int(gaps.argmin())].support()
    # points by increasing mean cost, each as often as its weight says
    order = np.argsort(space.cost @ space.weights, kind="stable")
    ends = np.cumsum(space.weights[order])
    chosen = order[np.searchsorted(ends, (np.arange(n_points) + 0.5) / n_points * ends[-1])]
    cost = space.cost[np.ix_(chosen, chosen)].astype(np.float64)
    squares = (0.5 * cost + 0.5 * cost.T) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    count = min(dim, n_points)
    cloud = np.zeros((n_points, dim))
    cloud[:, :count] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :count]
    # moved in directions that no two points share
    return cloud + MOVED * np.abs(cost).mean() * np.cos(np.outer(np.arange(1, n_points + 1), np.arange(1, dim + 1)))


def _check_start(start: ArrayLike, n_points: int, dim: int) -> Float64s:
    cloud: Float64s = check_numbers(start, "start").astype(np.float64)
    if cloud.shape != (n_points, dim) or not np.isfinite(cloud).all():
        raise InputError(f"start has shape {cloud.shape}, but ({n_points}, {dim}) finite coordinates are needed")
    return cloud


def _descend(
    loss: Loss,
    cloud: Float64s,
    optimizer: str,
    step: float,
    max_iter: int,
    patience: int,
    tolerance: float,
    device: str,
    advance: Callable[[int], None],
) -> _Descent:
    """Run the optimizer from a cloud; keep the best points."""
    import torch

    points = torch.tensor(cloud, dtype=torch.float64, device=device, requires_grad=True)
    if optimizer == "adam":
        method: torch.optim.Optimizer = torch.optim.Adam([points], lr=step)
        slower = torch.optim.lr_scheduler.LambdaLR(method, lambda i: 1 - i / max_iter)
    else:
        method = torch.optim.LBFGS([points], max_iter=4, line_search_fn="strong_wolfe")

    def evaluate() -> float:
        method.zero_grad()
        value = loss(points)
        value.backward()
        return float(value.detach())

    losses: list[float] = []
    best, best_points, last_fall, least = np.inf, cloud, 0, np.inf
    for iteration in range(max_iter):
        before = points.detach().clone()
        losses.append(float(method.step(evaluate)))
        if optimizer == "adam":
            slower.step()
        if losses[-1] < best:
            best, best_points = losses[-1], before.cpu().numpy()
        if losses[-1] < least * (1 - tolerance):
            least, last_fall = losses[-1], iteration
        advance(1)
        if iteration - last_fall >= patience:
            break
    return _Descent(best_points, np.array(losses), iteration - last_fall >= patience)
