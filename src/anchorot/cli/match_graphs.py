"""`anchorot match` of two graphs: which node of one is which of the other, by common edges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from anchorot.align.graphs.pipeline import align_graphs
from anchorot.align.graphs.result import GraphAlignment
from anchorot.cli.alignments import candidate_table, known_of, lines_of
from anchorot.cli.output import Stopwatch, new_table, plain, print_json, print_table
from anchorot.cli.writing import Outputs, write_csv
from anchorot.exceptions import printable
from anchorot.io.files import EDGE_LIST_ENDINGS, read_edges
from anchorot.io.graph_files import NETWORKX_READERS
from anchorot.io.graph_inputs import EdgeTable
from anchorot.io.names import ending_of
from anchorot.io.options import ReadOptions
from anchorot.io.safe_open import about

ROWS_SHOWN = 10
NETWORKS = (*EDGE_LIST_ENDINGS, *NETWORKX_READERS)  # neurons are graphs too, but lie in space
TABLES = (".csv", ".tsv", ".txt")


def holds_network(path: Path, reading: dict[str, Any]) -> bool:
    """Whether a file is one of edges, by its ending or because its kind is said."""
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
) -> None:
    """Align, write and print."""
    stopwatch = Stopwatch()
    options = ReadOptions(**reading)
    with stopwatch("read_a", f"reading {a.name}"):
        first = _read(a, options)
    with stopwatch("read_b", f"reading {b.name}"):
        second = _read(b, options)
    with stopwatch("align", "aligning the graphs"):
        features = None if options.features is None else list(options.features)
        found = align_graphs(
            first, second, types=options.types, features=features, mass=mass, rng=options.rng, progress=False
        )
    with stopwatch("write", "writing"):
        outputs.save(output, lambda path: _write(path, found))
        outputs.save(report, lambda path: _report(path, a, b, first, second, found))
    if as_json:
        print_json({"a": str(a), "b": str(b), **_known(found), "seconds": stopwatch.seconds})
    else:
        _print(a, b, found, outputs.lines(), stopwatch)
    outputs.settle()


def _read(path: Path, options: ReadOptions) -> EdgeTable:
    with about(path):
        return read_edges(path, options)


def _names(found: GraphAlignment) -> tuple[list[str], list[str]]:
    first, second = ([str(name) for name in side] for side in found.names)
    return first, second


def _known(found: GraphAlignment) -> dict[str, Any]:
    """What was found, for programs."""
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


def _write(path: Path, found: GraphAlignment) -> None:
    ending = path.suffix.lower()
    if ending == ".npz":
        names = _names(found)
        known: dict[str, Any] = {
            "match": found.matches,
            "confidence": found.confidence,
            "labels_a": names[0],
            "labels_b": names[1],
        }
        np.savez_compressed(path, **known)
    elif ending == ".txt":
        np.savetxt(path, found.matches, fmt="%d")
    else:
        write_csv(path, _rows(found))


def _rows(found: GraphAlignment) -> Iterator[list[str]]:
    first, second = _names(found)
    yield ["a", "b", "confidence"]
    for i, (j, chance) in enumerate(zip(found.matches, found.confidence, strict=True)):
        yield [first[i], second[j] if j >= 0 else "", f"{chance:.4g}"]


def _report(path: Path, a: Path, b: Path, first: EdgeTable, second: EdgeTable, found: GraphAlignment) -> None:
    from anchorot.report import write_report

    write_report(path, first, second, found, names=(printable(a.name), printable(b.name)))


def _print(a: Path, b: Path, found: GraphAlignment, written: list[str], stopwatch: Stopwatch) -> None:
    first, second = _names(found)
    n = len(first)
    title = f"{a.name} ({n} nodes) in {b.name} ({len(second)} nodes): the surest {min(ROWS_SHOWN, n)}"
    table = new_table(title, "node", "match", "confidence")
    for i in np.argsort(-found.confidence, kind="stable")[:ROWS_SHOWN]:
        j = found.matches[i]
        table.add_row(plain(first[i]), plain(second[j] if j >= 0 else "none"), f"{found.confidence[i]:.1%}")
    print_table(candidate_table(found))
    took = ", ".join(f"{name.replace('_', ' ')} {seconds:.2f} s" for name, seconds in stopwatch.seconds.items())
    print_table(table, *lines_of(found), f"[dim]{took}[/]", *written)
