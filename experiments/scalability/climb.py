"""Time one method on more and more points, in this process or in one that has the NumPy kernels.

    python -m experiments.scalability.climb METHOD COSTS.npz PLAN

prints the measurements as JSON; the plan is JSON too.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import anchorot as ao
from experiments.common.clock import one_core, seconds
from experiments.scalability.methods import METHODS, Method

CHECKOUT = Path(__file__).parents[2]
LONG = 60.0  # what is predicted to take as many seconds, and is above the judged size, is timed once
SHORT, SHORT_CALLS = 0.2, 3  # what takes less than that is called several times, and the least time taken


@dataclass(frozen=True)
class Plan:
    """On how many points to compare, how often, which size is judged, and the most seconds that may be predicted."""

    sizes: Sequence[int]
    repetitions: int
    judged: int
    longest: float


@dataclass(frozen=True)
class Measurement:
    """Time and value of one comparison."""

    method: str
    n: int
    repetition: int
    seconds: float
    value: float


def draw(space: ao.Space, n: int, repetition: int, side: int) -> ao.Space:
    """Draw n vertices uniformly, without repetition as long as there are enough of them."""
    rng = np.random.default_rng([n, repetition, side])
    return space.take(rng.choice(space.n, n, replace=n > space.n))


def climb(key: str, cats: Sequence[ao.Space], plan: Plan) -> list[Measurement]:
    """Time a method on growing sizes, until cubic growth from the last one would take too long."""
    method = METHODS[key]
    found: list[Measurement] = []
    with one_core():
        few = [draw(cat, 16, 0, side) for side, cat in enumerate(cats)]
        method.compare(*few)  # imports and first calls do not count
        predicted = seconds(lambda: method.compare(*few))
        for n in plan.sizes:
            if predicted > plan.longest and n > plan.judged:  # what is judged is always timed
                break
            for repetition in range(1 if predicted >= LONG and n > plan.judged else plan.repetitions):
                pair = [draw(cat, n, repetition, side) for side, cat in enumerate(cats)]
                time, value = _timed(method, pair, predicted)
                found.append(Measurement(key, n, repetition, time, value))
            predicted = 8 * float(np.mean([m.seconds for m in found if m.n == n]))
    return found


def climb_on_numpy(key: str, costs: Path, plan: Plan) -> list[Measurement]:
    """Do the same in a new process, as kernels are chosen when anchorot is imported."""
    command = [sys.executable, "-m", "experiments.scalability.climb", key, str(costs.resolve())]
    result = subprocess.run(
        [*command, json.dumps(asdict(plan))],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=os.environ | {"ANCHOROT_KERNELS": "numpy"},
        check=False,
    )
    if result.returncode:
        raise ao.AnchorotError(f"the process with the NumPy kernels failed: {result.stderr.strip()}")
    return [Measurement(**row) for row in json.loads(result.stdout)]


def _timed(method: Method, pair: list[ao.Space], predicted: float) -> tuple[float, float]:
    values: list[float] = []
    time = seconds(lambda: values.append(method.compare(*pair)), SHORT_CALLS if predicted < SHORT else 1)
    return time, values[-1]


def _main(key: str, costs: str, plan: str) -> None:
    with np.load(costs) as file:
        cats = [ao.Space(file[name], copy=False) for name in file.files]
    found = climb(key, cats, Plan(**json.loads(plan)))
    print(json.dumps([asdict(measurement) for measurement in found]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
