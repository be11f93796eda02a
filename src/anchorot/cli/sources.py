"""Files and collections named on the command line, read when needed."""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from anchorot._parallel import Threads
from anchorot.exceptions import InputError
from anchorot.io.files import ENDINGS, Readers, Unread, UnreadGraph, is_readable
from anchorot.io.graph_costs import GraphCost
from anchorot.io.graph_inputs import EdgeTable
from anchorot.io.graph_sets import GraphSet, attributes_in, is_gin_file, is_tu_folder, read_gin, read_tu
from anchorot.io.graphs import n_connected, node_attributes, note_collection, single, table_space
from anchorot.io.names import ending_of, stem_of
from anchorot.io.options import ReadOptions
from anchorot.many.spaces import n_workers
from anchorot.provenance import Origin
from anchorot.space import Space

Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class Source:
    """One space: a file, or a graph of a collection."""

    name: str
    group: str  # its name without a number, or its class
    content: Any  # a path, or a table of edges

    @property
    def path(self) -> Path:
        """The file, or a name for one."""
        return self.content if isinstance(self.content, Path) else Path(self.name.replace("/", "-"))

    def unread(self, reading: dict[str, Any]) -> Callable[[], Space]:
        """Return a function that reads it with the options of the command line."""
        if isinstance(self.content, Path):
            return Unread(self.content, ReadOptions(**reading))
        return partial(self._graph_space, reading)

    def _graph_space(self, reading: dict[str, Any]) -> Space:
        given = {name: reading[name] for name in ("types", "features") if reading[name] is not None}
        options = {name: reading[name] for name in ("disconnected", "n_points", "rng")}
        try:
            attributes = node_attributes(self.content, **(attributes_in(self.content) | given))
            checked = ReadOptions(**reading)
            cost = GraphCost.of(checked.costs, checked.time)
            found = single(table_space(self.content, **options, cost=cost, attributes=attributes))
            return found.coming_from(Origin(str(self.path), checked.record))
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None

    def unread_graph(self, reading: dict[str, Any]) -> Callable[[], EdgeTable]:
        """Return a function that reads it as a graph: its edges, not its distances."""
        if isinstance(self.content, Path):
            return UnreadGraph(self.content, ReadOptions(**reading))
        return lambda: self.content


def unread_all(sources: list[Source], reading: dict[str, Any]) -> list[Callable[[], Space]]:
    """Return a function for each that reads it; warn once about each collection of which parts are left out."""
    if reading["disconnected"] == "largest":
        graphs = [source for source in sources if not isinstance(source.content, Path)]
        for name, own in groupby(graphs, lambda source: source.name.rpartition("/")[0]):
            tables = list({source.name: source.content for source in own}.values())  # each once
            note_collection(name, tables, [n_connected(table) for table in tables])
    return [source.unread(reading) for source in sources]


def spaces_of(sources: list[Source], reading: dict[str, Any], jobs: int) -> Generator[Space]:
    """Read sources as spaces, in order and a few at a time; they need not all fit into memory."""
    return _read_in_order(unread_all(sources, reading), jobs)


def graphs_of(sources: list[Source], reading: dict[str, Any], jobs: int) -> Generator[EdgeTable]:
    """Read sources as graphs, in order and a few at a time."""
    return _read_in_order([source.unread_graph(reading) for source in sources], jobs)


def _read_in_order(entries: list[Callable[[], Content]], jobs: int) -> Generator[Content]:
    n = n_workers(jobs)
    with Threads(n) as threads, Readers(n, len(entries)) as readers:
        yield from (content for _, content in threads.map(readers.read, entries, in_order=True))


def find_sources(paths: list[Path]) -> list[Source]:
    """Sources of files, of the graphs of collections, and of the readable files of other folders, in natural order.

    Hidden files of a folder are ignored: they are half-written, or belong to the operating system.
    """
    found: list[Source] = []
    for path in paths:
        if not path.is_dir():
            found += _sources_of(path)
        elif is_tu_folder(path):
            found += _graphs(read_tu(path))
        else:
            seen = [file for file in path.iterdir() if not file.name.startswith(".")]
            files = sorted((file for file in seen if is_readable(file)), key=_natural)
            if not files:
                raise InputError(f"{path}: this folder has no file with a known ending: {', '.join(ENDINGS)}")
            found += [source for file in files for source in _sources_of(file)]
    return found


def _sources_of(file: Path) -> list[Source]:
    if ending_of(file) == ".txt" and is_gin_file(file):
        return _graphs(read_gin(file))
    return [Source(file.name, group_of(file), file)]


def group_of(path: Path) -> str:
    """Return the name without a number at its end: "cat" for cat10.mat."""
    stem = stem_of(path)
    return re.sub(r"[\d_.-]+$", "", stem) or stem


def _graphs(collection: GraphSet) -> list[Source]:
    name, labels = collection.name, collection.labels
    groups = [name] * len(collection) if labels is None else [f"class {label}" for label in labels]
    return [Source(f"{name}/{k + 1}", group, collection.table(k)) for k, group in enumerate(groups)]


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort cat2 before cat10."""
    parts = re.split(r"([0-9]+)", path.name)  # text and numbers in turn
    return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts)]
