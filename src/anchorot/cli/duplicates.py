"""Which files are nearly the same: `anchorot duplicates`."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import anchorot as ao
from anchorot.cli.options import (
    AttributesOption,
    FilesArgument,
    JobsOption,
    JsonOption,
    MaxCostOption,
    MetricOption,
    POption,
    RobustOption,
    option,
    output_option,
    reads_spaces,
    recorded,
    takes_metric_options,
)
from anchorot.cli.output import doing, new_table, plain, print_json, print_table
from anchorot.cli.sources import find_sources, unread_all
from anchorot.cli.writing import Outputs, write_csv

MOST_PRINTED = 20  # groups
MOST_NAMES = 5  # of a group


@takes_metric_options
@reads_spaces
def duplicates(
    files: FilesArgument,
    threshold: Annotated[float, typer.Option(help="Largest value of the metric between duplicates.", min=0)],
    output: Annotated[Path | None, output_option("Write the group of every file as .csv.")] = None,
    linkage: Annotated[
        str, option("single: a chain of near pairs joins a group; complete: all its pairs are near.")
    ] = "single",
    metric: MetricOption = "saw",
    robust: RobustOption = False,
    p: POption = None,
    attributes: AttributesOption = None,
    max_cost: MaxCostOption = None,
    jobs: JobsOption = -1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Group files that are nearly the same, such as crystals that a database holds twice."""
    outputs = Outputs(*files)
    outputs.announce(output, ".csv")
    sources = find_sources(files)
    start = time.perf_counter()
    how: dict[str, Any] = {"p": p, "robust": robust, "attributes": attributes, "max_cost": max_cost}
    with doing(f"comparing {len(sources)} spaces", ", or take fewer --jobs"):
        entries = unread_all(sources, reading)
        found = ao.duplicates(entries, threshold, metric, linkage, **how, **options, n_jobs=jobs)
    seconds = time.perf_counter() - start
    names = [source.name for source in sources]
    groups = [[names[i] for i in group] for group in found.groups]

    def rows() -> Iterator[list[Any]]:
        yield ["space", "group"]
        yield from map(list, zip(names, found.labels.tolist(), strict=True))

    outputs.save(output, lambda path: write_csv(path, rows()))
    if as_json:
        facts = {"metric": metric, "threshold": threshold, "linkage": linkage, **how, **options}
        facts |= {"reading": recorded(reading), "names": names, "labels": found.labels.tolist(), "groups": groups}
        print_json({**facts, "compared": found.n_exact, "seconds": seconds})
    else:
        different = len(found.representatives)
        table = new_table(f"{len(names)} spaces, {different} different: {metric} <= {threshold:g}", "size", "group")
        for group in sorted(groups, key=len, reverse=True)[:MOST_PRINTED]:
            more = f" and {len(group) - MOST_NAMES} more" if len(group) > MOST_NAMES else ""
            table.add_row(str(len(group)), plain(", ".join(group[:MOST_NAMES]) + more))
        lines = [f"{len(groups)} groups, of which {MOST_PRINTED} are shown"] if len(groups) > MOST_PRINTED else []
        lines.append(f"{found.n_exact} pairs compared in {seconds:.2f} s, reading included")
        print_table(table, *lines, *outputs.lines())
    outputs.settle()
