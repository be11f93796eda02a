import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import Events
from anchorot._typing import Float64s, Floats, Int64s

def simd_level() -> str: ...
def quantiles(matrix: Floats, out: Floats, threads: int) -> None: ...
def sort_rows(matrix: Floats, threads: int) -> None: ...
def level_energy(x: Floats, y: Floats, p: int, threads: int) -> float: ...
def l1_costs(x: Float64s, y: Float64s, k: Int64s, l: Int64s, width: Float64s, out: Float64s, threads: int) -> None: ...
def step_costs(
    value_x: Float64s,
    end_x: Float64s,
    value_y: Float64s,
    end_y: Float64s,
    p: int,
    out: Float64s,
    threads: int,
) -> None: ...
def level_shares(cost: Float64s, split_ties: bool, out: Float64s) -> None: ...
def share_product(
    level_x: Float64s,
    point_x: NDArray[np.uint32],
    step_x: Float64s,
    level_y: Float64s,
    point_y: NDArray[np.uint32],
    step_y: Float64s,
    out: Float64s,
    threads: int,
) -> None: ...
def argsort(values: Float64s, sorted: Float64s, order: Int64s, threads: int) -> None: ...
def sweep_energy(x: Events, y: Events, threads: int) -> float: ...
def fenwick_expected_cost(x: Events, y: Events) -> float: ...
def labelled_energies(
    time: Float64s,
    row: NDArray[np.uint32],
    target: NDArray[np.uint32],
    start: NDArray[np.uint32],
    place: Float64s,
    begin: float,
    end: float,
    item: NDArray[np.uint32],
    mass: Float64s,
    in_x: NDArray[np.uint8],
    size_x: float,
    size_y: float,
    out: Float64s,
    threads: int,
) -> None: ...
def level_averages(levels: Floats, low: float, high: float, out: Float64s) -> None: ...
def event_averages(events: Events, low: float, high: float, out: Float64s) -> None: ...
