"""Rows about Anchor Wasserstein and the Anchor Energy Plan."""

import time
import warnings

import numpy as np
import ot
from scipy.spatial.distance import cdist

import anchorot as ao
from anchorot._kernels import kernels
from anchorot.anchors.rows import row_costs
from anchorot.distances.sinkhorn import marginal_error
from measure import Row, alternating, at_least, cloud, ms, seconds


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


def sinkhorn_rows() -> list[Row]:
    """Entropic AW to marginals that are off by at most 1e-6, against POT; each side once (POT takes minutes)."""
    x, y = cloud(1000, 1), cloud(1000, 2)
    costs = row_costs(x, y, 1, 1)
    rows = []
    for relative, limit in ((1e-2, 20_000), (1e-3, 3_000)):
        epsilon = relative * costs.mean()
        start = time.perf_counter()
        found = ao.anchor_wasserstein(x, y, epsilon=epsilon)
        ours = time.perf_counter() - start
        exact = ao.anchor_wasserstein(x, y, epsilon=epsilon, tolerance=1e-11).plan
        what = f"AW n=m=1000, epsilon={relative:g} of the mean cost"
        measured = f"{ours:.2f} s, {found.n_iter} iterations, {errors(found.plan, exact, x, y)}"
        rows.append(Row(f"{what}: ours, with the costs", measured))
        for method in ("sinkhorn", "sinkhorn_log"):
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plan, log = ot.sinkhorn(
                    x.weights, y.weights, costs, epsilon, method, limit, 1e-6 / np.sqrt(x.n), log=True
                )
            theirs = time.perf_counter() - start
            times = f"{theirs / ours:.1f} times ours ({theirs:.1f} s, {log['niter']} iterations)"
            measured = f"{times}, {errors(plan, exact, x, y)}"
            bar = "at least 10" if method == "sinkhorn_log" else ""
            rows.append(Row(f"{what}: POT's {method}", measured, bar, theirs >= 10 * ours if bar else None))
    return rows


def errors(plan: np.ndarray, exact: np.ndarray, x: ao.Space, y: ao.Space) -> str:
    marginals = marginal_error(plan, x.weights, y.weights)
    return f"marginals off by {marginals:.0e}, plan by {np.abs(plan - exact).sum():.0e}"


ALL = (cost_rows, plan_rows)
SLOW = (sinkhorn_rows,)
