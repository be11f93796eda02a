"""The record of all measurements, `record.toml`: what scripts have measured, with command, machine and commit.

A `[[section]]` is one run of one command. Its parts are texts (the conditions) and tables: `columns`, and `rows` of as
many cells. A cell is text: a value with its unit, such as "98 ms". `python -m experiments.fill` generates `RESULTS.md`
from the record.
"""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("record.toml")
INTRODUCTION = """\
# Every measurement, written by the scripts in benchmarks/ (`--write`) or, where `by_hand` is set, typed in after a run.
# `python -m experiments.fill` makes RESULTS.md and the figures on all pages from it.
"""
Section = dict[str, Any]


def put(command: str, text: str, record: Path = RECORD) -> None:
    """Put what a command has printed into the record, in place of its last run."""
    sections = tomllib.loads(record.read_text(encoding="utf-8"))["section"] if record.exists() else []
    new = {
        "command": command,
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "commit": commit(),
        "part": parts(text),
    }
    places = [
        place for place, section in enumerate(sections) if section["command"] == command and "by_hand" not in section
    ]
    if places:
        sections[places[0]] = new
    else:
        sections.append(new)
    record.write_text(to_toml(sections), encoding="utf-8")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown processor"


def commit() -> str:
    """Return the short name of the commit that is checked out."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=RECORD.parent, stdout=subprocess.PIPE, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def parts(text: str) -> list[Section]:
    """Return the texts and tables of a page of Markdown."""
    found: list[Section] = []
    for block in filter(None, (block.strip() for block in text.split("\n\n"))):
        lines = block.splitlines()
        if not lines[0].startswith("|"):
            found.append({"text": block})
            continue
        head, _, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
        found.append({"columns": head, "rows": rows})
    return found


def to_toml(sections: list[Section]) -> str:
    """Return the record as text, one row of a table per line."""
    lines = [INTRODUCTION]
    for section in sections:
        lines.append("[[section]]")
        lines += [f"{key} = {_quoted(value)}" for key, value in section.items() if key != "part"]
        for part in section["part"]:
            lines += ["", "[[section.part]]"]
            if "text" in part:
                lines.append(f"text = {_quoted(part['text'])}")
            else:
                rows = [f"    {_quoted(row)}," for row in part["rows"]]
                lines += [f"columns = {_quoted(part['columns'])}", "rows = [", *rows, "]"]
        lines.append("")
    return "\n".join(lines)


def _quoted(value: object) -> str:
    r"""Return text, truth or a list of texts as TOML: as JSON, but for line breaks, which stay in long texts."""
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + json.dumps(value, ensure_ascii=False)[1:-1].replace("\\n", "\n") + '"""'
    return json.dumps(value, ensure_ascii=False)
