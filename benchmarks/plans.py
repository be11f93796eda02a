"""Rows about Anchor Wasserstein and the Anchor Energy Plan."""

import statistics
import time
import warnings
from typing import NamedTuple

import numpy as np
import ot
from scipy.spatial.distance import cdist

import anchorot as ao
from anchorot._kernels import kernels
from anchorot.anchors.rows import row_costs
from anchorot.distances.sinkhorn import marginal_error
from anchorot.distances.wasserstein import entropic_transport
from measure import Row, alternating, at_least, cloud, ms, seconds

SIZES = (300, 1000, 2000)  # of Anchor Wasserstein's rows
SHARES = (0.1, 0.01, 0.001)  # of the mean cost, which is epsilon
TURNS = 3
FAILED = 0.1  # of the marginals, in sum: a plan that is off by more has underflowed


def cost_rows() -> list[Row]:
    quantiles = [kernels.quantiles(cloud(1024, seed).cost, 1) for seed in (1, 2)]
    sorted_rows = [np.ascontiguousarray(q.T) for q in quantiles]
    return [
        at_least(
            "AW costs p=1, n=m=1024: SciPy's cdist of sorted rows over ours",
            3,
            lambda: cdist(*sorted_rows, "cityblock"),
            lambda: kernels.l1_costs(*quantiles, 1),
        )
    ]


def plan_rows() -> list[Row]:
    x, y = cloud(1024, 1), cloud(1024, 2)
    orders = [np.argsort(s.cost, axis=1) for s in (x, y)]
    pairs = 1000

    def naive() -> np.ndarray:
        """The couplings of a sample of pairs of rows, which are sorted already."""
        plan = np.zeros((x.n, y.n))
        for i in range(pairs // 50):
            for j in range(50):
                plan[orders[0][i], orders[1][j]] += 1 / x.n**3
        return plan

    slow, fast, ratio = alternating(naive, lambda: ao.anchor_energy_plan(x, y), 5)
    slow, ratio = slow * x.n * y.n / pairs, ratio * x.n * y.n / pairs
    error = np.abs(ao.anchor_energy_plan(x, y).sum(axis=1) - x.weights).sum()
    measured = f"{ratio:.0f} ({slow:.0f} s / {ms(fast)}), marginals off by {error:.0e}"
    what = f"AEP n=m=1024: naive sum over all pairs of rows (from {pairs} of them) over ours"
    one = seconds(lambda: ao.anchor_energy_plan(x, y, rows=[0]))
    return [Row(what, measured, "at least 100", ratio >= 100), Row("AEP, one row of that plan", ms(one))]


class Solved(NamedTuple):
    """A plan, its CPU seconds, and how many rounds of Sinkhorn it took."""

    plan: np.ndarray
    time: float
    rounds: int


def sinkhorn_rows() -> list[Row]:
    """Entropic AW to marginals that are off by at most 1e-6 in sum, against POT: CPU seconds, medians of turns."""
    return [row for n in SIZES for share in SHARES for row in _sinkhorn_rows(n, share)]


def _sinkhorn_rows(n: int, share: float) -> list[Row]:
    x, y = cloud(n, 1), cloud(n, 2)
    costs = row_costs(x, y, 1, 1)
    epsilon = share * costs.mean()
    solvers = {
        "ours, with the costs": lambda: ours_with_costs(x, y, epsilon),
        "ours, costs ready": lambda: ours(costs, x, y, epsilon),
        "POT's sinkhorn, costs ready": lambda: pot(costs, x, y, [epsilon]),
    }
    if share < SHARES[1]:
        solvers["POT's sinkhorn in two stages, costs ready"] = lambda: pot(costs, x, y, [10 * epsilon, epsilon])
    found = {name: [solve()] for name, solve in solvers.items()}
    for _ in range(TURNS - 1):
        for name, solve in solvers.items():
            found[name].append(solve())
    if n == SIZES[1] and share >= SHARES[1]:
        found["POT's sinkhorn_log, costs ready"] = [pot(costs, x, y, [epsilon], "sinkhorn_log")]
    unit = statistics.median(each.time for each in found["ours, with the costs"])
    what = f"AW n=m={n}, epsilon={share:g} of the mean cost"
    return [Row(f"{what}: {name}", _said(turns, unit, costs, x, y)) for name, turns in found.items()]


def ours_with_costs(x: ao.Space, y: ao.Space, epsilon: float) -> Solved:
    start = time.process_time()
    found = ao.anchor_wasserstein(x, y, epsilon=epsilon)
    return Solved(found.plan, time.process_time() - start, found.n_iter)


def ours(costs: np.ndarray, x: ao.Space, y: ao.Space, epsilon: float) -> Solved:
    start = time.process_time()
    found = entropic_transport(costs, x.weights, y.weights, epsilon, 10_000, 1e-6)
    return Solved(found.plan, time.process_time() - start, found.n_iter)


def pot(
    costs: np.ndarray, x: ao.Space, y: ao.Space, epsilons: list[float], method: str = "sinkhorn", rounds: int = 5000
) -> Solved:
    """POT at its best: costs less their rows' and columns' least, and less the potentials of the epsilon before.

    Neither changes the plan; without them its kernel underflows at 1e-3 of the mean cost.
    """
    start, total = time.process_time(), 0
    reduced = costs - costs.min(axis=1, keepdims=True)
    reduced -= reduced.min(axis=0)
    for epsilon in epsilons:
        goal = 1e-6 / np.sqrt(x.n)  # of the root of the sum of squares
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            plan, log = ot.sinkhorn(x.weights, y.weights, reduced, epsilon, method, rounds, goal, log=True)
            if epsilon != epsilons[-1]:
                reduced -= epsilon * (np.log(log["u"])[:, None] + np.log(log["v"]))
        total += log["niter"]
    return Solved(plan, time.process_time() - start, total)


def _said(turns: list[Solved], unit: float, costs: np.ndarray, x: ao.Space, y: ao.Space) -> str:
    seconds_taken, plan = statistics.median(each.time for each in turns), turns[0].plan
    missed = marginal_error(plan, x.weights, y.weights)
    how = f"{seconds_taken:.3f} s, {seconds_taken / unit:.2f} of ours with the costs; {turns[0].rounds} rounds"
    if missed > FAILED:
        return f"{how}, **no plan**: marginals off by {missed:.0e}"
    return f"{how}, marginals off by {missed:.0e}, transport cost {np.sum(plan * costs):.6f}"


ALL = (cost_rows, plan_rows)
SLOW = (sinkhorn_rows,)
