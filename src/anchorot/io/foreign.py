"""Other people's readers, on files that may hold anything."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anchorot.exceptions import AnchorotError, InputError, first_line

LARGEST_EXPANSION = 1032  # what deflate, the compression of all these formats, can make of one byte


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Begin the message of every `InputError` with the name of the file that it is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """Turn whatever another library raises on a broken file into one clear line, and keep its warnings quiet."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (AnchorotError, OSError) as error:
        if isinstance(error, AnchorotError) or error.filename is not None:
            raise  # what the system has to say about a file is said as it is
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None
    except Exception as error:
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None


def check_claim(claimed_bytes: int, file: Path, what: str) -> None:
    """Refuse a header that promises more than the file can hold, however well it is compressed."""
    size = file.stat().st_size
    if claimed_bytes > LARGEST_EXPANSION * size:
        raise InputError(f"its header promises {claimed_bytes / 1e9:.3g} GB of {what}, but the file has {size} bytes")
