"""How metrics match points: plans by a metric's options."""

from collections.abc import Callable
from typing import Any, NamedTuple

from anchorot._typing import Float64s
from anchorot.distances.gromov import gromov_wasserstein
from anchorot.distances.plan import anchor_energy_plan
from anchorot.distances.transport import Transport
from anchorot.distances.wasserstein import anchor_wasserstein
from anchorot.space import Space


class PlanMaker(NamedTuple):
    """How a metric matches points: `make` turns a metric's options and two spaces into a plan, or what has one."""

    title: str
    make: Callable[[dict[str, Any], Space, Space], Float64s | Transport]
    has_p: bool = True  # whether the plan depends on p
    has_start: bool = False  # whether it depends on where its solver begins


def energy_plan(options: dict[str, Any], x: Space, y: Space) -> Float64s:
    """Anchor Energy Plan."""
    return anchor_energy_plan(x, y)


def anchor_plan(options: dict[str, Any], x: Space, y: Space) -> Transport:
    """Plan of the Anchor Wasserstein distance."""
    return anchor_wasserstein(x, y, options["p"], options["epsilon"], options["robust"])


def gromov_plan(options: dict[str, Any], x: Space, y: Space) -> Transport:
    """Plan of the Gromov-Wasserstein distance."""
    return gromov_wasserstein(x, y, options["epsilon"], options["robust"], start=options["start"])
