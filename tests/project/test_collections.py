"""Public parameters that take a collection: lists, tuples and iterators mean the same, and empty ones are refused.

Which parameters these are is derived from annotations; a new one fails `test_every_parameter_has_a_case`.
"""

# ruff: noqa: N803  # X and Y are scikit-learn's names

import dataclasses
import inspect
import io
import re
import tempfile
from functools import cache, partial
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes

import anchorot as ao
import anchorot.report
from anchorot.many.metrics import METRICS
from tests.strategies import clouds

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

MODULES = (ao, ao.anchors, ao.distances, ao.io, ao.search, ao.datasets, ao.estimators, ao.plot, anchorot.report)
COLLECTION = re.compile("Sequence|Iterable|ArrayLike|NDArray|Names")
THINGS = ("X", "Y", "first", "second", "space", "x", "y")  # collections, where an annotation says Any


def public_calls():
    """Public functions, and methods of public classes, by their names; results are not made by callers."""
    for module in MODULES:
        for made in (getattr(module, name) for name in module.__all__):
            if inspect.isfunction(made):
                yield made.__qualname__, made
            if not inspect.isclass(made):
                continue
            for name, method in inspect.getmembers(made, lambda own: inspect.isfunction(own) or inspect.ismethod(own)):
                is_maker = name == "__init__" and not dataclasses.is_dataclass(made)
                if method.__module__.startswith("anchorot") and (is_maker or not name.startswith("_")):
                    yield method.__qualname__, method


def parameters_of(call):
    for each in inspect.signature(call).parameters.values():
        is_thing = each.name in THINGS and "Any" in str(each.annotation)
        if COLLECTION.search(str(each.annotation)) or is_thing:
            yield each.name


PARAMETERS = sorted({(name, each) for name, call in public_calls() for each in parameters_of(call)})

# -- a call of each ----------------------------------------------------------------------------------------------------

LINE, TRIANGLE = [[0.0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0.0, 1, 1], [1, 0, 1], [1, 1, 0]]
POINTS, OTHERS = (np.random.default_rng(seed).normal(size=(20, 2)).tolist() for seed in (0, 1))
TURNED = [[-second, first] for first, second in POINTS]
SPACES = [ao.Space(x.cost, types=["a", *"b" * (x.n - 1)], features=np.arange(x.n)) for x in clouds([5, 6, 7, 5, 6, 8])]
HALVES = [0, 0, 0, 1, 1, 1]
ROWS, MORE_ROWS = [[0.0, 1, 2], [1.0, 2], [0.5, 3]], [[4.0, 5], [4.5, 6], [5.0, 7]]
WEIGHTS, MORE_WEIGHTS = [[0.2, 0.3, 0.5], [0.5, 0.5], [0.1, 0.9]], [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]
RINGS = [[(i, (i + 1) % n) for i in range(n)] for n in (5, 6, 7, 8)]
STARS = [[(0, i) for i in range(1, n)] for n in (5, 6, 7, 8)]
PATH = [(i, i + 1) for i in range(5)]
TWO = {"x": LINE, "y": TRIANGLE}
ATTRIBUTES = {"weights": [0.25, 0.5, 0.25], "types": [1, 2, 2], "features": [1.0, 2.0, 3.0]}
NAMED = {**ATTRIBUTES, "labels": ["a", "b", "c"]}
VERTICES, FACES = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]
DISTANCES = ((np.arange(6.0)[:, None] - np.arange(6)) ** 2).tolist()
TABLE = {"slide": list("aabb"), "u": [0.0, 1, 0, 3], "v": [1.0, 1, 0, 1], "size": [1.0, 2, 3, 4]}
QUIET = {"progress": False}
TESTED = {**QUIET, "rng": 0, "n_resamples": 19}


@cache
def aligned(kind):
    """An alignment of 20 points with 20."""
    if kind == "Alignment":
        return ao.align(ao.from_points(POINTS), ao.from_points(OTHERS), rng=0)
    if kind == "GraphAlignment":
        return ao.align_graphs(nx.path_graph(20), nx.path_graph(20), rng=0)
    return ao.align_embeddings(POINTS, TURNED, metric="euclidean", rng=0)


def cells(**given):
    from anndata import AnnData

    made = AnnData(np.zeros((20, 1)))
    made.obsm["X_pca"], made.obsm["X_lsi"] = np.array(POINTS), np.array(OTHERS)
    return ao.from_cells(made, "X_pca", **given)


def with_seeds(seeds):
    from anndata import AnnData

    sides = [AnnData(np.zeros((20, 1)), obsm={"X_pca": np.array(points)}) for points in (POINTS, TURNED)]
    return ao.align_cells(*sides, seeds=seeds, metric="euclidean", rng=0)


def changed(**given):
    """What an index finds after a method of it was called."""
    index = ao.SearchIndex.build(SPACES, [f"n{k}" for k in range(6)], grid=(2, 2))
    ((name, arguments),) = given.items()
    getattr(index, name)(**arguments)
    return index.query(SPACES[0], k=3)


def fitted(name, method, X, y=None):
    return getattr(getattr(ao.estimators, name)().fit(SPACES, y), method)(X)


def aligner(method="transform", X=POINTS, Y=TURNED, points=POINTS):
    return getattr(ao.estimators.EmbeddingAligner("euclidean", rng=0).fit(X, Y), method)(points)


def in_folder(use, *files):
    """What is made of the files, which are written first, and of the paths of those written."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files:
            Path(folder, name).write_text(text)
        return use(Path(folder))


def converted(paths):
    files = [(f"{k}.csv", "0,0,1\n3,4,2\n1,1,0\n") for k in range(2)]

    def use(folder):
        found = ao.convert(replaced(paths, folder), folder / "made", kind="points", n_jobs=1, **QUIET)
        return [path.name for path in found]

    return in_folder(use, *files)


def replaced(paths, folder):
    """The same kind of collection of paths in a folder."""
    return (
        type(paths)(folder / each for each in paths)
        if isinstance(paths, list | tuple)
        else (folder / each for each in paths)
    )


def report(**given):
    def use(folder):
        anchorot.report.write_report(folder / "page.html", **given)
        return (folder / "page.html").read_text()

    return in_folder(use)


def of_alignment(kind, method):
    return lambda **given: getattr(aligned(kind), method)(**given)


def table(**given):
    return in_folder(
        lambda folder: ao.read(folder / "t.csv", kind="points", **given), ("t.csv", "u,v,size\n0,0,1\n3,4,2\n")
    )


ENERGIES = {"rows_x": ROWS, "rows_y": MORE_ROWS, "weights_x": WEIGHTS, "weights_y": MORE_WEIGHTS}
SIDES = {"subjects": ([1, 1, 2], [3, 4, 4]), "strata": ([1, 1, 1], [1, 1, 1])}
GRAPHS = {"subjects": ([1, 1, 2, 5], [3, 4, 4, 6]), "strata": ([1, 1, 1, 1], [1, 1, 1, 1])}
PAIRED = {"subjects": ([1, 2, 2], [1, 1, 2]), "blocks": ([1, 2, 3], [4, 5, 6])}
PAIRED_GRAPHS = {"subjects": ([1, 2, 2, 1], [1, 1, 2, 2]), "blocks": ([1, 2, 3, 4], [5, 6, 7, 8])}
PAIRED_ITEMS = {"subjects": [1, 1, 2, 2, 2, 1], "blocks": [1, 2, 3, 4, 5, 6], "labels": [0, 1] * 3}
WITHIN = {**TESTED, "within": True}
ITEMS = {"subjects": [1, 2, 3, 4, 5, 6], "strata": [1, 1, 1, 1, 1, 1], "labels": HALVES}
CASES = {
    **{kind.function.__name__: (kind.function, TWO) for kind in METRICS.values()},
    "Alignment.transform": (of_alignment("Alignment", "transform"), {"first": POINTS, "second": OTHERS}),
    "AnchorEmbedding.fit": (lambda X: ao.estimators.AnchorEmbedding().fit(X).grid_, {"X": SPACES}),
    "AnchorEmbedding.transform": (partial(fitted, "AnchorEmbedding", "transform"), {"X": SPACES}),
    "AnchorSignature.fit": (lambda X: ao.estimators.AnchorSignature().fit(X).shape, {"X": SPACES}),
    "AnchorSignature.transform": (partial(fitted, "AnchorSignature", "transform"), {"X": SPACES}),
    "AnchorFeatures.of": (lambda x: ao.AnchorFeatures.of(x).levels, {"x": LINE}),
    "AnchorFeatures.of_many": (
        lambda **given: [x.arrays() for x in ao.AnchorFeatures.of_many(**given)],
        {"spaces": SPACES},
    ),
    "PointClouds.__init__": (lambda **given: list(ao.io.PointClouds(**given)), {"points": [POINTS, OTHERS[:7]]}),
    "AnchorFeatures.of_rows": (
        lambda **given: list(ao.AnchorFeatures.of_rows(**given).events),
        {"rows": ROWS, "row_weights": WEIGHTS, "weights": [0.2, 0.3, 0.5]},
    ),
    "AnchorKernel.fit": (lambda X: ao.estimators.AnchorKernel().fit(X).gamma_, {"X": SPACES}),
    "AnchorKernel.fit_transform": (lambda X: ao.estimators.AnchorKernel().fit_transform(X), {"X": SPACES}),
    "AnchorKernel.transform": (partial(fitted, "AnchorKernel", "transform"), {"X": SPACES}),
    "AnchorNeighborsClassifier.fit": (
        lambda X, y: ao.estimators.AnchorNeighborsClassifier().fit(X, y).predict(SPACES),
        {"X": SPACES, "y": HALVES},
    ),
    **{
        f"AnchorNeighborsClassifier.{name}": (
            partial(fitted, "AnchorNeighborsClassifier", name, y=HALVES),
            {"X": SPACES},
        )
        for name in ("predict", "predict_proba", "kneighbors")
    },
    "AnchorProcessKernel.diag": (lambda X: ao.estimators.AnchorProcessKernel().diag(X), {"X": SPACES}),
    "Correspondence.hits": (of_alignment("Alignment", "hits"), {"truth": list(range(20))}),
    "Correspondence.project": (of_alignment("Alignment", "project"), {"values": [p[0] for p in OTHERS]}),
    "Correspondence.transfer": (of_alignment("Alignment", "transfer"), {"labels": list("abcd" * 5)}),
    "EmbeddingAligner.fit": (aligner, {"X": POINTS, "Y": TURNED}),
    "EmbeddingAligner.inverse_transform": (lambda Y: aligner("inverse_transform", points=Y), {"Y": OTHERS}),
    "EmbeddingAligner.transform": (lambda X: aligner("transform", points=X), {"X": POINTS}),
    "EmbeddingAlignment.inverse_transform": (of_alignment("EmbeddingAlignment", "inverse_transform"), {"y": OTHERS}),
    "EmbeddingAlignment.retrieve": (of_alignment("EmbeddingAlignment", "retrieve"), {"x": POINTS}),
    "EmbeddingAlignment.transfer": (of_alignment("EmbeddingAlignment", "transfer"), {"labels": list("abcd" * 5)}),
    "EmbeddingAlignment.transform": (of_alignment("EmbeddingAlignment", "transform"), {"x": POINTS}),
    "GraphAlignment.hits": (of_alignment("GraphAlignment", "hits"), {"truth": list(range(20))}),
    "GraphDistance.__init__": (
        lambda reference: ao.GraphDistance(reference).compute(STARS, rng=0),
        {"reference": RINGS},
    ),
    "GraphDistance.compute": (lambda graphs: ao.GraphDistance(RINGS).compute(graphs, rng=0), {"graphs": STARS}),
    "Grid.around": (ao.anchors.Grid.around, {"spaces": SPACES}),
    "PointDistances.__init__": (lambda points: ao.distances.PointDistances(points).row(0), {"points": POINTS}),
    "SearchIndex.add": (lambda **given: changed(add=given), {"spaces": SPACES[:2], "names": ["a", "b"]}),
    "SearchIndex.build": (
        lambda **given: ao.SearchIndex.build(**given).query(LINE, k=2),
        {"spaces": SPACES[:2], "names": ["a", "b"]},
    ),
    "SearchIndex.remove": (lambda **given: changed(remove=given), {"which": ["n0", "n3"]}),
    "Space.__init__": (ao.Space, {"cost": LINE, **NAMED}),
    "Space.take": (lambda points: ao.Space(LINE).take(points), {"points": [2, 0]}),
    "align": (partial(ao.align, rng=0), {"x": POINTS, "y": OTHERS, "n_landmarks": 6}),
    "Rows.__init__": (
        lambda **given: facts_of(ao.Rows(**given)),
        {"values": [[1.0, 2], [3, 1]], "weights": [0.25, 0.75], "types": ["a", "b"], "column_types": ["a", "b"]},
    ),
    "Rows.from_points": (
        lambda **given: facts_of(ao.Rows.from_points(k=1, **given)),
        {"points": [[0.0], [1], [3], [4]], "weights": [0.25, 0.5, 0.125, 0.125], "types": list("abab")},
    ),
    "align, spaces": (
        partial(ao.align, rng=0),
        {**TWO, "features": ([1.0, 2, 3], [1.0, 3, 2]), "start": (np.eye(3) / 3).tolist()},
    ),
    "align_cells": (with_seeds, {"seeds": [(0, 0), (1, 1), (2, 2), (3, 3)]}),
    "align_embeddings": (
        partial(ao.align_embeddings, metric="euclidean", rng=0),
        {"x": POINTS, "y": TURNED, "seeds": [(k, k) for k in range(20)]},
    ),
    "align_graphs": (
        partial(ao.align_graphs, rng=0),
        {
            "x": PATH,
            "y": PATH,
            "types": ([1] * 6, [1] * 6),
            "features": ([1.0, 2, 3, 4, 5, 6], [1.0, 2, 3, 4, 5, 6]),
            "seeds": [(0, 0), (1, 1)],
        },
    ),
    "alignment_scores": (
        partial(ao.alignment_scores, cost=LINE),
        {
            "found": [1, 0, 2],
            "truth": [1, 0, 0],
            "symmetry": [0, 2, 1],
            "labels": (["cat", "cat", "dog"], ["dog", "cat", "dog"]),
        },
    ),
    "anchor_cdfs": (ao.plot.anchor_cdfs, TWO),
    "anchor_energy": (ao.anchor_energy, TWO),
    "anchor_energy_estimate": (
        partial(ao.anchor_energy_estimate, rng=0),
        {name: ao.from_points(points).cost.tolist() for name, points in (("x", POINTS), ("y", OTHERS))},
    ),
    "anchor_energy_plan": (ao.anchor_energy_plan, {**TWO, "rows": [0, 2]}),
    "anchor_wasserstein": (ao.anchor_wasserstein, TWO),
    "barycenter": (
        partial(ao.barycenter, n_points=3, max_iter=3, rng=0, **QUIET),
        {"spaces": [LINE, TRIANGLE], "weights": [0.25, 0.75], "start": POINTS[:3]},
    ),
    "composition_test": (partial(ao.composition_test, **TESTED), {"spaces": SPACES, **ITEMS}),
    "composition_test, within": (partial(ao.composition_test, **WITHIN), {"spaces": SPACES, **PAIRED_ITEMS}),
    "convert": (converted, {"paths": ["0.csv", "1.csv"]}),
    "digits": (partial(ao.datasets.digits, n_per_class=2), {"classes": [0, 1]}),
    "distance_map": (
        ao.plot.distance_map,
        {"distances": DISTANCES, "groups": HALVES, "names": list("abcdef"), "sizes": [1.0, 2, 3, 1, 2, 3]},
    ),
    "distance_matrix": (ao.plot.distance_matrix, {"distances": DISTANCES, "groups": HALVES, "names": list("abcdef")}),
    "duplicates": (
        lambda **given: ao.duplicates(**given, threshold=0.1, **QUIET).groups,
        {"spaces": [LINE, TRIANGLE, LINE]},
    ),
    "embed": (partial(ao.embed, grid=(2, 3), **QUIET), {"spaces": SPACES}),
    "embedded_energy": (
        partial(ao.search.embedded_energy, n_projections=2),
        {"e_x": [0.0, 1, 2, 3], "e_y": [1.0, 1, 2, 2]},
    ),
    "embedding_pair": (
        lambda **given: ao.plot.embedding_pair(aligned("EmbeddingAlignment"), **given),
        {"X": POINTS, "Y": OTHERS, "labels": (list("abcd" * 5), list("abcd" * 5))},
    ),
    "energy_distance": (ao.energy_distance, ENERGIES),
    "energy_distance, spaces": (ao.energy_distance, {"rows_x": SPACES[:3], "rows_y": SPACES[3:]}),
    "energy_test, within": (partial(ao.energy_test, **WITHIN), {**ENERGIES, **PAIRED}),
    "energy_test": (partial(ao.energy_test, **TESTED), {**ENERGIES, **SIDES}),
    "energy_test, spaces": (partial(ao.energy_test, **TESTED), {"rows_x": SPACES[:3], "rows_y": SPACES[3:], **SIDES}),
    "energy_test, pooled": (
        partial(ao.energy_test, pooled=True, **TESTED),
        {"rows_x": SPACES[:3], "rows_y": SPACES[3:]},
    ),
    "expected_cost": (ao.distances.expected_cost, TWO),
    "feature_map": (ao.anchors.feature_map, {"spaces": SPACES}),
    "figures": (partial(ao.datasets.figures, n_poses=1, n_points=5), {"kinds": ["dog"]}),
    "from_cells": (cells, {"types": list("abcd" * 5), "features": OTHERS}),
    "from_cells, named": (cells, {"features": ["X_lsi"]}),
    "from_cohort": (partial(ao.from_cohort, TABLE, sample="slide"), {"points": ["u", "v"], "features": ["size"]}),
    "from_crystal": (
        lambda **given: facts_of(ao.from_crystal(np.eye(3), k=4, **given)),
        {"positions": [[0.0, 0, 0], [0.5, 0.5, 0.4]], "species": ["Na", "Cl"]},
    ),
    "from_graph": (partial(ao.from_graph, [(0, 1), (1, 2)]), {"weights": [0.25, 0.5, 0.25]}),
    "from_mesh": (
        partial(ao.from_mesh, (VERTICES, FACES)),
        {"points": [0, 2, 3], "types": list("abcd"), "features": [1.0, 2, 3, 4]},
    ),
    "from_neighbors": (
        partial(ao.from_neighbors, n_neighbors=2, metric="euclidean"),
        {"points": [[0.0], [1], [3]], **NAMED},
    ),
    "from_points": (ao.from_points, {"points": [[0.0], [1], [3]], **NAMED}),
    "graph_model_test, within": (
        partial(ao.graph_model_test, **WITHIN),
        {"graphs_a": RINGS, "graphs_b": STARS, **PAIRED_GRAPHS},
    ),
    "graph_model_test": (partial(ao.graph_model_test, **TESTED), {"graphs_a": RINGS, "graphs_b": STARS, **GRAPHS}),
    "graph_model_test, anchors": (
        partial(ao.graph_model_test, statistic="anchors", **TESTED),
        {"graphs_a": RINGS, "graphs_b": STARS},
    ),
    "gromov_wasserstein": (ao.gromov_wasserstein, {**TWO, "start": (np.eye(3) / 3).tolist()}),
    "group_test, within": (partial(ao.group_test, **WITHIN), {"distances": DISTANCES, **PAIRED_ITEMS}),
    "group_test": (partial(ao.group_test, **TESTED), {"distances": DISTANCES, **ITEMS}),
    "lower_bounds": (ao.lower_bounds, TWO),
    "match": (ao.match, {"plan": [[0.4, 0.1], [0.3, 0.2]]}),
    "matched_graphs": (
        ao.plot.matched_graphs,
        {**TWO, "plan_or_match": [0, 2, 1], "highlight": [0, 1], "values": [0.0, 1, 2]},
    ),
    "matching": (ao.plot.matching, {"found": [1, 2, 0], "labels": (["a", "a", "b"], ["b", "a", "b"])}),
    "nearest_gw": (ao.distances.nearest_gw, {"query": LINE, "spaces": [TRIANGLE, LINE]}),
    "ot_1d": (ao.anchors.ot_1d, {"x": [0.0, 1], "y": [3.0, 4, 6], "wx": [0.5, 0.5], "wy": [0.25, 0.5, 0.25]}),
    "pairwise": (partial(ao.pairwise, n_jobs=1, **QUIET), {"spaces": SPACES[:3], "others": SPACES[3:]}),
    "plan": (ao.plot.plan, {"plan": [[0.4, 0.1], [0.3, 0.2]]}),
    "projected_energy": (partial(ao.distances.projected_energy, rng=0), TWO),
    "read": (table, {"columns": ["u", "v"], "features": ["size"]}),
    "scale_test, within": (partial(ao.scale_test, **WITHIN), {"spaces": SPACES, **PAIRED_ITEMS}),
    "scale_test": (partial(ao.scale_test, **TESTED), {"spaces": SPACES, "max_costs": [0.5, 1.0, 2.0], **ITEMS}),
    "shape": (ao.plot.shape, {"space": LINE, "values": [0.0, 1, 2]}),
    "signature": (ao.signature, {"x": LINE}),
    "signature, drawn": (lambda values: ao.plot.signature(values).images[0].get_array(), {"values": LINE}),
    "write": (
        lambda space: in_folder(lambda folder: ao.write(space, folder / "x.npz") or ao.read(folder / "x.npz").cost),
        {"space": LINE},
    ),
    "write_report": (
        report,
        {**TWO, "plan": [[0.2, 0.1, 0], [0, 0.3, 0], [0, 0, 0.4]], "labels": (["a", "a", "b"], ["b", "a", "b"])},
    ),
}
ONE_THING = {  # not collections
    ("AnchorEmbedding.fit", "y"): "unused",
    ("AnchorKernel.fit", "y"): "unused",
    ("AnchorSignature.fit", "y"): "unused",
    ("AnchorKernel.fit_transform", "y"): "unused",
    **{("align_cells", side): "AnnData" for side in ("x", "y")},
    **{("align_meshes", side): "a mesh" for side in ("x", "y")},
}
MAY_BE_EMPTY = {  # with a natural result, or a message of scikit-learn's
    ("AnchorNeighborsClassifier.fit", "y"),
    ("AnchorProcessKernel.diag", "X"),
    ("EmbeddingAligner.fit", "X"),
    ("EmbeddingAligner.transform", "X"),
    ("SearchIndex.remove", "which"),
    ("EmbeddingAlignment.retrieve", "x"),
    ("align_cells", "seeds"),
    ("align_embeddings", "seeds"),
    ("align_graphs", "seeds"),
    ("anchor_energy_plan", "rows"),
    ("convert", "paths"),
    ("matched_graphs", "highlight"),
}
REFUSED = re.compile(r".*\bgot (a generator|<generator).*")  # in one line
CALLS = [(name, each) for name, (_, given) in CASES.items() for each in given if isinstance(given[each], list | tuple)]


def result_of(name, **changed_):
    call, given = CASES[name]
    return plain(call(**{**given, **changed_}))


@cache
def result_of_lists(name):
    return result_of(name)


def facts_of(rows):
    """All that rows hold."""
    return [rows.values, rows.weights, rows.types, rows.column_types]


def plain(result):
    """Numbers, texts and lists of these, of any result."""
    if isinstance(result, Axes):
        picture = io.BytesIO()
        result.figure.savefig(picture, format="raw", dpi=30)
        plt.close(result.figure)
        return picture.getvalue()
    if isinstance(result, ao.Space):
        return [plain(part) for part in (result.cost, result.weights, result.types, result.features, result.labels)]
    if isinstance(result, list | tuple):
        return [plain(part) for part in result]
    if dataclasses.is_dataclass(result):
        shown = {key: part for key, part in vars(result).items() if not key.startswith("_") and key != "seconds"}
        return {key: plain(part) for key, part in shown.items() if not callable(part)}
    return result.toarray() if hasattr(result, "toarray") else result


def generator(values):
    yield from values


def kinds_of(value, make):
    """The same collection as another kind; of a pair either side, and the pair itself if it is a list."""
    return tuple(map(make, value)) if isinstance(value, tuple) else make(value)


def test_every_parameter_has_a_case():
    known = {(name.split(",")[0], each) for name, each in CALLS}
    assert set(PARAMETERS) - known == set(ONE_THING)


@pytest.mark.parametrize(("name", "parameter"), CALLS)
def test_tuples_and_iterators_mean_what_lists_mean(name, parameter):
    value, wanted = CASES[name][1][parameter], result_of_lists(name)
    np.testing.assert_equal(result_of(name, **{parameter: kinds_of(value, tuple)}), wanted)
    try:
        found = result_of(name, **{parameter: kinds_of(value, generator)})
    except ao.InputError as error:
        found, wanted = bool(REFUSED.fullmatch(str(error))), True
    np.testing.assert_equal(found, wanted)


class OnDemand:
    """A sequence that makes its entries when they are asked for, and has no more methods than it must."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __getitem__(self, place):
        return self._values[place]


@pytest.mark.parametrize("name", [name for name, parameter in CALLS if parameter == "spaces"])
def test_any_object_with_a_length_and_entries_is_a_collection_of_spaces(name):
    found = result_of(name, spaces=OnDemand(CASES[name][1]["spaces"]))
    np.testing.assert_equal(found, result_of_lists(name))


@pytest.mark.parametrize(("name", "parameter"), [call for call in CALLS if call not in MAY_BE_EMPTY])
def test_an_empty_collection_is_one_clear_line(name, parameter):
    value = CASES[name][1][parameter]
    with pytest.raises(ao.InputError) as caught:
        result_of(name, **{parameter: kinds_of(value, lambda own: [])})
    assert "\n" not in str(caught.value)
