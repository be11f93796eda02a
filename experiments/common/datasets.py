"""Real data sets: where they lie, and how to get them."""

import os
from collections.abc import Iterable
from pathlib import Path

import anchorot as ao


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder given, that of the variable ANCHOROT_DATA, or `shared/data` beside the checkout."""
    usual = Path(__file__).parents[3] / "shared" / "data"
    return Path(folder or os.environ.get("ANCHOROT_DATA") or usual)


def find_data(names: Iterable[str], folder: Path) -> dict[str, Path]:
    """Return where each data set lies; those that are not there are named, with where they come from."""
    paths = {name: folder / name for name in names}
    missing = [name for name, path in paths.items() if not path.exists()]
    if missing:
        origins = "; ".join(_origin(ao.datasets.registry()[name]) for name in missing)
        raise ao.InputError(
            f"there is no {', '.join(missing)} in {folder}; say where with --data or ANCHOROT_DATA. {origins}"
        )
    return paths


def _origin(entry: ao.datasets.RegisteredSet) -> str:
    fetched = f": anchorot datasets fetch {entry.name} -o FOLDER" if entry.addresses else ""
    return f"{entry.name} is {entry.what}, from {entry.source} ({entry.availability}{fetched})"
