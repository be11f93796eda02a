"""The cache of spaces: a folder of entries, one per file content and set of reading options.

An entry is named by its key: a SHA-256 of the file's bytes, its ending, all options and the versions of the readers. So
an entry is never stale, even if a file changes. An entry holds a seal (a keyed digest of the rest), the notes about the
file, and the arrays of the space as `write` stores them. It is written atomically and never changed: processes may
share the folder and be killed at any time. Entries that are damaged, are links, or belong neither to this user nor to
the folder's owner are ignored, and the file is read again.
"""

import json
import os
import re
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache as once
from hashlib import blake2b, file_digest, sha256
from importlib import metadata
from io import BufferedRandom, BufferedReader
from pathlib import Path
from stat import S_ISDIR

import numpy as np

from anchorot._kernels import kernels
from anchorot._validate import check_bytes
from anchorot.config import __version__
from anchorot.exceptions import InputError
from anchorot.io.atomic import remove_stale, replacing
from anchorot.io.matrices import arrays_in, members_of
from anchorot.io.mesh_files import MESH_READERS
from anchorot.io.names import ending_of, full_ending
from anchorot.io.options import ReadOptions, plain_value
from anchorot.io.safe_open import collecting_notes, note, opened
from anchorot.io.stored import arrays_of, keeps_all, space_of
from anchorot.space import Space

FORMAT = 3  # of entries and of the readers' results: a new number invalidates all older entries
DEFAULT_SIZE = "4GiB"
MAX_SHARE = 0.25  # of the cache's limit that one entry may take
MIN_FILE_BYTES = 8 << 10  # smaller files are read as fast as an entry
READERS = ("numpy", "scipy", "trimesh", "pygeodesic", "h5py")  # packages that the last bits of a space depend on
COSTLY_ENDINGS = (*MESH_READERS, ".graphml", ".edgelist", ".edges", ".swc", ".h5ad")
PLAIN_TYPES = (str, int, float, bool, list, type(None))  # types of option values with a unique JSON text
SEAL_BYTES = 32  # a keyed hash of 256 bits
LENGTH = struct.Struct("<I")  # of the notes
ENTRY = re.compile(r"[0-9a-f]{64}\.space")
HALF_WRITTEN = ".*-*.space"
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This is a cache of anchorot; see https://bford.info/cachedir/\n"


@dataclass(frozen=True)
class CacheInfo:
    """The cache's folder, number of spaces, size and limit in bytes."""

    folder: Path
    n_spaces: int
    n_bytes: int
    limit: int


def cache_folder() -> Path:
    """Return the cache's folder: ``ANCHOROT_CACHE``, or the platform's convention."""
    chosen = os.environ.get("ANCHOROT_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "anchorot" / "Cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "anchorot"
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (base if base.is_absolute() else _home() / ".cache") / "anchorot"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise FileNotFoundError("there is no home folder for the cache; set ANCHOROT_CACHE to a folder") from None


def cache_limit() -> int:
    """Return the size limit in bytes: ``ANCHOROT_CACHE_SIZE``, or 4 GiB."""
    return check_bytes(os.environ.get("ANCHOROT_CACHE_SIZE") or DEFAULT_SIZE, "ANCHOROT_CACHE_SIZE")


def cache_info() -> CacheInfo:
    """Return the number of spaces in the cache, and their size."""
    entries = _entries()
    return CacheInfo(cache_folder(), len(entries), sum(size for _, size, _ in entries), cache_limit())


def clear_cache() -> CacheInfo:
    """Remove all entries, but no other files in the folder; return the state before."""
    before = cache_info()
    half_written = [path for path in cache_folder().glob(HALF_WRITTEN) if path.is_symlink() or not path.is_dir()]
    for path in [entry for _, _, entry in _entries()] + half_written:
        path.unlink(missing_ok=True)
    return before


def through_cache(file: Path, options: ReadOptions, read: Callable[[Path, ReadOptions], Space]) -> Space:
    """Return a space from the cache, or read the file and cache it."""
    limit = cache_limit()
    stamp = _stamp(file)
    key = key_of(file, options)
    if key is None:
        return read(file, options)
    found = _cached(key, file)
    if found is not None:
        return found
    with collecting_notes() as notes:
        space = read(file, options)
    if _stamp(file) == stamp and keeps_all(space):  # else the file may have changed since the key was computed
        with suppress(OSError):  # the cache is optional: the disk may be full or the folder not writable
            _store(key, space, notes, limit)
    return space


def cached_space(file: Path, options: ReadOptions) -> Space | None:
    """Return a space from the cache, or None."""
    key = key_of(file, options)
    return None if key is None else _cached(key, file)


def is_costly(file: Path, options: ReadOptions) -> bool:
    """Whether a file takes longer to read than an entry: distances are computed, and the file is not small."""
    ending = ending_of(file)
    computes = ending in COSTLY_ENDINGS or options.kind == "graph" or options.n_neighbors is not None
    try:
        return file.stat().st_size >= MIN_FILE_BYTES and (computes or (ending == ".npz" and "V" in members_of(file)))
    except (OSError, InputError):
        return False  # reading it will report the error


def key_of(file: Path, options: ReadOptions) -> str | None:
    """Return the key of a space; None if caching is not worthwhile or the space is random without a seed."""
    values = {each.name: plain_value(getattr(options, each.name)) for each in fields(options) if each.name != "cache"}
    if not options.is_random:
        del values["rng"]
    elif values["rng"] is None:
        return None
    if not all(type(value) in PLAIN_TYPES for value in values.values()) or not is_costly(file, options):
        return None
    try:
        with opened(file) as handle:
            if os.fstat(handle.fileno()).st_size > options.limit:
                return None
            content = file_digest(handle, "sha256").hexdigest()
    except (OSError, InputError):
        return None
    about = {"format": FORMAT, "content": content, "ending": full_ending(file), "options": values, **_versions()}
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _cached(key: str, file: Path) -> Space | None:
    """Return the space of a key, if its entry is intact; mark the entry as used and repeat the notes about the file."""
    try:
        path = _path(key)
        with opened(path, follows_links=False) as handle:
            seal = handle.read(SEAL_BYTES)
            if not _is_trusted(os.fstat(handle.fileno())) or seal != _seal(key, handle):
                return None
            handle.seek(SEAL_BYTES)
            (length,) = LENGTH.unpack(handle.read(LENGTH.size))
            notes = json.loads(handle.read(length))
            if not isinstance(notes, list) or not all(isinstance(text, str) for text in notes):
                return None
            space = space_of(arrays_in(handle, ReadOptions(max_bytes=os.fstat(handle.fileno()).st_size)))
    except Exception:  # an unusable entry is ignored, and the file itself is read
        return None
    with suppress(OSError):
        os.utime(path)
    for text in notes:
        note(file.name, text)
    return space


def _is_trusted(status: os.stat_result) -> bool:
    """Whether an entry belongs to this user, root or the folder's owner: folders may be shared."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (os.geteuid(), 0, cache_folder().stat().st_uid)


def _store(key: str, space: Space, notes: list[str], limit: int) -> None:
    """Write an entry atomically and evict old ones; skip an entry that is too large for the limit."""
    arrays = arrays_of(space)
    if sum(array.nbytes for array in arrays.values()) > limit * MAX_SHARE:
        return
    folder = cache_folder()
    if not folder.is_dir():
        folder.mkdir(0o700, parents=True, exist_ok=True)
        (folder / "CACHEDIR.TAG").write_text(TAG)  # backup programs skip such folders
    path = _path(key)
    if path.is_symlink():
        path.unlink()
    text = json.dumps(notes).encode()
    with replacing(path, follows_links=False) as temporary, temporary.open("w+b") as handle:
        handle.write(bytes(SEAL_BYTES) + LENGTH.pack(len(text)) + text)
        np.savez(handle, **arrays)  # not compressed, since decompressing takes longer than reading
        handle.seek(SEAL_BYTES)
        seal = _seal(key, handle)
        handle.seek(0)
        handle.write(seal)
    _evict(limit)


def _evict(limit: int) -> None:
    """Remove the least recently used entries until the others fit."""
    remove_stale(cache_folder().glob(HALF_WRITTEN))
    entries = _entries()
    excess = sum(size for _, size, _ in entries) - limit
    for _, size, path in entries:
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= size


def _entries() -> list[tuple[int, int, Path]]:
    """Return the time of last use, size and path of every entry, least recently used first."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in cache_folder().iterdir():
            if ENTRY.fullmatch(path.name):
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    if not S_ISDIR(status.st_mode):
                        found.append((status.st_mtime_ns, status.st_size, path))
    return sorted(found)


def _seal(key: str, handle: BufferedReader | BufferedRandom) -> bytes:
    """Return the digest of the rest of a file, keyed with the entry's key."""
    return file_digest(handle, lambda: blake2b(key=bytes.fromhex(key), digest_size=SEAL_BYTES)).digest()


def _path(key: str) -> Path:
    return cache_folder() / f"{key}.space"


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Return a stamp that changes when the file does."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@once
def _versions() -> dict[str, str]:
    """Return the versions of everything that affects reading."""
    versions = {"anchorot": __version__, "kernels": kernels.description().partition(" ")[0]}
    for package in READERS:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions
