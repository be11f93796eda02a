"""Make links and images in README.md absolute, for the package index, which shows the file without the repository.

Run `python .github/absolute_links.py` before a release is built. It needs `Source` in [project.urls] of pyproject.toml.
"""

import re
import sys
import tomllib
from pathlib import Path

LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^()\s]+)(?=\))")


def absolute(text: str, address: str, version: str) -> str:
    """Return the text with every relative link leading to the file of this version."""

    def lead(found: re.Match[str]) -> str:
        kind = "raw" if found[1].endswith(".png") else "blob"
        return f"{address.rstrip('/')}/{kind}/v{version}/{found[1]}"

    return LINK.sub(lead, text)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "Source" not in project.get("urls", {}):
        sys.exit("pyproject.toml has no Source in [project.urls]; add the address of the repository")
    readme = Path(project["readme"])
    text = absolute(readme.read_text(encoding="utf-8"), project["urls"]["Source"], project["version"])
    readme.write_text(text, encoding="utf-8")
