"""Which point is which, for batches of tensors: Gromov-Wasserstein started from anchors, annealed on the device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from anchorot._html import WithFacts
from anchorot._progress import Advance, late_bar
from anchorot._validate import check_choice, check_nonnegative
from anchorot.align.correspondence import Candidate
from anchorot.distances.descent import anneal
from anchorot.distances.quadratic import Quadratic, spread
from anchorot.distances.solver import MAX_TWIN_DIFFERENCE
from anchorot.exceptions import InputError
from anchorot.torch._checks import (
    check_alike,
    check_points,
    check_spaces,
    is_uniform,
    or_uniform,
)
from anchorot.torch._matching import ANCHOR_STARTS, STARTS, Anchors, Entry, Sharp

ROUNDING_ULPS = 16  # units in the last place of the largest cost


@dataclass(frozen=True, eq=False, repr=False)
class TensorAlignment(WithFacts):
    """Which points of batches of spaces correspond; compare :class:`anchorot.Alignment`.

    No subclass of it: a number there is a tensor here, with one entry for each pair of the batch. Fields of one name
    mean the same.

    Attributes
    ----------
    matches : tensor of int64, shape (..., n)
        Match of every point of the first space in the second; -1 for a point of weight zero.
    value : tensor of shape (...)
        The Gromov-Wasserstein loss, in float64, whose range holds the squares of all costs in float32.
    objective : tensor of shape (...)
        What was minimised: the loss, joined with the cost of the features if there are any.
    converged : bool
        Whether the best start's last step no longer helped, for all of the batch.
    candidates : tuple of Candidate
        Where each start ended, of the smallest mean objective first. Their `objective` and `differs` are tensors of
        shape (...), `matches` tensors of shape (..., n), `seconds` those of the whole batch; `details` have `n_iter`,
        the steps of annealing that the batch takes together, and whether all of it `converged`.
    feature_scale : tensor of shape (...)
        Factor that made the features' costs comparable with the structure's; 0 without features.
    n_second : int
        Number of points of the second spaces.
    dense : tensor of shape (..., n, m), or None
        The plan, where it is more than a matching.
    """

    matches: Tensor
    value: Tensor
    objective: Tensor
    converged: bool
    candidates: tuple[Candidate, ...]
    feature_scale: Tensor
    n_second: int
    dense: Tensor | None

    @cached_property
    def plan(self) -> Tensor:
        """How much of point i goes to point j, (..., n, m), in float64; of a matching made when first asked for."""
        if self.dense is not None:
            return self.dense
        n = self.matches.shape[-1]
        plan = torch.zeros(*self.matches.shape, n, dtype=torch.float64, device=self.matches.device)
        return plan.scatter_(-1, self.matches[..., None], 1 / n)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either space."""
        return self.matches.shape[-1], self.n_second

    def facts(self) -> dict[str, str]:
        """Summarise the alignments in words; what `repr` and notebooks show."""
        n, m = self.shape
        batch = tuple(self.matches.shape[:-1])
        said = {"points": f"{n} and {m}"}
        if batch:
            said["batch"] = " by ".join(str(size) for size in batch)
        said["loss" if not batch else "mean loss"] = f"{float(self.value.mean()):.6g}"
        state = "converged" if self.converged else "NOT converged"
        said["solver"] = f"{state}, best of {len(self.candidates)}: {self.candidates[0].name}"
        return said


class _Batch(NamedTuple):
    """Problems in units of their largest costs: (batch, n, n) and so on; weights in float64."""

    x: Tensor
    y: Tensor
    a: Tensor
    b: Tensor
    features: Tensor | None
    alpha: float

    def entry(self, i: int) -> Entry:
        """One problem, to be sharpened."""
        features = None if self.features is None else self.features[i]
        return Entry(self.x[i], self.y[i], self.a[i], self.b[i], features, self.alpha)

    @property
    def is_heavy(self) -> bool:
        """Whether all points have a weight."""
        return bool((self.a > 0).all() and (self.b > 0).all())

    def part(self, i: int) -> _Batch:
        """A batch of one problem, without points of weight zero."""
        rows, columns = self.a[i] > 0, self.b[i] > 0
        features = None if self.features is None else self.features[i][rows][:, columns][None]
        x, y = self.x[i][rows][:, rows], self.y[i][columns][:, columns]
        return _Batch(x[None], y[None], self.a[i][rows][None], self.b[i][columns][None], features, self.alpha)


class _Run(NamedTuple):
    """Where one start led."""

    name: str
    ends: list[Sharp]  # of each of the batch
    seconds: float
    n_iter: int


@torch.no_grad()
def align(
    cost_x: Tensor,
    cost_y: Tensor,
    weights_x: Tensor | None = None,
    weights_y: Tensor | None = None,
    *,
    start: str = "anchors",
    alpha: float = 0.5,
    features: tuple[Tensor, Tensor] | None = None,
    progress: bool = True,
) -> TensorAlignment:
    """Find which point of one space is which of another, for batches of pairs.

    See :func:`anchorot.align` for what it is. Costs between anchors, annealing and, above 500 points, the matching run
    on the tensors' device; assignments of few points, and plans between spaces of weights or of different sizes, are
    finished on the CPU. Nothing is differentiated.

    Parameters
    ----------
    cost_x, cost_y : tensor of shape (..., n, n) and (..., m, m)
    weights_x, weights_y : tensor of shape (..., n) and (..., m), optional
        Uniform by default.
    start : {"anchors", "near", "near_annealed", "middle", "aw", "product"}
        "anchors" tries several and keeps the best for each of the batch. Unlike :func:`anchorot.align` it does not
        look for symmetries to break.
    alpha : float in [0, 1]
        Share of the structure where there are features: 1 is structure alone, 0 features alone.
    features : (tensor of shape (..., n, d), tensor of shape (..., m, d)), optional
        Numbers of each point, comparable between the two sides.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    TensorAlignment

    Notes
    -----
    O(n² m + n m²) a step, some dozens of steps a start, in float32; a dozen matrices (n, m) of the batch are alive at
    a time. Uniform spaces of one size need SciPy alone, others POT (extra ``pot``).

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> points, order = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), torch.arange(19, -1, -1)
    >>> found = aot.align(torch.cdist(points, points), torch.cdist(points[order], points[order]))
    >>> bool((order[found.matches] == torch.arange(20)).all())
    True
    """
    check_choice(start, "start", ("anchors", *STARTS))
    if check_nonnegative(alpha, "alpha") > 1:
        raise InputError(f"alpha must be a number from 0 to 1, but got {alpha!r}")
    x, y, a, b = check_spaces(cost_x, cost_y, weights_x, weights_y, wait=True)
    shape = x.shape[:-2]
    a, b = (or_uniform(w, cost).reshape(-1, cost.shape[-1]) for w, cost in ((a, x), (b, y)))
    given = None if features is None else _check_features(features, x, y)
    x, y = (_without_rounding(cost.reshape(-1, *cost.shape[-2:])) for cost in (x, y))
    x, y = (_copy_heavy_rows(_copy_heavy_rows(cost, weights).mT, weights).mT for cost, weights in ((x, a), (y, b)))
    x, y, unit = _in_unit_range(x, y, (-1, -2))
    batch, factor = _Batch(x, y, a, b, None, alpha), torch.zeros_like(unit)
    if given is not None:
        batch, factor = _with_features(batch, *given)
    names = ANCHOR_STARTS if start == "anchors" else (start,)
    n_parts = 1 if batch.is_heavy else len(batch.x)
    with late_bar(2 * n_parts * len(names), "aligning", "stages", progress) as advance:
        runs = _runs_of_all(batch, names, advance)
    return _result(batch, runs, unit, factor, shape)


def _check_features(features: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return features as batches (batch, n, d) and (batch, m, d)."""
    if not isinstance(features, list | tuple) or len(features) != 2:
        got = f"{len(features)} of them" if isinstance(features, list | tuple) else type(features).__name__
        raise InputError(f"features must be a pair of tensors, features=(U, V), but got {got}")
    u, v = (check_points(values, "features", wait=True) for values in features)
    check_alike(u, x, "features", "cost_x")
    check_alike(v, x, "features", "cost_x")
    try:
        u, v = u.expand(*x.shape[:-1], u.shape[-1]), v.expand(*y.shape[:-1], u.shape[-1])
    except RuntimeError:
        raise InputError(
            f"features of shapes {tuple(u.shape)} and {tuple(v.shape)}, but (..., {x.shape[-1]}, d) and "
            f"(..., {y.shape[-1]}, d) are needed, with the batches of the costs"
        ) from None
    return u.reshape(-1, *u.shape[-2:]), v.reshape(-1, *v.shape[-2:])


def _in_unit_range(x: Tensor, y: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """The twin of :func:`anchorot.space.in_unit_range`, for each of a batch; least numbers along some axes."""
    unit = _unit_of(x.abs(), y.abs())
    x, y = (t / unit.to(t.dtype)[:, None, None] for t in (x, y))
    least = torch.minimum(x.amin(axes, keepdim=True), y.amin(axes, keepdim=True))
    x, y = x.sub_(least), y.sub_(least)  # in place: they are copies by now
    closer = _unit_of(x, y).clamp(max=1.0)
    small = closer.to(x.dtype)[:, None, None]
    return x.div_(small), y.div_(small), unit * closer


def _unit_of(x: Tensor, y: Tensor) -> Tensor:
    """Of each of the batch, the power of two at the largest number, in float64: dividing by it costs no digit."""
    largest = torch.maximum(x.amax((-1, -2)), y.amax((-1, -2))).double()
    return torch.where(largest > 0, 2.0 ** (torch.frexp(largest).exponent.double() - 1), 1.0)


def _without_rounding(cost: Tensor) -> Tensor:
    """Return costs that are symmetric but for rounding, as products of matrices leave them, as symmetric ones."""
    difference, largest = (cost - cost.mT).abs_().amax((-1, -2)), cost.abs().amax((-1, -2))
    is_rounded = (difference > 0) & (difference <= ROUNDING_ULPS * torch.finfo(cost.dtype).eps * largest)
    return torch.where(is_rounded[:, None, None], cost / 2 + cost.mT / 2, cost) if bool(is_rounded.any()) else cost


def _copy_heavy_rows(values: Tensor, weights: Tensor) -> Tensor:
    """Give points without a weight, which take no part, the rows of one that has a weight, lest theirs set a unit."""
    heavy = weights > 0
    if bool(heavy.all()):
        return values
    place = torch.where(heavy, torch.arange(heavy.shape[1], device=heavy.device), heavy.int().argmax(1, keepdim=True))
    return values.gather(1, place[:, :, None].expand(values.shape))


def _with_features(batch: _Batch, u: Tensor, v: Tensor) -> tuple[_Batch, Tensor]:
    """Scale squared distances of features to the spread of the structure's gradient; also return the factors."""
    u, v, unit = _in_unit_range(_copy_heavy_rows(u, batch.a), _copy_heavy_rows(v, batch.b), (-2,))
    distances = torch.cdist(u, v, compute_mode="donot_use_mm_for_euclid_dist") ** 2
    factor = _factors(batch._replace(features=distances))
    scaled = (factor[:, None, None] * distances).to(batch.x.dtype)
    return batch._replace(features=scaled), factor / unit / unit


def _factors(batch: _Batch) -> Tensor:
    """What makes the features' costs vary as much as the structure's gradient at the product plan, (batch,)."""
    if not batch.is_heavy:
        return torch.cat([_factors(batch.part(i)) for i in range(len(batch.x))])
    product = batch.a[:, :, None] * batch.b[:, None, :]
    structure = spread(Quadratic(batch.x.double(), batch.y.double()).slope(product))
    assert batch.features is not None
    return (structure / spread(batch.features.double()))[:, 0, 0]


def _runs_of_all(batch: _Batch, names: Sequence[str], advance: Advance) -> list[_Run]:
    """Go from all starts; where some points have no weight, for one entry after the other without them."""
    if batch.is_heavy:
        return _runs(batch, names, advance)
    single = [_runs(batch.part(entry), names, advance) for entry in range(len(batch.x))]
    return [
        _Run(name, [end for run in runs for end in run.ends], sum(r.seconds for r in runs), max(r.n_iter for r in runs))
        for name, runs in zip(names, zip(*single, strict=True), strict=True)
    ]


def _runs(batch: _Batch, names: Sequence[str], advance: Advance) -> list[_Run]:
    x, y, a, b = (t.float() for t in batch[:4])
    quick = Quadratic(x, y, None if batch.features is None else batch.features.float(), batch.alpha)
    anchors = Anchors(x, y, a, b, is_uniform=is_uniform(batch.a) and is_uniform(batch.b))
    entries = [batch.entry(i) for i in range(len(x))]
    softs: list[Tensor] = []
    runs: list[_Run] = []
    for name in names:
        begin = time.perf_counter()
        plan, temperatures = anchors.start(name)
        soft = anneal(quick, plan, a, b, temperatures)
        advance(1)
        ends = _sharpen_new(entries, soft.plan, softs, runs)
        advance(1)
        softs.append(soft.plan)
        runs.append(_Run(name, ends, time.perf_counter() - begin, soft.n_steps))
    return runs


def _sharpen_new(entries: list[Entry], soft: Tensor, softs: list[Tensor], runs: list[_Run]) -> list[Sharp]:
    """Sharpen what no earlier start has led to."""
    moved = [(soft - other).abs().sum((-1, -2)).tolist() for other in softs]
    ends = []
    for i, entry in enumerate(entries):
        twin = next((run.ends[i] for run, by in zip(runs, moved, strict=True) if by[i] < MAX_TWIN_DIFFERENCE), None)
        best = min((run.ends[i].objective for run in runs), default=float("inf"))
        ends.append(entry.sharpen(soft[i], best) if twin is None else twin)
    return ends


def _result(batch: _Batch, runs: list[_Run], unit: Tensor, factor: Tensor, shape: torch.Size) -> TensorAlignment:
    """Keep the best of each of the batch, put points of weight zero back, and return to the units of the costs."""
    bests = [min((run.ends[i] for run in runs), key=lambda end: end.objective) for i in range(len(batch.x))]

    def in_units(numbers: list[float]) -> Tensor:
        return (torch.tensor(numbers, dtype=torch.float64, device=unit.device) * unit * unit).view(shape)

    matches = _matches_of(batch, bests).view(*shape, -1)
    dense = _dense_plans(batch, bests)
    candidates = []
    for run in sorted(runs, key=lambda run: sum(end.objective for end in run.ends)):
        own = _matches_of(batch, run.ends).view(*shape, -1)
        candidates.append(
            Candidate(
                name=run.name,
                objective=in_units([end.objective for end in run.ends]),  # type: ignore[arg-type]
                seconds=run.seconds,
                matches=own,  # type: ignore[arg-type]
                differs=(own != matches).double().mean(-1),  # type: ignore[arg-type]
                details={"n_iter": run.n_iter, "converged": all(end.converged for end in run.ends)},
            )
        )
    return TensorAlignment(
        matches=matches,
        value=in_units([end.value for end in bests]),
        objective=in_units([end.objective for end in bests]),
        converged=all(end.converged for end in bests),
        candidates=tuple(candidates),
        feature_scale=factor.view(shape),
        n_second=batch.b.shape[1],
        dense=None if dense is None else dense.view(*shape, *dense.shape[1:]),
    )


def _matches_of(batch: _Batch, ends: list[Sharp]) -> Tensor:
    """Matches of all points, (batch, n); -1 for points of weight zero."""
    matches = torch.full(batch.a.shape, -1, device=batch.a.device)
    for i, end in enumerate(ends):
        rows, columns = torch.nonzero(batch.a[i])[:, 0], torch.nonzero(batch.b[i])[:, 0]
        matches[i, rows] = columns[torch.from_numpy(end.matches).to(matches.device)]
    return matches


def _dense_plans(batch: _Batch, ends: list[Sharp]) -> Tensor | None:
    """Plans (batch, n, m); None if all are matchings of all points."""
    a, b = batch.a, batch.b
    if all(end.plan is None and len(end.matches) == a.shape[1] == b.shape[1] for end in ends):
        return None
    dense = torch.zeros(*a.shape, b.shape[1], dtype=torch.float64, device=a.device)
    for i, end in enumerate(ends):
        rows, columns = torch.nonzero(a[i])[:, 0], torch.nonzero(b[i])[:, 0]
        if end.plan is None:
            dense[i, rows, columns[torch.from_numpy(end.matches).to(a.device)]] = 1 / len(rows)
        else:
            dense[i, rows[:, None], columns] = torch.as_tensor(end.plan, device=a.device)
    return dense
