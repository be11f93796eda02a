"""Versions of anchorot and its dependencies, and the kernels in use."""

import platform
from functools import cache
from importlib import metadata

from anchorot._kernels import kernels
from anchorot.exceptions import AnchorotError

__all__ = ["show_config"]

__version__ = metadata.version("anchorot")

OPTIONAL_PACKAGES = (
    *("matplotlib", "plotly", "POT", "networkx", "rustworkx", "trimesh", "pygeodesic", "h5py", "gemmi"),
    *("dask", "faiss-cpu", "scikit-learn", "torch"),
)


def config() -> dict[str, str]:
    """Return the kernels in use and the relevant versions, by name."""
    found = {
        "anchorot": __version__,
        "kernels": kernels.description(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for package in ("numpy", "scipy", *OPTIONAL_PACKAGES):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def show_config() -> None:
    """Print which kernels (native with its SIMD level, or numpy) and which versions are in use.

    ``ANCHOROT_KERNELS=numpy`` in the environment forces the NumPy kernels; ``ANCHOROT_SIMD=avx2`` or ``baseline``
    restricts the native ones to the instructions of older processors.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.config.show_config()  # doctest: +ELLIPSIS
    anchorot...
    """
    found = config()
    width = max(map(len, found)) + 2
    for name, value in found.items():
        print(f"{name:<{width}}{value}")


@cache
def installed_software(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions that the last bits of a result depend on: anchorot, the given packages and the kernels."""
    versions = config()
    versions["kernels"] = versions["kernels"].partition(" ")[0]  # all instruction sets give the same bits
    return {name: versions[name] for name in ("anchorot", *packages, "kernels")}


def check_software(found: dict[str, str], wanted: dict[str, str], worker: str) -> None:
    """Raise if a worker's software differs from the caller's."""
    for name, version in wanted.items():
        if found.get(name) != version:
            raise AnchorotError(
                f"{worker}: {name} is {found.get(name)!r} there and {version!r} here, which changes the last bits of "
                "values; install the same versions on all workers"
            )
