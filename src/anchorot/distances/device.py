"""Arrays to a device and back, for what may run there; torch is imported only where one is asked for."""

from typing import Any

import numpy as np

from anchorot._typing import Float64s, Floats
from anchorot.distances.quadratic import on_host
from anchorot.exceptions import InputError, MissingExtraError


def check_device(device: object) -> str | None:
    """Return the name of a device that PyTorch can use, or None as it is."""
    if device is None:
        return None
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch") from None
    try:
        found = torch.device(str(device))
    except RuntimeError:
        raise InputError(f"device must be 'cpu', 'cuda' or 'cuda:0' and the like, but got {device!r}") from None
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        there = torch.cuda.device_count() or "no"
        raise InputError(
            f"device is {str(found)!r}, but PyTorch finds {there} CUDA device; leave device out, or give 'cpu'"
        )
    return str(found)


def in_single(array: Floats, device: str | None) -> Any:
    """Return a float32 array, or a tensor on the device if there is one."""
    single = array.astype(np.float32)
    if device is None:
        return single
    import torch

    return torch.from_numpy(single).to(device)


def in_double(array: Any) -> Float64s:
    """Return an array or tensor as a float64 array."""
    return on_host(array).astype(np.float64)
