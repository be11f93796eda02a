"""Input validation: public functions call these once; nothing below them checks again."""

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
from anchorot.exceptions import InputError, MissingExtraError, first_line, type_of

WEIGHT_SUM_TOLERANCE = 1e-6  # weights may be computed in float32
SIMILARITY_TOLERANCE = 1e-6  # of the mean cost
SIMILARITY_ADVICE = "turn similarities into costs first, as in S.max() - S"
ROUNDING = 2.0**-51  # how far from 1 the sum of normalised weights may be
MIN_WEIGHT = 2.0**-63  # half the unit of CDF heights: weights up to this round to zero
UNCHECKED_BYTES = 1 << 24  # too few bytes to check the free memory for
LARGEST_POWER = 64
"""Largest p. Up to here every path agrees with exact rational arithmetic to 1e-9 of the costs to the power p; beyond,
the sums of powers for weighted spaces lose more digits, and binomial coefficients exceed 64 bits."""
MAKERS = {  # functions that make spaces, by attributes of other packages' objects
    ("nodes", "edges"): "from_graph(graph)",
    ("vs", "es"): "from_graph(graph)",
    ("edge_index",): "from_graph(graph)",
    ("vertices", "faces"): "from_mesh(mesh)",
    ("obs", "obsm"): "from_cells(cells)",
}
MAX_VALUE_LENGTH = 60  # characters of a value in a message
MAX_THREADS = 1024  # more than any machine can use; results do not depend on it


def at_hand(values: Any) -> Any:
    """Turn an iterator, which can be read only once, into a list; return anything else unchanged."""
    return list(values) if isinstance(values, Iterator) else values


def check_list(values: Any, name: str, one: str, several: str | None = None) -> list[Any]:
    """Turn an iterable into a non-empty list; `one` is the name of an element in messages."""
    values = as_array(values, name) if _is_foreign(values) else values
    if getattr(values, "ndim", 1) == 0 or isinstance(values, str) or not _has_order(values):
        raise InputError(f"{name} must be a list of {several or f'{one}s'}, but got {shown(values)}")
    found = list(values)
    if not found:
        raise InputError(f"{name} is empty, but at least one {one} is needed")
    return found


def _has_order(values: Any) -> bool:
    """Whether this can be iterated in a meaningful order."""
    is_collection = isinstance(values, Iterable) or hasattr(values, "__getitem__")
    return is_collection and not isinstance(values, Mapping | set | frozenset)


def as_array(values: Any, name: str) -> Any:
    """Turn lists, iterators, data frames, and arrays and tensors of other libraries into an array."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries, but all values are needed; fill them, or leave those points out")
    try:
        return np.asarray(_on_host(at_hand(values), name))
    except InputError:
        raise
    except (ValueError, TypeError, RuntimeError) as error:  # ragged nested lists, say
        raise InputError(f"{name} is not an array of numbers: {first_line(error)}") from None


def _on_host(values: Any, name: str) -> Any:
    """Turn an array of another library, or a list that begins with one, into arrays; return anything else unchanged."""
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
    if _is_foreign(values):
        try:
            return np.from_dlpack(values, device="cpu")
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return values  # NumPy 2.0, a kind of number without DLPack, or a device that gives no copies
    first = values
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return [_on_host(value, name) for value in values] if first is not values and _is_foreign(first) else values


def _is_foreign(values: Any) -> bool:
    """Whether this is an array or tensor of a library other than NumPy."""
    if isinstance(values, np.ndarray | np.generic):
        return False
    is_bare = hasattr(values, "__array__") and not isinstance(values, Iterable)
    return is_bare or hasattr(values, "__dlpack__") or hasattr(values, "detach")


def check_numbers(values: ArrayLike, name: str) -> Floats:
    """Turn numbers into a float64 or float32 array; reject objects, complex numbers and text."""
    array = as_array(values, name)
    if array.dtype.name == "bfloat16":  # of JAX
        return array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        hint = " (for a sparse matrix, call .toarray() first)" if hasattr(values, "toarray") else ""
        hint = " (for a data frame, convert it first: .astype(float))" if hasattr(values, "to_numpy") else hint
        raise InputError(f"{name} has dtype {array.dtype}, but real numbers are needed{hint}")
    with np.errstate(over="ignore"):  # of long doubles; infinities are rejected later
        return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)


def point_values(values: Any, name: str) -> list[Any]:
    """Return one Python object per point, from any ordered iterable: arrays, tensors, generators."""
    if _is_foreign(values) or np.ma.is_masked(values):
        values = as_array(values, name)
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{name} has shape {values.shape}, but one value per point is needed")
    if not _has_order(values):
        raise InputError(f"{name} must be one per point and in order, such as a list, but got {shown(values)}")
    return [plain_item(value) for value in values]


def plain_item(value: Any) -> Any:
    """Return the Python object in a NumPy scalar or a 0-d array or tensor; return anything else unchanged."""
    is_scalar = hasattr(value, "item") and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar and value is not np.ma.masked else value  # .item() of a masked value is 0.0


def shown(value: Any) -> str:
    """Return a short, one-line repr of a value for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 3]}..."


def check_finite(array: Floats, name: str, infinity_hint: str = "") -> None:
    """Reject NaN and infinity, and name the first position."""
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(array.sum(dtype=np.float64)):  # one pass without a temporary array; it can only overflow
            return
    bad = ~np.isfinite(array)
    if not bad.any():
        return
    position = tuple(int(i) for i in np.argwhere(bad)[0])
    value = array[position]
    hint = "" if np.isnan(value) else infinity_hint
    shown = str(position[0]) if len(position) == 1 else str(position)
    raise InputError(f"{name} must be finite, but {int(bad.sum())} entries are not, the first {value} at {shown}{hint}")


def check_values(values: ArrayLike, name: str) -> Float64s:
    """Turn `values` into one or more finite float64 numbers."""
    array: Float64s = check_vector(values, name).astype(np.float64)
    check_finite(array, name)
    return array


def check_vector(values: ArrayLike, name: str) -> Floats:
    """Turn `values` into one or more numbers, finite or not."""
    if type(values) is np.ndarray and values.dtype == np.float64:  # fast path: there may be thousands
        array: Floats = values
    else:
        array = check_numbers(values, name)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"{name} has shape {array.shape}, but (k,) with k >= 1 is needed")
    return array


def check_square(values: ArrayLike, name: str, hint: str = "") -> Floats:
    """Turn `values` into a square matrix of numbers."""
    array = check_numbers(values, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"{name} has shape {array.shape}, but a square matrix (n, n) is needed{hint}")
    return array


def _advice(x: Any) -> tuple[str, str] | None:
    """Describe an object that is not a cost matrix but can become a space, and say what to call; None for others.

    Objects of other packages are recognised by their attributes, so none is imported; anchorot's own by `not_a_space`.
    """
    kind = type(x).__name__
    if hasattr(x, "__array__"):
        return None
    if isinstance(x, str | os.PathLike):
        return f"the path {os.fspath(x)!r}", "read the file first: anchorot.read(path)"
    if hasattr(x, "not_a_space"):
        return kind, x.not_a_space
    if isinstance(x, list | tuple) and x and hasattr(x[0], "cost"):
        return f"{type_of(x)} of spaces", "pass one of them, or compare all pairs: anchorot.pairwise(spaces)"
    if hasattr(x, "toarray"):
        return f"a sparse matrix ({kind})", "graphs: anchorot.from_graph(matrix); costs: matrix.toarray()"
    for parts, maker in MAKERS.items():
        if all(hasattr(x, part) for part in parts):
            return f"an object of type {kind}", f"make a space from it: anchorot.{maker}"
    return None


def check_cost(cost: ArrayLike) -> Floats:
    """Turn `cost` into a square, finite, C-contiguous float matrix (no copy if it already is one)."""
    if (advice := _advice(cost)) is not None:
        raise InputError(f"got {advice[0]}, but a Space or a square matrix of costs is needed; {advice[1]}")
    array = check_square(cost, "cost", "; if its rows are points, make a space first: anchorot.from_points(points)")
    if array.shape[0] == 0:
        raise InputError("cost has shape (0, 0), but a space needs at least one point")
    check_finite(array, "cost", "; give unreachable pairs of a disconnected graph a finite cost, or remove them")
    return np.ascontiguousarray(array)


def suspicious_cost(cost: Floats) -> str | None:
    """Describe what is suspicious about a valid cost matrix, if anything: it may hold similarities.

    The mean of a kernel's diagonal exceeds the mean of all entries, which never holds for distances; and no entry
    exceeds the mean of its two diagonal entries (x·y <= (x·x + y·y) / 2), which random costs violate.
    """
    with np.errstate(over="ignore"):
        total = float(cost.sum(dtype=np.float64))
        diagonal = len(cost) * float(cost.diagonal().sum(dtype=np.float64))
    slack = SIMILARITY_TOLERANCE * abs(total)  # smaller differences may be rounding errors
    if diagonal > total + slack and _is_bounded_by_diagonal(cost):
        return f"costs that look like similarities, larger on the diagonal than elsewhere; {SIMILARITY_ADVICE}"
    is_negative = float(cost.min()) * cost.size < -slack
    return f"negative costs, which no distance has; {SIMILARITY_ADVICE}" if is_negative else None


def _is_bounded_by_diagonal(cost: Floats) -> bool:
    half = cost.diagonal() / 2
    slack = SIMILARITY_TOLERANCE * float(np.abs(half).max())
    return all((row <= half + half[i] + slack).all() for i, row in enumerate(cost))


def row_names(table: Any) -> list[Any] | None:
    """Return the names of a data frame's rows; None for other tables and for a frame with numbered rows."""
    if not (hasattr(table, "to_numpy") and hasattr(table, "index")):
        return None
    names = list(table.index)
    return None if names == list(range(len(names))) else names


def cost_names(cost: Any) -> list[Any] | None:
    """Return the names of a data frame's rows; reject columns with the same names in another order."""
    names = row_names(cost)
    columns = [] if names is None else list(getattr(cost, "columns", ()))
    if names is not None and names != columns and set(names) == set(columns):
        raise InputError("rows and columns of the costs have the same names in different orders; sort them alike")
    return names


def check_memory(n: int, each: float = 8, what: str = "costs between") -> None:
    """Raise if n points need more memory than is free: at the peak, `each` bytes per pair of points.

    Compiled code that runs out of memory may end the whole process, so this is checked before the work.
    """
    check_free_memory(each * n * n, f"{what} {n} points", "keep fewer points (n_points)")


def check_free_memory(needed: float, what: str, advice: str) -> None:
    """Raise if more bytes are needed than are free."""
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
    """Turn `weights` into n non-negative float64 numbers of sum 1; weights up to `MIN_WEIGHT` become 0."""
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
    shares: Float64s = array / total if abs(total - 1) > ROUNDING else array  # so that checking twice changes nothing
    shares[shares <= MIN_WEIGHT] = 0.0
    return shares


def check_types(types: Iterable[Hashable], n: int, of: str = "the cost matrix") -> tuple[Hashable, ...]:
    """Turn `types` into n hashable objects, each equal to itself; NumPy scalars become Python objects."""
    if isinstance(types, str | bytes):
        raise InputError(
            f"types must be one hashable object per point, such as a list of names, but got {shown(types)}"
        )
    kinds = tuple(point_values(types, "types"))
    if len(kinds) != n:
        raise InputError(f"types has {len(kinds)} entries, but {of} has {n} points")
    for position, kind in enumerate(kinds):
        if not isinstance(kind, Hashable):
            raise InputError(
                f"types[{position}] is {shown(kind)}, but a type must be hashable, such as a text or an integer"
            )
        if not equals_itself(kind):
            raise InputError(f"types[{position}] is {kind!r}, which does not equal itself; give missing types a name")
    return kinds


def equals_itself(value: Any) -> bool:
    """Whether a value is not missing: NaN and pandas.NA do not equal themselves."""
    try:
        return bool(value == value)
    except TypeError:  # pandas.NA has no truth value
        return False
    except ValueError:  # an array: the comparison is elementwise
        return True


def check_labels(labels: Iterable[object], n: int, there_are: str = "the cost matrix has") -> tuple[object, ...]:
    """Turn `labels` into a tuple of n arbitrary objects."""
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
        raise InputError(f"features has shape {array.shape}, but ({n}, d) with d >= 1 is needed: one row per point")
    check_finite(array, "features")
    return array


def check_overflow(found: float | Float64s, p: int) -> None:
    """Raise if results overflowed because powers or differences of costs exceed the range of float64."""
    is_finite = math.isfinite(found) if isinstance(found, float) else np.isfinite(found).all()  # faster for floats
    if not is_finite:
        what = "differences of costs" if p == 1 else f"costs to the power p={p}"
        raise InputError(f"{what} exceed the range of float64; divide all costs by their largest first")


def check_integer(value: Any, name: str, least: int) -> int:
    """Return `value` as an int of at least `least`; 2.0 counts as 2."""
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
    """Return the exponent p of a cost: an int from 1 to `LARGEST_POWER`."""
    number = check_integer(p, "p", 1)
    if number > LARGEST_POWER:
        raise InputError(f"p must be an integer from 1 to {LARGEST_POWER}, but got {number}")
    return number


def check_low_power(p: Any) -> int:
    """Return the exponent p of a distance that is only known for p = 1 and p = 2."""
    p = check_power(p)
    check_choice(str(p), "p", ("1", "2"))
    return p


def check_threads(threads: Any) -> int:
    """Return a number of threads, at least 1 and at most `MAX_THREADS`."""
    return min(check_integer(threads, "threads", 1), MAX_THREADS)


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


def check_positive(value: Any, name: str) -> float:
    """Return `value` as a finite float above 0."""
    number = _number(value)
    if not 0 < number < math.inf:
        raise InputError(f"{name} must be a positive number, but got {value!r}")
    return number


def check_level(level: Any) -> float:
    """Return the level of an interval as a float between 0 and 1."""
    number = _number(level)
    if not 0 < number < 1:
        raise InputError(f"level must be a number between 0 and 1, but got {level!r}")
    return number


def _number(value: Any) -> float:
    """Return `value` as a float; NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def check_rng(rng: Any) -> np.random.Generator:
    """Return a generator: the given one, or one made from a seed."""
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
    """Return an amount of memory in bytes, from a number or a text such as "2GB" or "1.5 GiB"."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kKMGT]?)(i?)B?\s*", str(value))
    try:
        amount = float(found[1]) if found else 0.0
    except ValueError:  # two decimal points
        amount = 0.0
    if found is None or not 0 < amount < 1e18:
        raise InputError(f"{name} must be a number of bytes or a text such as '2GB' or '500MiB', but got {value!r}")
    power = " KMGT".index(found[2].upper() or " ")
    return max(1, int(amount * (1024 if found[3] else 1000) ** power))


def check_device(device: object) -> str | None:
    """Return the name of a device that PyTorch can use; None stays None."""
    if device is None:
        return None
    name = str(device)
    kind = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if kind is None:
        raise InputError(f"device must be 'cpu', 'cuda' or a device such as 'cuda:0', but got {device!r}")
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch") from None
    count = torch.cuda.device_count()
    if name != "cpu" and int(kind[1] or 0) >= count:
        raise InputError(
            f"device is {name!r}, but PyTorch finds {count or 'no'} CUDA device; omit device, or use 'cpu'"
        )
    return name


def device_names(device: object) -> list[str]:
    """Return the names of the chosen CUDA devices: "cuda" selects all; None and "cpu" select none."""
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
