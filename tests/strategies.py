"""Spaces of all sorts: for hypothesis, and drawn at random."""

import inspect

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import anchorot as ao
from anchorot.many.metrics import METRICS

SIZES = st.integers(1, 7)
# Many ties, as on graphs; or any numbers of moderate size.
COSTS = st.one_of(st.integers(-2, 3).map(float), st.floats(-1e3, 1e3, width=32))


def examples(count):
    """`count` examples of a property where others have 100: fewer in a quick run, more in a thorough one."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))


def costs(n):
    return hnp.arrays(np.float64, (n, n), elements=COSTS)


@st.composite
def weight_vectors(draw, n):
    """Uniform, or anything with zeros in it."""
    raw = draw(st.one_of(st.just([1] * n), st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(any)))
    return np.array(raw) / sum(raw)


@st.composite
def spaces(draw, n=None, uniform=False):
    n = draw(SIZES) if n is None else n
    weights = None if uniform else draw(weight_vectors(n))
    return ao.Space(draw(costs(n)), weights)


def scale_of(*spaces):
    """What rounding errors are compared with: the range of all costs."""
    values = np.concatenate([space.cost.ravel() for space in spaces])
    return float(np.ptp(values)) or 1.0


def clouds(sizes=9, seed=0, *, dim=2, weighted=None):
    """Random clouds of points as spaces, each stretched its own way.

    `sizes` is how many points each has, or how many clouds there are. Every third is weighted by default,
    and some are of float32.
    """
    rng = np.random.default_rng(seed)
    made = []
    for k in range(sizes if isinstance(sizes, int) else len(sizes)):
        n = rng.integers(5, 12) if isinstance(sizes, int) else sizes[k]
        points = rng.normal(size=(n, dim)) * rng.uniform(0.2, 2, dim)
        masses = rng.dirichlet(np.ones(n)) if (k % 3 == 0 if weighted is None else weighted) else None
        made.append(ao.from_points(points, weights=masses, dtype=np.float32 if k % 5 == 4 else np.float64))
    return made


def relabelled_copies(weighted, count=4, n=10):
    """One space of points with types and features, repeated, then as often with its points in other orders."""
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)) if weighted else None
    types = rng.integers(0, 3, n)
    x = ao.Space(ao.from_points(points).cost, weights, types=types, features=1e3 * rng.normal(size=(n, 2)))
    return [x] * count + [x.take(rng.permutation(n)) for _ in range(count)]


def shifted(space, shift):
    """The space with all costs moved by a number; exact for costs on a grid of eighths and shifts below 2**50."""
    return ao.Space(space.cost + shift, space.weights)


@st.composite
def spaces_of_eighths(draw):
    """Spaces whose costs stay exact when they are moved far from zero."""
    space = draw(spaces())
    return ao.Space(np.round(8 * space.cost) / 8, space.weights)


FAR = st.integers(20, 49).map(lambda k: 2.0**k)


def with_a_light_point(space, weight, cost):
    """The space and one more point of the given weight, at one cost from and to all."""
    larger = np.full((space.n + 1, space.n + 1), cost)
    larger[:-1, :-1] = space.cost
    return ao.Space(larger, np.append(space.weights, weight))


def samples(seed, s=25, t=30, shift=0.0, sizes=(3, 12)):
    """Two collections of normal samples of different sizes."""
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=n) for n in rng.integers(*sizes, size=s)]
    y = [rng.normal(size=n) + shift for n in rng.integers(*sizes, size=t)]
    return x, y


def assert_same(found, wanted):
    """Two spaces hold the same, to the last bit and whatever a space may hold; but for where they came from."""
    assert _held(found) == _held(wanted)


def _held(thing):
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, dict):
        return {name: _held(part) for name, part in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing), [_held(part) for part in thing]
    if hasattr(thing, "__dict__"):
        return {name: _held(part) for name, part in vars(thing).items() if name not in ("is_uniform", "_origin")}
    return type(thing), thing


def public_value(name, x, y, **options):
    """The value of a metric for two spaces by its public function, with those of the options that it takes."""
    kind = METRICS[name]
    taken = inspect.signature(kind.function).parameters
    result = kind.function(x, y, **{key: options[key] for key in options if key in taken}, **kind.fixed)
    return getattr(result, kind.result_field) if kind.result_field else result


SIX_NODES = (
    [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (3, 5)],
    [(0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (4, 5)],
)


def six_nodes():
    return [ao.from_graph(edges) for edges in SIX_NODES]


def mixed():
    """Sizes, weights and shapes of all kinds."""
    return [*clouds([6, 7, 7]), *clouds([5, 8], seed=1, weighted=True), *six_nodes()]
