"""GOT, a baseline: align two graphs so that smooth signals on them have like distributions.

Maretic, El Gheche, Chierchia, Frossard: GOT, an optimal transport framework for graph comparison (NeurIPS 2019),
written from its definition. Signals on a graph of Laplacian L are Gaussian, N(0, L^+). A plan is P with rows for the
first graph and columns for the second; rows and columns sum to one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

if TYPE_CHECKING:
    import torch

NULL = 1e-9  # eigenvalues of a Laplacian below this share of the largest are zeros
SPREAD = 10.0  # of the noise at first: wide, because a narrow one keeps to the nearest local minimum


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two graphs aligned.

    Attributes
    ----------
    cost : float
        Squared Wasserstein distance between the graphs' signals once nodes are permuted by `plan`, rounded to the
        permutation of most mass: an upper bound of GOT's minimum over permutations.
    plan : ndarray of shape (n, n)
        The soft permutation. Its rows sum to one, and its columns nearly so.
    """

    cost: float
    plan: NDArray[np.float64]


def got(
    weights_x: NDArray[np.float64],
    weights_y: NDArray[np.float64],
    n_iter: int,
    rng: np.random.Generator,
    *,
    n_samples: int = 5,
    temperature: float = 2.0,
    step: float = 0.2,
) -> Alignment:
    r"""Minimise the Wasserstein distance between graph signals over permutations, by stochastic gradients.

    .. math:: \min_{\mu, \sigma} E_z\, W_2^2(N(0, L_1^+), N(0, P L_2^+ P^T)), \quad
              P = \mathrm{Sinkhorn}((\mu + \sigma z) / \tau), \quad z \sim N(0, I)

    Parameters
    ----------
    weights_x, weights_y : ndarray of shape (n, n)
        Weights of edges, symmetric, with 0 for none.
    n_iter : int
        Steps of Adam.
    rng : numpy.random.Generator
        Source of the noise.
    n_samples : int
        Draws of z a step.
    temperature : float
        tau; the lower, the nearer P is to a permutation.
    step : float
        Learning rate.
    """
    try:
        import torch
    except ImportError:
        raise ao.MissingExtraError("torch", "torch") from None
    root_x, root_y = (torch.from_numpy(signal_root(weights)) for weights in (weights_x, weights_y))
    noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
    shape = (len(weights_x), len(weights_y))
    mean = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    # sigma is the softplus of this, so that it stays positive
    spread = torch.full(shape, SPREAD, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([mean, spread], lr=step)
    for _ in range(n_iter):
        z = torch.randn((n_samples, *shape), dtype=torch.float64, generator=noise)
        plans = sinkhorn((mean + torch.nn.functional.softplus(spread) * z) / temperature)
        optimiser.zero_grad()
        signal_distance(root_x, root_y, plans).mean().backward()
        optimiser.step()
    with torch.no_grad():
        plan = sinkhorn(mean / temperature).numpy()
        hard = torch.from_numpy(np.eye(shape[1])[ao.match(plan, "assignment")])
        return Alignment(float(signal_distance(root_x, root_y, hard)), plan)


def signal_root(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the square root of L^+, the covariance of a graph's signals."""
    values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    roots = np.where(values > NULL * values[-1], values, np.inf) ** -0.5
    return (vectors * roots) @ vectors.T


def sinkhorn(logits: "torch.Tensor", n_iter: int = 10) -> "torch.Tensor":
    """Scale exp(logits) to rows and columns that sum to one; the rows exactly."""
    for _ in range(n_iter):
        logits = logits.log_softmax(dim=-2).log_softmax(dim=-1)
    return logits.exp()


def signal_distance(root_x: "torch.Tensor", root_y: "torch.Tensor", plan: "torch.Tensor") -> "torch.Tensor":
    r"""Return :math:`W_2^2(N(0, A^2), N(0, P B^2 P^T))` of the roots A and B, for a batch of plans.

    It is :math:`tr(A^2) + tr(P B^2 P^T) - 2\,tr\sqrt{A P B^2 P^T A}`. The last trace is the sum of the singular values
    of A P B, which has finite gradients even though the matrix under the root is singular.
    """
    import torch

    moved = plan @ root_y
    return root_x.square().sum() + moved.square().sum((-2, -1)) - 2 * torch.linalg.svdvals(root_x @ moved).sum(-1)
