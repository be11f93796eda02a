"""Where a space comes from: the file it was read from, and with which options. Never used to compare it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any

from anchorot.exceptions import InputError, printable

MOST_LETTERS = 1 << 16  # of an origin in a file


@dataclass(frozen=True)
class Origin:
    """Where a space came from.

    Attributes
    ----------
    path : str
        The file, as its reader was given it; in files that `write` and `convert` make, its name alone.
    options : mapping
        Options of :func:`read` that were not the defaults, and of draws the seed.
    sha256 : str or None
        Digest of the file, where `convert` took one.
    version : str or None
        The anchorot that read it, in files that `write` and `convert` make.
    source : Origin or None
        For a file that holds a stored space: where that came from.

    Examples
    --------
    >>> import anchorot as ao
    >>> print(ao.io.Origin("shapes/cat.off", {"n_points": 200, "rng": 0}))
    cat.off, n_points=200, rng=0
    """

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sha256: str | None = None
    version: str | None = None
    source: Origin | None = None

    def __str__(self) -> str:
        said = [self.name, *(f"{name}={value!r}" for name, value in self.options.items())]
        return printable(", ".join(said)) + ("" if self.source is None else f"; that of {self.source}")

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return PurePath(self.path).name

    @property
    def reading(self) -> dict[str, Any]:
        """All options that had a part in it, those of the source included."""
        return {**({} if self.source is None else self.source.reading), **self.options}

    def packed(self, version: str) -> str:
        """As text, for a file; folders are left out, for they mean nothing elsewhere."""
        return json.dumps({"version": version, **_known(asdict(self))}, default=str)


def _known(about: dict[str, Any]) -> dict[str, Any]:
    """What is there of an origin, with names for paths."""
    source = about.pop("source")
    known = {name: value for name, value in about.items() if value is not None} | {"path": PurePath(about["path"]).name}
    return known if source is None else {**known, "source": _known(source)}


def unpack_origin(text: Any) -> Origin:
    """The origin that a file records; an `InputError` if it is not one."""
    try:
        if len(str(text)) > MOST_LETTERS:
            raise InputError("its origin is too long")
        return _origin(json.loads(str(text)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"its origin cannot be read ({error})") from None


def _origin(about: dict[str, Any]) -> Origin:
    texts = {name: about.get(name) for name in ("path", "sha256", "version")}
    options, source = about.get("options", {}), about.get("source")
    if not isinstance(texts["path"], str) or not all(type(value) in (str, type(None)) for value in texts.values()):
        raise InputError(f"path, sha256 and version must be text, but got {texts}")
    return Origin(**texts, options=dict(options), source=None if source is None else _origin(source))  # type: ignore[arg-type]
