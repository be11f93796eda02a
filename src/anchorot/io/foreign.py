"""Other people's readers, on files that may hold anything."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from anchorot.exceptions import AnchorotError, InputError, first_line


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """Turn whatever another library raises on a broken file into one clear line.

    Its warnings are left alone: to catch them would change the filters that all threads share. Those of NumPy's
    arithmetic are of no use here, and can be kept quiet in this thread alone.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (AnchorotError, OSError) as error:
        if isinstance(error, AnchorotError) or error.filename is not None:
            raise  # what the system has to say about a file is said as it is
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None
    except Exception as error:
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None
