"""Who computes the tiles: threads, processes or a Dask cluster, behind one face."""

from anchorot.workers.base import Workers
from anchorot.workers.inputs import Inputs
from anchorot.workers.job import Finding, Job, TileValues
from anchorot.workers.local import ProcessWorkers, ThreadWorkers

__all__ = ["Finding", "Inputs", "Job", "ProcessWorkers", "ThreadWorkers", "TileValues", "Workers"]
