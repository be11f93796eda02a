"""One run of one experiment: what it may read, and where its answers go."""

import csv
import json
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

import anchorot as ao

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY = "summary.json"
FORMS = {"scalability": 2, "trade_off": 2, "robustness": 2}  # of experiments that ask otherwise than they did at first


class Verdict(StrEnum):
    """Whether a claim of the paper is borne out."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    OPEN = "undecided"
    BEYOND = "beyond the paper"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was found here, whether it holds, and why; `timed` if that depends on the machine."""

    paper: str
    ours: str
    verdict: Verdict
    why: str
    timed: bool = False


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
        Folder for checkpoints of long computations, kept between runs unless they are quick.
    quick : bool
        Run a small form of everything, in seconds, instead of what the answers rest on.
    n_jobs : int
        Workers, where no time is measured.
    resumed : bool
        Whether checkpoints of an earlier run are there, whose time is not counted again.
    """

    name: str
    data: dict[str, Path]
    output: Path
    scratch: Path
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

    def claim(self, paper: str, ours: str, verdict: Verdict, why: str, *, timed: bool = False) -> None:
        """Say what the paper says, what was found, whether it holds, and why; `timed` if times decide it."""
        self.claims.append(Claim(paper, ours, verdict, why, timed))

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdicts that seeds fix, by claim."""
        return {claim.paper: str(claim.verdict) for claim in self.claims if not claim.timed}

    def note(self, text: str) -> None:
        """Say how it was done, where the paper was not followed, or what disappoints."""
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
            "form": FORMS.get(self.name, 1),
            "seconds": round(time.perf_counter() - self.started, 1),
            "resumed": self.resumed,
            "claims": [asdict(claim) for claim in self.claims],
            "notes": self.notes,
            "tables": self.tables,
            "figures": self.figures,
            "values": self.values,
        }
        text = json.dumps(summary, indent=1, default=_plain) + "\n"
        (self.output / SUMMARY).write_text(text, encoding="utf-8")


def is_earlier(name: str, summary: dict[str, Any]) -> bool:
    """Whether answers are those of an earlier form of the experiment."""
    return bool(summary.get("form", 1) < FORMS.get(name, 1))


def _machine() -> str:
    """Name the processor and the versions that figures depend on."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        processor = next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, anchorot {ao.__version__}"


def _plain(value: Any) -> Any:
    """Numbers of NumPy as JSON's."""
    return value.item() if isinstance(value, np.generic) else str(value)
