"""RESULTS.md: one page of all answers, made from the summaries that the experiments wrote."""

import json
from pathlib import Path
from typing import Any

from experiments.common.files import write_whole
from experiments.common.study import GROMOV, SUMMARY

PAGE = "RESULTS.md"
INTRODUCTION = """# Results

Every experiment of the paper, on real data: the paper's claim, our figure, whether it holds, and why. Made by
`python -m experiments`, never by hand; seeds are fixed, times are of the machine named below.
"""
ANCHORED = ("trade_off", "robustness")  # whose GW is that of `pairwise` or `nearest_gw`
OLD_GROMOV = (
    "**These figures of GW are of POT's solvers, from the product of the weights.** They were made before `pairwise` "
    "and `nearest_gw` started from anchors, which find lower losses; a new run may find GW better than is said here."
)


def write_page(output: Path, names: list[str]) -> Path:
    """Write the page of the experiments whose summaries are there, in the order of the names."""
    found = {name: output / name / SUMMARY for name in names if (output / name / SUMMARY).exists()}
    summaries = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items()}
    parts = [INTRODUCTION, _overview(summaries), *(_section(name, summary) for name, summary in summaries.items())]
    write_whole(output / PAGE, "\n".join(parts))
    return output / PAGE


def _overview(summaries: dict[str, dict[str, Any]]) -> str:
    rows = [
        {"experiment": f"[{summary['title']}](#{name})", "claim": claim["paper"], "verdict": _verdict(summary, claim)}
        for name, summary in summaries.items()
        for claim in summary["claims"]
    ]
    return markdown_table(rows)


def _verdict(summary: dict[str, Any], claim: dict[str, Any]) -> str:
    """The verdict; one of a quick run says that first."""
    return f"{'quick run: ' if summary['quick'] else ''}**{claim['verdict']}**"


def _section(name: str, summary: dict[str, Any]) -> str:
    lines = [f'<a id="{name}"></a>\n\n## {summary["title"]}\n\n{summary["question"]}\n']
    if summary["quick"]:
        lines.append("_A quick run: smaller than what the answers should rest on._\n")
    before = "Quick run: " if summary["quick"] else ""
    for claim in summary["claims"]:
        verdict = before + (claim["verdict"] if before else claim["verdict"].capitalize())
        lines.append(f"- **Paper:** {claim['paper']}\n  **Here:** {claim['ours']}\n  **{verdict}.** {claim['why']}")
    lines += [f"\n![{picture['caption']}]({name}/{picture['file']})" for picture in summary["figures"]]
    for table in summary["tables"]:
        lines.append(f"\n{table['caption']} ([{table['file']}]({name}/{table['file']})):\n")
        lines.append(markdown_table(table["rows"]))
    lines += ["\n" + note for note in summary["notes"]]
    if name in ANCHORED and summary.get("gromov") != GROMOV:
        lines.append(f"\n{OLD_GROMOV}")
    lines.append(f"\n`python -m experiments {name}`: {duration(summary['seconds'])} on {summary['machine']}.\n")
    return "\n".join(lines)


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


def duration(seconds: float) -> str:
    """Seconds, or minutes where they are many."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
