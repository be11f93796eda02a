"""Checks at the door: public functions call these once, nothing below checks again."""

import math
import operator
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._memory import free_memory
from anchorot._typing import Float64s, Floats, Int64s
from anchorot.exceptions import InputError, MissingExtraError, first_line

WEIGHT_SUM_TOLERANCE = 1e-6  # float32 users exist
DOUBT_TOLERANCE = 1e-6  # of the mean cost
SIMILARITY_ADVICE = "turn similarities round first, as in S.max() - S"
ROUNDING = 2.0**-51  # what weights that were divided by their sum may still miss 1 by
LEAST_WEIGHT = 2.0**-63  # half the unit that CDF heights are counted in: up to this, a weight rounds to nothing
UNCHECKED_BYTES = 1 << 24  # bytes that are not worth a look at the memory
LARGEST_POWER = 64
"""Largest p. Up to here every path agrees with exact rational arithmetic to 1e-9 of the costs to the power p; beyond,
the sums of powers that weighted spaces need lose more digits, and binomial coefficients exceed 64 bits."""
MAKERS = {  # of spaces, by what the objects of other packages have
    ("nodes", "edges"): "from_graph(graph)",
    ("vs", "es"): "from_graph(graph)",
    ("edge_index",): "from_graph(graph)",
    ("vertices", "faces"): "from_mesh(mesh)",
    ("obs", "obsm"): "from_cells(cells)",
}
LONGEST_VALUE = 60  # letters of a value in a message
MOST_THREADS = 1024  # more than any machine has a use for; an answer does not depend on it


def at_hand(values: Any) -> Any:
    """Return an iterator, which can be gone through once only, as a list; all else as it is."""
    return list(values) if isinstance(values, Iterator) else values


def check_list(values: Any, name: str, one: str, several: str | None = None) -> list[Any]:
    """Return a collection, which is gone through once, as a list of at least one; `one` is what it has."""
    if getattr(values, "ndim", 1) == 0 or isinstance(values, str) or not _has_order(values):
        raise InputError(f"{name} must be a list of {several or f'{one}s'}, but got {shown(values)}")
    found = list(values)
    if not found:
        raise InputError(f"{name} is empty, but at least one {one} is needed")
    return found


def _has_order(values: Any) -> bool:
    """Whether this can be gone through in an order that means something; entries on demand will do."""
    is_collection = isinstance(values, Iterable) or hasattr(values, "__getitem__")
    return is_collection and not isinstance(values, Mapping | set | frozenset)


def as_array(values: Any, name: str) -> Any:
    """Turn what holds values into an array: lists, iterators, data frames, and tensors that need no gradient."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries, but all values are needed; fill them, or leave those points out")
    try:
        return np.asarray(_on_host(at_hand(values), name))
    except InputError:
        raise
    except (ValueError, TypeError, RuntimeError) as error:  # ragged nested lists, say
        raise InputError(f"{name} is not an array of numbers: {first_line(error)}") from None


def _on_host(values: Any, name: str) -> Any:
    """Return a tensor, or a list that begins with one, as arrays; all else as it is."""
    if hasattr(values, "detach"):
        if getattr(values, "requires_grad", False):
            raise InputError(
                f"{name} is a tensor that needs a gradient, but arrays have none; .detach() it, or use anchorot.torch"
            )
        tensor = values.cpu()
        try:
            return tensor.numpy()
        except TypeError:  # bfloat16 is unknown to NumPy
            return tensor.float().numpy()
    first = values
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return [_on_host(value, name) for value in values] if first is not values and hasattr(first, "detach") else values


def check_numbers(values: ArrayLike, name: str) -> Floats:
    """Turn array-like numbers into a float64 or float32 array; refuse objects, complex numbers and text."""
    array = as_array(values, name)
    if array.dtype.kind not in "biuf":
        hint = " (a sparse matrix? make it dense first)" if hasattr(values, "toarray") else ""
        hint = " (a data frame? make it numbers first: .astype(float))" if hasattr(values, "to_numpy") else hint
        raise InputError(f"{name} has dtype {array.dtype}, but real numbers are needed{hint}")
    with np.errstate(over="ignore"):  # of long doubles; what becomes infinite is refused later
        return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)


def point_values(values: Any, name: str) -> list[Any]:
    """Return one Python object for each point, of any iterable that has an order: arrays, tensors, generators."""
    if hasattr(values, "detach") or np.ma.is_masked(values):
        values = as_array(values, name)
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{name} has shape {values.shape}, but one for each point is needed")
    if not _has_order(values):
        raise InputError(f"{name} must be one per point and in order, such as a list, but got {shown(values)}")
    return [plain_item(value) for value in values]


def plain_item(value: Any) -> Any:
    """Return the Python object in a NumPy scalar, or in an array or tensor without dimensions; all else as it is."""
    is_scalar = hasattr(value, "item") and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar and value is not np.ma.masked else value  # a masked one would be 0.0


def shown(value: Any) -> str:
    """Return a value for a message: in one line that is not long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def type_of(value: Any) -> str:
    """Return the name of a value's type for a message, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' or name == 'ndarray' else 'a'} {name}"


def check_finite(array: Floats, name: str, infinity_hint: str = "") -> None:
    """Refuse NaN and infinity, naming the first place."""
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(array.sum(dtype=np.float64)):  # one pass, no temporary array; may only overflow
            return
    bad = ~np.isfinite(array)
    if not bad.any():
        return
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    value = array[place]
    hint = "" if np.isnan(value) else infinity_hint
    shown = str(place[0]) if len(place) == 1 else str(place)
    raise InputError(f"{name} must be finite, but {int(bad.sum())} entries are not, the first {value} at {shown}{hint}")


def check_values(values: ArrayLike, name: str) -> Float64s:
    """Turn `values` into one or more finite float64 numbers."""
    array: Float64s = check_vector(values, name).astype(np.float64)
    check_finite(array, name)
    return array


def check_vector(values: ArrayLike, name: str) -> Floats:
    """Turn `values` into one or more numbers, finite or not."""
    if type(values) is np.ndarray and values.dtype == np.float64:  # quickly: there may be thousands
        array: Floats = values
    else:
        array = check_numbers(values, name)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"{name} has shape {array.shape}, but values (k,) with k >= 1 are needed")
    return array


def check_square(values: ArrayLike, name: str, hint: str = "") -> Floats:
    """Turn `values` into a square matrix of numbers."""
    array = check_numbers(values, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"{name} has shape {array.shape}, but a square matrix (n, n) is needed{hint}")
    return array


def _advice(x: Any) -> tuple[str, str] | None:
    """Say what this is and what to call, of things that are no costs but that spaces are made of; None of others.

    Things of other packages are known by what they have, so that none need be imported; anchorot's own by
    `not_a_space`.
    """
    kind = type(x).__name__
    if hasattr(x, "__array__"):
        return None
    if isinstance(x, str | os.PathLike):
        return f"the path {os.fspath(x)!r}", "read it first: anchorot.read(path)"
    if hasattr(x, "not_a_space"):
        return kind, x.not_a_space
    if isinstance(x, list | tuple) and x and hasattr(x[0], "cost"):
        return f"{type_of(x)} of spaces", "take one of them, or all pairs: anchorot.pairwise(spaces)"
    if hasattr(x, "toarray"):
        return f"a sparse matrix ({kind})", "graphs: anchorot.from_graph(matrix); costs: matrix.toarray()"
    for parts, maker in MAKERS.items():
        if all(hasattr(x, part) for part in parts):
            return f"an object of type {kind}", f"make a space of it: anchorot.{maker}"
    return None


def check_cost(cost: ArrayLike) -> Floats:
    """Turn `cost` into a square, finite, C-contiguous float matrix (no copy if it already is one)."""
    if (advice := _advice(cost)) is not None:
        raise InputError(f"got {advice[0]}, but a Space or a square matrix of costs is needed; {advice[1]}")
    array = check_square(cost, "cost", "; if its rows are points, make a space first: anchorot.from_points(points)")
    if array.shape[0] == 0:
        raise InputError("cost has shape (0, 0), but a space needs at least one point")
    check_finite(array, "cost", "; unreachable pairs of a disconnected graph need a finite cost or must be left out")
    return np.ascontiguousarray(array)


def doubt_of_cost(cost: Floats) -> str | None:
    """Say what speaks against a checked matrix of costs, if anything does: it may hold similarities.

    The mean of a kernel's diagonal exceeds that of all entries, which that of distances never is, and no entry is above
    the mean of its two diagonal entries (x·y <= (x·x + y·y) / 2), which is never so of costs drawn at random.
    """
    with np.errstate(over="ignore"):
        total = float(cost.sum(dtype=np.float64))
        diagonal = len(cost) * float(cost.diagonal().sum(dtype=np.float64))
    slack = DOUBT_TOLERANCE * abs(total)  # less may be rounding
    if diagonal > total + slack and _is_bounded_by_diagonal(cost):
        return f"costs that look like similarities, larger on the diagonal than elsewhere; {SIMILARITY_ADVICE}"
    is_negative = float(cost.min()) * cost.size < -slack
    return f"negative costs, which no distance has; {SIMILARITY_ADVICE}" if is_negative else None


def _is_bounded_by_diagonal(cost: Floats) -> bool:
    half = cost.diagonal() / 2
    slack = DOUBT_TOLERANCE * float(np.abs(half).max())
    return all((row <= half + half[i] + slack).all() for i, row in enumerate(cost))


def row_names(table: Any) -> list[Any] | None:
    """Return the names of a data frame's rows; None of other tables, and of a frame whose rows are merely numbered."""
    if not (hasattr(table, "to_numpy") and hasattr(table, "index")):
        return None
    names = list(table.index)
    return None if names == list(range(len(names))) else names


def cost_names(cost: Any) -> list[Any] | None:
    """Return the names of a data frame's rows, which must not be those of its columns in another order."""
    names = row_names(cost)
    columns = [] if names is None else list(getattr(cost, "columns", ()))
    if names is not None and names != columns and set(names) == set(columns):
        raise InputError("rows and columns of the costs have the same names in different orders; put them in one order")
    return names


def check_memory(n: int, each: float = 8, what: str = "costs between") -> None:
    """Refuse work on n points that takes more memory than there is: at its peak `each` bytes for every pair of them.

    Compiled code that runs out of memory may end the whole process; so the question is asked before the work.
    """
    check_room(each * n * n, f"{what} {n} points", "keep fewer points (n_points)")


def check_room(needed: float, what: str, advice: str) -> None:
    """Refuse work that takes more bytes than there are."""
    if needed < UNCHECKED_BYTES:
        return
    free = free_memory()
    if needed > free:
        raise InputError(
            f"{what} take {needed / 2**30:.3g} GiB, but {max(free, 0) / 2**30:.3g} GiB of memory are free; {advice}"
        )


def uniform_weights(n: int) -> Float64s:
    """Return n equal weights of sum 1."""
    return np.full(n, 1 / n)


def check_weights(weights: ArrayLike, n: int, of: str) -> Float64s:
    """Turn `weights` into n non-negative float64 numbers of sum 1; what is too small to count becomes 0."""
    array: Float64s = check_numbers(weights, "weights").astype(np.float64)
    if array.shape != (n,):
        raise InputError(f"weights has shape {array.shape}, but {of} has {n} points")
    check_finite(array, "weights")
    if (array < 0).any():
        first = int(np.argmax(array < 0))
        raise InputError(f"weights must not be negative, but weights[{first}] is {array[first]}")
    try:
        total = math.fsum(array)
    except OverflowError:
        total = math.inf
    if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
        raise InputError(f"weights must sum to 1, but they sum to {total:.9g}; divide them by their sum")
    shares: Float64s = array / total if abs(total - 1) > ROUNDING else array  # checked twice, they stay what they are
    shares[shares <= LEAST_WEIGHT] = 0.0
    return shares


def check_types(types: Iterable[Hashable], n: int, of: str = "the cost matrix") -> tuple[Hashable, ...]:
    """Turn `types` into n hashable objects, each equal to itself; NumPy's scalars become Python's."""
    if isinstance(types, str | bytes):
        raise InputError(
            f"types must be one hashable object per point, such as a list of names, but got {shown(types)}"
        )
    kinds = tuple(point_values(types, "types"))
    if len(kinds) != n:
        raise InputError(f"types has {len(kinds)} entries, but {of} has {n} points")
    for place, kind in enumerate(kinds):
        if not isinstance(kind, Hashable):
            raise InputError(
                f"types[{place}] is {shown(kind)}, but a type must be hashable, such as a text or an integer"
            )
        if not equals_itself(kind):
            raise InputError(f"types[{place}] is {kind!r}, which equals no type, not even itself; name what is missing")
    return kinds


def equals_itself(value: Any) -> bool:
    """Whether a value is there: NaN and what pandas calls NA are not equal to anything."""
    try:
        return bool(value == value)
    except TypeError:  # of NA nobody can say
        return False
    except ValueError:  # an array, of which there is one answer for each entry
        return True


def check_labels(labels: Iterable[object], n: int, there_are: str = "the cost matrix has") -> tuple[object, ...]:
    """Turn `labels` into n objects, whatever they are."""
    names = tuple(point_values(labels, "labels"))
    if len(names) != n:
        raise InputError(f"labels has {len(names)} entries, but {there_are} {n} points")
    return names


def check_features(features: ArrayLike, n: int) -> Float64s:
    """Turn `features` into a copy of n rows of finite float64 numbers."""
    array: Float64s = check_numbers(features, "features").astype(np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) != n or array.shape[1] == 0:
        raise InputError(f"features has shape {array.shape}, but ({n}, d) with d >= 1 is needed: a row for each point")
    check_finite(array, "features")
    return array


def check_overflow(found: float | Float64s, p: int) -> None:
    """Refuse results that are no numbers because powers of costs, or differences of costs, are beyond float64."""
    is_finite = math.isfinite(found) if isinstance(found, float) else np.isfinite(found).all()  # floats are quick
    if not is_finite:
        what = "differences of costs" if p == 1 else f"costs to the power p={p}"
        raise InputError(f"{what} exceed the range of float64; divide all costs by their largest first")


def check_integer(value: Any, name: str, least: int) -> int:
    """Return `value` as an int of at least `least`; 2.0 passes for 2."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer >= {least}, but got {value!r}") from None
    if number < least:
        raise InputError(f"{name} must be an integer >= {least}, but got {number}")
    return number


def check_indices(values: ArrayLike, name: str, n: int) -> Int64s:
    """Turn `values` into indices of n points; negative ones count from the end."""
    index = as_array(values, name)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise InputError(f"{name} must be a list of integers, but got {shown(values)}")
    if index.size and (index.min() < -n or index.max() >= n):
        raise InputError(f"{name} has entries from {index.min()} to {index.max()}, but there are {n} points")
    return index.astype(np.int64) % n


def check_power(p: Any) -> int:
    """Return the power p of a cost: an int from 1 to `LARGEST_POWER`."""
    number = check_integer(p, "p", 1)
    if number > LARGEST_POWER:
        raise InputError(f"p must be an integer from 1 to {LARGEST_POWER}, but got {number}")
    return number


def check_threads(threads: Any) -> int:
    """Return a number of threads, at least 1 and no more than `MOST_THREADS`."""
    return min(check_integer(threads, "threads", 1), MOST_THREADS)


def check_finite_number(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    number = _number(value)
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, but got {value!r}")
    return number


def check_nonnegative(value: Any, name: str) -> float:
    """Return `value` as a finite float of at least 0."""
    number = _number(value)
    if not 0 <= number < math.inf:
        raise InputError(f"{name} must be a finite number >= 0, but got {value!r}")
    return number


def _number(value: Any) -> float:
    """Return `value` as a float, NaN if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def check_rng(rng: Any) -> np.random.Generator:
    """Return a source of randomness: a generator as it is, or one of a seed."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        needed = "None, an integer >= 0 or a numpy.random.Generator"
        raise InputError(f"rng must be {needed}, but got {shown(rng)}") from None


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, but got {value!r}")
    return value


def check_bytes(value: Any, name: str) -> int:
    """Return an amount of memory in bytes; "2GB" and "1.5 GiB" pass as well as a number."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kKMGT]?)(i?)B?\s*", str(value))
    try:
        amount = float(found[1]) if found else 0.0
    except ValueError:  # two points
        amount = 0.0
    if found is None or not 0 < amount < 1e18:
        raise InputError(f"{name} must be a number of bytes or a text such as '2GB' or '500MiB', but got {value!r}")
    power = " KMGT".index(found[2].upper() or " ")
    return max(1, int(amount * (1024 if found[3] else 1000) ** power))


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
