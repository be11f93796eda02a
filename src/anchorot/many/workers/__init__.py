"""Who computes the tiles: threads, processes or a Dask cluster, behind one face."""

from anchorot.many.workers.base import Workers
from anchorot.many.workers.inputs import Inputs
from anchorot.many.workers.job import Job, SpaceSummary, TileValues
from anchorot.many.workers.local import ProcessWorkers, ThreadWorkers

__all__ = ["Inputs", "Job", "ProcessWorkers", "SpaceSummary", "ThreadWorkers", "TileValues", "Workers"]
