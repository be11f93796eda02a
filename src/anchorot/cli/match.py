"""`anchorot match`: which point of one file corresponds to which of another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

import anchorot as ao
from anchorot._typing import Float64s, Int64s
from anchorot.cli.metric_options import PLANS, EpsilonOption, PlanOption, POption
from anchorot.cli.options import JsonOption, SpaceArgument, reads_spaces
from anchorot.cli.output import Stopwatch, check_extra, new_table, plain, print_json, print_table, read_both
from anchorot.cli.writing import Outputs, write_csv
from anchorot.exceptions import printable
from anchorot.many.metrics import plan_of

ROWS_SHOWN = 10


class Matched(NamedTuple):
    """A plan between two spaces, the matches in it, and what is known of it."""

    plan: Float64s
    matches: Int64s
    whole: ao.Alignment | ao.Transport | None

    @classmethod
    def of(cls, found: ao.Alignment | ao.Transport | Float64s, one_to_one: bool) -> "Matched":
        """Take the matches from what a solver found."""
        matches = ao.match(found, "assignment" if one_to_one else "argmax")
        return cls(found, matches, None) if isinstance(found, np.ndarray) else cls(found.plan, matches, found)

    @property
    def unmatched(self) -> float:
        """Share of the first space's points without a match."""
        return float(np.mean(self.matches < 0))


@reads_spaces
def match(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to find its points in.", show_default=False)],
    plan: PlanOption = "align",
    robust: Annotated[
        bool, typer.Option("--robust", help="Compare ranks of costs; the plan of aep is the same by either.")
    ] = False,
    p: POption = None,
    epsilon: EpsilonOption = None,
    mass: Annotated[
        str | None,
        typer.Option(help="align: match this share of the mass only, up to 1, or 'free'.", show_default=False),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="align and gw: where to begin, such as product.", show_default="anchors")
    ] = None,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="No two points may have the same match.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page (.html) with both side by side; needs no network.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the matches as .csv, or the whole plan as .npz.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Which point of one space corresponds to which of the other."""
    solve = _solver(plan, robust, p, epsilon, mass, start, seed=reading["rng"])
    outputs = Outputs(a, b)
    outputs.announce(report, ".html", ".htm")
    outputs.announce(output, ".csv", ".npz")
    if report is not None:
        check_extra("plotly", "report")
    stopwatch = Stopwatch()
    x, y = read_both(a, b, reading, stopwatch)
    with stopwatch("plan", f"computing the {PLANS[plan]}"):
        found = Matched.of(solve(x, y), one_to_one)
    with stopwatch("write", "writing"):
        outputs.save(output, lambda path: _write(path, x, y, found))
        outputs.save(report, lambda path: _report(path, a, b, x, y, found.plan, PLANS[plan]))
    if as_json:
        files = {"a": str(a), "b": str(b), "n": x.n, "m": y.n, "plan": plan}
        labels = {"labels_a": _labels(x), "labels_b": _labels(y)}
        print_json({**files, "match": found.matches.tolist(), **_known(found), **labels, "seconds": stopwatch.seconds})
    else:
        _print(a, b, x, y, found, outputs.lines(), stopwatch)
    outputs.settle()


def _solver(
    plan: str, robust: bool, p: int | None, epsilon: float | None, mass: str | None, start: str | None, seed: Any
) -> Any:
    """What finds a plan between two spaces; refuses options that it would ignore."""
    if plan != "align":
        if mass is not None:
            raise ao.InputError(f"--mass is for --plan align, but got --mass {mass} with --plan {plan}")
        return plan_of("ae" if plan == "aep" else plan, p, robust, epsilon, start)
    for name, given in (("p", p), ("epsilon", epsilon)):
        if given is not None:
            raise ao.InputError(f"--plan align has no {name} to choose, but got --{name} {given}; leave it out")
    options = {"start": start or "anchors", "mass": _number_or_word(mass), "robust": robust, "rng": seed}
    return lambda x, y: ao.align(x, y, **options)


def _number_or_word(text: str | None) -> Any:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _known(found: Matched) -> dict[str, Any]:
    """What a solver says of its plan, for programs."""
    whole = found.whole
    if whole is None:
        return {"unmatched": found.unmatched}
    known: dict[str, Any] = {"unmatched": found.unmatched, "value": whole.value, "converged": whole.converged}
    if isinstance(whole, ao.Transport):
        return {**known, "cost": whole.cost, "epsilon": whole.epsilon}
    rival = whole.runner_up
    another = None
    if rival is not None:
        another = {"objective": rival.objective, "differs": rival.differs, "match": rival.matches.tolist()}
    starts = [
        {"name": s.name, "objective": s.objective, "seconds": s.seconds, "n_iter": s.n_iter, "converged": s.converged}
        for s in whole.starts
    ]
    certificate = {"bound": whole.bound, "gap": whole.gap, "mass": whole.mass}
    return {**known, "objective": whole.objective, **certificate, "starts": starts, "runner_up": another}


def _report(path: Path, a: Path, b: Path, x: ao.Space, y: ao.Space, plan: Float64s, title: str) -> None:
    from anchorot.report import write_report

    details = {"plan": title, "points": f"{x.n} and {y.n}"}
    write_report(path, x, y, plan, names=(printable(a.name), printable(b.name)), details=details)


def _labels(space: ao.Space) -> list[str]:
    return [str(label) for label in (range(space.n) if space.labels is None else space.labels)]


def _shares(x: ao.Space, plan: Float64s, matches: Int64s) -> Float64s:
    """Share of each point's mass that goes to its match; 0 for points without one."""
    mass = np.where(matches >= 0, np.take_along_axis(plan, matches[:, None].clip(0), axis=1)[:, 0], 0.0)
    return np.divide(mass, x.weights, out=np.zeros(x.n), where=x.weights > 0)


def _write(path: Path, x: ao.Space, y: ao.Space, found: Matched) -> None:
    if path.suffix.lower() == ".npz":
        np.savez_compressed(path, plan=found.plan, match=found.matches, labels_a=_labels(x), labels_b=_labels(y))
    else:
        write_csv(path, _rows(x, y, found))


def _rows(x: ao.Space, y: ao.Space, found: Matched) -> Iterator[list[str]]:
    names_x, names_y = _labels(x), _labels(y)
    yield ["a", "b", "share"]
    for i, (j, share) in enumerate(zip(found.matches, _shares(x, found.plan, found.matches), strict=True)):
        yield [names_x[i], names_y[j] if j >= 0 else "", f"{share:.9g}"]


def _print(
    a: Path, b: Path, x: ao.Space, y: ao.Space, found: Matched, written: list[str], stopwatch: Stopwatch
) -> None:
    matches = found.matches
    names_x, names_y, shares = _labels(x), _labels(y), _shares(x, found.plan, matches)
    title = f"{a.name} ({x.n} points) in {b.name} ({y.n} points): the surest {min(ROWS_SHOWN, x.n)}"
    table = new_table(title, "point", "match", "share of its mass")
    for i in np.argsort(-shares, kind="stable")[:ROWS_SHOWN]:
        match_name = names_y[matches[i]] if matches[i] >= 0 else "none"
        table.add_row(plain(names_x[i]), plain(match_name), f"{shares[i]:.2%}")
    if isinstance(found.whole, ao.Alignment):
        _print_starts(found.whole)
    used = len(np.unique(matches[matches >= 0]))
    lines = [f"{used} of {y.n} points of {plain(b.name)} are matched", *_lines(found)]
    took = ", ".join(f"{name.replace('_', ' ')} {seconds:.2f} s" for name, seconds in stopwatch.seconds.items())
    print_table(table, *lines, f"[dim]{took}[/]", *written)


def _lines(found: Matched) -> Iterator[str]:
    """What a solver says of its plan, for people."""
    if found.unmatched:
        yield f"{found.unmatched:.1%} of the first space's points have no match"
    if found.whole is None:
        return
    state = "" if found.whole.converged else ", NOT converged"
    if isinstance(found.whole, ao.Transport):
        yield f"value {found.whole.value:.6g}{state}"
        return
    yield f"loss {found.whole.value:.6g}, at least {found.whole.bound:.6g}: a gap of {found.whole.gap:.6g}{state}"
    rival = found.whole.runner_up
    if rival is not None:
        yield f"a runner-up of objective {rival.objective:.6g} matches {rival.differs:.1%} of the points otherwise"


def _print_starts(found: ao.Alignment) -> None:
    table = new_table("where the alignment began, best first", "start", "objective", "steps", "seconds")
    for start in found.starts:
        table.add_row(start.name, f"{start.objective:.6g}", str(start.n_iter), f"[dim]{start.seconds:.3f}[/]")
    print_table(table)
