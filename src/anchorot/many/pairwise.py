"""All pairs of many spaces."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from anchorot._parallel import is_pool_worker
from anchorot._progress import progress_bar
from anchorot._typing import Float64s
from anchorot._validate import check_bytes, check_choice, check_integer, device_names
from anchorot.anchors.arrangement import arrangement_rule_of
from anchorot.anchors.attribute_features import settle_attributes
from anchorot.anchors.attributes import AttributeRule, AttributesLike, attribute_rule_of
from anchorot.anchors.features import AnchorFeatures
from anchorot.distances.nearest import Neighbors
from anchorot.exceptions import ConvergenceWarning, InputError, InputWarning
from anchorot.io.cohort import Cohort
from anchorot.io.options import check_keywords
from anchorot.many.cohort_distances import CohortDistances
from anchorot.many.job import Job, Preparation, ProcessWorkers, SpaceSummary, ThreadWorkers, summarise
from anchorot.many.matrix import Matrix, as_array, checked_out, matrix, shape_of
from anchorot.many.metrics import ARRANGEMENT, lists_metrics, metric_of, metric_options
from anchorot.many.nearest import STRIP_ROWS, NearestJob, check_k, learn_encoder, neighbors_of, strip_width, strips
from anchorot.many.shards import Shard
from anchorot.many.sliced_bounds import with_bounds
from anchorot.many.spaces import Inputs, Outlines, each_space, n_workers, open_spaces
from anchorot.many.tiles import (
    Checkpoint,
    Tile,
    TileValues,
    checkpoint_side,
    larger_side,
    read_manifest,
    tile_side,
    walk_tiles,
)

if TYPE_CHECKING:
    from distributed import Client

    from anchorot.many.cluster import ClusterWorkers

    Workers = ThreadWorkers | ClusterWorkers  # of which those of processes and devices are kinds

BACKENDS = ("threads", "processes")


@overload
def pairwise(
    spaces: Sequence[Any],
    others: Sequence[Any] | None = ...,
    metric: str = ...,
    *,
    k: None = ...,
    shard: None = ...,
    **options: Any,
) -> Float64s: ...


@overload
def pairwise(
    spaces: Sequence[Any],
    others: Sequence[Any] | None = ...,
    metric: str = ...,
    *,
    k: int,
    shard: None = ...,
    **options: Any,
) -> Neighbors: ...


@overload
def pairwise(
    spaces: Sequence[Any],
    others: Sequence[Any] | None = ...,
    metric: str = ...,
    *,
    k: int | None = ...,
    shard: tuple[int, int] | None,
    **options: Any,
) -> Float64s | Neighbors | None: ...


@lists_metrics
def pairwise(
    spaces: Sequence[Any],
    others: Sequence[Any] | None = None,
    metric: str = "ae",
    *,
    k: int | None = None,
    p: int | None = None,
    robust: bool = False,
    epsilon: float | None = None,
    ground: str = "w1",
    attributes: AttributesLike = None,
    max_cost: float | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    client: Client | None = None,
    device: Any = None,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
    errors: str = "raise",
    memory: int | str = "2GiB",
    tile: int | None = None,
    out: Float64s | str | os.PathLike[str] | None = None,
    **reading: Any,
) -> Float64s | Neighbors | None:
    """Compare all pairs of spaces, or all spaces with all others; or find the nearest of each, without a matrix.

    Every space is prepared once (sorted, ranked), then pairs are compared tile by tile. A value depends on its two
    spaces alone: it is the same to the last bit on any worker and in any tiles, and the same as that of the
    metric's public function, called with the earlier space first.

    Parameters
    ----------
    spaces, others : sequence of Space, array_like of shape (n, n) or path
        Paths are read by :func:`read` with the options in `reading`, through the user's cache, and in processes where
        that pays. For "ae" there may be `AnchorFeatures` too. Any object with a length and ``[i]`` will do: entries are
        read when they are needed, so that a sequence may load or compute them then. An entry may also be a function
        without arguments that returns one of these, such as ``partial(read, path, ...)``. Sizes and weights mix freely.
        Without `others`, all pairs of `spaces`.
    metric : METRIC_NAMES
        METRIC_LIST
    k : int, optional
        Return the k nearest of each space instead, among `others` or among all other `spaces`: those of the matrix, to
        the last bit, equally near ones in their order, with memory for N k values; ``n_exact`` counts the pairs
        compared. For "ae" with p = 1, without `attributes` and with ``ground="w1"``, vectors of 512 numbers rule out
        most pairs and only the rest is compared; to fit them, up to 512 spaces are loaded once more at first. Without
        regularisation "aw" (``epsilon=0``), "gw" and "tlb" are bounded by :func:`sliced_anchor_wasserstein`, and "saw"
        by :func:`signature`. In all other cases every pair is compared, twice.
    p : int, optional
        Power of the costs, at most 64; by default that of the metric's public function.
    robust : bool
        Compare ranks of costs.
    epsilon : float >= 0, optional
        Strength of the entropic regularisation; 0 is none. The default for "aw" is 1e-3 of the mean cost between
        anchors, for "gw" 0. Above 0 the distance of a space to itself is not 0, and the diagonal holds it.
    ground : {"w1", "w2"}
        For "ae": the distance between anchors, see :func:`anchor_energy`. With "w2" a pair takes O(n³) time.
    attributes : {"types", "features"}, FeatureMap, optional
        For "ae": distinguish points by their types or features too, see :func:`anchor_energy`.
    max_cost : float, optional
        For "ae" and "arrangement": compare costs up to here. With attributes it is by default the largest cost of all
        spaces; of fields of view (:attr:`Space.area`, as :func:`from_cohort` sets it) the median over all of the median
        distance to the 10th neighbour. To find that, and to fit a map of features, all spaces are loaded once more
        before pairs are compared, unless both are given.
    n_jobs : int
        Number of workers; -1 for one per core, or for a single one inside a worker of joblib or multiprocessing.
    backend : {"threads", "processes"}, optional
        Threads share the prepared spaces. Processes prepare their own, and are faster for metrics that spend their time
        in Python: the default is processes for "gw", and threads for everything else. Inside a worker process of joblib
        or multiprocessing, threads are always used.
    client : dask.distributed.Client, optional
        Compute on its cluster instead; `n_jobs`, `backend` and `memory` are then left to Dask. Losing workers costs
        only time.
    device : str or list of str, optional
        Compare on CUDA devices: "cuda" for all, "cuda:1" for one, or a list; "cpu" is the same as None. For "ae" and
        "saw" with p = 1 or 2 and without `attributes`. Spaces are prepared by `n_jobs` threads of this machine. Values
        are those of the native kernels: to the last bit for uniform spaces (except for "ae" with p = 2), otherwise
        within 1e-12. Needs the extra ``torch``.
    progress : bool
        Show a bar, on a terminal or in a notebook.
    checkpoint : path, optional
        A folder for finished tiles. A later call with the same spaces and options resumes from them; one with other
        spaces or options is refused. Delete the folder once you have the result.
    shard : tuple of two int, optional
        ``(i, n)`` if this is job i of n, from 0 to n - 1, that fill one `checkpoint` together, on any machines that see
        the folder. Each tile is computed by one job. A job that has finished its share helps others, and takes over the
        tiles of jobs that were killed. It does not wait for jobs that are still running. ``(0, 1)`` is an ordinary run.
    errors : {"raise", "skip"}
        What to do about a space that cannot be read or prepared: raise an `InputError` that names it, or leave NaN in
        its row and column, continue, and give an `InputWarning`. With `k`, no space has it as a neighbour, and its own
        neighbours have index -1 and value NaN.
    memory : int or str
        Bytes of prepared spaces to keep, as in ``"500MB"``; shared by the workers of this machine. Spaces that do not
        fit are loaded again, as rarely as possible. The limit does not include the result, nor what each worker needs
        to load one space or compare one pair.
    tile : int, optional
        Side of a tile, or with `k` the rows of a strip; by default small enough that there are many. All tiles of a
        checkpoint have one side.
    out : ndarray of float64, shape (N, N) or (N, M), or path, optional
        Where to put the result. A path ending in .npy gets a file, which takes its place on disk before any work and
        appears under its name when it is complete; the result is then a read-only memory map of it, and memory does not
        grow with N². Without `out`, a matrix larger than the free memory is refused. Not with `k`.
    **reading
        Options of :func:`read` for paths, such as ``n_points=200``. Points are drawn by the seed ``rng=0`` unless
        another is given; with ``rng=None`` one is drawn for all files. ``cache=False`` reads without the user's cache.
        Options of single metrics are passed here too.

    Returns
    -------
    ndarray of shape (N, N) or (N, M)
        The former is symmetric, with a diagonal of zeros unless there is an epsilon. For a :class:`Cohort` it is an
        array with the subjects and metadata of the samples, which :func:`group_test` uses (`CohortDistances`). With
        `shard`, the last job returns it and the others return None. The same call without `shard` returns it at any
        time, and computes what is missing.
    Neighbors
        With `k`: `index` and `value` of shape (N, k), and :meth:`Neighbors.to_sparse` for a graph of them.

    Warns
    -----
    ConvergenceWarning
        If a solver did not converge for some pairs, or failed and left NaN as their values, with the number of pairs.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> ao.pairwise([line, triangle]).round(3).tolist()
    [[0.0, 0.296], [0.296, 0.0]]
    >>> ao.pairwise([line, triangle, line], k=1).index.tolist()
    [[2], [0], [0]]
    """
    options = {name: reading.pop(name) for name in metric_options() if name in reading}
    check_keywords("pairwise", reading)
    inputs = Inputs.of(spaces, others, **reading)
    check_choice(errors, "errors", ("raise", "skip"))
    folder = None if checkpoint is None else Path(checkpoint)
    shard = None if shard is None else _check_shard(shard, folder, client, out)
    target = checked_out(out, inputs, k)
    devices = [] if device is None else _devices(device, backend, client)
    how = {"skip": errors == "skip", "progress": progress}
    attribute_rule = _attribute_rule(inputs, metric, attributes, max_cost, robust, n_jobs, client, **how)
    chosen = metric_of(metric, p, robust, epsilon, ground=ground, attribute_rule=attribute_rule, **options)
    count = None if k is None else check_k(k, inputs)
    encoder = None if count is None else learn_encoder(inputs, chosen, n_jobs, client)
    chosen = chosen if count is None or devices else with_bounds(chosen)
    least = chosen.side if encoder is None else STRIP_ROWS
    if devices:
        from anchorot.many.device import DEVICE_SIDE, check_for_device

        check_for_device(chosen)
        least = DEVICE_SIDE[metric]
    manifest = None if folder is None else read_manifest(folder)
    side = _side(manifest, tile, inputs, least)
    prepared = Preparation(chosen, folder is not None, encoder).apply_to(inputs)
    job = Job(chosen, prepared) if count is None else NearestJob(chosen, prepared, count, encoder)
    budget = check_bytes(memory, "memory")
    with ExitStack() as results, _workers(job, n_jobs, backend, client, devices, budget, side) as workers:
        # Of several jobs only the one that assembles the matrix needs the memory, or the file.
        values = results.enter_context(_results(target, inputs, count)) if shard is None else None
        summaries = _prepare(workers, **how)
        if manifest is None and tile is None and client is None and not devices and count is None:
            mean_bytes = sum(summary.n_bytes for summary in summaries) // len(summaries)
            shape = shape_of(inputs)
            if folder is None:
                side = larger_side(side, mean_bytes, *shape, n_workers(n_jobs))
            elif chosen.is_quick:
                side = checkpoint_side(side, least, mean_bytes, *shape)
        store = None if folder is None else Checkpoint.open(folder, _run(job, workers.software, summaries), side)
        if isinstance(job, NearestJob):
            summaries, tiles = job.begin(workers, summaries), strips(inputs, side, job.k)
        else:
            sizes = [summary.n_bytes for summary in summaries[: inputs.n]]
            tiles = list(walk_tiles(inputs.n, inputs.m, side, sizes, workers.resident_bytes(summaries)))
        share = None if store is None or shard is None else Shard(store, *shard)
        n_unconverged = n_failed = 0
        with share or nullcontext():
            if share is not None and not share.fill(workers, tiles, summaries, progress):
                return None
            values = results.enter_context(_results(target, inputs, count)) if values is None else values
            with closing(_finish_tiles(workers, store, tiles, summaries, progress)) as finished:
                for place, found in finished:
                    _put(values, place, found.values, mirrored=inputs.m is None and count is None)
                    n_unconverged += found.n_unconverged
                    n_failed += found.n_failed
            if share is not None:
                share.note_assembled()
    numbers = as_array(values)
    result: Float64s | Neighbors = numbers
    if isinstance(spaces, Cohort) and others is None and count is None:
        result = CohortDistances.of(numbers, spaces, metric, attribute_rule)
    if count is not None:
        result, n_unconverged, n_failed = neighbors_of(numbers, count, inputs)
    if n_unconverged:
        warnings.warn(f"the solver did not converge for {n_unconverged} pairs", ConvergenceWarning, stacklevel=2)
    if n_failed:
        text = f"{n_failed} pairs have no value and are NaN: the solver failed, or numbers exceed the range of floats"
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return result


def _attribute_rule(
    inputs: Inputs,
    metric: str,
    attributes: AttributesLike,
    max_cost: float | None,
    robust: bool,
    n_jobs: int,
    client: Any,
    **how: bool,
) -> AttributeRule | None:
    """Return how to look at all spaces, going through them if that is needed."""
    if metric == ARRANGEMENT:
        if attributes not in (None, "types"):
            raise InputError(f"metric {metric!r} compares types, but got attributes={attributes!r}; leave it out")
        with open_spaces(inputs, n_jobs, client) as spaces:
            return arrangement_rule_of(Outlines(spaces, robust=False, **how), max_cost)
    prepared = [x for x in inputs.listed() if isinstance(x, AnchorFeatures)]
    if prepared:
        return settle_attributes(prepared[:1], attributes, max_cost)
    if attributes is None and max_cost is None:
        return None
    with open_spaces(inputs, n_jobs, client) as spaces:
        return attribute_rule_of(Outlines(spaces, robust=robust, **how), attributes, max_cost, robust=robust)


def _results(target: Float64s | Path | None, inputs: Inputs, k: int | None) -> AbstractContextManager[Matrix]:
    """What tiles are put into: the matrix, or with k what strips say."""
    return matrix(target, shape_of(inputs)) if k is None else nullcontext(np.empty((inputs.n, strip_width(k))))


def _check_shard(shard: Any, folder: Path | None, client: Any, out: object) -> tuple[int, int] | None:
    """Which job this is, and of how many; None if it is the only one."""
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise InputError(f"shard must be two integers (i, n), for job i of n, but got {shard!r}")
    i, n = check_integer(shard[0], "i of shard (i, n)", 0), check_integer(shard[1], "n of shard (i, n)", 1)
    if i >= n:
        raise InputError(
            f"shard must be (i, n) with i from 0 to n - 1, but got ({i}, {n}); if jobs count from 1, subtract 1"
        )
    if folder is None:
        raise InputError(f"shard {i} of {n} needs the folder that all jobs share; give it as checkpoint")
    if client is not None:
        raise InputError(
            "client and shard exclude each other: a cluster divides the work itself; leave one of them out"
        )
    if isinstance(out, np.ndarray):
        raise InputError("an array as out and shard exclude each other; give a path, which the last job writes")
    return None if n == 1 else (i, n)


def _put(values: Matrix, tile: Tile, found: Float64s, mirrored: bool) -> None:
    rows, columns = (slice(part.start, part.stop) for part in (tile.rows, tile.columns))
    values[rows, columns] = found
    if mirrored:
        values[columns, rows] = found.T


def _side(manifest: dict[str, Any] | None, tile: int | None, inputs: Inputs, least: int) -> int:
    """Side of the tiles: the checkpoint's, else what is asked for, else what suits."""
    if manifest is not None:
        return check_integer(manifest.get("side"), "side of the checkpoint's tiles", 1)
    if tile is not None:
        return check_integer(tile, "tile", 1)
    return tile_side(inputs.n, inputs.n if inputs.m is None else inputs.m, least)


def _devices(device: object, backend: str | None, client: Any) -> list[str]:
    """Names of the devices to compute on, none if that is for others to do."""
    names = device_names(device)
    if names and client is not None:
        raise InputError("client and device exclude each other; leave one of them out")
    if names and backend == "processes":
        raise InputError(f"devices are fed by threads, but got backend={backend!r}; leave it out")
    return names


def _workers(
    job: Job, n_jobs: int, backend: str | None, client: Any, devices: list[str], memory: int, side: int
) -> Workers:
    n = n_workers(n_jobs)
    kind = job.metric.backend if backend is None else check_choice(backend, "backend", BACKENDS)
    if client is not None:
        from anchorot.many.cluster import ClusterWorkers

        return ClusterWorkers(job, client, side)
    if devices:
        from anchorot.many.device import DeviceWorkers

        return DeviceWorkers(job, devices, n, memory)
    if kind == "threads" or n == 1 or is_pool_worker():
        return ThreadWorkers(job, n, memory)
    return ProcessWorkers(job, n, memory)


def _prepare(workers: Workers, skip: bool, progress: bool) -> list[SpaceSummary]:
    """Prepare all spaces, see which are good, and know bad ones before any work is spent on pairs."""
    found = dict(each_space(workers, summarise, "preparing", skip=skip, progress=progress, keep=True))
    problems = [str(found[index]) for index in sorted(found) if isinstance(found[index], Exception)]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        text = f"{len(problems)} of {len(found)} spaces cannot be used and have NaN for values: {problems[0]}{more}"
        warnings.warn(text, InputWarning, stacklevel=3)
    summaries = (found[index] for index in range(len(found)))
    return [SpaceSummary(0, None, str(each)) if isinstance(each, Exception) else each for each in summaries]


def _run(job: Job, software: dict[str, str], summaries: list[SpaceSummary]) -> dict[str, Any]:
    """All that the values depend on, for the manifest of a checkpoint; a bad space is None."""
    n, m = job.inputs.n, job.inputs.m
    options = job.metric.options | ({"k": job.k} if isinstance(job, NearestJob) else {})
    digests = [summary.digest for summary in summaries]
    others = None if m is None else digests[n:]
    return {"options": options, "software": software, "spaces": digests[:n], "others": others}


def _finish_tiles(
    workers: Workers, store: Checkpoint | None, tiles: list[Tile], summaries: list[SpaceSummary], progress: bool
) -> Generator[tuple[Tile, TileValues]]:
    """Yield all tiles: first those on disk, then the others as they are computed and put there."""
    todo, done, total = [], 0, sum(tile.n_pairs for tile in tiles)
    for tile in tiles:
        found = None if store is None else store.read(tile)
        if found is None:
            todo.append(tile)
        else:
            done += tile.n_pairs
            yield tile, found
    with progress_bar(total, "comparing", "pairs", progress, done=done) as advance:
        for tile, found in workers.run(todo, summaries):
            if store is not None:
                store.write(tile, found)
            advance(tile.n_pairs)
            yield tile, found
