"""Threads change no bit: of all that takes threads, on spaces large enough to be cut into many tasks.

The NumPy kernels always compute on one thread, so that nothing could fail there.
"""

import inspect

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from anchorot._kernels import kernels
from anchorot._kernels.records import ShareSteps
from anchorot.many.metrics import METRICS
from tests.project.pages import egg
from tests.strategies import clouds, public_value, samples

pytestmark = [
    pytest.mark.usefixtures("native_only"),
    pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted"),
]

THREADS = (2, 3, 7)
SIZES = (420, 390)  # squared, they are events of several stretches of a sweep
SAMPLES = samples(0, 300, 320, sizes=(300, 400))
MANY = samples(2, 150, 200, sizes=(20, 60))
GRAPHS = [[nx.gnp_random_graph(30, p, seed=k) for k in range(60)] for p in (0.3, 0.4)]
SURFACE = egg(60, 0)
MESH = SURFACE.geometry.positions, SURFACE.geometry.faces


def powers(function, x, y, **options):
    """Values for p = 1, whose sweeps need many points to be cut, and for others on fewer points."""
    fewer = x.take(range(60)), y.take(range(50))
    return [function(x, y, **options), *(function(*fewer, p, **options) for p in (2, 3))]


def scales_of(x, y, **options):
    parts = [side.take(range(start, start + 60)) for side in (x, y) for start in (0, 100, 200)]
    return ao.scale_test(parts, list("aaabbb"), n_resamples=99, rng=0, progress=False, **options).null


def estimated(x, y, **options):
    return ao.anchor_energy_estimate(x.cost[:50, :50], y.cost[:45, :45], n_draws=20, rng=0, **options).value


def takes_threads(function):
    return inspect.isfunction(function) and "threads" in inspect.signature(function).parameters


def on_threads(name):
    return lambda x, y, **o: public_value(name, x.take(range(90)), y.take(range(90)), **o)


CALLS = {
    "align": lambda x, y, **o: ao.align(x.take(range(90)), y.take(range(90)), start="near", **o).soft(),
    "align_graphs": lambda x, y, **o: (
        ao.align_graphs(nx.gnp_random_graph(30, 0.2, seed=0), GRAPHS[0][0], rng=0, **o).plan
    ),
    "align_meshes": lambda x, y, **o: ao.align_meshes(MESH, MESH, rng=0, **o).matches,
    **{kind.function.__name__: on_threads(name) for name, kind in METRICS.items() if takes_threads(kind.function)},
    "anchor_energy": lambda x, y, **o: powers(ao.anchor_energy, x, y, **o),
    "anchor_energy_estimate": estimated,
    "expected_cost": lambda x, y, **o: powers(ao.distances.expected_cost, x, y, **o),
    "anchor_wasserstein": lambda x, y, **o: ao.anchor_wasserstein(x.take(range(90)), y, epsilon=1.0, **o).plan,
    "energy_distance": lambda x, y, **o: ao.energy_distance(*SAMPLES, **o),
    "energy_test": lambda x, y, **o: ao.energy_test(*MANY, n_resamples=300, rng=3, method="sweep", **o).null,
    "graph_model_test": lambda x, y, **o: ao.graph_model_test(*GRAPHS, "clustering", n_resamples=300, rng=0, **o).null,
    "projected_energy": lambda x, y, **o: ao.distances.projected_energy(x, y, n_projections=10, rng=0, **o).value,
    "scale_test": scales_of,
    "signature": lambda x, y, **o: ao.signature(x, **o),
    "sliced_anchor_wasserstein": lambda x, y, **o: [
        ao.sliced_anchor_wasserstein(x, z, **o) for z in (x.take(range(90)), y)
    ],
}
OF_OTHER_THINGS = ("align_graphs", "align_meshes", "energy_distance", "energy_test", "graph_model_test")


def test_all_that_takes_threads_is_here():
    names = [(module, name) for module in (ao, ao.distances) for name in module.__all__]
    assert {name for module, name in names if takes_threads(getattr(module, name))} == set(CALLS)


def same_with_threads(name, weighted):
    x, y = clouds(SIZES, weighted=weighted)
    alone = CALLS[name](x, y)
    for threads in THREADS:
        np.testing.assert_array_equal(CALLS[name](x, y, threads=threads), alone)


@pytest.mark.parametrize("name", CALLS)
def test_threads_change_no_bit(name):
    same_with_threads(name, weighted=False)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in OF_OTHER_THINGS])
def test_threads_change_no_bit_of_weighted_spaces(name):
    same_with_threads(name, weighted=True)


def test_threads_change_no_bit_of_plans():
    rng = np.random.default_rng(0)

    def steps(n):
        point = rng.permutation(np.repeat(np.arange(n), 50)).astype(np.uint32)
        return ShareSteps(np.sort(rng.uniform(size=len(point))), point, rng.normal(size=len(point)))

    x, y = steps(700), steps(300)
    alone = kernels.share_product(x, 700, y, 300, 1)
    for threads in THREADS:
        np.testing.assert_array_equal(kernels.share_product(x, 700, y, 300, threads), alone)
