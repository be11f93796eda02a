"""Prepared spaces that stay as long as there is room."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np


class ItemCache:
    """Things by index, made when first asked for; where they outgrow the limit, the least recently used ones go.

    Threads may share it: what two of them ask for is made once.
    """

    def __init__(self, make: Callable[[int], Any], limit: int) -> None:
        self.limit = limit  # in bytes
        self._make = make
        self._lock = threading.Lock()
        self._slots: OrderedDict[int, Future[Any]] = OrderedDict()
        self._sizes: dict[int, int] = {}  # of those that are made
        self._total = 0

    def get(self, index: int) -> Any:
        """Return a thing, made now if need be; raise what making it raises."""
        with self._lock:
            slot = self._slots.get(index)
            if is_new := slot is None:
                slot = self._slots[index] = Future()
            self._slots.move_to_end(index)
        if is_new:
            try:
                slot.set_result(self._make(index))
            except BaseException as error:
                with self._lock:
                    del self._slots[index]
                slot.set_exception(error)
        found = slot.result()
        self._weigh(index, found)
        return found

    def _weigh(self, index: int, found: Any) -> None:
        """Weigh it, each time anew: features may have grown with use."""
        size = held_bytes(found)
        with self._lock:
            if index in self._slots:
                self._total += size - self._sizes.get(index, 0)
                self._sizes[index] = size
            while self._total > self.limit:
                oldest = next((i for i in self._slots if i in self._sizes and i != index), None)
                if oldest is None:
                    break
                del self._slots[oldest]
                self._total -= self._sizes.pop(oldest)


def held_bytes(thing: Any) -> int:
    """Bytes of all arrays that an object, tuple or array holds."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple):
        return sum(held_bytes(part) for part in thing)
    return sum(held_bytes(part) for part in list(getattr(thing, "__dict__", {}).values()))
