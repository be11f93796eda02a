"""RESULTS.md: one page of all results, made from the summaries that the experiments wrote."""

import json
from pathlib import Path
from typing import Any

from experiments.common.files import write_whole
from experiments.common.rules import RULES
from experiments.common.study import SUMMARY

PAGE = "RESULTS.md"
INTRODUCTION = """# Results

Every claim of the paper that can be checked, and some of ours: what is claimed, what was found, whether it holds, and
why. Made by `python -m experiments`, never by hand; seeds are fixed, times are of the machine named below. Verdicts
follow from 95 % intervals by the rules of `experiments/PROTOCOL.md`, which are older than the results; `python -m
experiments stale` names the results that were found by other code than the present one.
"""


def write_page(output: Path, names: list[str]) -> Path:
    """Write the page of the experiments whose summaries are there, in the order of the names."""
    found = {name: output / name / SUMMARY for name in names if (output / name / SUMMARY).exists()}
    summaries = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items()}
    parts = [INTRODUCTION, _overview(summaries), *(_section(name, summary) for name, summary in summaries.items())]
    write_whole(output / PAGE, "\n".join(parts))
    return output / PAGE


def _overview(summaries: dict[str, dict[str, Any]]) -> str:
    rows = [
        {
            "experiment": f"[{summary['title']}](#{name})",
            "claim": claim["claim"],
            "verdict": f"{'quick run: ' if summary['quick'] else ''}**{claim['verdict']}**",
        }
        for name, summary in summaries.items()
        for claim in summary["claims"]
    ]
    return markdown_table(rows)


def _section(name: str, summary: dict[str, Any]) -> str:
    lines = [f'<a id="{name}"></a>\n\n## {summary["title"]}\n\n{summary["question"]}\n']
    if summary["quick"]:
        lines.append("_A quick run: smaller than what the results should rest on._\n")
    for claim in summary["claims"]:
        verdict = f"Quick run: {claim['verdict']}" if summary["quick"] else claim["verdict"].capitalize()
        lines.append(f"- **Claim:** {claim['claim']}\n  **Found:** {claim['found']}\n  **{verdict}.** {claim['why']}\n")
        lines.append(markdown_table(part_rows(claim)))
    lines += [f"\n![{picture['caption']}]({name}/{picture['file']})" for picture in summary["figures"]]
    for table in summary["tables"]:
        lines.append(f"\n{table['caption']} ([{table['file']}]({name}/{table['file']})):\n")
        lines.append(markdown_table(table["rows"]))
    lines += ["\n" + note for note in summary["notes"]]
    lines.append(f"\n`python -m experiments {name}`: {origin(summary)}.\n")
    return "\n".join(lines)


def part_rows(claim: dict[str, Any]) -> list[dict[str, str]]:
    """Return the numbers that judge a claim, with their intervals, rules and verdicts."""
    return [
        {
            "number": part["what"],
            "found": f"{part['value']:.3g}",
            "95 % interval": f"{part['low']:.3g} to {part['high']:.3g}",
            "rule": f"{RULES[part['rule']]} (`{part['rule']}`)",
            "verdict": part["verdict"],
        }
        for part in claim["parts"]
    ]


def markdown_table(rows: list[dict[str, Any]]) -> str:
    """Rows of equal keys as a table of Markdown."""
    if not rows:
        return ""
    head = list(rows[0])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_cell(row[key]) for key in head) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def origin(summary: dict[str, Any]) -> str:
    """Return how long a run took, where, and of which code, in words."""
    seconds = summary["seconds"]
    taken = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    taken += " (and what a run before it had kept)" if summary.get("resumed") else ""
    return f"{taken} on {summary['machine']}; code {summary['code']} of commit {summary['commit']}"
