"""Free memory of the machine, its container and this process."""

import math
import os
from pathlib import Path


def free_memory() -> float:
    """Return the free bytes under the limits of the machine, the container and the process; inf if none is known."""
    return min(_free_of_machine(), _free_of_container(), _free_of_process())


def _free_of_machine() -> float:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    try:  # not on Linux: all physical memory
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _free_of_container() -> float:
    """Return what the control group (version 2 or 1) leaves; its file cache counts as free, since it can be evicted."""
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        maximum, used_now = (next(iter(_lines(f"{folder}/{name}")), "") for name in (limit, used))
        if maximum.isdigit() and used_now.isdigit():
            cached = [line.split()[1] for line in _lines(f"{folder}/memory.stat") if "inactive_file" in line]
            return float(int(maximum) - int(used_now) + max(map(int, cached), default=0))
    return math.inf


def _free_of_process() -> float:
    try:
        import resource
    except ImportError:
        return math.inf
    maximum = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = next(iter(_lines("/proc/self/statm")), "0").split()[0]
    return math.inf if maximum == resource.RLIM_INFINITY else float(maximum - int(pages) * resource.getpagesize())


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("ascii", "replace").splitlines()
    except OSError:
        return []
