"""Numbers of the experiments in pages of the documentation: put there from the results, never typed.

A page asks for what it wants between two comments, and what stands between them is replaced:

    <!-- results: value power | crossed, AE | .2f -->0.05<!-- /results -->
    <!-- results: cell beyond | cells.csv | data=scGEM; method=align | FOSCTTM -->0.208 ± 0.013<!-- /results -->
    <!-- results: claims trade_off -->  a table of all claims of an experiment  <!-- /results -->
    <!-- results: verdict barycenters | 1 -->holds in part<!-- /results -->
    <!-- results: verdicts -->  how many claims of each experiment hold  <!-- /results -->
"""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import anchorot as ao
from experiments.common.files import write_whole
from experiments.common.page import EARLIER, duration, markdown_table
from experiments.common.study import SUMMARY, Verdict, is_earlier

REGION = re.compile(r"<!-- results: (?P<wanted>.*?) -->(?P<text>.*?)<!-- /results -->", re.DOTALL)
PAGES = ("README.md", "docs/*.md")


class Results:
    """The answers that experiments wrote into a folder, in the order of the names."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder = folder
        self.summaries: dict[str, dict[str, Any]] = {
            name: json.loads((folder / name / SUMMARY).read_text(encoding="utf-8"))
            for name in names
            if (folder / name / SUMMARY).exists()
        }

    def text(self, wanted: str) -> str:
        """Return what a page asks for."""
        first, *parts = wanted.split(" | ")
        kind, *names = first.split()
        try:
            if kind == "verdicts":
                return self._verdicts()
            return str(getattr(self, f"_{kind}")(*names, *parts))
        except (AttributeError, KeyError, StopIteration, TypeError, ValueError, OSError):
            raise ao.InputError(
                f"a page asks for {wanted!r}, which {self.folder} does not have; run that experiment, or ask otherwise"
            ) from None

    def _value(self, name: str, key: str, form: str = ".3g") -> str:
        return format(self.summaries[name]["values"][key]["value"], form)

    def _cell(self, name: str, file: str, where: str, column: str, form: str = "") -> str:
        """One entry of a table, of the first row that has the given entries."""
        wanted = dict(pair.split("=", 1) for pair in where.split("; "))
        with (self.folder / name / file).open(newline="", encoding="utf-8") as handle:
            row = next(row for row in csv.DictReader(handle) if all(row[key] == its for key, its in wanted.items()))
        return format(float(row[column]), form) if form else row[column]

    def _verdict(self, name: str, number: str) -> str:
        """Whether the claim of that number, from 1 on, holds."""
        return str(dict(enumerate(self.summaries[name]["claims"], 1))[int(number)]["verdict"])

    def _claims(self, name: str) -> str:
        """Every claim of an experiment with its verdict, how to run it, and where more is said."""
        summary = self.summaries[name]
        more = f"[RESULTS.md](../experiments/results/RESULTS.md#{name})"
        how = f"`python -m experiments {name}`, {duration(summary)} on {summary['machine']}"
        lines = [f"\nRun by {how}; tables and pictures are in {more}.\n"]
        lines += [f"{EARLIER}\n"] if is_earlier(name, summary) else []
        for number, claim in enumerate(summary["claims"], 1):
            lines.append(f"{number}. *{claim['paper']}*\n   - Found: {claim['ours']}")
            lines.append(f"   - **{claim['verdict'].capitalize()}.** {claim['why']}")
        lines += ["\nHow it was done, and where it differs:\n" if summary["notes"] else ""]
        lines += [f"- {note}" for note in summary["notes"]]
        return "\n".join(lines).rstrip() + "\n"

    def _verdicts(self) -> str:
        """How many claims of each experiment hold."""
        rows = []
        for name, summary in self.summaries.items():
            found = Counter(claim["verdict"] for claim in summary["claims"])
            title = summary["title"] + " (earlier form)" * is_earlier(name, summary)
            rows.append({"experiment": title} | {str(verdict): found[verdict] or "" for verdict in Verdict})
        return f"\n{markdown_table(rows)}"


def filled(text: str, results: Results) -> str:
    """Return a page with all that it asks for."""
    if text.count("<!-- results: ") != len(REGION.findall(text)):
        raise ao.InputError("a region of results is not closed; end it with <!-- /results -->")

    def region(found: re.Match[str]) -> str:
        return f"<!-- results: {found['wanted']} -->{results.text(found['wanted'])}<!-- /results -->"

    return REGION.sub(region, text)


def pages(checkout: Path) -> list[Path]:
    """Pages that ask for results."""
    paths = [path for pattern in PAGES for path in sorted(checkout.glob(pattern))]
    return [path for path in paths if "<!-- results: " in path.read_text(encoding="utf-8")]


def fill(checkout: Path, results: Results) -> list[Path]:
    """Bring all pages up to date; return those that changed."""
    changed = []
    for path in pages(checkout):
        old = path.read_text(encoding="utf-8")
        new = filled(old, results)
        if new != old:
            write_whole(path, new)
            changed.append(path)
    return changed
