"""What a file is called, and what its name says of what it holds."""

from pathlib import Path

GZIP = ".gz"
READ_IN_PLACE = (".h5ad", ".mat", ".npy", ".npz")  # by parts, so not from within a .gz file


def name_of(file: Path) -> str:
    """Return the name without its folder, or the path as it is where it has no name: "." or "/"."""
    return file.name or str(file)


def full_ending(file: Path) -> str:
    """Return the ending in lower case, with what stands before .gz."""
    ending = file.suffix.lower()
    return Path(file.stem).suffix.lower() + ending if ending == GZIP else ending


def ending_of(file: Path) -> str:
    """Return the ending that says what a file holds: .csv of both a.csv and a.csv.gz."""
    ending = full_ending(file)
    inner = ending.removesuffix(GZIP)
    return ending if inner in ("", *READ_IN_PLACE) else inner


def stem_of(file: Path) -> str:
    """Return the name without its ending."""
    return Path(file.stem).stem if is_gzipped(file) else file.stem


def is_gzipped(file: Path) -> bool:
    """Whether the name says that the content is packed by gzip."""
    return file.suffix.lower() == GZIP
