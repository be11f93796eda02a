"""`anchorot test`: whether two collections of files come from the same distribution."""

import re
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

import anchorot as ao
from anchorot.cli.options import (
    FilesArgument,
    GroundOption,
    JobsOption,
    JsonOption,
    ThreadsOption,
    option,
    reads_spaces,
)
from anchorot.cli.output import doing, plain, print_facts, print_json
from anchorot.cli.sources import Source, find_sources, graphs_of, spaces_of
from anchorot.cli.writing import Outputs
from anchorot.exceptions import note_input
from anchorot.geometry import extent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGAINST = "--against"
LEVEL = 0.05  # of p-values: below it the table says that the collections differ


class Statistic(StrEnum):
    """What represents a graph, or any other space."""

    degree = "degree"
    clustering = "clustering"
    anchors = "anchors"


class Compared(StrEnum):
    """What of two spaces is compared."""

    ae = "ae"
    saw = "saw"
    arrangement = "arrangement"
    composition = "composition"


# what the statistic is
NAMES = {
    Compared.ae: "energy distance",
    Compared.saw: "energy distance",
    Compared.arrangement: "energy distance",
    Compared.composition: "F of compositions",
}


class AgainstManyFiles(TyperCommand):
    """A command whose --against takes all words up to the next option, as a shell's wildcard expands to."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat --against before each of them."""
        words: list[str] = []
        inside = False
        for word in args:
            if word.startswith("-"):
                inside = word == AGAINST
                words += [] if inside else [word]
            else:
                words += [AGAINST, word] if inside else [word]
        return super().parse_args(ctx, words)


@reads_spaces
def two_sample(
    files: FilesArgument,
    against: Annotated[
        list[Path] | None, option("The other collection: all files up to the next option.", AGAINST)
    ] = None,
    statistic: Annotated[
        Statistic | None,
        option(
            "What to compare graphs by; anchors, their distances, work for spaces of every kind (default: degree, or "
            "anchors with --metric)."
        ),
    ] = None,
    metric: Annotated[
        Compared,
        typer.Option(
            help="With anchors: compare by Anchor Energy (ae) or Sliced Anchor Wasserstein (saw); or files with "
            "--types by which types are near which, thinned to one intensity (arrangement), or by how much of each "
            "type there is (composition)."
        ),
    ] = Compared.ae,
    ground: GroundOption = "w1",
    pooled: Annotated[
        bool, typer.Option("--pooled", help="With anchors: pool all anchors of a side, for thousands of spaces.")
    ] = False,
    subjects: Annotated[
        str | None,
        option(
            "The subject of each file: what this regular expression, or its first group in (...), matches in the name. "
            "Whole subjects are permuted.",
            metavar="PATTERN",
        ),
    ] = None,
    strata: Annotated[
        str | None,
        option("Permute only among files whose names have the same match of this expression.", metavar="PATTERN"),
    ] = None,
    within: Annotated[
        bool, typer.Option("--within", help="Subjects have files on both sides: swap sides within each subject.")
    ] = False,
    blocks: Annotated[
        str | None,
        option(
            "With --within: permute what has the same match of this expression, such as a slide, instead of all files "
            "of a subject on a side.",
            metavar="PATTERN",
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Permutations to draw.", min=1)] = 999,
    stop_after: Annotated[
        int | None, option("Stop once this many permutations have reached the observed value.", min=1)
    ] = None,
    picture: Annotated[Path | None, option("Draw the null distribution, as .png, .svg or .pdf.")] = None,
    jobs: JobsOption = -1,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Test whether two collections of graphs, or of other spaces, come from one distribution."""
    if not against:
        raise ao.InputError("nothing to test against; use: anchorot test A... --against B...")
    if statistic is None:
        statistic = Statistic.degree if metric is Compared.ae else Statistic.anchors
    if metric is not Compared.ae and (statistic is not Statistic.anchors or pooled or ground != "w1"):
        raise ao.InputError(f"--metric {metric} is for --statistic anchors, without --pooled and --ground")
    outputs = Outputs(*files, *against)
    outputs.announce_picture(picture)
    sources = find_sources(files), find_sources(against)
    start = time.perf_counter()
    options: dict[str, Any] = {
        "subjects": _found_in_names(subjects, sources, "--subjects"),
        "strata": _found_in_names(strata, sources, "--strata"),
        "within": within,
        "blocks": _found_in_names(blocks, sources, "--blocks"),
        "ground": ground,
        "pooled": pooled,
        "n_resamples": resamples,
        "rng": reading["rng"],
        "stop_after": stop_after,
        "threads": threads,
    }
    with doing(f"testing {len(sources[0])} against {len(sources[1])} spaces"):
        try:
            found = _test(sources, statistic, metric, reading, jobs, options)
        except ao.InputError as error:  # it uses Python's names of options
            raise ao.InputError(str(error).replace("within=True", "--within")) from None
    seconds = time.perf_counter() - start
    outputs.save_picture(picture, lambda: _draw(found))
    facts = {
        "statistic": statistic.value,
        "metric": metric.value,
        "ground": ground,
        NAMES[metric].replace(" ", "_").lower(): found.statistic,
        "pvalue": found.pvalue,
        "permutations": len(found.null),
        "permuted": found.unit,
        "assignments": found.n_assignments,
        "min_pvalue": found.min_pvalue,
    }
    if found.min_pvalue > LEVEL:
        ways = "is only one way" if found.n_assignments == 1 else f"are only {found.n_assignments} ways"
        note_input(
            f"there {ways} to divide the {found.unit} into such groups: "
            f"no p-value could be below {found.min_pvalue:.2g}"
        )
    sizes = [len(own) for own in sources]
    if as_json:
        print_json({**facts, "stopped_early": found.stopped_early, "sizes": sizes, "seconds": seconds})
    else:
        rows = {NAMES[metric] if name == "statistic" else name: plain(fact) for name, fact in found.facts().items()}
        verdict = "they differ (p <= 0.05)" if found.pvalue <= LEVEL else "no difference was found (p > 0.05)"
        lines = [f"{verdict}; {seconds:.2f} s, reading included", *outputs.lines()]
        by = statistic.value if metric is Compared.ae else metric.value
        print_facts(f"{sizes[0]} against {sizes[1]}, by {by}", rows, *lines, head="value")
    outputs.settle()


def _found_in_names(
    pattern: str | None, sources: tuple[list[Source], list[Source]], flag: str
) -> tuple[list[str], list[str]] | None:
    """What a pattern matches in the names of all files."""
    if pattern is None:
        return None
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise ao.InputError(f"{flag} {pattern!r} is not a regular expression: {error}") from None

    def find(source: Source) -> str:
        found = search(source.name)
        text = "" if found is None else next((group for group in found.groups() if group is not None), found.group())
        if not text:
            raise ao.InputError(f"{flag} {pattern!r} matches nothing in the name {source.name}")
        return text

    first, second = ([find(source) for source in side] for side in sources)
    return first, second


def _test(
    sources: tuple[list[Source], list[Source]],
    statistic: Statistic,
    metric: Compared,
    reading: dict[str, Any],
    jobs: int,
    options: dict[str, Any],
) -> ao.PermutationTest:
    count = len(sources[0])
    if statistic is Statistic.anchors:
        spaces = list(spaces_of([*sources[0], *sources[1]], reading, jobs))
        if metric is Compared.composition:
            return _compositions(spaces, count, options)
        if metric is Compared.arrangement:
            spaces = [_with_area(space) for space in spaces]
        return ao.energy_test(spaces[:count], spaces[count:], metric=metric.value, **options)
    if options["pooled"]:
        raise ao.InputError("--pooled is for --statistic anchors")
    graphs = list(graphs_of([*sources[0], *sources[1]], reading, jobs))
    return ao.graph_model_test(graphs[:count], graphs[count:], statistic.value, **options)


def _compositions(spaces: list[ao.Space], count: int, options: dict[str, Any]) -> ao.PermutationTest:
    """Compare the compositions of the first `count` spaces with those of the others."""
    joined = {
        name: None if (both := options[name]) is None else [*both[0], *both[1]]
        for name in ("subjects", "strata", "blocks")
    }
    plain = {name: options[name] for name in ("within", "n_resamples", "rng", "stop_after")}
    labels = [0] * count + [1] * (len(spaces) - count)
    return ao.composition_test(spaces, labels, post_hoc=False, **joined, **plain)


def _with_area(space: ao.Space) -> ao.Space:
    """Estimate the area of a field of view from the coordinates of its points, if the file says none."""
    places = space.geometry
    if space.area is not None or places is None or places.positions is None or places.faces is not None:
        return space
    own = places.positions[places.index]
    return ao.Space(space.cost, space.weights, types=space.types, area=extent(own), geometry=places, copy=False)


def _draw(found: ao.PermutationTest) -> "Figure":
    from anchorot.plot import new_figure, null_distribution

    figure = new_figure(6.4, 3.6)
    null_distribution(found, ax=figure.subplots())
    return figure
