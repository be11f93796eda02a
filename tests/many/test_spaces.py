"""The same done to each of many spaces, and those that are kept meanwhile."""

import threading
from multiprocessing import get_context

import numpy as np
import pytest

import anchorot as ao
from anchorot._parallel import cores
from anchorot.many.spaces import ItemCache, each_space, n_workers


class Unordered:
    """Spaces that are known in this order, two of them bad."""

    def __len__(self):
        return 4

    def each(self, function, *, keep):
        return iter([(2, ao.InputError("two")), (0, "x"), (1, ao.InputError("one")), (3, "y")])


def test_the_first_bad_space_is_named_whichever_is_known_first_and_none_is_handed_out():
    found = each_space(Unordered(), None, "looking at", progress=False)
    assert next(found) == (0, "x")
    with pytest.raises(ao.InputError, match="one"):
        next(found)
    assert len(dict(each_space(Unordered(), None, "looking at", skip=True, progress=False))) == 4


def test_cache_keeps_what_was_used_last():
    made = []

    def make(index):
        made.append(index)
        return np.zeros(10)

    cache = ItemCache(make, limit=160)
    for index in (0, 1, 0, 2, 0, 1):
        cache.get(index)
    assert made == [0, 1, 2, 1]


def test_cache_makes_a_thing_once_for_all_threads():
    made, gate = [], threading.Event()

    def make(index):
        made.append(index)
        gate.wait()
        return np.zeros(10)

    cache = ItemCache(make, limit=1000)
    found = []
    threads = [threading.Thread(target=lambda: found.append(cache.get(7))) for _ in range(4)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert made == [7]
    assert len({id(thing) for thing in found}) == 1


def test_cache_tries_again_what_failed():
    attempts = []

    def make(index):
        attempts.append(index)
        if len(attempts) == 1:
            raise OSError("not yet")
        return np.zeros(1)

    cache = ItemCache(make, limit=100)
    with pytest.raises(OSError, match="not yet"):
        cache.get(0)
    assert cache.get(0).shape == (1,)


def test_one_worker_per_core_but_one_alone_in_another_pool():
    assert (n_workers(-1), n_workers(3)) == (cores(), 3)
    with pytest.raises(ao.InputError, match="n_jobs must be an integer >= 1"):
        n_workers(0)


@pytest.mark.system
def test_in_a_worker_of_another_pool_there_is_one():
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(2)([joblib.delayed(n_workers)(-1)]) == [1]
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(n_workers, (-1,)) == 1
