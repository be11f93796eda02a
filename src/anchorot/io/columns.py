"""Named columns of data about points, from which types and features are taken."""

from collections.abc import Iterator, Mapping
from typing import Any

from anchorot.exceptions import InputError

MAX_NAMES = 20  # listed in a message


class Columns:
    """Named columns of data about points: one number, text or vector per point.

    Parameters
    ----------
    kind : str
        What messages call a column, such as "node attribute".
    values : mapping of str to sequence, optional
        Looked up on demand; None means a missing value.
    ids : mapping of str to sequence, optional
        The same columns read as identifiers: in text files, "001" and "1" are equal numbers but different names.
    """

    def __init__(
        self, kind: str, values: Mapping[str, Any] | None = None, ids: Mapping[str, Any] | None = None
    ) -> None:
        self.kind = kind
        self._values: Mapping[str, Any] = {} if values is None else values
        self._ids: Mapping[str, Any] = {} if ids is None else ids

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            names = list(self._values)
            if name in names:
                raise InputError(f"the {self.kind} {name!r} is None everywhere; choose another one")
            listed = ", ".join(str(name)[:60] for name in names[:MAX_NAMES]) + ", ..." * (len(names) > MAX_NAMES)
            raise InputError(f"no {self.kind} is called {name!r}; there {f'are: {listed}' if listed else 'are none'}")
        return self._values[name]

    def ids(self, name: str) -> Any:
        """Return a column's values as identifiers."""
        return self._ids[name] if name in self._ids else self[name]
