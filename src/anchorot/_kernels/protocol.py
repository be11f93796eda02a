"""What a set of kernels offers; `native` and `numpy` are two such sets."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from anchorot._kernels.records import (
    EdgeLanes,
    EdgeRows,
    Events,
    GridSpec,
    LevelBlocks,
    LevelMoves,
    LowerRows,
    PairLinks,
    PairRows,
    PlaceMoves,
    RowItems,
    ShareSteps,
    SparseRows,
    StepRows,
    VectorLevels,
    WeightedLevels,
)
from anchorot._typing import Float32s, Float64s, Floats, Int64s


class Kernels(Protocol):
    """Threads change the time of a kernel, never a bit of its result.

    What is too large for a float is infinite: energies and costs that are, and every energy where the range of the
    costs is. Finite arguments never give NaN.
    """

    def description(self) -> str:
        """Say which kernels these are."""

    def quantiles(self, matrix: Floats, threads: int, out: Floats | None = None) -> Floats:
        """Sort each row, transpose: out[k, i] is the k-th smallest entry of row i. `out` is contiguous, if given."""

    def sort_rows(self, matrix: Floats, threads: int) -> None:
        """Sort each row in place."""

    def space_levels(self, costs: list[Floats], threads: int) -> tuple[list[Floats], NDArray[np.bool_]]:
        """`quantiles` of each of many square matrices, with their rows sorted; all are of one type of numbers.

        What is not finite, negative, or larger on the diagonal than elsewhere on average is not sorted: it is False in
        the second result.
        """

    def euclidean(self, x: Float64s, y: Float64s) -> Float64s:
        """Distances between the rows of x and those of y, whose squares are in the range of floats."""

    def cloud_costs(
        self, points: list[Float64s], dtype: DTypeLike, threads: int
    ) -> tuple[list[Floats], NDArray[np.bool_]]:
        """Euclidean distances within each of many clouds, as numbers of a type.

        False in the second result where squares or distances may be out of range.
        """

    def level_energy(self, x: Floats, y: Floats, threads: int) -> float:
        """Anchor Energy (p = 1) from sorted levels: x[k] holds all anchors' quantiles at level k."""

    def level_energies(self, xs: list[Floats], ys: list[Floats], counts: Int64s) -> Float64s:
        """(xs, ys): the same of the first counts[j] of xs to every ys[j], in one thread and without the GIL between.

        All are of one type of numbers. What is not asked for is NaN.
        """

    def block_energies(self, x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_cost: float, threads: int) -> Float64s:
        """(pairs,): 2 ∬ D² up to max_cost, D the mass of the numbers up to x in block pairs[k, 0] less [k, 1].

        A pair's block -1 is one without numbers.
        """

    def block_profile(
        self, x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_costs: Float64s, power: int, threads: int
    ) -> Float64s:
        """(max_costs,): 2 ∬ D² (power 2) or ∬ |D| (power 1) of all pairs up to each of the ascending max_costs."""

    def vector_profile(self, x: VectorLevels, y: VectorLevels, max_costs: Float64s, threads: int) -> Float64s:
        """(max_costs,): 2 ∬ |D|² up to each of the ascending max_costs, D the sum of vectors up to x, in one pass."""

    def weighted_gaps(self, x: WeightedLevels, y: WeightedLevels, power: int, max_cost: float, threads: int) -> float:
        """∬ |D|^power up to max_cost, power 1 or 2, D the mass of x's numbers up to x less that of y's."""

    def weighted_gaps_of_pairs(
        self, xs: list[WeightedLevels], ys: list[WeightedLevels], counts: Int64s, power: int, max_cost: float
    ) -> Float64s:
        """(xs, ys): the same of the first counts[j] of xs to every ys[j], as `level_energies` does."""

    def weighted_transport(self, x: WeightedLevels, y: WeightedLevels, threads: int) -> float:
        """SAW_2 (with the root), of masses that sum to 1."""

    def periodic_distances(
        self, cell: Float64s, fraction: Float64s, kind: NDArray[np.uint32], species: int, k: int
    ) -> Float64s:
        """(atoms, species, k): ascending distances to the k nearest atoms of each species, images included.

        `cell` has the edges in its rows, `kind` numbers the species, each of which has an atom.
        """

    def l1_costs(self, x: Float64s, y: Float64s, threads: int) -> Float64s:
        """Transport costs (p = 1) between all columns of two matrices: x[k, i] is row i's quantile at level k."""

    def step_costs(self, x: StepRows, y: StepRows, p: int, threads: int) -> Float64s:
        """Transport costs (any p) between all rows of two collections of weighted samples."""

    def level_shares(self, cost: Float64s, split_ties: bool) -> Float64s:
        """out[r, k]: share of the rows in which column k has rank r; equal costs share ranks, or stand in order."""

    def share_product(self, x: ShareSteps, n: int, y: ShareSteps, m: int, threads: int) -> Float64s:
        """(n, m): integral over the level of the product of every share in x and every share in y."""

    def argsort(self, values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
        """Sorted values and the stable order that sorts them."""

    def cost_events(self, cost: Float64s, mass: Float64s, jumps: Int64s, threads: int) -> Events:
        """Sort all entries of a matrix: the events of its rows, whose CDFs jump by jumps[c] at the entry of column c.

        Equal costs stand in one order whatever the threads: that of the matrix; or, if it is symmetric, that of its
        upper half, each entry with its mirror image.
        """

    def sweep_energy(self, x: Events, y: Events, threads: int) -> float:
        """Anchor Energy (p = 1) of two collections of weighted measures."""

    def sweep_energies(self, xs: list[Events], ys: list[Events], counts: Int64s) -> Float64s:
        """(xs, ys): the same of the first counts[j] of xs to every ys[j], as `level_energies` does."""

    def level_transport(self, x: Floats, y: Floats, p: int, threads: int) -> float:
        """SAW_p (p = 1 or 2, with the root) from sorted levels: x[k] holds all anchors' quantiles at level k."""

    def level_transports(self, xs: list[Floats], ys: list[Floats], counts: Int64s, p: int) -> Float64s:
        """(xs, ys): the same of the first counts[j] of xs to every ys[j], as `level_energies` does."""

    def sweep_transport(self, x: Events, y: Events, threads: int) -> float:
        """∬ |F - G| dx dt, which is SAW_1, of two collections of weighted measures of the same total mass."""

    def sweep_transports(self, xs: list[Events], ys: list[Events], counts: Int64s) -> Float64s:
        """(xs, ys): the same of the first counts[j] of xs to every ys[j], as `level_energies` does."""

    def level_sweep_transport(self, x: LevelMoves, mass_x: Float64s, y: LevelMoves, mass_y: Float64s) -> float:
        """SAW_2 (with the root) of two collections of weighted measures."""

    def quantile_averages(self, x: LevelMoves, mass: Float64s, shape: tuple[int, int]) -> Float64s:
        """Averages over equal cells of levels t and shares s of G(s, t), the s-quantile of the rows' quantiles at t."""

    def sweep_profile(self, x: Events, y: Events, max_costs: Float64s, power: int, threads: int) -> Float64s:
        """(max_costs,): AE_1 (power 2) or SAW_1 (power 1) of what lies up to each of the ascending max_costs."""

    def labelled_energies(self, moves: PlaceMoves, items: RowItems, in_x: NDArray[np.uint8], threads: int) -> Float64s:
        """(labellings,): energy distance (p = 1) of the items with in_x[labelling] = 1 from the others.

        Every labelling has as many items on either side.
        """

    def labelled_steps(self, moves: PlaceMoves) -> float:
        """How long `labelled_energies` takes for one labelling, in passes over one place (0.15 ns or so)."""

    def level_averages(self, levels: Floats, grid: GridSpec) -> Float64s:
        """(cells_x, cells_t): averages over a grid's cells of F(x, t), the share of the numbers at level t up to x."""

    def level_averages_of_spaces(self, xs: list[Floats], grid: GridSpec, threads: int) -> Float64s:
        """(xs, cells_x, cells_t): the same of many spaces, all of one type of numbers."""

    def event_averages(self, events: Events, grid: GridSpec) -> Float64s:
        """(cells_x, cells_t): averages over a grid's cells of F(x, t), the mass of the rows with a quantile up to x."""

    def sparse_solver(self, matrix: LowerRows) -> Callable[[Float64s], Float64s]:
        """Factorise a positive definite matrix A: a function from right-hand sides B (n, k) to A^-1 B.

        Each column's result depends on that column alone.
        """

    def multiply_left(self, a: SparseRows, x: Float32s, threads: int) -> Float32s:
        """The product A X."""

    def multiply_right(self, x: Float32s, transposed: SparseRows, threads: int) -> Float32s:
        """The product X B, by the rows of B transposed."""

    def tilt_plan(
        self, plan: Float32s, slope: Float32s, rate: float, copies: Float32s, rounds: int, threads: int
    ) -> None:
        """Multiply a plan by exp(rate slope); scale it: rows sum to 1, and columns, row i counted copies[i] times."""

    def spread(self, matrix: Float32s, threads: int) -> float:
        """Standard deviation of all entries."""

    def pass_messages(
        self,
        first: EdgeRows,
        second: EdgeLanes,
        ratios: Float32s,
        plan: Float32s,
        free_ends: Float32s,
        rounds: int,
        threads: int,
        out: Float32s | None = None,
    ) -> tuple[Float32s, Float32s]:
        """One round of belief propagation on pairs of edges: evidence for every pair of nodes, and the next messages.

        At the pair (i, j), edges (i, k) and (j, l) that are the same edge weigh w_kl = ratios[kinds] P_kl free_kl,
        where free_kl is the chance that the pair (k, l) needs neither edge itself. Z_ij is the sum of products of w
        over all matchings of neighbours, each used at most once, in Bethe's approximation: `rounds` rounds from b = 1
        of a_kl = 1 / (1 + sum over l' != l of w b) and b_kl = 1 / (1 + sum over k' != k of w a). The evidence is
        log Z_ij, and ab / (1 + wab) the chance, at (i, j), that neither edge is needed: free_ends[edge (i, k), place
        of (j, l)].
        """

    def count_links(self, first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> Int64s:
        """(pairs,): how many links each candidate pair has."""

    def link_pairs(self, first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> PairLinks:
        """Links between candidate pairs of nodes, along the edges of both graphs."""

    def pass_pair_messages(
        self,
        first: EdgeRows,
        second: EdgeRows,
        pairs: PairRows,
        links: PairLinks,
        ratios: Float32s,
        plan: Float32s,
        free_ends: Float32s,
        rounds: int,
        threads: int,
    ) -> tuple[Float32s, Float32s]:
        """What `pass_messages` does where P is 0 but for some pairs: evidence (pairs,), and messages (links,)."""
