"""The software that the last bits of a value depend on: all workers must have the same."""

from functools import cache

from anchorot.config import config
from anchorot.exceptions import AnchorotError


@cache
def installed_software(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of anchorot and of some packages, and the kernels in use, all by name."""
    versions = config()
    versions["kernels"] = versions["kernels"].partition(" ")[0]  # all instruction sets give the same bits
    return {name: versions[name] for name in ("anchorot", *packages, "kernels")}


def check_software(found: dict[str, str], wanted: dict[str, str], worker: str) -> None:
    """Refuse a worker whose software is not the caller's."""
    for name, version in wanted.items():
        if found.get(name) != version:
            raise AnchorotError(
                f"{worker}: {name} is {found.get(name)!r} there and {version!r} here, which changes the last bits of "
                "values; give all workers the software of the process that hands out the work"
            )
