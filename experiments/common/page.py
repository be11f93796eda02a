"""RESULTS.md: one page of all answers, made from the summaries that the experiments wrote."""

import json
from pathlib import Path
from typing import Any

from experiments.common.files import write_whole
from experiments.common.study import SUMMARY, is_earlier

PAGE = "RESULTS.md"
INTRODUCTION = """# Results

Every experiment of the paper, on real data: the paper's claim, our figure, whether it holds, and why. Made by
`python -m experiments`, never by hand; seeds are fixed, times are of the machine named below.
"""
EARLIER = (
    "**These answers are of an earlier form of this experiment.** The program asks otherwise now (other controls, "
    "other vertices, all shapes, tests of equivalence, what the paper claims and no more), and what it finds is not "
    "here yet; verdicts may change. Gromov-Wasserstein here is POT's, from the product of the weights."
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
        {
            "experiment": f"[{summary['title']}](#{name})",
            "claim": claim["paper"],
            "verdict": _verdict(name, summary, claim),
        }
        for name, summary in summaries.items()
        for claim in summary["claims"]
    ]
    return markdown_table(rows)


def _verdict(name: str, summary: dict[str, Any], claim: dict[str, Any]) -> str:
    """The verdict; one of a quick run or of an earlier form says that first."""
    before = "quick run: " if summary["quick"] else "earlier form: " if is_earlier(name, summary) else ""
    return f"{before}**{claim['verdict']}**"


def _section(name: str, summary: dict[str, Any]) -> str:
    lines = [f'<a id="{name}"></a>\n\n## {summary["title"]}\n\n{summary["question"]}\n']
    if is_earlier(name, summary):
        lines.append(f"{EARLIER}\n")
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
    lines.append(f"\n`python -m experiments {name}`: {duration(summary)} on {summary['machine']}.\n")
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


def duration(summary: dict[str, Any]) -> str:
    """Return how long a run took, in words."""
    seconds = summary["seconds"]
    taken = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return taken + (" (and what earlier runs had kept for it)" if summary.get("resumed") else "")
