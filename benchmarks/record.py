"""The record of all measurements, `record.toml`: what scripts have measured, with command, machine and commit.

A `[[section]]` is one run of one command. Its parts are texts (the conditions) and tables: `columns`, and `rows` of as
many cells. A cell is

    "scans, n=400"                              text: a condition, or a remark
    0.867                                       a number, with the digits that were measured
    { value = 98, unit = "ms" }                 a quantity: what it may have is listed in FIELDS
    { hits = 0.867, time = { value = … } }      several of them, by name

Scripts hand over a table in Markdown, and `cell` reads it. A measurement by
hand may be typed as text, "98 ms"; `python -m experiments.fill` rewrites it as a quantity, then generates `RESULTS.md`.
"""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("record.toml")
INTRODUCTION = """\
# Every measurement, written by the scripts in benchmarks/ (`--write`) or, where `by_hand` is set, typed in after a run.
# `python -m experiments.fill` makes RESULTS.md and the figures on all pages from it.
"""
RELATIONS = ("about", "above", "at least", "at most", "below", "up to", "within", "<=")
FIELDS = ("relation", "value", "values", "deviation", "low", "high", "of", "unit", "ratio", "extrapolated")
VALUES = ("value", "values", "low")  # a quantity has one of these
LABELS = ("what", "work", "method", "embeddings")  # with the first column of a table, these say what was measured
TIMES = ("s", "ms", "µs", "ns", "min", "h")
MEMORY = ("kB", "MB", "GB", "GiB")
NUMBER = r"[-+]?\d{1,3}(?:[ ,]\d{3})+(?![\d.])|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
AMOUNT = re.compile(
    rf"""(?:(?P<relation>{"|".join(map(re.escape, RELATIONS))})\ )?
    (?:(?P<least>{NUMBER})\ to\ (?P<most>{NUMBER})
      |(?P<values>(?:(?:{NUMBER}),\ )*(?:{NUMBER})\ and\ (?:{NUMBER}))
      |(?P<value>{NUMBER})(?:\ ±\ (?P<deviation>{NUMBER}))?
       (?:\ \((?P<low>{NUMBER})\ to\ (?P<high>{NUMBER})\))?
       (?:\ of\ (?P<of>{NUMBER}))?)
    (?:(?:\ |(?=%))(?P<unit>(?:[^\d,;:()]+\ )?below\ \d+|[^\d,;:()]+))?
    (?:\ \((?P<ratio>{NUMBER})\))?""",
    re.VERBOSE,
)

Section = dict[str, Any]
Cell = Any  # text, a number, a quantity or several of these by name


class Number(float):
    """A number that remembers how it was written: 1.00 has two decimals."""

    text: str

    def __new__(cls, text: str) -> "Number":
        """Return the number that a text is, and keep the text."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text


def put(command: str, text: str, record: Path = RECORD) -> None:
    """Put what a command has printed into the record, in place of its last run."""
    sections = read(record) if record.exists() else []
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


def read(record: Path = RECORD) -> list[Section]:
    """Return the sections of a record; cells that were typed as text are read as `cell` does."""
    sections: list[Section] = tomllib.loads(record.read_text(encoding="utf-8"), parse_float=Number)["section"]
    for section in sections:
        for part in section["part"]:
            if "rows" in part:
                part["rows"] = _rows(part["columns"], part["rows"])
    return sections


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
        found.append({"columns": head, "rows": _rows(head, rows)})
    return found


def _rows(columns: list[str], rows: list[list[Cell]]) -> list[list[Cell]]:
    """Return the rows of a table with all cells read; a label is text, or a plain number."""
    labels = {columns[0], *LABELS}
    return [
        [
            entry if not isinstance(entry, str) or (name in labels and not re.fullmatch(NUMBER, entry)) else cell(entry)
            for name, entry in zip(columns, row, strict=True)
        ]
        for row in rows
    ]


def cell(text: str) -> Cell:
    """Return a number, a quantity or several of them by name, as the text has them; other text as it is.

    Examples: "98 ms", "at most 5 s", "0.05 (0.02 to 0.08)", "0.84 ± 0.10", "6.1 to 8.9 s", "0.9 of 800", "7.1 and 7.9",
    "good 0.16, hits 0.32; 0.23 s, 1.95 over POT", "66 ms (2.30)" with a ratio, and "1.71 (99 ms / 59 ms)": a ratio, and
    the two that it is of.
    """
    single = quantity(text)
    if single is not None:
        return single
    if of_both := re.fullmatch(rf"({NUMBER}) \(([^/]+) / ([^/]+)\)(.*)", text):
        ratio, one, other, rest = of_both.groups()
        text = f"ratio {ratio}, of {one}, over {other}{rest}"
    named: dict[str, Cell] = {}
    for piece in [text] if _named(text)[1] is not None else re.split("[,;] ", text):
        name, found = _named(piece)
        if found is None or name in (*named, *VALUES):
            return text
        named[name] = found
    return named


def _named(piece: str) -> tuple[str, Cell]:
    """Return the name and the quantity of "hits 0.32", "0.23 s", "459 s by the clock" or "1.95 over POT"."""
    found = quantity(piece)
    if found is not None:
        unit = found.get("unit", "") if isinstance(found, dict) else ""
        symbol, _, tail = unit.partition(" ")
        named = (tail or _dimension(symbol)) if _dimension(symbol) else unit
        return re.sub("^(of|by) (the )?", "", named), found if named else None
    words = piece.split(" ")
    for k in range(1, len(words)):
        name, found = " ".join(words[:k]), quantity(" ".join(words[k:]))
        if found is not None:
            return name.removesuffix(":").removesuffix(" ="), None if re.search(r"[\d()/+]", name) else found
    return "", None


def _dimension(symbol: str) -> str:
    """Return what a unit measures, or nothing if it is none that is known."""
    known = {"%": "share", **dict.fromkeys(TIMES, "time"), **dict.fromkeys(MEMORY, "memory")}
    return known.get(symbol, "")


def quantity(text: str) -> Cell:
    """Return the number or the quantity that a text is, or None."""
    extrapolated = bool(re.fullmatch(r"\*.+\*", text))
    found = AMOUNT.fullmatch(text.strip("*") if extrapolated else text)
    if not found:
        return None
    groups = {{"least": "low", "most": "high"}.get(name, name): its for name, its in found.groupdict().items() if its}
    have: dict[str, Cell] = {
        name: its if name in ("relation", "unit") else number(its) for name, its in groups.items() if name != "values"
    }
    if "values" in groups:
        have["values"] = [number(its) for its in re.split(", | and ", groups["values"])]
    if extrapolated:
        have["extrapolated"] = True
    return have["value"] if have.keys() == {"value"} else {name: have[name] for name in FIELDS if name in have}


def number(text: str) -> int | Number:
    """Return a number that may have its thousands apart: "10 878" or "1,000"."""
    plain = re.sub("[ ,]", "", text)
    return int(plain) if re.fullmatch(r"-?\d+", plain) else Number(plain)


def shown(entry: Cell) -> str:
    """Return a cell as text."""
    if isinstance(entry, int):
        return f"{entry:,}".replace(",", " ")
    if not isinstance(entry, dict):
        return str(entry)
    if not is_quantity(entry):
        return ", ".join(_with_name(name, its) for name, its in entry.items())
    low, high, values = (entry.get(name) for name in ("low", "high", "values"))
    between = f"{shown(low)} to {shown(high)}" if low is not None else ""
    words = [entry.get("relation", "")]
    if values:
        words.append(", ".join(map(shown, values[:-1])) + f" and {shown(values[-1])}")
    elif "value" in entry:
        words.append(shown(entry["value"]))
        words.append(f"± {shown(entry['deviation'])}" if "deviation" in entry else "")
        words.append(f"({between})" if between else "")
        words.append(f"of {shown(entry['of'])}" if "of" in entry else "")
    else:
        words.append(between)
    words += [entry.get("unit", ""), f"({shown(entry['ratio'])})" if "ratio" in entry else ""]
    text = " ".join(filter(None, words))
    return f"*{text}*" if "extrapolated" in entry else text


def _with_name(name: str, entry: Cell) -> str:
    """Return a quantity with its name, unless its unit says it."""
    unit = entry.get("unit", "") if isinstance(entry, dict) else ""
    said = unit == name or unit.endswith(f" {name}") or _dimension(unit) == name
    return shown(entry) if said else f"{name} {'= ' * (len(name) == 1)}{shown(entry)}"


def is_quantity(entry: dict[str, Cell]) -> bool:
    """Whether a cell is one quantity, rather than several by name."""
    return not entry.keys().isdisjoint(VALUES)


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
    r"""Return a value as TOML; text as JSON has it, but for line breaks, which stay in long texts."""
    if isinstance(value, dict):
        keys = (name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _quoted(name) for name in value)
        return "{ " + ", ".join(f"{key} = {_quoted(its)}" for key, its in zip(keys, value.values(), strict=True)) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    if isinstance(value, Number):
        return value.text
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + json.dumps(value, ensure_ascii=False)[1:-1].replace("\\n", "\n") + '"""'
    return json.dumps(value, ensure_ascii=False)
