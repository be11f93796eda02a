"""Files of the registry: fetched where there is an address, and checked in any case."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from zipfile import ZipFile

from anchorot._html import card
from anchorot.datasets.sets import RegisteredSet, registered
from anchorot.exceptions import AnchorotError, InputError, MissingExtraError, first_line
from anchorot.io.atomic import replacing

MOST_BYTES = 1 << 28  # of one file: the largest of the registry has 4 MB


@dataclass(frozen=True)
class CheckedSet:
    """What is there of a set of the registry.

    Attributes
    ----------
    name : str
    folder : Path
        The folder of data that was looked into.
    good, changed, missing : tuple of str
        Files that are what they should be, that are something else, and that are not there.
    """

    name: str
    folder: Path
    good: tuple[str, ...] = field(repr=False)
    changed: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether all files are there, and are what they should be."""
        return not self.changed and not self.missing

    def __str__(self) -> str:
        """Say what is wrong, if anything is."""
        told = [f"{len(self.good)} of {len(self.good) + len(self.changed) + len(self.missing)} files are right"]
        for what, paths in (("differ from their SHA-256 sums", self.changed), ("are missing", self.missing)):
            if paths:
                told.append(f"{len(paths)} {what}, the first {paths[0]}")
        return f"{self.name} in {self.folder}: {'; '.join(told)}"

    def _repr_html_(self) -> str:
        facts = {"folder": self.folder, "right": len(self.good)}
        return card(f"CheckedSet {self.name}", facts | {"changed": len(self.changed), "missing": len(self.missing)})


def check(name: str, folder: str | os.PathLike[str] | None = None) -> CheckedSet:
    """Compare the files of a set with the SHA-256 sums of the registry.

    Parameters
    ----------
    name : str
        A name of `registry`.
    folder : path, optional
        The folder of data that the set lies in; by default that of the variable ``ANCHOROT_DATA``. A set that comes
        with anchorot is looked for where it is.

    Returns
    -------
    CheckedSet

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.check("fly_neurons").complete
    True
    """
    entry = registered(name)
    place = _folder(entry, folder)
    found: dict[str, list[str]] = {"good": [], "changed": [], "missing": []}
    for path, wanted in entry.sums.items():
        found[_state(place / path, wanted)].append(path)
    return CheckedSet(name, place, *(tuple(found[state]) for state in ("good", "changed", "missing")))


def fetch(name: str, folder: str | os.PathLike[str] | None = None) -> CheckedSet:
    """Fetch those files of a set that are missing, from where its makers have put them.

    Needs the extra ``datasets`` (pooch). No file is kept whose SHA-256 sum is not the registry's, and files that are
    there are never replaced. What comes with anchorot is copied.

    Parameters
    ----------
    name : str
        A name of `registry`.
    folder : path
        The folder of data to put the set into; by default that of the variable ``ANCHOROT_DATA``.

    Returns
    -------
    CheckedSet
        Files without a stable address may still be `missing`.

    Examples
    --------
    >>> import tempfile
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ao.datasets.fetch("fly_neurons", folder).complete
    True
    """
    entry = registered(name)
    place = _folder(entry, folder)
    before = check(name, place)
    if before.changed:
        raise InputError(f"{before}; move away what differs, and fetch again")
    wanted = [path for path in before.missing if entry.shipped or path in entry.addresses]
    if before.missing and not wanted:
        by_hand = "" if entry.page is None else f" ({entry.page})"
        raise InputError(f"{name} has no stable address: get it from {entry.source}{by_hand}, and put it into {place}")
    if entry.shipped:
        _copy(wanted, place)
    elif wanted:
        _download(entry, wanted, place)
    return check(name, place)


def _folder(entry: RegisteredSet, folder: str | os.PathLike[str] | None) -> Path:
    if entry.shipped and not folder:
        return Path(str(files("anchorot.datasets")))
    chosen = folder or os.environ.get("ANCHOROT_DATA")
    if chosen:
        return Path(chosen)
    raise InputError(f"say which folder {entry.name} is in, or is to be put into, or name it in ANCHOROT_DATA")


def _state(path: Path, wanted: str) -> str:
    try:
        with path.open("rb") as handle:
            digest = sha256()
            while part := handle.read(1 << 20):
                digest.update(part)
    except FileNotFoundError:
        return "missing"
    return "good" if digest.hexdigest() == wanted else "changed"


def _copy(paths: list[str], place: Path) -> None:
    for path in paths:
        _keep((files("anchorot.datasets") / path).read_bytes(), place / path)


def _download(entry: RegisteredSet, paths: list[str], place: Path) -> None:
    """Fetch every address once, and keep of it the wanted files whose sums are right."""
    by_url: dict[str, list[str]] = {}
    for path in paths:
        by_url.setdefault(entry.addresses[path].url, []).append(path)
    for url, own in by_url.items():
        with tempfile.TemporaryDirectory(prefix="anchorot-") as temporary:
            fetched = _retrieve(url, Path(temporary))
            for path in own:
                content = _content(fetched, entry.addresses[path].member, url)
                if sha256(content).hexdigest() != entry.sums[path]:
                    raise InputError(f"{url}: what it gives for {path} differs from its SHA-256 sum, and is not kept")
                _keep(content, place / path)


def _retrieve(url: str, folder: Path) -> Path:
    try:
        import pooch
    except ImportError:
        raise MissingExtraError("pooch", "datasets") from None
    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(pooch.retrieve(url, known_hash=None, fname="fetched", path=folder))
    except Exception as error:  # whatever requests, sockets or proxies raise
        raise AnchorotError(f"{url} cannot be fetched ({first_line(error)})") from None


def _content(fetched: Path, member: str | None, url: str) -> bytes:
    """Bytes of what was fetched, or of one member of it; more than there can be is not unpacked."""
    if member is None:
        return fetched.read_bytes()
    try:
        with ZipFile(fetched) as archive, archive.open(member) as handle:
            return handle.read(MOST_BYTES)
    except Exception as error:  # of an archive that may hold anything
        raise InputError(f"{url} is no archive with {member} in it ({first_line(error)})") from None


def _keep(content: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
