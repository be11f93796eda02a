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
    name = str(device)
    kind = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if kind is None:
        raise InputError(f"device must be 'cpu', 'cuda' or 'cuda:0' and the like, but got {device!r}")
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch") from None
    count = torch.cuda.device_count()
    if name != "cpu" and int(kind[1] or 0) >= count:
        raise InputError(
            f"device is {name!r}, but PyTorch finds {count or 'no'} CUDA device; leave it out, or take 'cpu'"
        )
    return name


def device_names(device: object) -> list[str]:
    """Return the CUDA devices that are meant, by name: "cuda" is all of them, None and "cpu" are none."""
    if isinstance(device, list | tuple):
        names = [name for each in device for name in device_names(each)]
        if len(set(names)) < max(1, len(names)) or len(names) < len(device):
            raise InputError(f"a list of devices must name different CUDA devices, but got {device!r}")
        return names
    name = check_device(device)
    if name is None or name == "cpu":
        return []
    if name != "cuda":
        return [name]
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]


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
