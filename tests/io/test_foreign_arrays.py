"""Arrays of other libraries are read wherever NumPy's are, and results are NumPy arrays."""

import numpy as np
import pytest

import anchorot as ao
from tests.io.test_tensor_inputs import COST, EDGES, ENTRY_POINTS
from tests.strategies import assert_same


class Exported:
    """An array on a device, as CuPy's are: NumPy cannot read it, and DLPack gives a copy on the host."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __dlpack__(self, *, dl_device=None, **_):
        assert dl_device == (1, 0), "the host asks for its own copy"
        return self._values.__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)  # CUDA


class Converted:
    """An array that knows nothing but `__array__`."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._values, dtype)


def jax_array(values):
    """A JAX array of the same dtype; JAX is no test dependency (380 MB), so this runs where it is installed."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64():
        return jax.numpy.asarray(values)


def strict_array(values):
    """An array that does what the array API standard says, and nothing else."""
    return pytest.importorskip("array_api_strict").asarray(values)


def strict_device_array(values):
    """The same on a device that is not the host."""
    skip_without_copies()
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(values, device=strict.Device("device1"))


def exported_array(values):
    skip_without_copies()
    return Exported(values)


def skip_without_copies():
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy 2.0 asks for no copies from devices")


LIBRARIES = {
    "jax": jax_array,
    "array_api_strict": strict_array,
    "array_api_strict on a device": strict_device_array,
    "dlpack": exported_array,
    "__array__": Converted,
}
WHOLE = [name for name in ENTRY_POINTS if not name.endswith("by name")]  # there callers take the array to pieces


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_other_libraries_are_read_as_numpys(library):
    for name in WHOLE:
        array, make = ENTRY_POINTS[name]
        assert_same(make(LIBRARIES[library](array)), make(array))


CALLS = {  # public functions that take arrays other than spaces, and what of their result is compared
    "anchor_energy": lambda make: ao.anchor_energy(make(COST), make(2 * COST)),
    "anchor_energy_plan": lambda make: ao.anchor_energy_plan(make(COST), make(2 * COST)),
    "match": lambda make: ao.match(make(np.eye(3))),
    "pairwise": lambda make: ao.pairwise([make(COST), make(2 * COST)], n_jobs=1),
    "energy_distance": lambda make: ao.energy_distance(make(COST), make(2 * COST)),
    "group_test": lambda make: (
        ao.group_test(make(np.abs(np.subtract.outer(range(6), range(6)))), make(np.arange(6) // 3), rng=0).null
    ),
    "align_graphs": lambda make: ao.align_graphs(make(EDGES), make(EDGES), rng=0).matches,
    "hits": lambda make: ao.align(COST, COST).hits(make(np.arange(3))),
    "project": lambda make: ao.align(COST, COST).project(make(COST)),
    "transfer": lambda make: ao.align(COST, COST).transfer(make(np.array([3, 1, 2])))[1],
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_for_other_libraries_are_numpys(library):
    for call in CALLS.values():
        wanted, found = call(np.asarray), call(LIBRARIES[library])
        assert type(found) is type(wanted)
        np.testing.assert_array_equal(found, wanted)


def test_half_precision_of_jax_is_read():
    jax = pytest.importorskip("jax")
    for kind in (jax.numpy.bfloat16, jax.numpy.float16):
        assert ao.Space(jax.numpy.asarray([[0, 1], [1, 0]], dtype=kind)).cost.tolist() == [[0, 1], [1, 0]]


def test_a_device_that_gives_no_copy_raises_an_error_in_one_line():
    class Kept(Exported):
        def __dlpack__(self, **_):
            raise BufferError("no copies")

    with pytest.raises(ao.InputError, match=r"^cost is not an array[^\n]*\.get\(\)[^\n]*$"):
        ao.Space(Kept(COST))
