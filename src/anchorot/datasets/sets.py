"""The sets of the experiments: where each comes from, on which terms, and what its files must be, to the bit."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from anchorot._html import card
from anchorot.exceptions import InputError


@dataclass(frozen=True)
class Address:
    """Where one file can be had: at a URL, and in which member if that is an archive."""

    url: str
    member: str | None = None


@dataclass(frozen=True)
class RegisteredSet:
    """A set of files that experiments are run on.

    Attributes
    ----------
    name : str
        Also the name of its folder, or file, among the data.
    what, source, licence : str
        What it is, where it comes from, and on which terms, as far as they are known.
    sums : mapping of str to str
        SHA-256 of every file, by its path among the data.
    addresses : mapping of str to Address
        Where files can be had; those without a stable address are not in it.
    page : str or None
        A page of its makers.
    shipped : bool
        Whether it comes with anchorot.
    """

    name: str
    what: str
    source: str
    licence: str
    sums: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, Address] = field(default_factory=dict, repr=False)
    page: str | None = None
    shipped: bool = False

    @property
    def availability(self) -> str:
        """How its files can be had, in a few words."""
        if self.shipped:
            return "comes with anchorot"
        if not self.addresses:
            return "no stable address known"
        n, n_files = len(self.addresses), len(self.sums)
        return "can be fetched" if n == n_files else f"{n} of {n_files} files can be fetched"

    def _repr_html_(self) -> str:
        facts = {name: getattr(self, name) for name in ("what", "source", "licence", "page", "availability")}
        return card(f"RegisteredSet {self.name}", facts | {"files": len(self.sums)})


def registered(name: str) -> RegisteredSet:
    """Return a set of the registry by its name."""
    sets = registry()
    if name not in sets:
        raise InputError(f"name must be among {', '.join(sets)}, but got {name!r}")
    return sets[name]


@cache
def registry() -> Mapping[str, RegisteredSet]:
    """Return the sets that the experiments use, by name, with their sources, licences, sums and addresses.

    Returns
    -------
    mapping of str to RegisteredSet

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.registry()["tosca_nonrigid3d"].availability
    'no stable address known'
    """
    here = files("anchorot.datasets")
    sums: dict[str, dict[str, str]] = {}
    for line in (here / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, path = line.split(maxsplit=1)
        sums.setdefault(path.split("/")[0], {})[path] = digest
    told = tomllib.loads((here / "registry.toml").read_text("utf-8"))
    return {name: _set(name, about, sums[name]) for name, about in told.items()}


def _set(name: str, about: dict[str, Any], sums: dict[str, str]) -> RegisteredSet:
    rules = about.pop("from", [])
    found = {path: _address(path, rules) for path in sums}
    addresses = {path: address for path, address in found.items() if address is not None}
    return RegisteredSet(name, sums=sums, addresses=addresses, **about)


def _address(path: str, rules: list[dict[str, str]]) -> Address | None:
    """Where a file can be had, by the first rule for the beginning of its path."""
    rule = next((rule for rule in rules if path.startswith(rule["files"])), None)
    if rule is None:
        return None
    rest = path.removeprefix(rule["files"])
    return Address(rule["archive"], rule["inside"] + rest) if "archive" in rule else Address(rule["address"] + rest)
