"""`anchorot match` for two graphs: matches of their nodes, by common edges."""

from pathlib import Path
from typing import Any

import numpy as np

from anchorot.align.graphs.pipeline import align_graphs
from anchorot.align.graphs.result import GraphAlignment
from anchorot.cli.alignments import known_of, lines_of, print_matches, write_matches
from anchorot.cli.output import Stopwatch, print_json
from anchorot.cli.writing import Outputs
from anchorot.exceptions import printable
from anchorot.io.files import EDGE_LIST_ENDINGS, read_edges
from anchorot.io.graph_files import NETWORKX_READERS
from anchorot.io.graph_inputs import EdgeTable
from anchorot.io.names import ending_of
from anchorot.io.options import ReadOptions
from anchorot.io.pairs import read_pairs
from anchorot.io.safe_open import about

NETWORKS = (*EDGE_LIST_ENDINGS, *NETWORKX_READERS)  # neurons are graphs too, but have positions
TABLES = (".csv", ".tsv", ".txt")


def holds_network(path: Path, reading: dict[str, Any]) -> bool:
    """Whether a file holds edges, by its ending or the given kind."""
    ending = ending_of(path)
    return ending in NETWORKS or (reading["kind"] == "graph" and ending in TABLES)


def match_graphs(
    a: Path,
    b: Path,
    mass: float | None,
    outputs: Outputs,
    output: Path | None,
    report: Path | None,
    as_json: bool,
    reading: dict[str, Any],
    seeds: Path | None,
) -> None:
    """Align, write and print."""
    stopwatch = Stopwatch()
    options = ReadOptions(**reading)
    with stopwatch("read_a", f"reading {a.name}"):
        first = _read(a, options)
    with stopwatch("read_b", f"reading {b.name}"):
        second = _read(b, options)
    known = None
    if seeds is not None:
        with about(seeds):
            known = read_pairs(seeds, (first.names, second.names), (a.name, b.name), options.limit)
    with stopwatch("align", "aligning the graphs"):
        features = None if options.features is None else list(options.features)
        found = align_graphs(
            first,
            second,
            types=options.types,
            features=features,
            seeds=known,
            mass=mass,
            rng=options.rng,
            progress=False,
        )
    names = _names(found)
    sure = {"confidence": found.confidence}
    with stopwatch("write", "writing"):
        outputs.save(output, lambda path: write_matches(path, names, found.matches, sure, sure))
        outputs.save(report, lambda path: _report(path, a, b, first, second, found))
    if as_json:
        print_json({"a": str(a), "b": str(b), **_known(found), "seconds": stopwatch.seconds})
    else:
        shown = np.argsort(-found.confidence, kind="stable")
        print_matches((a, b), names, found, found.matches, sure, shown, [*lines_of(found)], stopwatch, outputs, "nodes")
    outputs.settle()


def _read(path: Path, options: ReadOptions) -> EdgeTable:
    with about(path):
        return read_edges(path, options)


def _names(found: GraphAlignment) -> tuple[list[str], list[str]]:
    first, second = ([str(name) for name in side] for side in found.names)
    return first, second


def _known(found: GraphAlignment) -> dict[str, Any]:
    names = _names(found)
    return {
        "n": len(names[0]),
        "m": len(names[1]),
        "plan": "graphs",
        "match": found.matches.tolist(),
        "confidence": found.confidence.tolist(),
        "unmatched": float(np.mean(found.matches < 0)),
        "converged": found.converged,
        **known_of(found),
        "twins_a": found.twins[0].tolist(),
        "twins_b": found.twins[1].tolist(),
        "labels_a": names[0],
        "labels_b": names[1],
    }


def _report(path: Path, a: Path, b: Path, first: EdgeTable, second: EdgeTable, found: GraphAlignment) -> None:
    from anchorot.report import write_report

    write_report(path, first, second, found, names=(printable(a.name), printable(b.name)))
