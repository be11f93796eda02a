"""The provenance of a space: its file, and the options it was read with. Distances do not use it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any

from anchorot.exceptions import InputError, printable

MAX_ORIGIN_LENGTH = 1 << 16  # characters of an origin in a file


@dataclass(frozen=True)
class Origin:
    """Where a space came from.

    Attributes
    ----------
    path : str
        The file, as passed to the reader; in files from `write` and `convert`, only its name.
    options : mapping
        Options of :func:`anchorot.read` that differ from the defaults, and the seed of random draws.
    sha256 : str or None
        Digest of the file, if `convert` computed one.
    version : str or None
        The version of anchorot that read it, in files from `write` and `convert`.
    source : Origin or None
        For a file with a stored space: that space's own origin.

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
        parts = [self.name, *(f"{name}={value!r}" for name, value in self.options.items())]
        return printable(", ".join(parts)) + ("" if self.source is None else f"; originally {self.source}")

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return PurePath(self.path).name

    @property
    def reading(self) -> dict[str, Any]:
        """All options, including those of the source."""
        return {**({} if self.source is None else self.source.reading), **self.options}

    def packed(self, version: str) -> str:
        """Return JSON for a file; folders are left out, since they mean nothing on another machine."""
        return json.dumps({"version": version, **_known(asdict(self))}, default=str)


def _known(about: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are set, with the path reduced to a name."""
    source = about.pop("source")
    known = {name: value for name, value in about.items() if value is not None} | {"path": PurePath(about["path"]).name}
    return known if source is None else {**known, "source": _known(source)}


def unpack_origin(text: Any) -> Origin:
    """Parse the origin recorded in a file; raise `InputError` if it is invalid."""
    try:
        if len(str(text)) > MAX_ORIGIN_LENGTH:
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
