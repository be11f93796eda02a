"""What an alignment of batches of tensors is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class TensorStart:
    """One of the starts that an alignment of tensors tried.

    Attributes
    ----------
    name : str
    objective : tensor of shape (...)
        What it ended at, for each of the batch.
    seconds : float
        For the whole batch.
    n_iter : int
        Steps of annealing, which the batch takes together.
    converged : bool
        Whether all of the batch converged.
    """

    name: str
    objective: Tensor
    seconds: float
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class TensorAlignment:
    """Which points of batches of spaces go with which; compare :class:`anchorot.Alignment`.

    Attributes
    ----------
    matches : tensor of int64, shape (..., n)
        Match of every point of the first space in the second; -1 for a point of weight zero.
    value : tensor of shape (...)
        The Gromov-Wasserstein loss, in float64, whose range holds the squares of all costs in float32.
    objective : tensor of shape (...)
        What was minimised: the loss, joined with the cost of the features if there are any.
    converged : bool
        Whether the best start's last step no longer helped, for all of the batch.
    starts : tuple of TensorStart
        All that was tried, in that order.
    feature_scale : tensor of shape (...)
        Factor that made the features' costs comparable with the structure's; 0 without features.
    dense : tensor of shape (..., n, m), or None
        The plan, where it is more than a matching.
    """

    matches: Tensor
    value: Tensor
    objective: Tensor
    converged: bool
    starts: tuple[TensorStart, ...]
    feature_scale: Tensor
    dense: Tensor | None = field(repr=False)

    @cached_property
    def plan(self) -> Tensor:
        """How much of point i goes to point j, (..., n, m), in float64; of a matching made when first asked for."""
        if self.dense is not None:
            return self.dense
        n = self.matches.shape[-1]
        plan = torch.zeros(*self.matches.shape, n, dtype=torch.float64, device=self.matches.device)
        return plan.scatter_(-1, self.matches[..., None], 1 / n)
