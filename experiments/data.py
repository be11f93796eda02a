"""Real data sets of the experiments: where each comes from, fetched if it has an address, checked by SHA-256 sums.

``python -m experiments.data list`` shows them; ``fetch NAME`` and ``check NAME`` work on the folder of ``--data``.
"""

import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from zipfile import ZipFile

import typer
from rich.console import Console
from rich.table import Table

import anchorot as ao

HERE = Path(__file__).parent
MAX_FILE_BYTES = 1 << 28  # the largest file of all sets has 4 MB
CHUNK_BYTES = 1 << 20


class Address(NamedTuple):
    """Where a file can be fetched: a URL, and the member if that is an archive."""

    url: str
    member: str | None = None


@dataclass(frozen=True)
class DataSet:
    """Files that experiments run on.

    Attributes
    ----------
    name : str
        Also the name of its folder, or file, in the data folder.
    what, source, licence : str
        What it is, where it comes from, and on which terms, as far as they are known.
    sums : mapping of str to str
        SHA-256 of every file, by its path in the data folder.
    addresses : mapping of str to Address
        Where files can be fetched; those without a stable address are missing.
    page : str or None
        A page of its makers.
    """

    name: str
    what: str
    source: str
    licence: str
    sums: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, Address] = field(repr=False)
    page: str | None = None

    @property
    def availability(self) -> str:
        """How to get its files, in a few words."""
        if not self.addresses:
            return "no stable address known"
        if len(self.addresses) == len(self.sums):
            return "can be fetched"
        return f"{len(self.addresses)} of {len(self.sums)} files can be fetched"


class Check(NamedTuple):
    """The files of a set that are right, that have another SHA-256 sum, and that are missing."""

    right: list[str]
    changed: list[str]
    missing: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether all files are there and right."""
        return not self.changed and not self.missing

    def __str__(self) -> str:
        """Say how many files are right, and what is wrong with the others."""
        parts = [f"{len(self.right)} of {sum(map(len, self))} files are right"]
        for problem, paths in (("differ from their SHA-256 sums", self.changed), ("are missing", self.missing)):
            if paths:
                parts.append(f"{len(paths)} {problem}, the first {paths[0]}")
        return "; ".join(parts)


@cache
def data_sets() -> dict[str, DataSet]:
    """Return all sets by name, from ``data.toml`` and ``SHA256SUMS`` beside this file."""
    sums: dict[str, dict[str, str]] = {}
    for line in (HERE / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, path = line.split(maxsplit=1)
        sums.setdefault(path.split("/")[0], {})[path] = digest
    described = tomllib.loads((HERE / "data.toml").read_text("utf-8"))
    return {name: _data_set(name, about, sums[name]) for name, about in described.items()}


def _data_set(name: str, about: dict[str, Any], sums: dict[str, str]) -> DataSet:
    rules = about.pop("from", [])
    addresses = {path: _address(path, rule) for path in sums if (rule := _rule_for(path, rules)) is not None}
    return DataSet(name, sums=sums, addresses=addresses, **about)


def _rule_for(path: str, rules: list[dict[str, str]]) -> dict[str, str] | None:
    return next((rule for rule in rules if path.startswith(rule["files"])), None)


def _address(path: str, rule: dict[str, str]) -> Address:
    rest = path.removeprefix(rule["files"])
    return Address(rule["archive"], rule["inside"] + rest) if "archive" in rule else Address(rule["address"] + rest)


def data_set(name: str) -> DataSet:
    """Return a set by its name."""
    if name not in data_sets():
        raise ao.InputError(f"name must be one of {', '.join(data_sets())}, but got {name!r}")
    return data_sets()[name]


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder given, that of the variable ANCHOROT_DATA, or `shared/data` beside the checkout."""
    return Path(folder or os.environ.get("ANCHOROT_DATA") or HERE.parents[1] / "shared" / "data")


def find_data(names: Iterable[str], folder: Path) -> dict[str, Path]:
    """Return the path of each set; an error names those that are missing, and where they come from."""
    paths = {name: folder / name for name in names}
    missing = [data_set(name) for name, path in paths.items() if not path.exists()]
    if missing:
        names = ", ".join(own.name for own in missing)
        origins = "; ".join(f"{own.name} is {own.what}, from {own.source} ({own.availability})" for own in missing)
        raise ao.InputError(
            f"there is no {names} in {folder}; say where with --data or ANCHOROT_DATA, or fetch what has an "
            f"address with `python -m experiments.data fetch NAME`. {origins}"
        )
    return paths


def check(name: str, folder: Path) -> Check:
    """Compare the files of a set with their SHA-256 sums."""
    found = Check([], [], [])
    for path, wanted in data_set(name).sums.items():
        file = folder / path
        if not os.path.lexists(file):
            found.missing.append(path)
        else:
            is_right = file.is_file() and _digest(file) == wanted  # a pipe would wait for somebody to write
            (found.right if is_right else found.changed).append(path)
    return found


def _digest(file: Path) -> str:
    digest = sha256()
    with file.open("rb") as handle:
        while part := handle.read(CHUNK_BYTES):
            digest.update(part)
    return digest.hexdigest()


def fetch(name: str, folder: Path) -> Check:
    """Fetch the missing files of a set that have an address.

    Nothing is kept whose SHA-256 sum is wrong, and no file that is there is replaced.
    """
    entry = data_set(name)
    before = check(name, folder)
    if before.changed:
        raise ao.InputError(f"{name} in {folder}: {before}; move away what differs, and fetch again")
    by_url: dict[str, list[str]] = {}
    for path in before.missing:
        if path in entry.addresses:
            by_url.setdefault(entry.addresses[path].url, []).append(path)
    if before.missing and not by_url:
        page = f" ({entry.page})" if entry.page else ""
        raise ao.InputError(f"{name} has no stable address: get it from {entry.source}{page}, and put it into {folder}")
    for url, paths in by_url.items():
        with tempfile.TemporaryDirectory(prefix="anchorot-") as temporary:
            fetched = _retrieve(url, temporary)
            for path in paths:
                content = _content(fetched, entry.addresses[path].member, url)
                if sha256(content).hexdigest() != entry.sums[path]:
                    raise ao.InputError(f"{url}: its {path} differs from its SHA-256 sum, and is not kept")
                _keep(content, folder / path)
    return check(name, folder)


def _retrieve(url: str, folder: str) -> Path:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(pooch.retrieve(url, known_hash=None, fname="fetched", path=folder))
    except Exception as error:  # whatever requests, sockets or proxies raise
        raise ao.AnchorotError(f"{url} cannot be fetched ({_first_line(error)})") from None


def _content(fetched: Path, member: str | None, url: str) -> bytes:
    """Return the bytes of a fetched file or of one member of it, and never more than any file can have."""
    if member is None:
        return fetched.read_bytes()
    try:
        with ZipFile(fetched) as archive, archive.open(member) as handle:
            return handle.read(MAX_FILE_BYTES)
    except Exception as error:  # an archive may hold anything
        raise ao.InputError(f"{url} is no archive with {member} in it ({_first_line(error)})") from None


def _keep(content: bytes, file: Path) -> None:
    """Write a file that appears whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.part")
    partial.write_bytes(content)
    partial.replace(file)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of the sets.", show_default="ANCHOROT_DATA, or ../shared/data")
]


@app.command(name="list")
def list_sets() -> None:
    """List the sets: where each comes from, on which terms, and whether it can be fetched."""
    table = Table("name", "files", "availability", "licence", "source")
    for own in data_sets().values():
        table.add_row(own.name, str(len(own.sums)), own.availability, own.licence, own.source)
    Console().print(table)


@app.command(name="fetch")
def fetch_command(name: str, data: DataOption = None) -> None:
    """Fetch the files of a set that are missing and have an address."""
    print(f"{name} in {data_folder(data)}: {fetch(name, data_folder(data))}")


@app.command(name="check")
def check_command(name: str, data: DataOption = None) -> None:
    """Compare the files of a set with their SHA-256 sums."""
    found = check(name, data_folder(data))
    print(f"{name} in {data_folder(data)}: {found}")
    if not found.is_complete:
        raise typer.Exit(1)


def main() -> None:
    """Run the command; bad input ends in one line on standard error and status 2."""
    try:
        app(prog_name="python -m experiments.data")
    except (ao.AnchorotError, OSError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
