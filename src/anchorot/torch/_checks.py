"""Validation of tensors."""

import math

import torch
from torch import Tensor

from anchorot._validate import MIN_WEIGHT, WEIGHT_SUM_TOLERANCE, check_integer, check_overflow
from anchorot.exceptions import InputError, type_of


def check_tensor(value: object, name: str, needed: str) -> Tensor:
    """Return a float tensor as it is; refuse everything else."""
    if not isinstance(value, Tensor):
        raise InputError(f"{name} is {type_of(value)}, but a tensor {needed} is needed: torch.as_tensor makes one")
    if value.dtype not in (torch.float32, torch.float64):
        raise InputError(f"{name} has dtype {value.dtype}, but torch.float32 or torch.float64 is needed")
    return value


def check_spaces(
    cost_x: object, cost_y: object, weights_x: object, weights_y: object, *, wait: bool = False
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Return two batches of spaces with equal leading dimensions: square, finite costs of one dtype, and weights.

    Weights that are not given stay None. Unless `wait` is set, costs on another device than the CPU are not waited for:
    one that is not finite makes the result not finite.
    """
    x, y = check_cost(cost_x, "cost_x", wait=wait), check_cost(cost_y, "cost_y", wait=wait)
    check_alike(x, y, "cost_x", "cost_y")
    if x.shape[:-2] != y.shape[:-2]:
        try:
            batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        except RuntimeError:
            shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
            raise InputError(f"cost_x and cost_y have shapes {shapes}, but their batches do not broadcast") from None
        x, y = x.expand(*batch, *x.shape[-2:]), y.expand(*batch, *y.shape[-2:])
    a = None if weights_x is None else check_weights(weights_x, x, "weights_x", "cost_x")
    b = None if weights_y is None else check_weights(weights_y, y, "weights_y", "cost_y")
    return x, y, a, b


def check_cost(cost: object, name: str, *, wait: bool = False) -> Tensor:
    """Return a batch of square, finite cost matrices."""
    tensor = check_tensor(cost, name, "(..., n, n)")
    if tensor.ndim < 2 or tensor.shape[-1] != tensor.shape[-2] or 0 in tensor.shape:
        raise InputError(f"{name} has shape {tuple(tensor.shape)}, but (..., n, n) with n >= 1 is needed")
    check_finite(tensor, name, wait=wait)
    return tensor


def check_points(points: object, name: str, *, wait: bool = False) -> Tensor:
    """Return a batch of finite point clouds."""
    tensor = check_tensor(points, name, "(..., n, d)")
    if tensor.ndim < 2 or 0 in tensor.shape:
        raise InputError(f"{name} has shape {tuple(tensor.shape)}, but (..., n, d) with n, d >= 1 is needed")
    check_finite(tensor, name, wait=wait)
    return tensor


def check_alike(one: Tensor, two: Tensor, name_one: str, name_two: str) -> None:
    """Refuse tensors of different dtypes or devices."""
    if one.dtype != two.dtype or one.device != two.device:
        raise InputError(
            f"{name_one} is {one.dtype} on {one.device} and {name_two} is {two.dtype} on {two.device}, "
            "but both must be alike: .to(...) one of them"
        )


def check_finite(tensor: Tensor, name: str, *, wait: bool = False) -> None:
    """Refuse NaN and infinity in a tensor on the CPU, or on any device if `wait` is set."""
    if not _is_finite(tensor, wait=wait):
        raise InputError(f"{name} must be finite, but has infinite or NaN entries")


def check_in_range(found: Tensor, p: int, *, wait: bool = False) -> None:
    """Refuse what was computed from finite costs and is not finite, on the same devices as `check_finite`."""
    if _is_finite(found, wait=wait):
        return
    if found.dtype == torch.float32:
        raise InputError(f"costs to the power p={p} exceed the range of float32; .double() them, or divide all of them")
    check_overflow(float(found.detach().abs().max()), p)


def check_distances(found: Tensor, of: Tensor) -> None:
    """Refuse what was computed of finite points and is not finite, on the same devices as `check_finite`."""
    if not _is_finite(found, wait=False):
        kind = str(of.dtype).removeprefix("torch.")
        raise InputError(f"distances between points exceed the range of {kind}; divide all coordinates by the largest")


def _is_finite(tensor: Tensor, *, wait: bool) -> bool:
    return (tensor.device.type != "cpu" and not wait) or bool(torch.isfinite(tensor.detach()).all())


def check_weights(weights: object, cost: Tensor, name: str, of: str) -> Tensor:
    """Return weights of the points of `cost`, broadcast to its batch, of sum 1 to the last digit, in float64.

    What is too small to count becomes 0, and keeps its derivative.
    """
    tensor = check_tensor(weights, name, "(..., n)")
    n = cost.shape[-1]
    if tensor.ndim < 1 or tensor.shape[-1] != n:
        raise InputError(f"{name} has shape {tuple(tensor.shape)}, but {of} has {n} points")
    if tensor.device != cost.device:
        raise InputError(f"{name} is on {tensor.device}, but {of} is on {cost.device}: .to(...) one of them")
    try:
        tensor = tensor.double().expand(*cost.shape[:-1])
    except RuntimeError:
        raise InputError(
            f"{name} has shape {tuple(tensor.shape)}, but {of} has {tuple(cost.shape)}: their batches do not broadcast"
        ) from None
    total = tensor.sum(-1, keepdim=True)
    least, low, high = torch.stack([tensor.min(), *total.aminmax()]).tolist()  # one wait for the device
    if not least >= 0:
        raise InputError(f"{name} must be finite and not negative, but its smallest entry is {least:.6g}")
    if not (abs(low - 1) <= WEIGHT_SUM_TOLERANCE and abs(high - 1) <= WEIGHT_SUM_TOLERANCE):
        far = max(low, high, key=lambda s: math.inf if math.isnan(s) else abs(s - 1))
        raise InputError(f"{name} must sum to 1, but sums to {far:.9g}; divide it by its sum")
    shares = tensor / total
    return shares - torch.where(shares <= MIN_WEIGHT, shares, 0.0).detach()


def cost_span(cost: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Smallest and largest cost between points that have a weight, (...) each, without a gradient."""
    cost = cost.detach()
    if weights is None:
        return cost.amin((-1, -2)), cost.amax((-1, -2))
    heavy = weights.detach() > 0
    both = heavy[..., :, None] & heavy[..., None, :]
    return torch.where(both, cost, torch.inf).amin((-1, -2)), torch.where(both, cost, -torch.inf).amax((-1, -2))


def heavy_costs(cost: Tensor, weights: Tensor | None, *, rows: bool = True) -> Tensor:
    """Costs with those to points of no weight, and in their rows, replaced by the smallest of the others.

    What such points cost, however much, then plays no part in any range of costs. If weights are to have a gradient,
    all costs stay as they are: the derivative in a weight of zero says what that point would add.
    """
    if weights is None or weights.requires_grad or bool(weights.all()):
        return cost
    heavy = weights > 0
    counted = heavy[..., None, :] & (heavy[..., :, None] | (not rows))
    return torch.where(counted, cost, cost_span(cost, weights)[0][..., None, None])


def is_uniform(weights: Tensor | None) -> bool:
    """Whether all weights of every batch entry are equal up to rounding, and none has a gradient."""
    if weights is None:
        return True
    n = weights.shape[-1]
    return not weights.requires_grad and bool(((weights * n - 1).abs() <= 1e-15 * n).all())


def or_uniform(weights: Tensor | None, cost: Tensor) -> Tensor:
    """Return the weights, or equal ones for the points of `cost` where there are none."""
    if weights is not None:
        return weights
    return torch.full(cost.shape[:-1], 1 / cost.shape[-1], dtype=torch.float64, device=cost.device)


def check_rng(rng: object, device: torch.device) -> torch.Generator | None:
    """Return a generator on the device; None is PyTorch's own."""
    if rng is None:
        return None
    if not isinstance(rng, torch.Generator):
        return torch.Generator(device).manual_seed(check_integer(rng, "rng", 0))
    if rng.device.type != device.type:
        raise InputError(f"rng is a generator on {rng.device}, but the costs are on {device}; give a seed instead")
    return rng
