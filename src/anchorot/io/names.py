"""Names and endings of files."""

from pathlib import Path

GZIP = ".gz"
READ_IN_PLACE = (".h5ad", ".mat", ".npy", ".npz")  # read in parts, so not from a .gz file


def name_of(file: Path) -> str:
    """Return the name without its folder; the path itself if it has no name ("." or "/")."""
    return file.name or str(file)


def full_ending(file: Path) -> str:
    """Return the ending in lower case; for .gz files, with the ending before it."""
    ending = file.suffix.lower()
    return Path(file.stem).suffix.lower() + ending if ending == GZIP else ending


def ending_of(file: Path) -> str:
    """Return the ending that determines the format: .csv for both a.csv and a.csv.gz."""
    ending = full_ending(file)
    inner = ending.removesuffix(GZIP)
    return ending if inner in ("", *READ_IN_PLACE) else inner


def stem_of(file: Path) -> str:
    """Return the name without its ending."""
    return Path(file.stem).stem if is_gzipped(file) else file.stem


def is_gzipped(file: Path) -> bool:
    """Whether the name says that the file is compressed by gzip."""
    return file.suffix.lower() == GZIP
