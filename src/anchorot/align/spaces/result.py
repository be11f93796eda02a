"""The result of `align`: matches, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_finite, check_numbers
from anchorot.align.correspondence import Candidate, Correspondence
from anchorot.align.plans import matches_of, spread_of
from anchorot.align.spaces.reliability import Verdict, judge
from anchorot.align.spaces.score import Evidence
from anchorot.distances.bounds import least_loss
from anchorot.distances.descent import COOL_TEMPERATURES, entropic_step, round_to_marginals
from anchorot.distances.quadratic import Quadratic, spread
from anchorot.exceptions import InputError

WHOLE_TOLERANCE = 1e-6  # of the mass may be missing through rounding


@dataclass(frozen=True, eq=False)
class Procrustes:
    """A rotation (or reflection) with translation, from the coordinates of one side to those of the other."""

    rotation: Float64s
    origin: Float64s
    target: Float64s

    def __call__(self, points: ArrayLike) -> Float64s:
        """Move points of the first side to the second."""
        return (np.asarray(points, dtype=np.float64) - self.origin) @ self.rotation + self.target


class HeavyProblem(NamedTuple):
    """What was minimised, between the points of positive weight alone."""

    problem: Quadratic
    kept: tuple[Int64s, Int64s]
    shape: tuple[int, int]

    def full(self, plan: Float64s) -> Float64s:
        """Put the points of weight zero back."""
        out = np.zeros(self.shape)
        out[np.ix_(*self.kept)] = plan
        return out

    def soften(self, plan: Float64s) -> Float64s:
        """Where a point might belong if all others stay: the entropic plan of the gradient at the last temperature."""
        own = plan[np.ix_(*self.kept)]
        slope = self.problem.slope(own)
        a, b = own.sum(axis=1), own.sum(axis=0)
        rows, columns = np.flatnonzero(a), np.flatnonzero(b)
        inside = np.ix_(rows, columns)
        temperature = COOL_TEMPERATURES[-1] * spread(slope)
        part, _, _ = entropic_step(slope[inside], temperature, a[rows], b[columns], 0 * b[columns])
        out = np.zeros_like(own)
        out[inside] = round_to_marginals(part, a[rows], b[columns])
        return self.full(out)


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(Correspondence):
    """An alignment of two spaces: the match of every point, with the plan that it is from.

    Attributes
    ----------
    plan : ndarray of shape (n, m)
        How much of point i goes to point j; between uniform spaces of one size a matching.
    value : float
        The Gromov-Wasserstein loss of `plan`, in the scale of :func:`gromov_wasserstein`; infinite where that exceeds
        the range of floats, which does not harm the plan.
    objective : float
        What was minimised: the loss, joined with the cost of the features if there are any.
    candidates : tuple of Candidate
        Where each start that was tried ended, best first, with `n_iter` and `converged` in their `details`;
        `converged` is False where steps ran out, or where a start promised so little that it was given up.
    runner_up : Candidate or None
        Another alignment that is about as good, of a symmetric shape its mirror image, say; its `details` have the
        `plan`. Then only knowledge that is not in the costs can tell which is right.
    converged : bool
        Whether the best start's last step no longer helped.
    feature_scale : float
        Factor that made the features' costs comparable with the structure's; 0 without features.
    weights : (ndarray of shape (n,), ndarray of shape (m,))
        Of the points of both spaces; where a part of the mass is matched, what each may be matched with.
    """

    plan: Float64s
    value: float
    objective: float
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    converged: bool
    feature_scale: float
    weights: tuple[Float64s, Float64s]
    _evidence: Evidence = field(repr=False)
    _problem: HeavyProblem = field(repr=False)

    is_map = False
    remedies = "features, other costs or more points may help"
    numbers = ("value", "objective", "bound", "gap", "mass")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either space."""
        n, m = self.plan.shape
        return n, m

    def soft(self, candidate: Candidate | None = None) -> Float64s:
        """The plan before it was sharpened, at the last temperature: where else each point might belong, (n, m).

        Parameters
        ----------
        candidate : Candidate, optional
            The runner-up, to see its soft plan instead.
        """
        return self._problem.soften(self._plan_of(candidate))

    def backward(self, candidate: Candidate | None = None) -> Int64s:
        """Match of every point of the second space in the first; -1 for none."""
        return matches_of(self._plan_of(candidate).T, self.weights[1])

    def _plan_of(self, candidate: Candidate | None) -> Float64s:
        return self.plan if candidate is None else candidate.details["plan"]

    def side_weights(self) -> tuple[Float64s, Float64s]:
        """Weights of the points of both spaces, of which masses are shares."""
        return self.weights

    def masses(self, soft: bool = True) -> Float64s:
        """How much of each point goes where: by :meth:`soft`, or by the plan."""
        return self.soft() if soft else self.plan

    def _own_facts(self, full: bool) -> dict[str, str]:
        said = {"loss": f"{self.value:.6g}"}
        if self.objective != self.value:
            said["objective with features"] = f"{self.objective:.6g}"
        if self.mass < 1 - WHOLE_TOLERANCE:
            said["mass matched"] = f"{self.mass:.4g}"
        elif full:
            said["lower bound of the loss"] = f"{self.bound:.6g}, a gap of {self.gap:.3g}"
        if full:
            said["matches of a point"] = _typical(self.spread)
        return said

    @cached_property
    def bound(self) -> float:
        """No plan has a smaller loss: the best of :func:`lower_bounds`; 0 where a part of the mass stays unmatched.

        It certifies how far the loss can be from the least, not that matches are right. O(n³), computed when first
        asked for.
        """
        return min(self.value, least_loss(*self._evidence.spaces)) if self._evidence.is_whole else 0.0

    @property
    def gap(self) -> float:
        """How far the loss may be from the smallest there is, at the most."""
        return max(0.0, self.value - self.bound)

    @property
    def mass(self) -> float:
        """Share of the mass that is matched."""
        return float(self.plan.sum())

    @cached_property
    def matches(self) -> Int64s:
        """Match of every point of the first space in the second, shape (n,); -1 for a point without one."""
        return matches_of(self.plan, self.weights[0])

    @cached_property
    def confidence(self) -> Float64s:
        """Estimated chance that the match of every point of the first space is right, shape (n,); 0 without a match.

        From what the next best exchange of matches would cost, whether neighbours stay neighbours, whether other starts
        agree, and how many alignments are as good; points that symmetry makes alike share it. O(n³), computed on first
        use. `docs/alignment.md` says how well it holds on which data.
        """
        return self._evidence.confidence()

    @cached_property
    def reliable(self) -> float:
        """Estimated chance that the alignment as a whole is right; :func:`align` warns where it is below 0.5.

        That is: that at least 80 % of the matches are at or near the truth, among the eight nearest points, up to
        symmetries that nothing could tell apart. From other alignments that fit about as well (mirrored ones, other
        starts), and from whether matches keep their neighbours. `docs/alignment.md` says how well it holds.
        """
        return self._verdict.reliable

    @property
    def has_mirror_image(self) -> bool:
        """Whether mirroring the second space leads to a different alignment that is about as good."""
        return self._verdict.has_mirror_image

    @cached_property
    def _verdict(self) -> Verdict:
        return judge(self._evidence)

    @cached_property
    def spread(self) -> Float64s:
        """Effective number of matches of every point of the first space in :meth:`soft`, from 1 to m.

        The exponential of the entropy of where its mass goes; NaN for a point whose mass goes nowhere. It says how
        large the region is that the point might belong to, not whether it is the right one.
        """
        return spread_of(self.soft())

    def transform(self, first: ArrayLike, second: ArrayLike) -> Procrustes:
        """Rotation, perhaps with a reflection, that brings the first side's coordinates to the second's.

        Orthogonal Procrustes through the plan: the least mean square distance between matched points.

        Parameters
        ----------
        first, second : array_like of shape (n, d) and (m, d)

        Returns
        -------
        Procrustes
            Call it with points of the first side.
        """
        x, y = (
            check_numbers(points, name).astype(np.float64) for points, name in ((first, "first"), (second, "second"))
        )
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or (len(x), len(y)) != self.plan.shape:
            n, m = self.plan.shape
            raise InputError(f"points of shapes {x.shape} and {y.shape}, but ({n}, d) and ({m}, d) are needed")
        check_finite(x, "first")
        check_finite(y, "second")
        mass = self.plan / self.plan.sum()
        origin, target = mass.sum(axis=1) @ x, mass.sum(axis=0) @ y
        inner, outer = (moved / (float(np.abs(moved).max()) or 1.0) for moved in (x - origin, y - target))
        left, _, right = np.linalg.svd(inner.T @ mass @ outer)  # a scale of either side turns nothing
        return Procrustes(left @ right, origin, target)


def _typical(spread: Float64s) -> str:
    """The middle of how many matches points have, and the range of most."""
    known = spread[np.isfinite(spread)]
    if not known.size:
        return "none"
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
    return f"effectively {middle:.3g}, of most {low:.3g} to {high:.3g}"
