"""One run of one experiment: what it may read, and where its results go."""

import csv
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

import anchorot as ao
from experiments.common.rules import RULES, Part, Verdict, judge_all

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY = "summary.json"


@dataclass(frozen=True)
class Claim:
    """What is claimed, what was found, the parts that judge it, and why; `timed` if that depends on the machine."""

    claim: str
    found: str
    parts: tuple[Part, ...]
    why: str
    timed: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether it holds: by the rules, and by nothing else."""
        return judge_all(self.parts)

    def row(self) -> dict[str, Any]:
        """Return all of it, for the summary."""
        parts = [{"what": p.what, "rule": p.rule, "verdict": p.verdict} | asdict(p.found) for p in self.parts]
        return {"claim": self.claim, "found": self.found, "verdict": self.verdict, "why": self.why, "parts": parts}


@dataclass
class Study:
    """What an experiment is given; it reports through the methods.

    Attributes
    ----------
    name : str
        The folder of the experiment.
    data : dict of str to Path
        Where the real data sets lie that the experiment asks for.
    output : Path
        Folder for pictures, tables and the summary.
    scratch : Path
        Folder for checkpoints of long computations by this very code; a run that was killed goes on from there.
    code : str
        Hash of the code that the results depend on.
    quick : bool
        Run a small form of everything, in seconds, instead of what the results rest on.
    n_jobs : int
        Workers, where no time is measured.
    resumed : bool
        Whether checkpoints of an earlier run are there, whose time is not counted again.
    """

    name: str
    data: dict[str, Path]
    output: Path
    scratch: Path
    code: str = ""
    quick: bool = False
    n_jobs: int = -1
    resumed: bool = False
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    figures: list[dict[str, str]] = field(default_factory=list)
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def rng(self, *keys: int) -> np.random.Generator:
        """Return a generator of random numbers of its own for every tuple of keys, the same in every run."""
        return np.random.default_rng(list(keys))

    def draws(self, rule: str, quick: int) -> int:
        """Return how many draws the protocol gives a rule, or so many in a quick run."""
        return quick if self.quick else RULES[f"{self.name}.{rule}"].draws

    def claim(self, claim: str, found: str, parts: Sequence[Part], why: str, *, timed: bool = False) -> None:
        """Say what is claimed, what was found, the parts that judge it, and why; `timed` if times decide it."""
        self.claims.append(Claim(claim, found, tuple(parts), why, timed))

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdicts that seeds fix, by claim."""
        return {claim.claim: str(claim.verdict) for claim in self.claims if not claim.timed}

    def note(self, text: str) -> None:
        """Say how it was done, where the paper was not followed, what was found without a claim, what disappoints."""
        self.notes.append(text)

    def value(self, name: str, value: SupportsFloat, tolerance: float) -> None:
        """Report a number that the seeds fix, and how far another machine's may lie from it."""
        self.values[name] = {"value": float(value), "tolerance": float(tolerance)}

    def table(self, name: str, rows: Iterable[dict[str, Any]], caption: str, *, shown: bool = True) -> None:
        """Write rows of equal keys as NAME.csv; the page shows them unless told otherwise."""
        rows = list(rows)
        path = self.output / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        self.tables.append({"file": path.name, "caption": caption, "rows": rows if shown else []})

    def figure(self, name: str, figure: "Figure", caption: str) -> None:
        """Write a picture as NAME.png."""
        path = self.output / f"{name}.png"
        figure.savefig(path, dpi=150, facecolor="white")
        self.figures.append({"file": path.name, "caption": caption})

    def finish(self, title: str, question: str) -> None:
        """Write the summary, from which the page of all results is made."""
        summary = {
            "title": title,
            "question": question,
            "quick": self.quick,
            "machine": _machine(),
            "commit": _commit(),
            "code": self.code,
            "seconds": round(time.perf_counter() - self.started, 1),
            "resumed": self.resumed,
            "claims": [claim.row() for claim in self.claims],
            "notes": self.notes,
            "tables": self.tables,
            "figures": self.figures,
            "values": self.values,
        }
        text = json.dumps(summary, indent=1, default=_plain) + "\n"
        (self.output / SUMMARY).write_text(text, encoding="utf-8")


def _machine() -> str:
    """Name the processor and the versions that figures depend on."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        processor = next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, anchorot {ao.__version__}"


def _commit() -> str:
    """Name the commit of the checkout, if it is one, and say if the code differs from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parents[2]), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changes = git("status", "--porcelain", "--", "src", "native", "benchmarks", "experiments/*.py")
        return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _plain(value: Any) -> Any:
    """Numbers of NumPy as JSON's."""
    return value.item() if isinstance(value, np.generic) else str(value)
