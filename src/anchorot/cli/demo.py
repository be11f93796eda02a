"""`anchorot demo`: compare, match and test synthetic data."""

import os
import sys
import time
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from anchorot._typing import Float64s
from anchorot.align.spaces.pipeline import align
from anchorot.align.spaces.result import Alignment
from anchorot.cli.options import JsonOption, option
from anchorot.cli.output import check_extra, doing, print_json
from anchorot.cli.writing import Outputs
from anchorot.many.pairwise import pairwise
from anchorot.space import Space
from anchorot.stats.scale import scale_test
from anchorot.stats.scale_result import ScaleTest

if TYPE_CHECKING:
    from anchorot.datasets import Dataset

POSES = 4  # of each creature
DOGS = (POSES, POSES + 2)  # the creatures that are matched: two poses of the second kind
TISSUES, CELLS = 8, 80  # of each group, and of each tissue
SEED = 4  # that of the examples of `scale_test` in the guides
PICTURE = Path("anchorot-demo.png")
NEXT = "anchorot compare FIRST SECOND --n-points 500"  # works on files of any kind


@dataclass(frozen=True)
class Demo:
    """The data of the demo, and the results of its three questions, each with the seconds that it took."""

    creatures: "Dataset"
    energies: Float64s  # (16, 16), Anchor Energies
    alignment: Alignment
    tissues: "Dataset"
    test: ScaleTest
    seconds: dict[str, float]

    @property
    def nearest(self) -> list[int]:
        """The nearest other creature of each."""
        return [int(i) for i in np.argmin(self.energies + np.diag([np.inf] * len(self.energies)), axis=1)]

    @property
    def n_same_kind(self) -> int:
        """How many creatures have another pose of the same creature as nearest neighbour."""
        kinds = self.creatures.labels
        return sum(kinds[i] == kinds[other] for i, other in enumerate(self.nearest))

    @property
    def dogs(self) -> tuple[Space, Space]:
        """The two poses that are matched; point k of one is point k of the other."""
        return self.creatures[DOGS[0]], self.creatures[DOGS[1]]

    @property
    def n_right(self) -> int:
        """How many points of the dog are matched correctly."""
        return int((self.alignment.matches == np.arange(self.dogs[0].n)).sum())


def run_demo(n_points: int = 200, seed: int = SEED) -> Demo:
    """Make the data, and compare, match and test them."""
    from anchorot.datasets import figures, tissues

    seconds = {}

    def timed(name: str, compute: Any) -> Any:
        start = time.perf_counter()
        found = compute()
        seconds[name] = time.perf_counter() - start
        return found

    creatures = timed("making creatures", lambda: figures(n_poses=POSES, n_points=n_points, rng=seed))
    first, second = (creatures[k] for k in DOGS)
    cohort = tissues(TISSUES, n_cells=CELLS, clump=0.1, rng=seed)
    return Demo(
        creatures,
        timed("comparing", lambda: pairwise(creatures)),
        timed("matching", lambda: align(first, second, rng=seed)),
        cohort,
        timed("testing", lambda: scale_test(cohort, cohort.labels, attributes="types", rng=0)),
        seconds,
    )


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture, as .png, .svg or .pdf.")] = PICTURE,
    report: Annotated[Path | None, option("Write an HTML page (.html) of the matched dogs, and show it.")] = None,
    n_points: Annotated[int, typer.Option(help="Points of each creature.", min=6, max=1000)] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic poses and tissues.", min=0)] = SEED,
    as_json: JsonOption = False,
) -> None:
    """Compare, match and test synthetic creatures and tissues; needs no files and no network."""
    outputs = Outputs()
    outputs.announce_picture(output)
    outputs.announce(report, ".html", ".htm")
    if report is not None:
        check_extra("plotly", "report")
    with doing("comparing creatures"):
        found = run_demo(n_points, seed)
    from anchorot.cli.demo_picture import draw_demo

    outputs.save_picture(output, lambda: draw_demo(found))
    if report is not None:
        from anchorot.report import write_report

        names = (found.creatures.names[DOGS[0]], found.creatures.names[DOGS[1]])
        page = {"names": names, "title": "A dog in two poses"}
        outputs.save(report, lambda path: write_report(path, *found.dogs, found.alignment, **page))  # type: ignore[arg-type]
    if as_json:
        print_json(_numbers(found) | {"picture": str(output), "report": None if report is None else str(report)})
    else:
        _print(found, outputs.lines())
    outputs.settle()
    has_screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if report is not None and not as_json and sys.stdout.isatty() and has_screen:
        webbrowser.open(report.resolve().as_uri())


def _numbers(found: Demo) -> dict[str, Any]:
    alignment, test = found.alignment, found.test
    creatures = {
        "names": found.creatures.names,
        "nearest": found.nearest,
        "nearest_of_same_kind": found.n_same_kind,
        "energies": found.energies.tolist(),
    }
    dog = {
        "points": found.dogs[0].n,
        "right": found.n_right,
        "confidence": float(alignment.confidence.mean()),
        "runner_up": None if alignment.runner_up is None else alignment.runner_up.numbers(),
        "loss": alignment.value,
        "bound": alignment.bound,
    }
    groups = {"pvalue": test.pvalue, "where": test.where(), "largest": test.band}
    return {"creatures": creatures, "dog": dog, "tissues": groups, "seconds": found.seconds}


def _print(found: Demo, written: list[str]) -> None:
    from rich.console import Console

    alignment, test = found.alignment, found.test
    n_creatures, n_points = len(found.creatures), found.dogs[0].n
    where = ", ".join(f"{low:.2f} to {high:.2f}" for low, high in test.where())
    runner_up = "none: no other alignment is about as good"
    if alignment.runner_up is not None:
        runner_up = f"another alignment, about as good, differs at {alignment.runner_up.differs:.0%} of the points"
    pairs = f"{n_creatures * (n_creatures - 1) // 2} in {found.seconds['comparing']:.2f} s"
    confidence = f"{alignment.confidence.mean():.2f}, the estimated chance that a match is right"
    lines = [
        "[bold]How far apart are they?[/]  Four kinds of creatures in four poses each",
        _row("nearest to the same creature", f"[bold green]{found.n_same_kind} of {n_creatures}[/], by Anchor Energy"),
        _row("pairs compared", pairs),
        "",
        "[bold]Which point is which?[/]  The dog in two poses; no coordinates, no landmarks",
        _row("correct matches", f"[bold green]{found.n_right} of {n_points}[/]"),
        _row("confidence", confidence),
        _row("runner-up", runner_up),
        "",
        f"[bold]Do they differ?[/]  {TISSUES} mixed tissues, and {TISSUES} with one cell type in clumps",
        _row("p-value", f"[bold green]{test.pvalue:.3g}[/], of {len(test.null)} permutations"),
        _row("at distances", where or "none by itself"),
        "",
        *written,
        f"Next, your own files: [bold]{NEXT}[/]",
    ]
    Console(highlight=False).print("\n".join(lines))


def _row(name: str, value: str) -> str:
    return f"  {name:<30}{value}"
