"""`anchorot test`: whether two collections of files come from one source."""

import re
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

import anchorot as ao
from anchorot.cli.options import FilesArgument, GroundOption, JobsOption, JsonOption, ThreadsOption, reads_spaces
from anchorot.cli.output import doing, new_table, print_json, print_table
from anchorot.cli.sources import Source, find_sources, graphs_of, spaces_of
from anchorot.cli.writing import Outputs
from anchorot.exceptions import note_input
from anchorot.stats.permutation import few_digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGAINST = "--against"
LEVEL = 0.05


class Statistic(StrEnum):
    """What stands for a graph, or for any space."""

    degree = "degree"
    clustering = "clustering"
    anchors = "anchors"


class AgainstManyFiles(TyperCommand):
    """A command whose --against takes all words up to the next option, as a shell's wildcard gives them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say --against before each of them."""
        said: list[str] = []
        inside = False
        for word in args:
            if word.startswith("-"):
                inside = word == AGAINST
                if not inside:
                    said.append(word)
            else:
                said += [AGAINST, word] if inside else [word]
        return super().parse_args(ctx, said)


@reads_spaces
def two_sample(
    files: FilesArgument,
    against: Annotated[
        list[Path] | None,
        typer.Option(AGAINST, help="The other collection: all files up to the next option.", show_default=False),
    ] = None,
    statistic: Annotated[
        Statistic,
        typer.Option(help="What represents a graph; anchors, its distances, work for spaces of every kind."),
    ] = Statistic.degree,
    ground: GroundOption = "w1",
    pooled: Annotated[
        bool, typer.Option("--pooled", help="anchors: pool those of all spaces of a side, for thousands of spaces.")
    ] = False,
    subjects: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Whose each file is: what this regular expression finds in its name, or its first group in (...). "
            "Whole subjects are permuted.",
            show_default=False,
        ),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN", help="Permute only among files in whose names this finds the same.", show_default=False
        ),
    ] = None,
    within: Annotated[
        bool, typer.Option("--within", help="Subjects have files on both sides: permute within each subject.")
    ] = False,
    resamples: Annotated[int, typer.Option(help="Permutations to draw.", min=1)] = 999,
    stop_after: Annotated[
        int | None,
        typer.Option(help="Stop once this many permutations reached the observed value.", min=1, show_default=False),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the null distribution, as .png, .svg or .pdf.", show_default=False),
    ] = None,
    jobs: JobsOption = -1,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Test whether two collections of graphs, or of other spaces, come from one distribution."""
    if not against:
        raise ao.InputError("nothing to test against; use: anchorot test A... --against B...")
    outputs = Outputs(*files, *against)
    outputs.announce_picture(picture)
    sources = find_sources(files), find_sources(against)
    start = time.perf_counter()
    options: dict[str, Any] = {
        "subjects": _found_in_names(subjects, sources, "--subjects"),
        "strata": _found_in_names(strata, sources, "--strata"),
        "within": within,
        "ground": ground,
        "pooled": pooled,
        "n_resamples": resamples,
        "rng": reading["rng"],
        "stop_after": stop_after,
        "threads": threads,
    }
    with doing(f"testing {len(sources[0])} against {len(sources[1])} spaces"):
        try:
            found = _test(sources, statistic, reading, jobs, options)
        except ao.InputError as error:  # which names options as Python has them
            raise ao.InputError(str(error).replace("within=True", "--within")) from None
    seconds = time.perf_counter() - start
    outputs.save_picture(picture, lambda: _draw(found))
    facts = {
        "statistic": statistic.value,
        "ground": ground,
        "energy_distance": found.statistic,
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
        table = new_table(f"{sizes[0]} against {sizes[1]}, by {statistic.value}", "", "value")
        table.add_row("energy distance", f"[bold]{found.statistic:.6g}[/]")
        table.add_row(f"p-value of {len(found.null)} permutations", f"[bold]{found.pvalue:.4g}[/]")
        table.add_row("permuted", f"{found.unit}, {few_digits(found.n_assignments)} assignments")
        table.add_row("smallest possible p-value", f"{found.min_pvalue:.4g}")
        verdict = "they differ (p <= 0.05)" if found.pvalue <= LEVEL else "no difference was found (p > 0.05)"
        print_table(table, f"{verdict}; {seconds:.2f} s, reading included", *outputs.lines())
    outputs.settle()


def _found_in_names(
    pattern: str | None, sources: tuple[list[Source], list[Source]], flag: str
) -> tuple[list[str], list[str]] | None:
    """What a pattern finds in the names of all files."""
    if pattern is None:
        return None
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise ao.InputError(f"{flag} {pattern!r} is no regular expression: {error}") from None

    def find(source: Source) -> str:
        found = search(source.name)
        text = "" if found is None else next((group for group in found.groups() if group is not None), found.group())
        if not text:
            raise ao.InputError(f"{flag} {pattern!r} finds nothing in the name {source.name}")
        return text

    first, second = ([find(source) for source in side] for side in sources)
    return first, second


def _test(
    sources: tuple[list[Source], list[Source]],
    statistic: Statistic,
    reading: dict[str, Any],
    jobs: int,
    options: dict[str, Any],
) -> ao.PermutationTest:
    count = len(sources[0])
    if statistic is Statistic.anchors:
        spaces = list(spaces_of([*sources[0], *sources[1]], reading, jobs))
        return ao.energy_test(spaces[:count], spaces[count:], **options)
    if options["pooled"]:
        raise ao.InputError("--pooled is for --statistic anchors")
    graphs = list(graphs_of([*sources[0], *sources[1]], reading, jobs))
    return ao.graph_model_test(graphs[:count], graphs[count:], statistic.value, **options)


def _draw(found: ao.PermutationTest) -> "Figure":
    from anchorot.plot import new_figure, null_distribution

    figure = new_figure(6.4, 3.6)
    null_distribution(found, ax=figure.subplots())
    return figure
