"""`anchorot match`: which point of one file corresponds to which of another."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

import anchorot as ao
from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot.cli.match_graphs import holds_network, match_graphs
from anchorot.cli.options import PLANS, EpsilonOption, JsonOption, PlanOption, POption, SpaceArgument, reads_spaces
from anchorot.cli.output import Stopwatch, check_extra, new_table, plain, print_json, print_table, read_both
from anchorot.cli.writing import Outputs, write_csv
from anchorot.distances.alignment import Rival
from anchorot.distances.dense import DenseRival
from anchorot.exceptions import printable
from anchorot.io.gate import about
from anchorot.io.geodesics import ROWS
from anchorot.io.mesh_files import MESH_READERS, Mesh, read_mesh
from anchorot.io.options import ReadOptions
from anchorot.many.metrics import plan_of

ROWS_SHOWN = 10
LARGE_MESH = 1000  # vertices; with more, landmarks are aligned, or a sample of this size if a plan is needed
N_LANDMARKS = 500

Thing = ao.Space | ao.MeshDistances
Answer = ao.Alignment | ao.DenseAlignment | ao.Transport


class Matched(NamedTuple):
    """The matches between two things, and what they are from: a plan, or what is known of it too."""

    matches: Int64s
    whole: Answer | Float64s

    @classmethod
    def of(cls, found: Answer | Float64s, one_to_one: bool) -> "Matched":
        """Take the matches from what a solver found."""
        return cls(ao.match(found, "assignment" if one_to_one else "argmax"), found)

    @property
    def plan(self) -> Float64s | None:
        """The plan, if there is one."""
        if isinstance(self.whole, ao.DenseAlignment):
            return None
        return self.whole if isinstance(self.whole, np.ndarray) else self.whole.plan

    @property
    def unmatched(self) -> float:
        """Share of the first space's points without a match."""
        return float(np.mean(self.matches < 0))

    def shares(self, x: Thing) -> Float64s:
        """Share of each point's mass that goes to its match; 0 for points without one."""
        is_matched = self.matches >= 0
        if self.plan is None or not isinstance(x, ao.Space):
            return is_matched.astype(np.float64)
        mass = np.where(is_matched, np.take_along_axis(self.plan, self.matches[:, None].clip(0), axis=1)[:, 0], 0.0)
        return np.divide(mass, x.weights, out=np.zeros(x.n), where=x.weights > 0)


@reads_spaces
def match(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to find its points in.", show_default=False)],
    plan: PlanOption = "align",
    robust: Annotated[
        bool, typer.Option("--robust", help="Compare ranks of costs; aep gives the same plan either way.")
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
            "--output",
            "-o",
            help="Write the matches as .csv or .tsv, as .txt (one number per line), or with the whole plan as .npz.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Which point of one space corresponds to which of the other.

    All vertices of meshes of more than 1000 are aligned by landmarks, unless --n-points takes a sample.
    Graphs are aligned by their common edges; --costs paths, or another, aligns them as spaces.
    """
    solve = _solver(plan, robust, p, epsilon, mass, start, seed=reading["rng"])
    outputs = Outputs(a, b)
    outputs.announce(report, ".html", ".htm")
    outputs.announce(output, ".csv", ".tsv", ".txt", ".npz")
    if report is not None:
        check_extra("plotly", "report")
    share = _number_or_word(mass)
    on_paths = robust or start is not None or reading["n_points"] is not None or isinstance(share, str)
    is_graphs = plan == "align" and reading["costs"] is None and not on_paths
    if is_graphs and holds_network(a, reading) and holds_network(b, reading):
        match_graphs(a, b, share, outputs, output, report, as_json, reading)
        return
    stopwatch = Stopwatch()
    needs_plan = {"--mass": mass is not None, "--robust": robust, "--one-to-one": one_to_one}
    x, y = _read(a, b, reading, stopwatch, plan, [name for name, is_given in needs_plan.items() if is_given])
    with stopwatch("plan", f"computing the {PLANS[plan]}"):
        found = interruptible(lambda: Matched.of(solve(x, y), one_to_one), max(_size(x), _size(y)))
    with stopwatch("write", "writing"):
        outputs.save(output, lambda path: _write(path, x, y, found))
        outputs.save(report, lambda path: _report(path, a, b, x, y, found, PLANS[plan], reading["geodesic"]))
    if as_json:
        files = {"a": str(a), "b": str(b), "n": _size(x), "m": _size(y), "plan": plan}
        labels = {"labels_a": _labels(x), "labels_b": _labels(y)}
        print_json({**files, "match": found.matches.tolist(), **_known(found), **labels, "seconds": stopwatch.seconds})
    else:
        _print(a, b, x, y, found, outputs.lines(), stopwatch)
    outputs.settle()


def _read(
    a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch, plan: str, need_plan: list[str]
) -> tuple[Thing, Thing]:
    """Read two spaces; large meshes that are to be aligned whole, or as a sample if an option needs a plan."""
    if plan != "align" or reading["n_points"] is not None:
        return read_both(a, b, reading, stopwatch)
    files, meshes = (("read_a", a), ("read_b", b)), []
    for name, path in files:
        with stopwatch(name, f"reading {path.name}"):
            meshes.append(_mesh_in(path, reading))
    sizes = [0 if mesh is None else len(mesh.vertices) for mesh in meshes]
    if max(sizes) <= LARGE_MESH:
        return read_both(a, b, reading, stopwatch)
    path, count = next((path, size) for path, size in zip((a, b), sizes, strict=True) if size > LARGE_MESH)
    if reading["geodesic"] not in ROWS:
        need_plan = [*need_plan, f"--geodesic {reading['geodesic']}"]
    if need_plan:
        text = (
            f"{path.name} has {count} vertices, of which {LARGE_MESH} are kept, since {need_plan[0]} needs a plan "
            "between all points; use --n-points to keep more or fewer"
        )
        warnings.warn(text, ao.InputNote, stacklevel=2)
        return read_both(a, b, {**reading, "n_points": LARGE_MESH}, stopwatch)
    text = (
        f"{path.name} has {count} vertices, so {N_LANDMARKS} landmarks of each side are aligned, and all other points "
        "by them; --n-points takes a sample instead"
    )
    warnings.warn(text, ao.InputNote, stacklevel=2)
    things: list[Thing] = []
    for (name, path), mesh in zip(files, meshes, strict=True):
        with stopwatch(name, f"reading {path.name}"):
            things.append(ao.read(path, **reading) if mesh is None else _whole(path, mesh, reading["geodesic"]))
    return things[0], things[1]


def _whole(path: Path, mesh: Mesh, geodesic: str) -> ao.MeshDistances:
    with about(path):
        return ao.MeshDistances((mesh.vertices, mesh.faces), geodesic)


def _mesh_in(path: Path, reading: dict[str, Any]) -> Mesh | None:
    """The mesh that a file holds by its ending, not yet checked, or None."""
    if path.suffix.lower() not in MESH_READERS:
        return None
    with about(path):
        return read_mesh(path, ReadOptions(**reading).limit)


def _solver(
    plan: str, robust: bool, p: int | None, epsilon: float | None, mass: str | None, start: str | None, seed: Any
) -> Callable[[Any, Any], Answer | Float64s]:
    """What finds a plan between two spaces; refuses options that it would ignore."""
    if plan != "align":
        if mass is not None:
            raise ao.InputError(f"--mass is for --plan align, but got --mass {mass} with --plan {plan}")
        return plan_of("ae" if plan == "aep" else plan, p, robust, epsilon, start)
    for name, given in (("p", p), ("epsilon", epsilon)):
        if given is not None:
            raise ao.InputError(f"--{name} cannot be combined with --plan align")
    options = {"start": start or "anchors", "mass": _number_or_word(mass), "robust": robust, "rng": seed}

    def aligned(x: Thing, y: Thing) -> Answer:
        if isinstance(x, ao.Space) and isinstance(y, ao.Space):
            return ao.align(x, y, **options)
        return ao.align(x, y, n_landmarks=N_LANDMARKS, start=start or "anchors", rng=seed)

    return aligned


def _number_or_word(text: str | None) -> Any:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _known(found: Matched) -> dict[str, Any]:
    """What a solver says of its plan, for programs."""
    whole = found.whole
    if isinstance(whole, np.ndarray):
        return {"unmatched": found.unmatched}
    known: dict[str, Any] = {"unmatched": found.unmatched, "converged": whole.converged}
    if isinstance(whole, ao.Transport):
        return {**known, "value": whole.value, "cost": whole.cost, "epsilon": whole.epsilon}
    starts = [
        {"name": s.name, "objective": s.objective, "seconds": s.seconds, "n_iter": s.n_iter, "converged": s.converged}
        for s in whole.starts
    ]
    rival = whole.runner_up
    another = rival and {**_fit(rival), "differs": rival.differs, "match": rival.matches.tolist()}
    return {**known, **_fit(whole), "starts": starts, "runner_up": another}


def _fit(found: ao.Alignment | ao.DenseAlignment | Rival | DenseRival) -> dict[str, Any]:
    """How well an answer fits."""
    if isinstance(found, Rival):
        return {"objective": found.objective}
    if isinstance(found, ao.Alignment):
        names = ("value", "objective", "bound", "gap", "mass")
        return {name: getattr(found, name) for name in names}
    fit = {"discrepancy": found.discrepancy, "agreement": found.agreement}
    return fit if isinstance(found, DenseRival) else {**fit, "landmarks": len(found.landmarks[0])}


def _report(path: Path, a: Path, b: Path, x: Thing, y: Thing, found: Matched, title: str, geodesic: str) -> None:
    from anchorot.report import write_report

    whole, details = found.whole, {"plan": title, "points": f"{_size(x)} and {_size(y)}"}
    if isinstance(whole, ao.Transport):
        state = "" if whole.converged else ", not converged"
        details |= {"value": f"{whole.value:.6g}{state}", "cost": f"{whole.cost:.6g}"}
        details |= {"epsilon": f"{whole.epsilon:.6g}"}
    elif isinstance(whole, ao.Correspondence):  # of which the page knows more
        details = {} if found.plan is not None else {"geodesic": geodesic}
    write_report(path, x, y, whole, names=(printable(a.name), printable(b.name)), details=details)


def _size(thing: Thing) -> int:
    return thing.n if isinstance(thing, ao.Space) else thing.total


def _labels(thing: Thing) -> list[str]:
    labels = thing.labels if isinstance(thing, ao.Space) else None
    return [str(label) for label in (range(_size(thing)) if labels is None else labels)]


def _write(path: Path, x: Thing, y: Thing, found: Matched) -> None:
    if path.suffix.lower() == ".npz":
        arrays: dict[str, Any] = {"match": found.matches, "labels_a": _labels(x), "labels_b": _labels(y)}
        np.savez_compressed(path, **(arrays if found.plan is None else arrays | {"plan": found.plan}))
    elif path.suffix.lower() == ".txt":
        np.savetxt(path, found.matches, fmt="%d")
    else:
        write_csv(path, _rows(x, y, found))


def _rows(x: Thing, y: Thing, found: Matched) -> Iterator[list[str]]:
    names_x, names_y = _labels(x), _labels(y)
    yield ["a", "b", "share"]
    for i, (j, share) in enumerate(zip(found.matches, found.shares(x), strict=True)):
        yield [names_x[i], names_y[j] if j >= 0 else "", f"{share:.9g}"]


def _print(a: Path, b: Path, x: Thing, y: Thing, found: Matched, written: list[str], stopwatch: Stopwatch) -> None:
    matches, n = found.matches, _size(x)
    names_x, names_y, shares = _labels(x), _labels(y), found.shares(x)
    title = f"{a.name} ({n} points) in {b.name} ({_size(y)} points)"
    if found.plan is None:
        table = new_table(f"{title}: some", "point", "match")
        shown = np.unique(np.linspace(0, n - 1, min(ROWS_SHOWN, n)).astype(np.int64))
    else:
        table = new_table(f"{title}: the surest {min(ROWS_SHOWN, n)}", "point", "match", "share of its mass")
        shown = np.argsort(-shares, kind="stable")[:ROWS_SHOWN]
    for i in shown:
        match_name = names_y[matches[i]] if matches[i] >= 0 else "none"
        table.add_row(plain(names_x[i]), plain(match_name), *([] if found.plan is None else [f"{shares[i]:.2%}"]))
    if isinstance(found.whole, ao.Correspondence):
        _print_starts(found.whole)
    used = len(np.unique(matches[matches >= 0]))
    lines = [f"{used} of {_size(y)} points of {plain(b.name)} are matched", *_lines(found)]
    took = ", ".join(f"{name.replace('_', ' ')} {seconds:.2f} s" for name, seconds in stopwatch.seconds.items())
    print_table(table, *lines, f"[dim]{took}[/]", *written)


def _lines(found: Matched) -> Iterator[str]:
    """What a solver says of its plan, for people."""
    if found.unmatched:
        yield f"{found.unmatched:.1%} of the first space's points have no match"
    whole = found.whole
    if isinstance(whole, np.ndarray):
        return
    state = "" if whole.converged else ", NOT converged"
    if isinstance(whole, ao.Transport):
        yield f"value {whole.value:.6g}{state}"
    elif isinstance(whole, ao.DenseAlignment):
        turned = "" if whole.agreement is None else f", agreement {whole.agreement:.3g} (below 0 the map mirrors)"
        yield f"{len(whole.landmarks[0])} landmarks, discrepancy {whole.discrepancy:.6g}{turned}{state}"
    else:
        yield f"loss {whole.value:.6g}, at least {whole.bound:.6g}: a gap of {whole.gap:.6g}{state}"
    rival = None if isinstance(whole, ao.Transport) else whole.runner_up
    if rival is not None:
        name, size = next(iter(_fit(rival).items()))
        yield f"a runner-up of {name} {size:.6g} matches {rival.differs:.1%} of the points otherwise"


def _print_starts(found: ao.Correspondence) -> None:
    table = new_table("where the alignment began, best first", "start", "objective", "steps", "seconds")
    for start in found.starts:
        table.add_row(start.name, f"{start.objective:.6g}", str(start.n_iter), f"[dim]{start.seconds:.3f}[/]")
    print_table(table)
