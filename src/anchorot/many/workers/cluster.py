"""Workers on a Dask cluster.

A few spaces are prepared by one task; those of a strip are joined and stay on the cluster, and each tile is a task on
two strips.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Self

from anchorot.exceptions import InputError
from anchorot.many.tiles import Tile, pieces
from anchorot.many.workers.job import Job, PreparedSpace, SpaceSummary, TileValues
from anchorot.many.workers.tasks import ClusterTasks

PIECE = 4  # spaces that one task prepares: reading a file may take seconds
Block = dict[int, PreparedSpace | InputError]  # the spaces of a strip: prepared, or why not


class ClusterWorkers:
    """The workers of a `dask.distributed.Client`; their memory is Dask's affair."""

    def __init__(self, job: Job, client: Any) -> None:
        self._job = job
        packages = (*job.metric.packages, *job.inputs.packages)
        self._tasks = ClusterTasks(client, packages, "a run with a checkpoint goes on from finished tiles")
        self._blocks: dict[int, Any] = {}  # futures of strips, by their first space

    def __enter__(self) -> Self:
        """Enter, unless a worker has other software."""
        self._tasks.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take back what was handed out and is not done; let go of the prepared spaces."""
        self._tasks.__exit__(*exception)
        self._tasks.cancel(self._blocks.values())
        self._blocks.clear()

    @property
    def software(self) -> dict[str, str]:
        """What the last bits of values depend on."""
        return self._job.software

    def survey(self, strips: Iterable[range]) -> Iterator[tuple[range, list[SpaceSummary]]]:
        """Prepare all spaces on the cluster, where they stay."""
        job = self._job.only(range(0))

        def hand_out(strip: range) -> Any:
            parts = [self._tasks.submit(make_block, self._job.only(part), part) for part in pieces([strip], PIECE)]
            block = parts[0] if len(parts) == 1 else self._tasks.submit(joined, after=tuple(parts))
            self._blocks[strip.start] = block
            return self._tasks.submit(survey_block, job, after=(block,))

        return self._tasks.completed(hand_out, strips)

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """All stay."""
        return sum(summary.n_bytes for summary in summaries)

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles on the cluster."""
        inputs = self._job.inputs
        job = self._job.only(range(0))
        offset = 0 if inputs.m is None else inputs.n

        def hand_out(tile: Tile) -> Any:
            columns = range(offset + tile.columns.start, offset + tile.columns.stop)
            known = {index: summaries[index] for index in (*tile.rows, *columns)}
            blocks = self._blocks[tile.rows.start], self._blocks[columns.start]
            return self._tasks.submit(compute_tile, job, tile, known, after=blocks)

        return self._tasks.completed(hand_out, tiles)


def make_block(job: Job, strip: range) -> Block:
    """Prepare the spaces of a strip."""
    block: Block = {}
    for index in strip:
        try:
            block[index] = job.prepare(index)
        except InputError as error:
            block[index] = error
    return block


def joined(*parts: Block) -> Block:
    """Put the spaces of a strip together."""
    return {index: entry for part in parts for index, entry in part.items()}


def survey_block(job: Job, block: Block) -> list[SpaceSummary]:
    """Sum up the spaces of a strip."""
    return [job.survey(index, partial(_entry, block)) for index in block]


def compute_tile(
    job: Job, tile: Tile, summaries: dict[int, SpaceSummary], row_block: Block, column_block: Block
) -> TileValues:
    """Compare all pairs of a tile."""
    return job.compute(tile, summaries, partial(_entry, row_block | column_block), len(tile.rows))


def _entry(block: Block, index: int) -> PreparedSpace:
    found = block[index]
    if isinstance(found, InputError):
        raise found
    return found
