"""The kernels: arrays in, arrays out, nothing checked. Native C++ where it was built, NumPy everywhere.

``ANCHOROT_KERNELS=numpy`` in the environment chooses NumPy, ``native`` insists on C++; by default C++ is taken if it
is there.
"""

import os
from typing import TYPE_CHECKING

from anchorot.exceptions import AnchorotError, InputError

if TYPE_CHECKING:
    from anchorot._kernels.protocol import Kernels

__all__ = ["kernels"]


def _choose(wanted: str) -> "Kernels":
    if wanted not in ("", "native", "numpy"):
        raise InputError(f"ANCHOROT_KERNELS must be 'native' or 'numpy', but got {wanted!r}")
    if wanted != "numpy":
        try:
            from anchorot._kernels import native

            return native
        except ImportError as error:
            if wanted == "native":
                raise AnchorotError(f"ANCHOROT_KERNELS=native, but the C++ kernels were not built: {error}") from None
    from anchorot._kernels import numpy

    return numpy


kernels = _choose(os.environ.get("ANCHOROT_KERNELS", ""))
