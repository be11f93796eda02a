"""Reject a release without the project's address, of another version than the tag, or without the C++ kernels."""

import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any


def faults(folder: Path, ref: str, project: dict[str, Any]) -> list[str]:
    """Return the problems with the files of a release, one line each."""
    found, version = [], project["version"]
    if ref.startswith("refs/tags/"):
        if ref != f"refs/tags/v{version}":
            found.append(f"the tag is {ref.removeprefix('refs/tags/')}, but pyproject.toml says {version}")
        if "Source" not in project.get("urls", {}):
            found.append("pyproject.toml has no Source in [project.urls]; add the address of the repository")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    wheels = [path for path in files if path.suffix == ".whl"]
    if not wheels:
        found.append(f"no wheel in {folder}")
    names = (f"anchorot-{version}-", f"anchorot-{version}.tar.gz")
    found += [f"{path.name} is not of version {version}" for path in files if not path.name.startswith(names)]
    return found + [f"{path.name} has no C++ kernels" for path in wheels if not _has_kernels(path)]


def _has_kernels(wheel: Path) -> bool:
    names = zipfile.ZipFile(wheel).namelist()
    return any(re.fullmatch(r"anchorot/_kernels/_native\.(.+\.)?(so|pyd)", name) for name in names)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    sys.exit("\n".join(faults(Path(sys.argv[1]), sys.argv[2], project)) or None)
