"""Arrays to a device and back, for what may run there; torch is imported only where one is asked for."""

import re
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
    name = str(device)
    kind = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if kind is None:
        raise InputError(f"device must be 'cpu', 'cuda' or 'cuda:0' and the like, but got {device!r}")
    count = torch.cuda.device_count()
    if name != "cpu" and int(kind[1] or 0) >= count:
        raise InputError(
            f"device is {name!r}, but PyTorch finds {count or 'no'} CUDA device; leave it out, or take 'cpu'"
        )
    return name


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
