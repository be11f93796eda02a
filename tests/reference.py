"""Slow, obvious versions of everything, in plain Python: what the fast ones must agree with.

Exact when given fractions.
"""

import math
from fractions import Fraction
from itertools import pairwise
from statistics import mean, variance

import numpy as np


def levels(cost):
    """Row k holds the k-th smallest costs of all rows, sorted."""
    rows = [sorted(row) for row in cost]
    return [sorted(row[k] for row in rows) for k in range(len(cost))]


def distances(points):
    """Euclidean distances, squares added up coordinate by coordinate."""

    def distance(x, y):
        total = 0.0
        for a, b in zip(x, y, strict=True):
            total += (a - b) * (a - b)
        return math.sqrt(total)

    return [[distance(x, y) for y in points] for x in points]


def ot_1d(x, y, wx, wy, p=1):
    """∫ |Q_x - Q_y|^p dt: the north-west-corner coupling of the sorted samples."""
    left = sorted(zip(x, wx, strict=True))
    right = sorted(zip(y, wy, strict=True))
    total = 0
    while left and right:
        (a, wa), (b, wb) = left.pop(0), right.pop(0)
        moved = min(wa, wb)
        total += moved * abs(a - b) ** p
        if wa > moved:
            left.insert(0, (a, wa - moved))
        if wb > moved:
            right.insert(0, (b, wb - moved))
    return total


def expected_cost(cost_x, cost_y, a, b, p=1):
    """Eq. 4 of the paper: Σ_ij a_i b_j OT_p(row i, row j), the naive triple loop."""
    return sum(a[i] * b[j] * ot_1d(cost_x[i], cost_y[j], a, b, p) for i in range(len(a)) for j in range(len(b)))


def anchor_energy(cost_x, cost_y, a, b, p=1):
    """Eq. 3 of the paper: 2 E[OT(h, g)] - E[OT(h, h')] - E[OT(g, g')]."""
    return (
        2 * expected_cost(cost_x, cost_y, a, b, p)
        - expected_cost(cost_x, cost_x, a, a, p)
        - expected_cost(cost_y, cost_y, b, b, p)
    )


def w2_1d(x, y, wx, wy):
    """W_2, the root of OT_2."""
    return float(ot_1d(x, y, wx, wy, 2)) ** 0.5


def ragged_energy(rows_x, rows_y, weights_x, weights_y, a, b, ground=ot_1d):
    """The same for any two collections of weighted samples, with OT_1 or any other distance between samples."""

    def cross(rows, weights, mass, rows2, weights2, mass2):
        return sum(
            mass[i] * mass2[j] * ground(rows[i], rows2[j], weights[i], weights2[j])
            for i in range(len(rows))
            for j in range(len(rows2))
        )

    x, y = (rows_x, weights_x, a), (rows_y, weights_y, b)
    return 2 * cross(*x, *y) - cross(*x, *x) - cross(*y, *y)


def energy_estimate(cost_x, cost_y, draws, robust=False):
    """Value, variance at AE = 0 and its growth with AE, of draws (points of x, points of y): halves, from definitions.

    The inner product of differences u, v of collections of rows is -1/2 Σ u_i v_j OT_1(row i, row j); AE is 2 |F - G|².
    """

    def rows(cost, points):
        part = [[cost[i][j] for j in points] for i in points]
        return [(row, 1 / len(points)) for row in (ranks(part, [1] * len(points)) if robust else part)]

    def inner(u, v):
        """Of signed collections, as lists of (row, mass)."""
        even = [[1 / len(row)] * len(row) for row in (u[0][0], v[0][0])]
        return -sum(mass * other * ot_1d(row, right, *even) for row, mass in u for right, other in v) / 2

    def less(u, v, factor=1.0):
        return [(row, factor * mass) for row, mass in u] + [(row, -factor * mass) for row, mass in v]

    def squared(u, v):
        return 2 * inner(less(u, v), less(u, v))

    def halves(points):
        return points[: len(points) // 2], points[len(points) // 2 :]

    def within(cost, points):
        """AE of the two halves, and their extrapolation by quarters."""
        left, right = halves(points)
        even = len(left) // 2 * 2
        finer = [squared(rows(cost, a), rows(cost, b)) for a in halves(left[:even]) for b in halves(right[:even])]
        own = squared(rows(cost, left), rows(cost, right))
        return own, 2 * own - mean(finer)

    found, splits = [], []
    for at_x, at_y in draws:
        (f1, f2), (g1, g2) = ([rows(c, h) for h in halves(at)] for c, at in ((cost_x, at_x), (cost_y, at_y)))
        whole = squared(rows(cost_x, at_x), rows(cost_y, at_y))
        value = 2 * whole - mean([squared(f, g) for f in (f1, f2) for g in (g1, g2)])
        noise_x, noise_y = less(f1, f2, 0.5), less(g1, g2, 0.5)
        splits.append((noise_x, noise_y))
        between = less(f1 + f2, g1 + g2, 0.5)
        products = inner(noise_x, noise_y), inner(between, noise_x), inner(between, noise_y)
        found.append((value, whole, *within(cost_x, at_x), *within(cost_y, at_y), *(one**2 for one in products)))
    values, whole, own_x, finer_x, own_y, finer_y, both, along_x, along_y = zip(*found, strict=True)
    share_x, share_y = len(draws[0][0]) / len(cost_x), len(draws[0][1]) / len(cost_y)
    # |noise|² = own / 8 has the variance 2 tr S², and the product of those of two splits the mean square tr S²
    tr_x, tr_y = (
        max(variance(own) / 128, mean([inner(one[k], two[k]) ** 2 for one, two in pairwise(splits)]))
        for k, own in enumerate((own_x, own_y))
    )
    squares = share_x**2 * tr_x + share_y**2 * tr_y + 2 * share_x * share_y * mean(both)
    inflation = (variance(finer_x) + variance(finer_y)) / (variance(own_x) + variance(own_y))
    growth = 16 * (share_x * mean(along_x) + share_y * mean(along_y)) / mean(whole)
    return mean(values), 8 * inflation * squares + variance(values) / len(values), growth


def reached_share(cost, weights, position, level):
    """F(s, t): the share of anchors whose CDF has reached the level t at the cost s."""
    heights = [sum(w for c, w in zip(row, weights, strict=True) if c <= position) for row in cost]
    return sum(w for height, w in zip(heights, weights, strict=True) if height >= level)


def ranks(cost, weights):
    """The paper's appendix: p(i, j) = #{(k, l): C_kl < C_ij} / n², over the points of positive weight."""
    heavy = [i for i, w in enumerate(weights) if w > 0]
    counted = [cost[k][l] for k in heavy for l in heavy]
    return [[sum(other < c for other in counted) / len(counted) for c in row] for row in cost]


def row_costs(cost_x, cost_y, a, b, p=1):
    """OT_p between every row of the first matrix and every row of the second."""
    return [[ot_1d(row, other, a, b, p) for other in cost_y] for row in cost_x]


def level_intervals(row, weights, ties="split"):
    """For every point: the levels it takes in this row's view, and its density there."""
    intervals = []
    for k, cost in enumerate(row):
        if ties == "split":
            begin = sum(w for c, w in zip(row, weights, strict=True) if c < cost)
            block = sum(w for c, w in zip(row, weights, strict=True) if c == cost)
        else:
            begin = sum(w for j, (c, w) in enumerate(zip(row, weights, strict=True)) if (c, j) < (cost, k))
            block = weights[k]
        intervals.append((begin, begin + block, weights[k] / block if block else 0))
    return intervals


def local_plan(row_x, row_y, a, b, ties="split"):
    """A coupling of two rows that matches equal levels: optimal on the line, whatever p."""
    views = level_intervals(row_x, a, ties), level_intervals(row_y, b, ties)
    return [
        [max(min(end_k, end_l) - max(begin_k, begin_l), 0) * share_k * share_l for begin_l, end_l, share_l in views[1]]
        for begin_k, end_k, share_k in views[0]
    ]


def anchor_energy_plan(cost_x, cost_y, a, b, ties="split"):
    """The paper's AEP: Σ_ij a_i b_j (local plan of rows i and j)."""
    n, m = len(a), len(b)
    total = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            local = local_plan(cost_x[i], cost_y[j], a, b, ties)
            for k in range(n):
                for l in range(m):
                    total[k][l] += a[i] * b[j] * local[k][l]
    return total


def gromov_loss(cost_x, cost_y, plan, p=2):
    """Σ_ijkl |C_ij - C'_kl|^p P_ik P_jl."""
    n, m = len(cost_x), len(cost_y)
    return sum(
        abs(cost_x[i][j] - cost_y[k][l]) ** p * plan[i][k] * plan[j][l]
        for i in range(n)
        for j in range(n)
        for k in range(m)
        for l in range(m)
    )


def floyd_warshall(n, edges, directed, far):
    """Lengths of shortest paths by the three loops; `far` if there is none. `edges` are (head, tail, length)."""
    cost = [[0 if i == j else float("inf") for j in range(n)] for i in range(n)]
    for head, tail, length in edges:
        cost[head][tail] = min(cost[head][tail], length)
        if not directed:
            cost[tail][head] = min(cost[tail][head], length)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                cost[i][j] = min(cost[i][j], cost[i][k] + cost[k][j])
    return [[far if value == float("inf") else value for value in row] for row in cost]


def cell_averages(cost, weights, x_edges, t_edges):
    """Averages over cells of F(x, t) = Σ_i a_i [Q_i(t) <= x]: a cost fills the rectangle right of it, clipped."""

    def overlap(begin, end, low, high):
        return max(min(end, high) - max(begin, low), 0)

    averages = [[0] * (len(t_edges) - 1) for _ in x_edges[1:]]
    for row, mass in zip(cost, weights, strict=True):
        for c, (begin, end, _) in zip(row, level_intervals(row, weights, ties="order"), strict=True):
            for i, (x0, x1) in enumerate(pairwise(x_edges)):
                for j, (t0, t1) in enumerate(pairwise(t_edges)):
                    area = overlap(c, float("inf"), x0, x1) * overlap(begin, end, t0, t1)
                    averages[i][j] += mass * area / ((x1 - x0) * (t1 - t0))
    return averages


def attribute_energy(x, y, max_cost):
    """Squared distance of the kernel <phi, phi'> Σ_b s_b s'_b ∫ (max_cost - max(Q^b, Q'^b)) dt, from its definition.

    x and y are (costs, weights, vectors phi of the anchors, types b of what they see).
    """

    def product(one, two):
        (cost, a, phi, kinds), (cost2, b, phi2, kinds2) = one, two
        return sum(
            a[i] * b[j] * sum(u * v for u, v in zip(phi[i], phi2[j], strict=True)) * overlap
            for i in range(len(a))
            for j in range(len(b))
            for overlap in [_overlap((cost[i], a, kinds), (cost2[j], b, kinds2), max_cost)]
        )

    return 2 * (product(x, x) - 2 * product(x, y) + product(y, y))


def _overlap(x, y, max_cost):
    """Σ_b s_b s'_b ∫ (max_cost - max(Q^b(t), Q'^b(t))) dt of two rows of costs, cut at max_cost."""
    total = 0
    for kind in set(x[2]) & set(y[2]):
        parts = []
        for row, weights, kinds in (x, y):
            seen = [(min(c, max_cost), w) for c, w, k in zip(row, weights, kinds, strict=True) if k == kind and w > 0]
            parts.append((sorted(seen), sum(w for _, w in seen)))
        (left, s), (right, s2) = parts
        left, right = [(c, w / s) for c, w in left], [(c, w / s2) for c, w in right]
        while left and right:
            (a, wa), (b, wb) = left.pop(0), right.pop(0)
            moved = min(wa, wb)
            total += s * s2 * moved * (max_cost - max(a, b))
            if wa > moved:
                left.insert(0, (a, wa - moved))
            if wb > moved:
                right.insert(0, (b, wb - moved))
    return total


def common_edges(first, second, matches, directed):
    """Edges (i, k) of the first network whose ends' matches are joined in the second; each undirected one once."""
    found = 0
    for i in range(len(first)):
        for k in range(len(first)):
            if (directed or i <= k) and min(matches[i], matches[k]) >= 0:
                found += bool(first[i, k] and second[matches[i], matches[k]])
    return found


def common_weight(first, second, matches):
    """Σ over i, k of A_ik B_π(i)π(k), term by term."""
    n = len(first)
    return sum(float(first[i, k]) * second[matches[i], matches[k]] for i in range(n) for k in range(n))


def pass_messages(neighbours_x, neighbours_y, ratio, plan, free, rounds):
    """One round of belief propagation on pairs of edges; `ratio` and `free` are asked (i, k, j, l)."""
    evidence, said = {}, {}
    for i, around_i in enumerate(neighbours_x):
        for j, around_j in enumerate(neighbours_y):
            # w_kl: odds that (i, k) is (j, l), as the pair (k, l) sees it without these two edges
            w = {(k, l): ratio(i, k, j, l) * plan[k, l] * free(k, i, l, j) for k in around_i for l in around_j}
            a, b = {}, dict.fromkeys(w, 1.0)
            for _ in range(rounds):
                a = {(k, l): 1 / (1 + sum(w[k, o] * b[k, o] for o in around_j if o != l)) for k, l in w}
                b = {(k, l): 1 / (1 + sum(w[o, l] * a[o, l] for o in around_i if o != k)) for k, l in w}
            rows = sum(math.log(1 + sum(w[k, l] * b[k, l] for l in around_j)) for k in around_i)
            columns = sum(math.log(1 + sum(w[k, l] * a[k, l] for k in around_i)) for l in around_j)
            evidence[i, j] = rows + columns - sum(math.log(1 + w[e] * a[e] * b[e]) for e in w)
            said |= {(i, k, j, l): a[k, l] * b[k, l] / (1 + w[k, l] * a[k, l] * b[k, l]) for k, l in w}
    return evidence, said


def match_errors(cost, matches, truth):
    """Cost from the true match to the match of every point; NaN for points without either."""
    return [cost[j][i] if i >= 0 and j >= 0 else math.nan for i, j in zip(matches, truth, strict=True)]


def area(vertices, faces):
    """Heron's formula, face by face."""
    total = 0.0
    for face in faces:
        a, b, c = (math.dist(vertices[face[k]], vertices[face[k - 1]]) for k in range(3))
        s = (a + b + c) / 2
        total += math.sqrt(s * (s - a) * (s - b) * (s - c))
    return total


def sliced_power(cost_x, cost_y, a, b, p=1):
    """SAW_p^p = ∫ W_p^p(mu_t, nu_t) dt, mu_t the anchors' quantiles at the level t: a sum over cuts of the levels."""

    def jumps(cost, weights):
        return {sum(w for c, w in zip(row, weights, strict=True) if c <= x) for row in cost for x in row}

    def quantile(row, weights, t):
        reached = [x for x in row if sum(w for c, w in zip(row, weights, strict=True) if c <= x) > t]
        return min(reached, default=max(row))

    cuts = sorted({0, 1} | {t for t in jumps(cost_x, a) | jumps(cost_y, b) if t < 1})
    return sum(
        (end - begin)
        * ot_1d(
            [quantile(row, a, (begin + end) / 2) for row in cost_x],
            [quantile(row, b, (begin + end) / 2) for row in cost_y],
            a,
            b,
            p,
        )
        for begin, end in pairwise(cuts)
    )


def common_levels(k, l):
    """The common refinement of k and l equal levels: [(level of k, level of l, width)]."""
    cuts = sorted({Fraction(i, k) for i in range(k + 1)} | {Fraction(j, l) for j in range(l + 1)})
    return [(int(begin * k), int(begin * l), end - begin) for begin, end in pairwise(cuts)]


def sliced_rows(rows_x, rows_y, a, b, p=1):
    """SAW_p^p of rows all of whose numbers count equally: at every level the transport of the rows' quantiles."""
    sorted_x, sorted_y = ([sorted(row) for row in rows] for rows in (rows_x, rows_y))
    return sum(
        float(width) * ot_1d([row[i] for row in sorted_x], [row[j] for row in sorted_y], a, b, p)
        for i, j, width in common_levels(len(rows_x[0]), len(rows_y[0]))
    )


def typed_sliced(x, y, max_cost):
    """Σ over pairs of types (c, b) of ∬_{x <= max_cost} |F_cb - G_cb| dx dt; x and y are (costs, weights, types)."""

    def part(side, anchors, seen):
        """[(mass, sorted [(cost, share)])] of the anchors of one type, that see the points of another."""
        cost, weights, kinds = side
        points = [j for j in range(len(weights)) if kinds[j] == seen and weights[j] > 0]
        total = sum(weights[j] for j in points)
        return [
            (weights[i] * total, sorted((min(cost[i][j], max_cost), weights[j] / total) for j in points))
            for i in range(len(weights))
            if kinds[i] == anchors and points
        ]

    def ends(rows):
        return {sum(w for _, w in row[: k + 1]) for _, row in rows for k in range(len(row))}

    def quantile(row, t):
        height = 0
        for c, w in row:
            height += w
            if height > t:
                return c
        return row[-1][0]

    total = 0
    kinds = {*x[2], *y[2]}
    for anchors in kinds:
        for seen in kinds:
            left, right = part(x, anchors, seen), part(y, anchors, seen)
            for begin, end in pairwise(sorted({0, 1} | {t for t in ends(left) | ends(right) if t < 1})):
                t = (begin + end) / 2
                places = [(quantile(row, t), mass) for mass, row in left]
                places += [(quantile(row, t), -mass) for mass, row in right]
                for low, high in pairwise([*sorted(c for c, _ in places), max_cost]):
                    total += (end - begin) * (high - low) * abs(sum(mass for c, mass in places if c <= low))
    return total


def arrangement_energy(x, y, least, max_cost):
    """Σ_cb Σ_k 2 ∫_0^max_cost (F_cb - G_cb)² dx, F_cb(x, k) the mean over anchors of P(Bin(C_ib(x), q_b) >= k).

    x and y are (costs, types, area), `least` the least intensity of each type in a collection.
    """

    def at_least(k, count, q):
        return sum(math.comb(count, j) * q**j * (1 - q) ** (count - j) for j in range(k, count + 1))

    def seen(space, c, b, place, k):
        costs, types, area = space
        q = least[b] * area / types.count(b)
        anchors = [i for i, kind in enumerate(types) if kind == c]
        counts = [sum(kind == b and i != j and costs[i][j] <= place for j, kind in enumerate(types)) for i in anchors]
        return sum(at_least(k, count, q) for count in counts) / len(anchors)

    places = sorted({0.0, max_cost} | {cost for costs, _, _ in (x, y) for row in costs for cost in row})
    places = [place for place in places if 0 <= place <= max_cost]
    most = max(len(x[1]), len(y[1]))
    return sum(
        2 * (end - start) * (seen(x, c, b, start, k) - seen(y, c, b, start, k)) ** 2
        for start, end in pairwise(places)
        for c in least
        for b in least
        for k in range(1, most)
    )


def log_odds_of_alternative(x, y, chosen, other, n_neighbours=8, n_cells=16):
    """-(k / 2) log(O_b / O) + logit P(T > z), of other matches against the chosen ones; x and y are symmetric costs."""
    import numpy as np
    from scipy.stats import ttest_1samp

    points = range(len(x))

    def differences(matches):
        return [[x[i][j] - y[matches[i]][matches[j]] for j in points] for i in points]

    near = [sorted(points, key=lambda j, i=i: x[i][j])[: n_neighbours + 1] for i in points]  # with the point itself
    centres = [max(points, key=lambda i: sum(x[i]))]
    while len(centres) < n_cells:
        centres.append(max(points, key=lambda i: min(x[i][c] for c in centres)))
    cells = [[i for i in points if min(centres, key=lambda c, i=i: x[i][c]) == centre] for centre in centres]

    def roughness(matches):
        off = differences(matches)
        own = [
            mean(mean((a - b) ** 2 for a, b in zip(off[i], off[j], strict=True)) / 2 for j in near[i] if j != i)
            for i in points
        ]
        around = [mean(own[j] for j in near[i]) for i in points]
        return [mean(around[i] for i in cell) for cell in cells]

    off = differences(chosen)
    squares = [float(value) ** 2 for value in np.linalg.eigvalsh(off)]
    k = sum(squares) ** 2 / sum(value**2 for value in squares)
    objectives = [mean(d * d for row in differences(matches) for d in row) for matches in (other, chosen)]
    ratios = [math.log(b / a) for a, b in zip(roughness(chosen), roughness(other), strict=True)]
    more = ttest_1samp(ratios, 0, alternative="greater").pvalue  # P(T > z)
    fewer = ttest_1samp(ratios, 0, alternative="less").pvalue
    return math.log(more / fewer) - k / 2 * math.log(objectives[0] / objectives[1])


def naive_held_out_shares(x, y, matches, fold, floor):
    """Chances of all pairs by maps that did not see the row's point; d = e, all points matched, n = m.

    D = |R(x_i) - y_j|² / (mean held-out residual / k_eff), k_eff = (tr S)² / tr S²; Sinkhorn(exp(-D / 2)).
    """
    distances, left = np.empty((len(x), len(y))), np.empty((len(x), y.shape[1]))
    for i in range(len(x)):
        seen = fold != fold[i]
        a, b = x[seen], y[matches[seen]]
        u, _, v = np.linalg.svd((a - a.mean(0)).T @ (b - b.mean(0)))
        scale = np.sqrt(np.square(b - b.mean(0)).sum() / np.square(a - a.mean(0)).sum())

        def carry(points, rotation=u @ v, scale=scale, a=a, b=b):
            return scale * (points - a.mean(0)) @ rotation + b.mean(0)

        weights = np.eye(y.shape[1])
        if floor is not None:
            noise, axes = np.linalg.eigh((carry(a) - b).T @ (carry(a) - b) / len(b))
            factor = 1 / np.sqrt(noise + floor * noise.mean())
            weights = axes @ np.diag(factor / np.sqrt(np.mean(factor**2))) @ axes.T
        left[i] = (carry(x[i]) - y[matches[i]]) @ weights
        for j in range(len(y)):
            distances[i, j] = np.sum(((carry(x[i]) - y[j]) @ weights) ** 2)
    moments = left.T @ left / len(left)
    n_directions = np.trace(moments) ** 2 / np.sum(moments**2)
    shares = np.exp(-distances / (np.trace(moments) / n_directions) / 2)
    for _ in range(5000):
        shares /= shares.sum(axis=1, keepdims=True)
        shares /= shares.sum(axis=0, keepdims=True)
    return shares


def naive_csls(x, y, k=10):
    """All points of y for every point of x, those with the least |x_i - y_j|² - r_j / 2 first; r_j over k points."""
    distances = np.array([[np.sum((a - b) ** 2) for b in y] for a in x])
    around = np.sort(distances, axis=0)[:k].mean(axis=0)
    return np.argsort(distances - around / 2, axis=1)


def naive_label_chances(masses, goals, points, codes, reliable):
    """Chance of the label with the most mass of every row: r (K s + c p) / (K + c) + (1 - r) p; see labels.py."""
    n_kinds = codes.max() + 1
    p = np.array([np.mean(codes == k) for k in range(n_kinds)])
    away = np.linalg.norm(points[:, None] - points, axis=2) + np.diag(np.full(len(points), np.inf))
    q, h = np.mean(codes[away.argmin(axis=1)] == codes), np.sum(p**2)
    across = np.linalg.norm(goals[:, None] - points, axis=2).min(axis=1)
    ratio = np.exp(2 * np.log(across).mean() - 2 * np.log(away.min(axis=1)).mean())
    c = ((1 - h) / (q - h)) ** ratio - 1
    found = []
    for row in masses:
        votes = np.array([row[codes == k].sum() for k in range(n_kinds)])
        best, count = votes.argmax(), row.sum() ** 2 / np.sum(row**2)
        chance = (count * votes[best] / row.sum() + c * p[best]) / (count + c)
        found.append(reliable * chance + (1 - reliable) * p[best])
    return np.array(found)
