"""`anchorot match`: matches of the points of two files."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

import anchorot as ao
from anchorot._parallel import interruptible
from anchorot._typing import Float64s, Int64s
from anchorot.align.embeddings.pipeline import METRICS as EMBEDDING_METRICS
from anchorot.align.embeddings.result import check_embedding
from anchorot.cli.alignments import ROWS_SHOWN, known_of, lines_of, print_matches, write_matches
from anchorot.cli.match_graphs import holds_network, match_graphs
from anchorot.cli.options import (
    PLANS,
    EpsilonOption,
    JsonOption,
    PlanOption,
    POption,
    SpaceArgument,
    number_or_word,
    option,
    output_option,
    reads_spaces,
)
from anchorot.cli.output import Stopwatch, check_extra, plain, print_json, read_both
from anchorot.cli.writing import Outputs
from anchorot.exceptions import printable
from anchorot.io.files import read_vectors
from anchorot.io.mesh_files import MESH_READERS, read_mesh
from anchorot.io.names import ending_of
from anchorot.io.options import ReadOptions
from anchorot.io.safe_open import about
from anchorot.many.metrics import plan_of
from anchorot.space import as_space

LARGE_MESH = 1000  # vertices; larger ones are aligned as surfaces, or a sample of this size if costs are needed

Solved = ao.Correspondence | ao.Transport


class Side(NamedTuple):
    """The content of a file: a space, the path of a large mesh, or vectors; and names of its points."""

    thing: ao.Space | Path | Float64s
    labels: list[str]

    @classmethod
    def of(cls, space: ao.Space) -> "Side":
        """A space; its points are numbered if they have no names."""
        space = as_space(space)  # which refuses rows of crystals
        return cls(space, [str(label) for label in (range(space.n) if space.labels is None else space.labels)])

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.labels)


class Matched(NamedTuple):
    """The matches of two sides, and the alignment or plan that they are from."""

    matches: Int64s
    whole: Solved | Float64s

    @classmethod
    def of(cls, found: Solved | Float64s, one_to_one: bool) -> "Matched":
        """Take the matches from a solver's result."""
        is_map = isinstance(found, ao.Correspondence) and found.is_map
        return cls(ao.match(found, "assignment" if one_to_one and not is_map else "argmax"), found)

    @property
    def plan(self) -> Float64s | None:
        """The plan, if there is one."""
        return self.whole if isinstance(self.whole, np.ndarray) else getattr(self.whole, "plan", None)

    @property
    def unmatched(self) -> float:
        """Share of the first space's points without a match."""
        return float(np.mean(self.matches < 0))

    @property
    def confidence(self) -> Float64s | None:
        """The chance that each match is right, if known."""
        if not isinstance(self.whole, ao.Correspondence) or not np.array_equal(self.whole.matches, self.matches):
            return None  # one-to-one matches may differ from those that the confidence is for
        return self.whole.confidence

    def sureness(self, x: Side) -> dict[str, Float64s]:
        """How sure each match is: the share of its point's mass that goes there, and its confidence."""
        known = {}
        if self.plan is not None and isinstance(x.thing, ao.Space):
            at = np.take_along_axis(self.plan, self.matches[:, None].clip(0), axis=1)[:, 0]
            mass, weights = np.where(self.matches >= 0, at, 0.0), x.thing.weights
            known["share"] = np.divide(mass, weights, out=np.zeros(x.size), where=weights > 0)
        return known if self.confidence is None else {**known, "confidence": self.confidence}


@reads_spaces
def match(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to match it with.", show_default=False)],
    plan: PlanOption = "align",
    robust: Annotated[
        bool, typer.Option("--robust", help="Compare ranks of costs; aep gives the same plan either way.")
    ] = False,
    p: POption = None,
    epsilon: EpsilonOption = None,
    mass: Annotated[str | None, option("align: match only this share of the mass, up to 1, or 'free'.")] = None,
    start: Annotated[
        str | None, typer.Option(help="align and gw: where to start, such as product.", show_default="anchors")
    ] = None,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="No two points may have the same match.")] = False,
    seeds: Annotated[
        Path | None,
        typer.Option(
            help="Graphs: nodes that are known to match, two columns of names (.csv .tsv .txt) or .json.",
            show_default=False,
        ),
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(
            metavar="[auto|cosine|euclidean]",
            help="Rows are vectors of two models: find the rotation between them too; -o .npz holds it.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[Path | None, option("Write an HTML page (.html) that works offline.")] = None,
    output: Annotated[
        Path | None,
        output_option("Write the matches as .csv or .tsv, as .txt (one number per line), or with all results as .npz."),
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Match the points of two spaces.

    Meshes of more than 1000 vertices are aligned as surfaces, graphs by their edges, and everything else by costs.

    So are graphs with --costs, and meshes with --n-points, --geodesic, --start, --robust or --one-to-one.
    """
    if embeddings is not None:
        given = {
            "--plan": plan != "align",
            "--robust": robust,
            "--mass": mass is not None,
            "--start": start is not None,
        }
        _check_embeddings(embeddings, [name for name, is_given in given.items() if is_given], reading)
    solve = _solver(plan, robust, p, epsilon, mass, start, embeddings, seed=reading["rng"])
    outputs = Outputs(a, b)
    outputs.announce(report, ".html", ".htm")
    outputs.announce(output, ".csv", ".tsv", ".txt", ".npz")
    if report is not None:
        check_extra("plotly", "report")
    share: Any = None if mass is None else number_or_word(mass)
    on_paths = robust or start is not None or reading["n_points"] is not None or isinstance(share, str)
    is_graphs = plan == "align" and reading["costs"] is None and not on_paths and embeddings is None
    if is_graphs and holds_network(a, reading) and holds_network(b, reading):
        match_graphs(a, b, share, outputs, output, report, as_json, reading, seeds)
        return
    if seeds is not None:
        raise ao.InputError(
            "--seeds are pairs of nodes of two graphs that are matched by their edges; leave out --seeds, or options "
            "that need costs, such as --costs or --robust"
        )
    stopwatch = Stopwatch()
    if embeddings is not None:
        x, y = _read_vectors(a, b, reading, stopwatch)
    else:
        for_spaces = {
            "--robust": robust,
            "--one-to-one": one_to_one,
            "--start": start is not None,
            f"--geodesic {reading['geodesic']}": reading["geodesic"] != "heat",
        }
        x, y = _read(a, b, reading, stopwatch, plan, [name for name, is_given in for_spaces.items() if is_given])
    kind = _kind(x, y, plan)
    with stopwatch("plan", DOING.get(kind) or f"computing the {PLANS[plan]}"):
        found = interruptible(lambda: Matched.of(solve(x.thing, y.thing), one_to_one), max(x.size, y.size))
    with stopwatch("write", "writing"):
        outputs.save(output, lambda path: _write(path, x, y, found))
        outputs.save(report, lambda path: _report(path, a, b, x, y, found, PLANS[plan]))
    if as_json:
        files = {"a": str(a), "b": str(b), "n": x.size, "m": y.size, "plan": kind}
        labels = {"labels_a": x.labels, "labels_b": y.labels}
        print_json({**files, "match": found.matches.tolist(), **_known(found), **labels, "seconds": stopwatch.seconds})
    else:
        _print(a, b, x, y, found, outputs, stopwatch)
    outputs.settle()


DOING = {"meshes": "aligning the surfaces", "embeddings": "aligning the embeddings"}


def _kind(x: Side, y: Side, plan: str) -> str:
    if isinstance(x.thing, Path) and isinstance(y.thing, Path):
        return "meshes"
    return "embeddings" if isinstance(x.thing, np.ndarray) else plan


def _check_embeddings(metric: str, ignored: list[str], reading: dict[str, Any]) -> None:
    """Refuse unknown metrics, and options that embeddings would ignore."""
    if metric not in EMBEDDING_METRICS:
        raise ao.InputError(f"--embeddings must be {' or '.join(EMBEDDING_METRICS)}, but got {metric}")
    ignored = [*ignored, *(["--n-points"] if reading["n_points"] is not None else [])]
    if ignored:
        raise ao.InputError(f"{ignored[0]} cannot be combined with --embeddings, which aligns all rows by a rotation")


def _read_vectors(a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch) -> tuple[Side, Side]:
    sides = []
    for name, path in (("read_a", a), ("read_b", b)):
        with stopwatch(name, f"reading {path.name}"), about(path):
            rows, labels = read_vectors(path, ReadOptions(**reading))
            vectors = check_embedding(rows, "the array")
            sides.append(Side(vectors, [str(label) for label in (range(len(vectors)) if labels is None else labels)]))
    return sides[0], sides[1]


def _read(
    a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch, plan: str, for_spaces: list[str]
) -> tuple[Side, Side]:
    """Read two spaces, or return the paths of large meshes; sample these if options need a space."""
    if plan != "align" or reading["n_points"] is not None:
        return _read_spaces(a, b, reading, stopwatch)
    sizes = []
    for name, path in (("read_a", a), ("read_b", b)):
        with stopwatch(name, f"reading {path.name}"):
            sizes.append(_vertex_count(path, reading))
    if max(sizes) <= LARGE_MESH:
        return _read_spaces(a, b, reading, stopwatch)
    reasons = [f"{name} needs costs between all points" for name in for_spaces]
    reasons += [f"{path.name} is not a mesh" for path, size in zip((a, b), sizes, strict=True) if size == 0]
    if not reasons:
        return Side(a, [str(k) for k in range(sizes[0])]), Side(b, [str(k) for k in range(sizes[1])])
    path, count = next((path, size) for path, size in zip((a, b), sizes, strict=True) if size > LARGE_MESH)
    text = (
        f"{path.name} has {count} vertices, of which {LARGE_MESH} are kept, since {reasons[0]}; "
        "use --n-points to keep more or fewer"
    )
    warnings.warn(text, ao.InputWarning, stacklevel=2)
    sides = []
    for name, path, size in zip(("read_a", "read_b"), (a, b), sizes, strict=True):
        with stopwatch(name, f"reading {path.name}"):
            own = {**reading, "n_points": LARGE_MESH} if size > LARGE_MESH else reading
            sides.append(Side.of(ao.read(path, **own)))
    return sides[0], sides[1]


def _read_spaces(a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch) -> tuple[Side, Side]:
    x, y = read_both(a, b, reading, stopwatch)
    return Side.of(x), Side.of(y)


def _vertex_count(path: Path, reading: dict[str, Any]) -> int:
    """The number of vertices of a mesh file; 0 for other files."""
    if ending_of(path) not in MESH_READERS:
        return 0
    with about(path):
        return len(read_mesh(path, ReadOptions(**reading).limit).vertices)


def _solver(
    plan: str,
    robust: bool,
    p: int | None,
    epsilon: float | None,
    mass: str | None,
    start: str | None,
    metric: str | None,
    seed: Any,
) -> Callable[[Any, Any], Solved | Float64s]:
    """Return a function that matches two sides; refuse options that it would ignore."""
    if plan != "align":
        if mass is not None:
            raise ao.InputError(f"--mass is for --plan align, but got --mass {mass} with --plan {plan}")
        return plan_of("ae" if plan == "aep" else plan, p, robust, epsilon, start)
    for name, given in (("p", p), ("epsilon", epsilon)):
        if given is not None:
            raise ao.InputError(f"--{name} cannot be combined with --plan align")
    options = {
        "start": start or "anchors",
        "mass": None if mass is None else number_or_word(mass),
        "robust": robust,
        "rng": seed,
        "progress": False,
    }

    def aligned(x: Any, y: Any) -> Solved:
        if metric is not None:
            return ao.align_embeddings(x, y, metric=metric, rng=seed, progress=False)
        if isinstance(x, Path) and isinstance(y, Path):
            return ao.align_meshes(x, y, mass=options["mass"], rng=seed, progress=False)
        return ao.align(x, y, **options)

    return aligned


def _known(found: Matched) -> dict[str, Any]:
    whole = found.whole
    if isinstance(whole, np.ndarray):
        return {"unmatched": found.unmatched}
    known: dict[str, Any] = {"unmatched": found.unmatched, "converged": whole.converged}
    if isinstance(whole, ao.Transport):
        return {**known, "value": whole.value, "cost": whole.cost, "epsilon": whole.epsilon}
    if found.confidence is not None:
        known["confidence"] = found.confidence.tolist()
    return {**known, **known_of(whole)}


def _report(path: Path, a: Path, b: Path, x: Side, y: Side, found: Matched, title: str) -> None:
    from anchorot.report import write_report

    whole, details = found.whole, {"plan": title, "points": f"{x.size} and {y.size}"}
    if isinstance(whole, ao.Transport):
        state = "" if whole.converged else ", not converged"
        details |= {"value": f"{whole.value:.6g}{state}", "cost": f"{whole.cost:.6g}"}
        details |= {"epsilon": f"{whole.epsilon:.6g}"}
    elif isinstance(whole, ao.Correspondence):  # the page shows its facts
        details = {}
    write_report(path, x.thing, y.thing, whole, names=(printable(a.name), printable(b.name)), details=details)


def _write(path: Path, x: Side, y: Side, found: Matched) -> None:
    known: dict[str, Any] = {"plan": found.plan, "confidence": found.confidence}
    if isinstance(found.whole, ao.EmbeddingAlignment):
        known |= {name: getattr(found.whole, name) for name in ("rotation", "scale", "offset", "metric")}
    arrays = {name: value for name, value in known.items() if value is not None}
    write_matches(path, (x.labels, y.labels), found.matches, found.sureness(x), arrays)


def _print(a: Path, b: Path, x: Side, y: Side, found: Matched, outputs: Outputs, stopwatch: Stopwatch) -> None:
    matches, sure = found.matches, found.sureness(x)
    is_map = isinstance(found.whole, ao.Correspondence) and found.whole.is_map
    if is_spread := not sure or is_map:  # neighbours on a surface are equally sure
        shown = np.unique(np.linspace(0, x.size - 1, min(ROWS_SHOWN, x.size)).astype(np.int64))
    else:
        shown = np.argsort(-next(reversed(sure.values())), kind="stable")
    used = len(np.unique(matches[matches >= 0]))
    lines = [f"{used} of {y.size} points of {plain(b.name)} are matched", *_lines(found)]
    which = "some" if is_spread else "the surest"
    labels = x.labels, y.labels
    print_matches((a, b), labels, found.whole, matches, sure, shown, lines, stopwatch, outputs, which=which)


def _lines(found: Matched) -> Iterator[str]:
    """A solver's result, as lines of text."""
    if found.unmatched:
        yield f"{found.unmatched:.1%} of the first space's points have no match"
    if isinstance(found.whole, ao.Transport):
        yield f"value {found.whole.value:.6g}{'' if found.whole.converged else ', NOT converged'}"
    elif isinstance(found.whole, ao.Correspondence):
        yield from lines_of(found.whole)
