"""Read one array of an .h5ad file, as a program of its own: `h5ad_process.py FILE KEY RESULT SECONDS`.

The HDF5 library crashes, or never comes back, on some damaged files: then only this process is lost. KEY is in obsm,
or empty for X. The array (in CSR or CSC parts if it is sparse) and the names of the cells are put into RESULT, an .npz
file. Bad files end in one line on standard error and status 2.
"""

import signal
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

LARGEST_EXPANSION = 1032  # what deflate can make of one byte


class BadFileError(Exception):
    """The file does not hold what is needed."""


def read(path: Path, key: str) -> dict[str, Any]:
    """Return the arrays to put into the result."""
    with h5py.File(path, "r") as handle:
        known = list(handle["obsm"]) if "obsm" in handle else []
        if key and key not in known:
            raise BadFileError(f"there is no {key!r} in obsm; it has: {', '.join(known) or 'nothing'}")
        if not key and "X" not in handle:
            raise BadFileError(f"there is no X; name an array of obsm, which has: {', '.join(known) or 'nothing'}")
        name = f"obsm/{key}" if key else "X"
        found = _values(handle[name], name, path)
        cells = handle["obs"][handle["obs"].attrs.get("_index", "_index")]
        found["names"] = _names(cells["values"] if isinstance(cells, h5py.Group) else cells, path)
        return found


def _values(node: Any, name: str, path: Path) -> dict[str, Any]:
    if isinstance(node, h5py.Dataset):
        return {"values": _array(node, name, path)}
    kind = str(node.attrs.get("encoding-type", ""))
    if kind not in ("csr_matrix", "csc_matrix"):
        raise BadFileError(f"{name} is neither a dense nor a sparse array, but {kind or 'a group'!r}")
    parts = {part: _array(node[part], f"{name}/{part}", path) for part in ("data", "indices", "indptr")}
    return {"kind": kind, "shape": np.array(node.attrs["shape"], dtype=np.int64), **parts}


def _array(node: Any, name: str, path: Path) -> Any:
    claimed, size = int(node.size) * node.dtype.itemsize, path.stat().st_size
    if claimed > LARGEST_EXPANSION * size:
        raise BadFileError(f"its header promises {claimed / 1e9:.3g} GB of {name}, but the file has {size} bytes")
    if node.dtype.kind not in "biuf":
        raise BadFileError(f"{name} holds {node.dtype}, but numbers are needed")
    return node[...]


def _names(node: Any, path: Path) -> Any:
    if int(node.size) > path.stat().st_size:
        raise BadFileError(
            f"its header promises {node.size} names of cells, but the file has {path.stat().st_size} bytes"
        )
    return np.array([n.decode("utf-8", "replace") if isinstance(n, bytes) else str(n) for n in node[...].ravel()], str)


if __name__ == "__main__":
    if hasattr(signal, "alarm"):
        signal.alarm(int(sys.argv[4]))  # ends even a loop inside HDF5, and even if nobody waits any more
    try:
        np.savez(sys.argv[3], **read(Path(sys.argv[1]), sys.argv[2]))
    except Exception as error:
        what = str(error) if isinstance(error, BadFileError) else f"not an .h5ad file that can be read ({error})"
        print(" ".join(what.split()), file=sys.stderr)
        sys.exit(2)
