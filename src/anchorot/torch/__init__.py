"""The distances on PyTorch tensors: CPU or CUDA, batched, differentiable (extra ``torch``).

Costs are tensors of shape (..., n, n), weights of shape (..., n); leading dimensions are batches and broadcast. On a
CUDA device sorts run in kernels of anchorot's own, compiled by NVRTC at the first call; where that is not possible,
plain PyTorch is used. ``ANCHOROT_TORCH=plain`` in the environment chooses plain PyTorch.

>>> import torch
>>> import anchorot.torch as aot
>>> cloud, other = torch.eye(3, 2), torch.eye(3, 2).mul(2).requires_grad_()
>>> energy = aot.anchor_energy(aot.from_points(cloud), aot.from_points(other))
>>> energy.backward()
>>> other.grad.shape
torch.Size([3, 2])
"""

from anchorot.exceptions import MissingExtraError

try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise MissingExtraError("torch", "torch") from None

from anchorot.torch.align import TensorAlignment, align
from anchorot.torch.embeddings import TensorEmbeddingAlignment, align_embeddings
from anchorot.torch.energy import anchor_energy
from anchorot.torch.ground import TensorProjectedEnergy, projected_energy
from anchorot.torch.plan import anchor_energy_plan, ranks
from anchorot.torch.points import LargeEnergy, anchor_energy_of_points, from_points
from anchorot.torch.sliced import sliced_anchor_wasserstein
from anchorot.torch.wasserstein import TensorTransport, anchor_wasserstein

__all__ = [
    "LargeEnergy",
    "TensorAlignment",
    "TensorEmbeddingAlignment",
    "TensorProjectedEnergy",
    "TensorTransport",
    "align",
    "align_embeddings",
    "anchor_energy",
    "anchor_energy_of_points",
    "anchor_energy_plan",
    "anchor_wasserstein",
    "from_points",
    "projected_energy",
    "ranks",
    "sliced_anchor_wasserstein",
]
