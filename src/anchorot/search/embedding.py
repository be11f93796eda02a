"""Spaces as vectors whose distances never exceed the Anchor Energy: F(x, t), averaged over the cells of a grid."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels.records import GridSpec
from anchorot._typing import Floats, RngLike
from anchorot._validate import check_device, check_free_memory
from anchorot.anchors.attribute_features import attribute_features, settle_attributes
from anchorot.anchors.attributes import AttributeRule, AttributesLike
from anchorot.anchors.batches import features_together, plain_costs
from anchorot.anchors.cell_averages import Parts, part_averages, parts_of
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.anchors.grid import Grid, check_shape, plain_averages
from anchorot.distances.w2_energy import is_w2
from anchorot.exceptions import InputError
from anchorot.io.options import check_keywords
from anchorot.many.spaces import Inputs, Outlines, Spaces, each_space, open_spaces
from anchorot.rows import Rows
from anchorot.search.projections import Projections
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from distributed import Client

BATCH_NUMBERS = 1 << 25  # costs and cells of the spaces that a device takes at a time


def embed(
    spaces: Sequence[Space | AnchorFeatures | ArrayLike | str | os.PathLike[str]],
    grid: tuple[int, int] | Grid = (32, 32),
    *,
    robust: bool = False,
    ground: str = "w1",
    attributes: AttributesLike = None,
    max_cost: float | None = None,
    rng: RngLike = 0,
    n_jobs: int = -1,
    client: Client | None = None,
    device: object = None,
    progress: bool = True,
    **reading: Any,
) -> NDArray[np.float32]:
    r"""Vectors of spaces, with twice the squared Euclidean distance of two a lower bound of their Anchor Energy.

    AE (p = 1) is :math:`2\,\|F - G\|^2` of the functions :math:`F(x, t) = \sum_i a_i [Q_i(t) \le x]` of two spaces,
    Q_i being the quantile function of anchor i. A vector holds the exact averages of F over the cells of a grid, times
    the root of a cell's area: the coordinates of F's projection on functions constant in each cell. Projections bring
    functions closer, so

        2 * ||e_x - e_y||²  <=  anchor_energy(x, y)     (to the rounding of float32)

    and both sides become equal as the grid becomes finer. The bound also holds if costs lie outside the grid's range:
    the grid then covers only part of the integral. Use the vectors with any model that takes plain features.

    For p >= 3, where AE is not a distance, no such vectors exist; for p = 2 the mean quantile function
    (``AnchorFeatures.of(x, mean_only=True)``) is one by itself.

    With attributes F has several parts, one for every pair of types or one for every coordinate of the features' map.
    A vector holds the averages of all parts, one after the other; the bound is the same.

    ``ground="w2"`` embeds for :func:`anchor_energy` with that ground. Twice the squared distance of two vectors then
    estimates it, by random projections and positions that all spaces share, but is not a bound;
    :func:`~anchorot.search.embedded_energy` gives its standard error.

    Parameters
    ----------
    spaces : sequence of N Space, AnchorFeatures, array_like or path
        Read twice, unless the grid is known (a `Grid`, or `robust`) and so are `max_cost` and the features' map. Paths,
        functions and lazy sequences are accepted as by :func:`pairwise`.
    grid : (int, int) or Grid
        Number of cells along x and along t, over the range of all costs; or a grid shared with other spaces. With
        ``ground="w2"`` the number of projections, and of positions for each.
    robust : bool
        Embed the ranks of the costs (:meth:`Space.ranked`).
    ground : {"w1", "w2"}
        The distance between anchors. "w2" needs spaces, and excludes `attributes` and `max_cost`. Its vectors are
        comparable if `rng` and the range of costs are the same.
    attributes, max_cost, rng
        See :func:`anchor_energy`. With attributes `max_cost` is by default the largest cost of all spaces; a `Grid`
        must not go beyond it. For K types there are K² parts, in the order of the sorted types of all spaces, the
        anchor's type first. Samples from files also use `rng`.
    n_jobs : int
        Number of spaces to read and embed at a time; -1 for one per core, or a single one inside a worker process of
        joblib or multiprocessing.
    client : dask.distributed.Client, optional
        Read and embed on its cluster instead, to the same bits. Spaces stay there between the first and the second
        pass. Losing workers costs only time.
    device : str, optional
        A CUDA device that sorts and averages the uniform spaces, such as "cuda"; "cpu" means no device. The vectors
        equal those of the native kernels bit for bit. Not with `attributes`, `max_cost`, `client` or W2. Needs the
        extra ``torch``.
    progress : bool
        Show a bar, if standard error is a terminal.
    **reading
        Options of :func:`read` for paths, such as ``n_points=200``; ``cache=False`` reads without the user's cache.

    Returns
    -------
    ndarray of shape (N, cells) or (N, parts · cells), float32
        Row k reshaped to `grid` has x along its first axis. O(n²) time per space, after its sorts.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> e = ao.embed([line, triangle], grid=(2, 3))
    >>> round(2 * float(((e[0] - e[1]) ** 2).sum()), 6)  # of an Anchor Energy of 0.296296
    0.296296
    """
    by_w2 = is_w2(ground, alone=attributes is None and max_cost is None)
    on_device = check_device(device) not in (None, "cpu")
    if on_device and (by_w2 or client is not None or attributes is not None or max_cost is not None):
        raise InputError("device cannot be combined with attributes, max_cost, client or ground='w2'")
    check_keywords("embed", reading)
    inputs = Inputs.of(spaces, None, least=0, seed=rng, **reading)
    has_features = any(isinstance(x, AnchorFeatures) for x in inputs.listed())
    if not (by_w2 or on_device or has_features) and attributes is None and max_cost is None:
        inputs = PlainFeatures(bool(robust)).apply_to(inputs)
    with open_spaces(inputs, n_jobs, client) as opened:
        outlines = Outlines(opened, robust=robust and attributes is not None, progress=progress)
        if by_w2:
            grid = grid if isinstance(grid, Grid) else Grid.around(outlines, check_shape(grid), robust=robust)
            return _embed(opened, Projections(grid.shape, grid.low, grid.high, robust, rng), progress)
        prepared = [x for x in inputs.listed() if isinstance(x, AnchorFeatures)]
        attribute_rule = settle_attributes(prepared or outlines, attributes, max_cost, robust=robust, rng=rng)
        if not isinstance(grid, Grid):
            limit = None if attribute_rule is None else attribute_rule.max_cost
            grid = Grid.around(outlines, check_shape(grid), robust=robust, max_cost=limit)
        if on_device:
            check_vectors(len(inputs), math.prod(grid.shape))
            loaded = (inputs.load(k) for k in range(len(inputs)))
            return embed_on_device(loaded, len(inputs), grid.cells, grid.cell_area, robust, str(device))
        return _embed(opened, Embedding(grid, robust, attribute_rule, parts_of(outlines, attribute_rule)), progress)


@dataclass(frozen=True)
class PlainFeatures:
    """Turns spaces into features, many in one call where that can be."""

    robust: bool

    def apply_to(self, inputs: Inputs) -> Inputs:
        """Return the inputs with this done to every space."""
        return replace(inputs, prepare=self, prepare_many=None if self.robust else self.together)

    def __call__(self, space: Any) -> AnchorFeatures:
        """Features of a space."""
        return as_features(space, robust=self.robust)

    def together(self, spaces: Any, indices: range) -> dict[int, AnchorFeatures]:
        """Features of those spaces that one call can look at."""
        found = zip(indices, features_together(plain_costs(spaces, indices)), strict=True)
        return {index: features for index, features in found if features is not None}


@dataclass(frozen=True)
class Embedding:
    """How spaces become vectors: on a grid, by the given parts of F."""

    grid: Grid
    robust: bool
    attribute_rule: AttributeRule | None
    parts: Parts

    def __post_init__(self) -> None:
        attribute_rule, end = self.attribute_rule, self.grid.high
        if attribute_rule is not None and attribute_rule.attributes is not None and end > attribute_rule.max_cost:
            raise InputError(f"the grid ends at {end}, beyond the max_cost {attribute_rule.max_cost}; end it there")

    @property
    def size(self) -> int:
        """Numbers of a vector."""
        return self.parts.count * math.prod(self.grid.shape)

    def __call__(self, x: Any, index: int) -> NDArray[np.float32]:
        """The vector of a space."""
        features = attribute_features(x, self.attribute_rule, robust=self.robust, name=f"spaces[{index}]")
        return (np.sqrt(self.grid.cell_area) * part_averages(features, self.grid.cells, self.parts)).astype(np.float32)


def _embed(spaces: Spaces, embedding: Embedding | Projections, progress: bool) -> NDArray[np.float32]:
    check_vectors(len(spaces), embedding.size)
    out = np.empty((len(spaces), embedding.size), np.float32)
    for index, vector in each_space(spaces, embedding, "embedding", progress=progress):
        out[index] = vector
    return out


def check_vectors(count: int, size: int) -> None:
    """Refuse vectors that do not fit into memory together with one that is being computed."""
    check_free_memory(
        4 * size * count + 24 * size, f"{count} vector{'s' * (count != 1)} of {size} numbers", "take a coarser grid"
    )


# -- on a CUDA device: uniform spaces of one size are sorted and averaged together --------------------------------


def embed_on_device(
    spaces: Iterable[Any], count: int, grid: GridSpec, cell_area: float, robust: bool, device: str
) -> NDArray[np.float32]:
    """Averages over the cells times the root of a cell's area; weighted spaces are embedded on the CPU."""
    import torch

    from anchorot.torch._pairs import check_kernels, grid_averages

    place = torch.device(device)
    check_kernels(place)
    out = np.empty((count, grid.cells_x * grid.cells_t), np.float32)
    waiting: defaultdict[int, list[tuple[int, Floats]]] = defaultdict(list)  # by size: places and costs

    def settle(n: int) -> None:
        places, costs = zip(*waiting.pop(n), strict=True)
        with torch.cuda.device(place):
            stacked = torch.from_numpy(np.stack(costs).astype(np.float64, copy=False)).to(place)
            averages = grid_averages(stacked, grid).flatten(1).numpy(force=True)
        out[list(places)] = math.sqrt(cell_area) * averages

    for k, x in enumerate(spaces):
        space = None if isinstance(x, AnchorFeatures | Rows) else as_space(x, robust=robust).support()
        if space is None or not space.is_uniform:
            out[k] = math.sqrt(cell_area) * plain_averages(as_features(x, robust=robust), grid).ravel()
            continue
        waiting[space.n].append((k, space.cost))
        if len(waiting[space.n]) * (space.n**2 + 3 * out.shape[1]) >= BATCH_NUMBERS:
            settle(space.n)
    for n in list(waiting):
        settle(n)
    return out
