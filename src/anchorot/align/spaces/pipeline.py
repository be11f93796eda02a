"""Match points: Gromov-Wasserstein, started from anchors and finished by assignment."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from anchorot._parallel import interruptible
from anchorot._progress import Advance, late_bar
from anchorot._rescale import in_unit_range
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import (
    check_device,
    check_finite,
    check_integer,
    check_nonnegative,
    check_numbers,
    check_rng,
    check_threads,
)
from anchorot.align.correspondence import Candidate, excess_allowed, find_runner_up, warn_if_unreliable
from anchorot.align.plans import matches_of, share_differing
from anchorot.align.spaces.landmarks import DenseAlignment, align_densely
from anchorot.align.spaces.result import Alignment, HeavyProblem
from anchorot.align.spaces.score import Evidence
from anchorot.distances.free_mass import solve_freely
from anchorot.distances.landmarks import Distances
from anchorot.distances.lazy_distances import MeshDistances, PointDistances, distances_of, is_mesh
from anchorot.distances.quadratic import Quadratic, plan_loss, spread
from anchorot.distances.solver import (
    MANY_POINTS,
    MIN_SHARE,
    Found,
    Limits,
    Setting,
    chosen_starts,
    solve,
)
from anchorot.distances.starts import LAST_RESORT
from anchorot.exceptions import InputError, note_input
from anchorot.io.files import read
from anchorot.io.mesh_files import MESH_READERS
from anchorot.io.names import ending_of
from anchorot.space import Space, as_space, unit_spaces

# Chance that an alignment is right as a whole: from here on no more starts are tried, unless its mirror image fits too.
SURE = 0.9
OBJECTIVE_ROUNDING = 1e-6  # of the product plan's objective: plans that differ by no more are equally good
STAGES_OF_ANCHORS, STAGES_OF_ONE_START = 20, 7  # temperatures and sharpenings, about
MAX_SIZE_RATIO = 1e6  # of the costs of two spaces: beyond, the loss keeps few digits of what depends on the matches


@overload
def align(x: Space | ArrayLike, y: Space | ArrayLike, *, n_landmarks: None = None, **options: Any) -> Alignment: ...


@overload
def align(x: Any, y: Any, *, n_landmarks: int, **options: Any) -> DenseAlignment: ...


def align(  # type: ignore[misc]  # n_landmarks alone decides, so the options are not spelled three times
    x: Any,
    y: Any,
    *,
    start: str | ArrayLike = "anchors",
    alpha: float = 0.5,
    robust: bool = False,
    features: tuple[ArrayLike, ArrayLike] | bool | None = None,
    mass: float | str | None = None,
    n_landmarks: int | None = None,
    rng: RngLike = None,
    threads: int = 1,
    device: str | None = None,
    progress: bool = True,
) -> Alignment | DenseAlignment:
    r"""Match the points of two spaces by their costs.

    Minimises the Gromov-Wasserstein loss :math:`\sum_{ijkl} (C_{ij} - C'_{kl})^2 P_{ik} P_{jl}` over plans between the
    points, without a parameter to choose. Gromov-Wasserstein is not convex, and a solver that starts from the product
    of the weights gets stuck in a local minimum. So several starts are tried: plans between anchors that are cut off at
    different ranges, and the product. Each is annealed (entropic steps at a falling temperature, relative to the spread
    of the costs), then sharpened (assignment and conditional-gradient steps), until two agree, `reliable` is at least
    0.9 and no mirror image fits about as well; the one with the smallest objective is kept. With more than 800 points,
    one start is the alignment of 400 landmarks of each side; starts are annealed side by side, and those with an
    objective far above the best are dropped.

    Parameters
    ----------
    x, y : Space, array_like of shape (n, n), or path
        Of any sizes and weights; a cost matrix means a uniform space, and a file is read by :func:`read`. With
        `n_landmarks` also points (n, d), `PointDistances` or `MeshDistances`. For two meshes there is
        :func:`align_meshes`.
    start : str, or array_like of shape (n, m)
        Where to begin. With a plan, or any name but the first, this is the only start.

        - "anchors": of "middle", "near", "product" and "near_annealed", and where most anchors tie, "pinned", as many
          as it takes until two agree; all with `mass`. With more than 800 points: landmarks' results, "near_annealed",
          "product" if these do not agree, and "near" if `reliable` is below 0.9.
        - "near", "middle", "aw": a plan between anchors made of the nearest tenth of all costs, the nearest half, or
          all. "near" is sharpened at once, "near_annealed" is the same plan with more blur, annealed.
        - "aep": the plan of :func:`anchor_energy_plan`. "product": the product of the weights.
        - "pinned": a plan between whole anchors after a few undecided points were matched at random, so that costs to
          these distinguish the others: for symmetric spaces.
    alpha : float in [0, 1]
        Share of the structure where there are features: 1 is structure alone, 0 features alone.
    robust : bool
        Align the ranks of the costs.
    features : (array_like of shape (n, d), array_like of shape (m, d)), or True, optional
        Numbers of each point, comparable between the two sides.
        Squared distances between them join the objective (fused Gromov-Wasserstein), scaled so that both parts vary
        equally over the plans; `feature_scale` of the result says by how much. True takes :attr:`Space.features`.
    mass : float from 1e-9 to 1, or "free", optional
        Match only this share of the points, by their weights.
        For missing parts, outliers, or types that one side lacks. "free" leaves out the points that fit far worse than
        the rest.
    n_landmarks : int, optional
        Points of each side that are aligned first, by their distances.
        For more points than a plan can hold: landmarks cover either side (each is the farthest from those before), and
        all other points are matched by their distances to them. Memory is that of n_landmarks rows.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides between matches that symmetry makes equal: of a ring of points, which one the first is matched with.
    threads : int
        Threads of the kernels; the result does not depend on it.
        They compute costs between anchors; matrix products use the threads of the BLAS library.
    device : str, optional
        Where PyTorch (extra ``torch``) does the heavy work, "cuda", say.
        That is annealing; the rest stays on the CPU. For larger problems there is :func:`anchorot.torch.align`.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    Alignment
        With `plan`, `matches` and their `confidence`, `value`, a lower `bound` of the loss, all `candidates`, a
        `runner_up` if another alignment is about as good, and more. With `n_landmarks` a `DenseAlignment`, which has
        the landmarks' `alignment`. Where `reliable`, the estimated chance that the whole alignment is right, is below
        0.5, there is a `ConvergenceWarning`.

    Notes
    -----
    O(n² m + n m²) per step, some dozens of steps per start, and O(n³) at worst per assignment. Uniform spaces of one
    size need SciPy alone, others POT (extra ``pot``).

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> points, order = rng.normal(size=(30, 3)), rng.permutation(30)
    >>> x, y = (ao.Space(np.linalg.norm(p[:, None] - p, axis=2)) for p in (points, points[order]))
    >>> found = ao.align(x, y)
    >>> bool((order[found.matches] == np.arange(30)).all()), round(found.value, 12)
    (True, 0.0)
    """
    own: dict[str, Any] = {
        "start": start,
        "alpha": alpha,
        "rng": rng,
        "threads": threads,
        "device": device,
        "progress": progress,
    }
    found: Alignment | DenseAlignment
    if n_landmarks is None:
        found = solve_alignment(x, y, robust=robust, features=features, mass=mass, **own)
    else:
        if any(given is not None for given in (features, mass)) or robust or not isinstance(start, str):
            raise InputError("n_landmarks is for costs alone: leave out features, mass, robust and a plan as start")
        found = _align_by_landmarks(x, y, check_integer(n_landmarks, "n_landmarks", 2), **own)
    warn_if_unreliable(found.reliable, found.remedies, stacklevel=2)
    return found


def solve_alignment(
    x: Any,
    y: Any,
    *,
    start: str | ArrayLike = "anchors",
    alpha: float = 0.5,
    robust: bool = False,
    features: tuple[ArrayLike, ArrayLike] | bool | None = None,
    mass: float | str | None = None,
    rng: RngLike = None,
    threads: int = 1,
    device: str | None = None,
    progress: bool = True,
) -> Alignment:
    """Align all points of two spaces, as :func:`align` does, and do not judge the result."""
    threads, device, generator = check_threads(threads), check_device(device), check_rng(rng)
    share = check_mass(mass)
    whole = _space_of(x, robust), _space_of(y, robust)
    n_stages = _count_stages(start, max(space.n for space in whole), share)
    with late_bar(n_stages, "aligning", "stages", progress) as advance:
        return align_spaces(
            *whole,
            start=start,
            alpha=alpha,
            features=features,
            share=share,
            rng=generator,
            threads=threads,
            device=device,
            advance=advance,
        )


def _align_by_landmarks(
    x: Any,
    y: Any,
    count: int,
    start: str,
    alpha: float,
    rng: RngLike,
    threads: int,
    device: str | None,
    progress: bool,
) -> DenseAlignment:
    """Align landmarks, and let all other points follow."""
    threads, device, generator = check_threads(threads), check_device(device), check_rng(rng)
    with late_bar(_count_stages(start, count, None) + 1, "aligning", "stages", progress) as advance:
        solve_landmarks = partial(
            align_spaces, start=start, alpha=alpha, rng=generator, threads=threads, device=device, advance=advance
        )
        return interruptible(lambda: align_densely(_distances_of(x), _distances_of(y), count, solve_landmarks))


def align_spaces(
    x: Space,
    y: Space,
    *,
    start: str | ArrayLike,
    alpha: float,
    features: tuple[ArrayLike, ArrayLike] | bool | None = None,
    share: float | str | None = None,
    rng: np.random.Generator,
    threads: int,
    device: str | None,
    advance: Advance,
) -> Alignment:
    """Align two spaces; `advance` is called after every stage."""
    whole = x, y
    kept = [np.flatnonzero(space.weights) for space in whole]
    (unit_x, unit_y), scale = unit_spaces(*whole)
    _note_sizes(unit_x, unit_y)
    pair = (_own_features(x, "x"), _own_features(y, "y")) if features is True else features
    costs, factor = (None, 0.0) if pair is None else _feature_costs(pair, kept, whole, (unit_x, unit_y))
    setting = Setting(unit_x, unit_y, costs, _check_share(alpha, "alpha"), threads, device, advance)

    def solved() -> Alignment:
        part = 1.0 if isinstance(share, str) else share
        chosen = chosen_starts(start, setting, kept, (x.n, y.n), rng, part)
        result = partial(
            _result, setting=setting, whole=whole, kept=kept, scale=scale, factor=factor, is_whole=share is None
        )
        if isinstance(share, str):
            return result(solve_freely(setting, chosen))
        seen: dict[tuple[int, ...], Alignment] = {}

        def judged(found: list[Found]) -> Alignment:
            key = tuple(map(id, found))
            if key not in seen:
                seen[key] = result(found)
            return seen[key]

        def is_enough(found: list[Found]) -> bool:
            seen = judged(found)
            if setting.is_large:
                return seen.reliable >= SURE
            return not seen.has_mirror_image and (seen.reliable >= SURE or LAST_RESORT in {one.name for one in found})

        return judged(solve(setting, chosen, share, is_enough=is_enough))

    return interruptible(solved, max(unit_x.n, unit_y.n))


def _count_stages(start: str | ArrayLike, n_points: int, share: float | str | None) -> int:
    """About how many stages of annealing and sharpening there will be, for a bar."""
    count = STAGES_OF_ANCHORS if isinstance(start, str) and start == "anchors" else STAGES_OF_ONE_START
    return count * (2 if n_points > MANY_POINTS else 1) * (2 if isinstance(share, str) else 1)


def _note_sizes(x: Space, y: Space) -> None:
    """Say so if the costs of one side are lost beside those of the other."""
    size_x, size_y = (float(np.ptp(space.cost)) for space in (x, y))
    if min(size_x, size_y) > 0 and max(size_x, size_y) > MAX_SIZE_RATIO * min(size_x, size_y):
        note_input(
            f"the costs of x vary {size_x / size_y:.3g} times as much as those of y, too far apart to compare them; "
            "bring both to one unit, or use robust=True"
        )


def _space_of(thing: Any, robust: bool) -> Space:
    """Turn what was given without landmarks into a space: files are read."""
    is_pair = isinstance(thing, tuple) and len(thing) == 2
    if is_pair or isinstance(thing, MeshDistances | PointDistances):
        kind = "pair (vertices, faces)" if is_pair else type(thing).__name__
        raise InputError(
            f"got a {kind}, but a Space is needed; from_mesh or from_points makes one, or give n_landmarks"
        )
    return as_space(read(thing) if isinstance(thing, str | os.PathLike) else thing, robust=robust)


def _distances_of(thing: Any) -> Distances:
    """Turn what was given with landmarks into distances: files are read, meshes are not for here."""
    is_file = isinstance(thing, str | os.PathLike)
    if is_mesh(thing) or (is_file and ending_of(Path(thing)) in MESH_READERS):
        raise InputError("got a mesh: align_meshes(a, b) aligns meshes, and MeshDistances(mesh) makes distances of one")
    return distances_of(read(thing) if is_file else thing)


def _check_share(value: float, name: str) -> float:
    number = check_nonnegative(value, name)
    if number > 1:
        raise InputError(f"{name} must be a number from 0 to 1, but got {value!r}")
    return number


def check_mass(mass: float | str | None) -> float | str | None:
    """Check a share of the mass, or "free"."""
    if mass is None or (isinstance(mass, str) and mass == "free"):
        return mass
    share = 0.0 if isinstance(mass, str) or np.ndim(mass) else check_nonnegative(mass, "mass")
    if not MIN_SHARE <= share <= 1:
        raise InputError(f"mass must be a share of the mass from {MIN_SHARE} to 1, or 'free', but got {mass!r}")
    return share


def _feature_costs(
    features: Any, kept: list[Int64s], whole: tuple[Space, Space], units: tuple[Space, Space]
) -> tuple[Float64s, float]:
    """Squared distances between features, scaled to the spread of the structure's gradient; and that factor.

    Of points of positive weight; computed from one origin and in one unit, so that features of any size count.
    """
    from scipy.spatial.distance import cdist

    arrays, unit = in_unit_range(
        [array[own] for array, own in zip(_check_features(features, *whole), kept, strict=True)], axis=0
    )
    costs = cdist(*arrays, "sqeuclidean")
    x, y = units
    structure = float(spread(Quadratic(x.cost, y.cost).slope(np.outer(x.weights, y.weights)))[0, 0])
    factor = structure / float(spread(costs)[0, 0])
    with np.errstate(over="ignore"):
        return factor * costs, float(np.float64(factor) / unit / unit)


def _own_features(space: Space, name: str) -> Float64s:
    """Return the features that a space has."""
    if space.features is None:
        raise InputError(
            f"{name} has no features, but features=True needs some for each point; give Space(features=...) or a pair"
        )
    return space.features


def _check_features(features: Any, x: Space, y: Space) -> list[Float64s]:
    """Turn features into rows of finite numbers, one row for each point of either space."""
    if not isinstance(features, list | tuple) or len(features) != 2:
        got = f"{len(features)} of them" if isinstance(features, list | tuple) else type(features).__name__
        raise InputError(f"features must be a pair of arrays, features=(U, V), but got {got}")
    arrays = [check_numbers(values, "features").astype(np.float64) for values in features]
    u, v = (array[:, None] if array.ndim == 1 else array for array in arrays)
    if u.ndim != 2 or v.ndim != 2 or (len(u), len(v)) != (x.n, y.n) or u.shape[1] != v.shape[1] or u.shape[1] == 0:
        raise InputError(f"features of shapes {u.shape} and {v.shape}, but ({x.n}, d) and ({y.n}, d) are needed")
    check_finite(u, "features")
    check_finite(v, "features")
    return [u, v]


def _result(
    found: list[Found],
    setting: Setting,
    whole: tuple[Space, Space],
    kept: list[Int64s],
    scale: float,
    factor: float,
    is_whole: bool,
) -> Alignment:
    """Put points of weight zero back, and everything into the units of the costs."""

    def in_units(number: float) -> float:
        return number * scale * scale  # in this order: 0 stays 0 where the square of the scale is infinite

    problem = HeavyProblem(setting.exact(), (kept[0], kept[1]), (whole[0].n, whole[1].n))
    product = float(problem.problem.value_of_product(setting.x.weights, setting.y.weights))
    weights = tuple(space.weights for space in whole)
    if not is_whole:  # what each point may be matched with
        limits = Limits.of(setting.x, setting.y, 1.0)
        weights = tuple(_scatter(part[:-1], own, space.n) for part, own, space in zip(limits, kept, whole, strict=True))
    found = [one._replace(plan=problem.full(one.plan)) for one in found]
    all_matches = [matches_of(one.plan, weights[0]) for one in found]
    best, matches = found[0], all_matches[0]
    candidates = [
        Candidate(
            name=one.name,
            objective=one.objective,
            seconds=one.seconds,
            matches=own,
            differs=share_differing(matches, own),
            details={"n_iter": one.n_iter, "converged": one.converged, "plan": one.plan},
        )
        for one, own in zip(found, all_matches, strict=True)
    ]
    sharp = [one for one, end in zip(candidates, found, strict=True) if end is best or end.is_sharp]
    runner_up = find_runner_up(sharp, excess_allowed(best.objective, product))
    floor = best.objective + OBJECTIVE_ROUNDING * product
    evidence = Evidence(
        spaces=whole,
        matches=matches,
        mass=np.take_along_axis(best.plan, np.maximum(matches, 0)[:, None], axis=1)[:, 0],
        others=tuple((one.matches, (one.objective - best.objective) / (floor or 1.0)) for one in sharp[1:]),
        features=setting.features,
        alpha=setting.alpha if setting.features is not None else 1.0,
        is_whole=is_whole,
    )
    shown = {id(one): _without_plan(one, in_units(one.objective), one is runner_up) for one in candidates}
    return Alignment(
        plan=best.plan,
        value=in_units(plan_loss(setting.x.cost, setting.y.cost, best.plan[np.ix_(*kept)])),
        objective=in_units(best.objective),
        candidates=tuple(shown.values()),
        runner_up=None if runner_up is None else shown[id(runner_up)],
        converged=best.converged,
        feature_scale=factor,
        weights=(weights[0], weights[1]),
        _evidence=evidence,
        _problem=problem,
    )


def _without_plan(one: Candidate, objective: float, is_runner_up: bool) -> Candidate:
    """A candidate in the units of the costs; of all but the runner-up the matches are enough."""
    kept = {name: value for name, value in one.details.items() if name != "plan" or is_runner_up}
    return replace(one, objective=objective, details=kept)


def _scatter(values: Float64s, places: Int64s, n: int) -> Float64s:
    out = np.zeros(n)
    out[places] = values
    return out
