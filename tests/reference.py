"""Slow, obvious versions of everything, in plain Python: what the fast ones must agree with.

Exact when given fractions.
"""


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


def ragged_energy(rows_x, rows_y, weights_x, weights_y, a, b):
    """The same for any two collections of weighted samples (p = 1)."""

    def cross(rows, weights, mass, rows2, weights2, mass2):
        return sum(
            mass[i] * mass2[j] * ot_1d(rows[i], rows2[j], weights[i], weights2[j])
            for i in range(len(rows))
            for j in range(len(rows2))
        )

    x, y = (rows_x, weights_x, a), (rows_y, weights_y, b)
    return 2 * cross(*x, *y) - cross(*x, *x) - cross(*y, *y)


def ranks(cost):
    """The paper's appendix: p(i, j) = #{(k, l): C_kl < C_ij} / n²."""
    flat = [c for row in cost for c in row]
    return [[sum(other < c for other in flat) / len(flat) for c in row] for row in cost]
