"""Files that appear whole or not at all."""

from pathlib import Path
from tempfile import TemporaryDirectory


def write_whole(path: Path, text: str) -> None:
    """Write a text beside its place, then move it there: an interrupted run leaves the old one."""
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.stem}-") as folder:
        part = Path(folder) / path.name
        part.write_text(text, encoding="utf-8")
        part.replace(path)
