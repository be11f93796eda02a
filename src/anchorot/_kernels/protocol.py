"""What a set of kernels offers; `native` and `numpy` are two such sets."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import (
    EdgeLanes,
    EdgeRows,
    Events,
    GridSpec,
    LevelBlocks,
    LevelMoves,
    LowerRows,
    PlaceMoves,
    RowItems,
    ShareSteps,
    SparseRows,
    StepRows,
    VectorLevels,
)
from anchorot._typing import Float32s, Float64s, Floats, Int64s


class Kernels(Protocol):
    """Threads change the time of a kernel, never a bit of its answer.

    What is too large for a float is infinite: energies and costs that are, and every energy where the range of the
    costs is. Finite arguments never give NaN.
    """

    def description(self) -> str:
        """Say which kernels these are."""

    def quantiles(self, matrix: Floats, threads: int, out: Floats | None = None) -> Floats:
        """Sort each row, transpose: out[k, i] is the k-th smallest entry of row i. `out` is contiguous, if given."""

    def sort_rows(self, matrix: Floats, threads: int) -> None:
        """Sort each row in place."""

    def level_energy(self, x: Floats, y: Floats, p: int, threads: int) -> float:
        """Anchor Energy (p = 1 or p >= 3) from sorted levels: x[k] holds all anchors' quantiles at level k."""

    def level_energies(self, xs: list[Floats], ys: list[Floats], counts: Int64s, p: int) -> Float64s:
        """(xs, ys): the same of the first counts[j] of xs to every ys[j], in one thread and without the GIL between.

        All are of one type of numbers. What is not asked for is NaN.
        """

    def block_energies(self, x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_cost: float, threads: int) -> Float64s:
        """(pairs,): 2 ∬ D² up to the reach, D the mass of the numbers up to x in block pairs[k, 0] less [k, 1].

        A pair's block -1 is one without numbers.
        """

    def block_profile(
        self, x: LevelBlocks, y: LevelBlocks, pairs: Int64s, max_costs: Float64s, threads: int
    ) -> Float64s:
        """(reaches,): the sum of `block_energies` up to each of the ascending reaches, in one pass."""

    def vector_profile(self, x: VectorLevels, y: VectorLevels, max_costs: Float64s, threads: int) -> Float64s:
        """(reaches,): 2 ∬ |D|² up to each of the ascending reaches, D the sum of the vectors up to x, in one pass."""

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

    def sweep_profile(self, x: Events, y: Events, max_costs: Float64s, threads: int) -> Float64s:
        """(reaches,): Anchor Energy (p = 1) of what lies up to each of the ascending reaches."""

    def level_sweep_energy(self, moves: LevelMoves, signed_mass: Float64s, p: int, threads: int) -> float:
        """Anchor Energy (p >= 2) of two collections of weighted measures, whose rows have masses of either sign."""

    def labelled_energies(self, moves: PlaceMoves, items: RowItems, in_x: NDArray[np.uint8], threads: int) -> Float64s:
        """(labellings,): energy distance (p = 1) of the items with in_x[labelling] = 1 from the others.

        Every labelling has as many items on either side.
        """

    def labelled_steps(self, moves: PlaceMoves) -> float:
        """How long `labelled_energies` takes for one labelling, in passes over one place (0.15 ns or so)."""

    def level_averages(self, levels: Floats, grid: GridSpec) -> Float64s:
        """(cells_x, cells_t): averages over a grid's cells of F(x, t), the share of the numbers at level t up to x."""

    def event_averages(self, events: Events, grid: GridSpec) -> Float64s:
        """(cells_x, cells_t): averages over a grid's cells of F(x, t), the mass of the rows with a quantile up to x."""

    def sparse_solver(self, matrix: LowerRows) -> Callable[[Float64s], Float64s]:
        """Factorise a positive definite matrix A: a function from right-hand sides B (n, k) to A^-1 B.

        Each column's answer depends on that column alone.
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
