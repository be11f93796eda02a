"""Readers that use libraries which may crash or hang on a file: they run in a process that `safe_open.py` starts.

This file does not import anchorot, which would take longer than reading most files, and imports libraries only when
needed.
"""

import faulthandler
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MAX_NAMES = 20  # listed in a message
OLD_CATEGORIES = "__categories"  # group of all categories in older files
LIBRARY_BYTES = 1 << 28  # of memory for libraries, besides the data


class BadFileError(Exception):
    """The content of the file is invalid."""


class Budget:
    """The number of bytes that may still be read."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, size: int, what: str) -> None:
        """Raise before allocating if this would exceed the limit."""
        self.left -= size
        if self.left < 0:
            raise BadFileError(
                f"its header promises {size / 1e9:.3g} GB of {what}, but no more than {self.limit / 1e9:.3g} GB of a "
                "file are read; if you trust it, raise max_bytes (--max-bytes)"
            )


def read_h5ad(path: str, budget: Budget, key: str = "", wanted: str = "[]") -> dict[str, Any]:
    """Read one array of obsm, or X if `key` is empty (as CSR or CSC parts if sparse), and the names of the cells.

    `wanted` is a JSON list of further columns of obs or arrays of obsm to read; see `_columns`.
    """
    h5py: Any = import_module("h5py")
    with h5py.File(path, "r") as handle:
        known = list(_inside(handle, "obsm")) if "obsm" in handle else []
        listed = ", ".join(known) or "nothing"
        if key and key not in known:
            raise BadFileError(f"there is no {key!r} in obsm; it has: {listed}")
        if not key and "X" not in handle:
            raise BadFileError(f"there is no X; name an array of obsm, which has: {listed}")
        name = f"obsm/{key}" if key else "X"
        node = _inside(_inside(handle, "obsm"), key) if key else _inside(handle, "X")
        found = _values(node, name, budget)
        found["names"] = _cell_names(_inside(handle, "obs"), budget)
        return found | _columns(handle, json.loads(wanted), budget)


def read_h5ad_table(path: str, budget: Budget, wanted: str = "[]") -> dict[str, Any]:
    """Read the names of the cells, the wanted columns of obs and obsm, and all other readable columns of obs."""
    h5py: Any = import_module("h5py")
    with h5py.File(path, "r") as handle:
        cells = _inside(handle, "obs")
        found = {"names": _cell_names(cells, budget), **_columns(handle, json.loads(wanted), budget)}
        names = found["columns"].tolist()
        for name in [name for name in _names_in(cells) if name not in names]:
            try:
                column = _column(cells, name, budget)
            except BadFileError:
                if budget.left < 0:
                    raise
                continue  # an unsupported kind
            if column["column"].shape == found["names"].shape:
                found.update({f"{part}{len(names)}": values for part, values in column.items()})
                names.append(name)
        return {**found, "columns": np.array(names, str)}


def _index_of(cells: Any) -> str:
    return str(cells.attrs.get("_index", "_index"))


def _names_in(group: Any) -> list[str]:
    return [name for name in group if name not in (_index_of(group), OLD_CATEGORIES)]


def _cell_names(cells: Any, budget: Budget) -> Any:
    names = _inside(cells, _index_of(cells))
    if not hasattr(names, "dtype"):
        names = _inside(names, "values")
    budget.take(16 * int(names.size), "names of cells")
    return np.array([_text(name) for name in _own(names)[...].ravel()], str)


def _columns(handle: Any, wanted: list[str], budget: Budget) -> dict[str, Any]:
    """Return the names `columns`, and for each k `column{k}` (values, or codes of `categories{k}`) and `missing{k}`."""
    found: dict[str, Any] = {"columns": np.array(wanted, str)}
    places = [
        (group, name) for group in ("obs", "obsm") if group in handle for name in _names_in(_inside(handle, group))
    ]
    known = {name: group for group, name in reversed(places)}  # obs takes precedence
    for k, name in enumerate(wanted):
        if name not in known:
            listed = list(dict.fromkeys(each[:60] for _, each in places))
            shown = ", ".join(listed[:MAX_NAMES]) + (", ..." if len(listed) > MAX_NAMES else "")
            raise BadFileError(f"no column of obs or array of obsm is called {name!r}; there are: {shown or 'none'}")
        column = _column(_inside(handle, known[name]), name, budget)
        found.update({f"{part}{k}": values for part, values in column.items()})
    return found


def _column(group: Any, name: str, budget: Budget) -> dict[str, Any]:
    node = _inside(group, name)
    if hasattr(node, "dtype"):
        if "categories" in node.attrs and OLD_CATEGORIES in group:
            return _categorical(node, _inside(_inside(group, OLD_CATEGORIES), name), name, budget)
        return {"column": _numbers_or_texts(node, name, budget)}
    kind = str(node.attrs.get("encoding-type", ""))
    if kind == "categorical":
        return _categorical(_inside(node, "codes"), _inside(node, "categories"), name, budget)
    if kind.startswith("nullable"):
        values = _numbers_or_texts(_inside(node, "values"), name, budget)
        missing = _array(_inside(node, "mask"), name, budget)
        if missing.shape != values.shape or missing.dtype.kind != "b":
            raise BadFileError(f"{name!r} has no valid mask of missing values")
        return {"column": values, "missing": missing}
    raise BadFileError(f"{name!r} is neither a column nor a dense array, but {kind or 'a group'!r}")


def _categorical(codes_node: Any, categories_node: Any, name: str, budget: Budget) -> dict[str, Any]:
    codes = _array(codes_node, name, budget)
    categories = _numbers_or_texts(categories_node, name, budget)
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or categories.ndim != 1:
        raise BadFileError(f"the codes of {name!r} are {codes.dtype}, but a list of integers is needed")
    if codes.size and not -1 <= codes.min() <= codes.max() < len(categories):
        raise BadFileError(f"{name!r} has codes beyond its {len(categories)} categories")
    return {"column": codes, "categories": categories}


def _numbers_or_texts(node: Any, name: str, budget: Budget) -> Any:
    if node.dtype.kind in "biuf":
        return _array(node, name, budget)
    if node.dtype.kind not in "OS" or node.ndim != 1:
        raise BadFileError(f"{name} holds {node.dtype}, but numbers or texts are needed")
    budget.take(16 * int(node.size), name)
    texts = [_text(text) for text in _own(node)[...]]
    budget.take(4 * len(texts) * max(map(len, texts), default=0), name)  # as an array of texts
    return np.array(texts, str)


def _inside(group: Any, name: str) -> Any:
    """Return a member stored in the group itself: links may lead into other files."""
    where = group.name.strip("/") or "the file"
    if not hasattr(group, "get"):
        raise BadFileError(f"{where} is an array, but a group is needed; anndata 0.7 and newer write groups")
    link = group.get(name, getlink=True)
    if link is None:
        raise BadFileError(f"there is no {name!r} in {where}")
    if "/" in name or type(link).__name__ != "HardLink":
        raise BadFileError(f"{name!r} is a link to somewhere else, but only what is in the file itself is read")
    return group[name]


def _own(node: Any) -> Any:
    """Return a dataset, checked to be stored in the file itself."""
    if node.external is not None or node.is_virtual:
        raise BadFileError(f"{node.name} is stored in other files, but only what is in the file itself is read")
    return node


def _values(node: Any, name: str, budget: Budget) -> dict[str, Any]:
    if hasattr(node, "dtype"):
        return {"values": _array(node, name, budget)}
    kind = str(node.attrs.get("encoding-type", ""))
    if kind not in ("csr_matrix", "csc_matrix"):
        raise BadFileError(f"{name} is neither a dense nor a sparse array, but {kind or 'a group'!r}")
    parts = {part: _array(_inside(node, part), f"{name}/{part}", budget) for part in ("data", "indices", "indptr")}
    return {"kind": np.array(kind), "shape": np.array(node.attrs["shape"], dtype=np.int64), **parts}


def _array(node: Any, name: str, budget: Budget) -> Any:
    if node.dtype.kind not in "biuf":
        raise BadFileError(f"{name} holds {node.dtype}, but numbers are needed")
    budget.take(int(node.size) * node.dtype.itemsize, name)
    return _own(node)[...]


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def read_mat(path: str, budget: Budget) -> dict[str, Any]:
    """Read X, Y, Z and TRIV of the struct `surface`, the format of the TOSCA shapes."""
    scipy_io: Any = import_module("scipy.io")
    surface = scipy_io.loadmat(path, variable_names=["surface"], appendmat=False).get("surface")
    fields = getattr(getattr(surface, "dtype", None), "names", None) or ()
    if not {"X", "Y", "Z", "TRIV"} <= set(fields) or surface.size != 1:
        known = ", ".join(name for name, _, _ in scipy_io.whosmat(path, appendmat=False)) or "nothing"
        raise BadFileError(f"a struct 'surface' of X, Y, Z and TRIV is needed, but the file holds {known}")
    found = {name: np.asarray(surface[name].item()) for name in ("X", "Y", "Z", "TRIV")}
    for name, values in found.items():
        budget.take(values.nbytes, name)
        if values.dtype.kind not in "biuf":
            raise BadFileError(f"{name} holds {values.dtype}, but numbers are needed")
    return found


class Reader(NamedTuple):
    """A reader of one file format."""

    library: str
    read: Callable[..., dict[str, Any]]
    kind: str


READERS = {
    "h5ad": Reader("h5py", read_h5ad, "an .h5ad file"),
    "h5ad_table": Reader("h5py", read_h5ad_table, "an .h5ad file"),
    "mat": Reader("scipy.io", read_mat, "a MATLAB file"),
}


def read(request: dict[str, Any]) -> dict[str, Any] | str:
    """Read a file with one of the readers, within bounds; return its arrays, or an error message."""
    reader, limit = READERS[request["reader"]], request["limit"]
    try:
        import_module(reader.library)  # before the bounds apply
        with _bounded(request["seconds"], 2 * limit + LIBRARY_BYTES):
            return reader.read(request["path"], Budget(limit), **request["options"])
    except BadFileError as error:
        message = str(error)
    except MemoryError:
        message = f"not {reader.kind} that can be read (it takes more memory than max_bytes allows)"
    except Exception as error:
        message = f"not {reader.kind} that can be read ({str(error) or type(error).__name__})"
    return " ".join(message.encode("utf-8", "replace").decode().split())


@contextmanager
def _bounded(seconds: float, n_bytes: int) -> Iterator[None]:
    """End this process with status 1 after some seconds, and limit its memory where the system supports that.

    A thread of the interpreter keeps the time, even while a library hangs and holds Python's lock.
    """
    statm = Path("/proc/self/statm")
    faulthandler.dump_traceback_later(seconds, exit=True)
    with ExitStack() as at_end:
        at_end.callback(faulthandler.cancel_dump_traceback_later)
        with suppress(ImportError, FileNotFoundError):  # on Windows and macOS only the time is limited
            resource: Any = import_module("resource")
            limit = int(statm.read_text().split()[0]) * resource.getpagesize() + n_bytes
            soft, hard = resource.getrlimit(resource.RLIMIT_AS)
            least = limit if soft == resource.RLIM_INFINITY else min(limit, soft)
            at_end.callback(resource.setrlimit, resource.RLIMIT_AS, (soft, hard))
            resource.setrlimit(resource.RLIMIT_AS, (least, hard))
        yield
