"""What barycenters minimise: the weighted sum of distances from points to spaces."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anchorot._typing import Float64s
from anchorot.anchors.marked import sorted_types
from anchorot.anchors.marking import Marking
from anchorot.space import Space
from anchorot.torch.energy import anchor_energy
from anchorot.torch.points import from_points
from anchorot.torch.wasserstein import anchor_wasserstein


def barycenter_loss(
    spaces: list[Space],
    shares: Float64s,
    metric: str,
    p: int,
    epsilon: float,
    marking: Marking | None,
    types: tuple[Hashable, ...] | None,
    device: str,
) -> Callable[[Tensor], Tensor]:
    """Weighted sum of distances from points; spaces of one size and kind are one batch."""

    def tensor(arrays: list[Any]) -> Tensor:
        return torch.tensor(np.stack(arrays), dtype=torch.float64, device=device)

    batches: dict[tuple[int, bool], list[int]] = {}
    for index, space in enumerate(spaces):
        batches.setdefault((space.n, space.is_uniform), []).append(index)
    kinds = sorted_types(kind for space in spaces for kind in space.types or ())

    def codes(of: tuple[Hashable, ...]) -> list[int]:
        return [kinds.index(kind) for kind in of]

    own_types = None if types is None else torch.tensor(codes(types), device=device)
    reach = None if marking is None else marking.reach
    groups = [
        (
            tensor([spaces[i].cost for i in members]),
            None if uniform else tensor([spaces[i].weights for i in members]),
            tensor([shares[i] for i in members]),
            None if own_types is None else (own_types, tensor([codes(spaces[i].types or ()) for i in members]).long()),
        )
        for (_, uniform), members in batches.items()
    ]

    def loss(points: Tensor) -> Tensor:
        own, total = from_points(points), points.new_zeros(())
        for costs, weights, share, both_types in groups:
            if metric == "ae":
                distance = anchor_energy(own, costs, None, weights, p, types=both_types, reach=reach)
            else:
                distance = anchor_wasserstein(own, costs, None, weights, p, epsilon).value
            total = total + share @ distance
        return total

    return loss
