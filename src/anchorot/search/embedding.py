"""Spaces as vectors whose distances never exceed the Anchor Energy: F(x, t), averaged over the cells of a grid."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels.records import GridSpec
from anchorot._typing import RngLike
from anchorot._validate import check_integer, check_room
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.marked import common_marking, marked_features
from anchorot.anchors.marking import Marking, MarksLike
from anchorot.anchors.outline import Outline
from anchorot.anchors.parts import Parts, part_averages, parts_of
from anchorot.distances.device import check_device
from anchorot.distances.ground import is_w2
from anchorot.exceptions import InputError
from anchorot.io.options import check_keywords
from anchorot.many.inputs import Inputs
from anchorot.many.spaces import Outlines, Spaces, each_space, open_spaces
from anchorot.search.device import embed_on_device
from anchorot.search.projections import ProjectedEmbedding, Projections
from anchorot.space import Space

if TYPE_CHECKING:
    from distributed import Client

NARROWEST, WIDEST = 1e-70, 1e70  # roots of ranges beyond these are no float32 numbers


@dataclass(frozen=True)
class Grid:
    """Equal cells over a range of costs x and all levels t in [0, 1].

    Attributes
    ----------
    shape : (int, int)
        Cells along x and along t.
    low, high : float
        The range of costs. Costs outside it are legal: cells then see less of a space, and bounds stay bounds.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.Grid.around([[[0, 3], [1, 0]]], shape=(8, 8))
    Grid(shape=(8, 8), low=0.0, high=3.0)
    """

    shape: tuple[int, int]
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not NARROWEST < self.high - self.low < WIDEST:
            needed = f"low < high, between {NARROWEST:g} and {WIDEST:g} apart,"
            raise InputError(f"got a grid from low={self.low} to high={self.high}, but {needed} is needed")
        object.__setattr__(self, "shape", check_shape(self.shape))

    @classmethod
    def around(
        cls,
        spaces: Iterable[Space | Outline | AnchorFeatures | ArrayLike],
        shape: tuple[int, int] = (32, 32),
        *,
        robust: bool = False,
        reach: float | None = None,
    ) -> Self:
        """Grid over the range of all costs of the spaces, up to a reach; of ranks, if `robust`, over [0, 1]."""
        low, high = (0.0, 1.0) if robust else common_span(map(_span, spaces))
        if reach is None:
            return cls.over((low, high), shape)
        return cls(shape, low if reach - low > NARROWEST else reach - max(abs(reach), 1.0), reach)

    @classmethod
    def over(cls, span: tuple[float, float], shape: tuple[int, int]) -> Self:
        """Grid over costs from the first to the second number, widened if they are (nearly) equal."""
        low, high = span
        return cls(shape, low, high if high - low > NARROWEST else low + max(abs(low), 1.0))

    @property
    def cells(self) -> GridSpec:
        """The grid as kernels take it."""
        return GridSpec(*self.shape, self.low, self.high)

    @property
    def cell_area(self) -> float:
        """Area of a cell in the (x, t) plane."""
        return (self.high - self.low) / math.prod(self.shape)


def embed(
    spaces: Sequence[Space | AnchorFeatures | ArrayLike | str | os.PathLike[str]],
    grid: tuple[int, int] | Grid = (32, 32),
    *,
    robust: bool = False,
    ground: str = "w1",
    marks: MarksLike = None,
    reach: float | None = None,
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

    and the two sides meet as the grid becomes finer. Where costs lie outside the grid's range the law holds too: the
    grid then sees a part of the integral of a square. The vectors serve any model that takes plain features.

    There is nothing like it for p >= 3, where AE is no distance; for p = 2 the mean quantile function
    (``AnchorFeatures.of(x, mean_only=True)``) is such a vector by itself.

    With marks F has several parts, one for every pair of types or one for every coordinate of the features' map, and a
    vector holds the averages of all of them, one part after the other; the law is the same.

    ``ground="w2"`` embeds for :func:`anchor_energy` with that ground. Twice the squared distance of two vectors is then
    no bound but an estimate of it, by random projections and positions that all spaces share;
    :func:`embedded_energy` gives its standard error.

    Parameters
    ----------
    spaces : sequence of N Space, AnchorFeatures, array_like or path
        It is gone through twice, unless all is known at first: a `Grid`, or `robust`, and the reach and the map of
        marks. Paths, functions and sequences that load spaces when asked are taken as by :func:`pairwise`.
    grid : (int, int) or Grid
        How many cells along x and along t, over the range of all costs; or a grid to share with other spaces. With
        ``ground="w2"`` how many projections, and how many positions for each.
    robust : bool
        Embed the ranks of the costs (:meth:`Space.ranked`).
    ground : {"w1", "w2"}
        The distance between anchors. The latter goes with spaces, without `marks` and `reach`. Vectors of one `rng` and
        one range of costs can be compared.
    marks, reach, rng
        See :func:`anchor_energy`. The reach of marks is by default the largest cost of all spaces; a `Grid` must not go
        beyond it. For K types there are K² parts, in the order of the sorted types of all spaces, first the anchor's.
        What is drawn from files comes from `rng` too.
    n_jobs : int
        Spaces to read and to embed at a time; -1 for one per core, or one alone inside a worker process of joblib or
        multiprocessing.
    client : dask.distributed.Client, optional
        Read and embed on its cluster instead, to the same bits. Spaces stay there from the first time they are gone
        through to the second. Losing workers costs time only.
    device : str, optional
        A CUDA device that sorts and averages the uniform spaces, such as "cuda"; "cpu" is as good as none. The vectors
        are those of the native kernels to the last bit. Not with `marks`, `reach`, `client` or W2. Needs the
        extra ``torch``.
    progress : bool
        Show a bar, if standard error is a terminal.
    **reading
        Options of :func:`read` for paths, such as ``n_points=200``; ``cache=False`` reads without the user's cache.

    Returns
    -------
    ndarray of shape (N, cells) or (N, parts · cells), float32
        Row k reshaped to `grid` has x along its first axis. O(n²) time a space, after its sorts.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> e = ao.embed([line, triangle], grid=(2, 3))
    >>> round(2 * float(((e[0] - e[1]) ** 2).sum()), 6)  # of an Anchor Energy of 0.296296
    0.296296
    """
    by_w2 = is_w2(ground, alone=marks is None and reach is None)
    on_device = check_device(device) not in (None, "cpu")
    if on_device and (by_w2 or client is not None or marks is not None or reach is not None):
        raise InputError("a device sees neither marks, a reach nor W2, and is none of a cluster's; leave device out")
    check_keywords("embed", reading)
    inputs = Inputs.of(spaces, None, least=0, seed=rng, **reading)
    with open_spaces(inputs, n_jobs, client) as opened:
        outlines = Outlines(opened, robust=robust and marks is not None, progress=progress)
        if by_w2:
            grid = grid if isinstance(grid, Grid) else Grid.around(outlines, check_shape(grid), robust=robust)
            projections = Projections(grid.shape, grid.low, grid.high, rng)
            return _embed(opened, ProjectedEmbedding(projections, robust), progress)
        prepared = [x for x in inputs.listed() if isinstance(x, AnchorFeatures)]
        marking = common_marking(prepared or outlines, marks, reach, robust=robust, rng=rng)
        if not isinstance(grid, Grid):
            limit = None if marking is None else marking.reach
            grid = Grid.around(outlines, check_shape(grid), robust=robust, reach=limit)
        if on_device:
            check_vectors(len(inputs), math.prod(grid.shape))
            loaded = (inputs.load(k) for k in range(len(inputs)))
            return embed_on_device(loaded, len(inputs), grid.cells, grid.cell_area, robust, str(device))
        return _embed(opened, Embedding(grid, robust, marking, parts_of(outlines, marking)), progress)


@dataclass(frozen=True)
class Embedding:
    """How spaces become vectors: on a grid, by the given parts of F."""

    grid: Grid
    robust: bool
    marking: Marking | None
    parts: Parts

    def __post_init__(self) -> None:
        marking, end = self.marking, self.grid.high
        if marking is not None and marking.marks is not None and end > marking.reach:
            raise InputError(f"the grid ends at {end}, beyond the reach {marking.reach}; end it there")

    @property
    def size(self) -> int:
        """Numbers of a vector."""
        return self.parts.count * math.prod(self.grid.shape)

    def __call__(self, x: Any, index: int) -> NDArray[np.float32]:
        """The vector of a space."""
        features = marked_features(x, self.marking, robust=self.robust, name=f"spaces[{index}]")
        return (np.sqrt(self.grid.cell_area) * part_averages(features, self.grid.cells, self.parts)).astype(np.float32)


def embed_parts(
    spaces: Sequence[Any], grid: Grid, robust: bool, marking: Marking | None, parts: Parts
) -> NDArray[np.float32]:
    """Vectors of spaces, on a grid, of the given parts of F."""
    embedding = Embedding(grid, robust, marking, parts)
    out = np.empty((len(spaces), embedding.size), np.float32)
    for k, x in enumerate(spaces):
        out[k] = embedding(x, k)
    return out


def _embed(spaces: Spaces, embedding: Embedding | ProjectedEmbedding, progress: bool) -> NDArray[np.float32]:
    check_vectors(len(spaces), embedding.size)
    out = np.empty((len(spaces), embedding.size), np.float32)
    for index, vector in each_space(spaces, embedding, "embedding", progress=progress):
        out[index] = vector
    return out


def check_vectors(count: int, size: int) -> None:
    """Refuse vectors that memory does not hold, with one more in the making."""
    check_room(
        4 * size * count + 24 * size, f"{count} vector{'s' * (count != 1)} of {size} numbers", "take a coarser grid"
    )


def check_shape(shape: object) -> tuple[int, int]:
    """Return the numbers of cells along x and along t as two ints."""
    if not isinstance(shape, Sequence) or len(shape) != 2:
        raise InputError(f"grid must be two numbers of cells, along x and along t, but got {shape!r}")
    return check_integer(shape[0], "grid[0]", 1), check_integer(shape[1], "grid[1]", 1)


def _span(x: Space | Outline | AnchorFeatures | ArrayLike) -> tuple[float, float]:
    """Smallest and largest cost between points of positive weight, found without sorting."""
    return x.span if isinstance(x, AnchorFeatures) else Outline.of(x, robust=False).span


def common_span(spans: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The smallest and the largest of all costs."""
    all_spans = np.array(list(spans))
    if len(all_spans) == 0:
        raise InputError("got no spaces to learn the range of costs from; give a Grid instead")
    return float(all_spans[:, 0].min()), float(all_spans[:, 1].max())
