"""How much the types of nodes improve the classification of graphs, by cross-validation.

    python benchmarks/typed_graphs.py                 print the table, in about ten minutes
    python benchmarks/typed_graphs.py --only MUTAG    one collection alone
    python benchmarks/typed_graphs.py --write         also write it to benchmarks/record.toml

Collections of the TU format with types of nodes are those in the folder tu/ of ANCHOROT_DATA (or of --data).

Every method gives one or more matrices of squared distances d between all graphs, or of inner products. A support
vector machine has the kernel exp(-gamma d), or the inner products; which matrix, gamma and C is chosen within each
training part, by its own cross-validation, so that no test label is seen. Times are of one processor.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import anchorot as ao
from anchorot.anchors.attribute_features import cost_profile

sys.path.append(str(Path(__file__).parents[1]))  # for where the data are
from experiments.data import data_folder
from measure import write_results

REACHES = np.array([3.0, 5.0, 8.0, 15.0, 40.0])  # edges; no path in these collections is longer
TIMES = (1.0, 3.0, 10.0)  # of heat, in steps of a random walk
SHARPNESS = (1.0, 4.0, 16.0)  # gamma, in units of 1 / the median
STRENGTHS = [1.0, 10.0, 100.0, 1000.0]
REFINEMENTS = 5  # rounds of Weisfeiler and Leman
SHARES = (0.1, 0.5, 0.9)  # of structure in fused Gromov-Wasserstein, against types
FUSED_GRAPHS = 188  # that fused Gromov-Wasserstein is given, at most
HEAD = (
    "Support vector machines, 10 folds; times of one processor\n\n"
    "| graphs | method | accuracy | std of folds | all pairs |\n" + 5 * "|---" + "|"
)

Matrices = list[np.ndarray]
Side = tuple[np.ndarray, np.ndarray, np.ndarray]  # costs, weights, types


class Collection(NamedTuple):
    """Graphs with types of nodes, as spaces of shortest paths too, and their classes."""

    name: str
    graphs: list[np.ndarray]
    spaces: list[ao.Space]
    heated: list[list[ao.Space]]  # the same with costs of heat, at each of TIMES
    classes: np.ndarray

    def part(self, chosen: np.ndarray) -> "Collection":
        """Return some of the graphs."""
        graphs, spaces, *heated = ([side[i] for i in chosen] for side in (self.graphs, self.spaces, *self.heated))
        return Collection(f"{self.name}, {len(chosen)} of them", graphs, spaces, heated, self.classes[chosen])


def read(folder: Path) -> Collection:
    found = ao.io.read_tu(folder)
    spaces = found.spaces(disconnected=float(REACHES[-1]))
    heated = [found.spaces(cost="heat", time=time) for time in TIMES]
    return Collection(found.name, [graph.toarray() for graph in found.graphs], spaces, heated, found.labels)


def energies(collection: Collection, attributes: str | None) -> Matrices:
    """Anchor Energies up to each max_cost, all in one pass per pair."""
    features = [ao.AnchorFeatures.of(space, attributes=attributes, max_cost=REACHES[-1]) for space in collection.spaces]
    curves = np.zeros((len(features), len(features), len(REACHES)))
    for i, x in enumerate(features):
        for j, y in enumerate(features[:i]):
            curves[i, j] = curves[j, i] = cost_profile(x, y, REACHES)
    return list(np.moveaxis(curves, 2, 0))


def heat_energies(collection: Collection, attributes: str | None) -> Matrices:
    """Anchor Energies of heat at each time, in units of their means, and their sum."""
    found = [ao.pairwise(spaces, attributes=attributes, progress=False) for spaces in collection.heated]
    found = [matrix / matrix.mean() for matrix in found]
    return [*found, sum(found)]


def counts(collection: Collection) -> Matrices:
    """Nodes and edges, each in units of its deviation."""
    found = np.array([(len(graph), graph.sum() / 2) for graph in collection.graphs])
    return [squared_distances(found / found.std(axis=0))]


def degrees(collection: Collection) -> Matrices:
    """Histograms of degrees: shares of nodes, and numbers of them."""
    found = [graph.sum(axis=1).astype(int) for graph in collection.graphs]
    return histograms([Counter(own.tolist()) for own in found])


def type_counts(collection: Collection) -> Matrices:
    """Histograms of types, which know nothing of edges."""
    return histograms([Counter(space.types) for space in collection.spaces])


def histograms(counted: list[Counter]) -> Matrices:
    bins = sorted(set().union(*counted))
    numbers = np.array([[own[each] for each in bins] for own in counted], float)
    return [squared_distances(numbers / numbers.sum(axis=1, keepdims=True)), squared_distances(numbers)]


def squared_distances(vectors: np.ndarray) -> np.ndarray:
    return squareform(pdist(vectors, "sqeuclidean"))


def refinements(collection: Collection) -> Matrices:
    """Normalised kernels of Weisfeiler and Leman (Shervashidze et al. 2011) after each round, from types on."""
    colours = [list(space.types) for space in collection.spaces]
    gram, found = np.zeros((len(colours), len(colours))), []
    for _ in range(REFINEMENTS + 1):
        counted = [Counter(own) for own in colours]
        gram = gram + np.array([[sum(a[c] * b[c] for c in a.keys() & b.keys()) for b in counted] for a in counted])
        length = np.sqrt(np.diag(gram))
        found.append(gram / length / length[:, None])
        names: dict[object, int] = {}
        colours = [
            [
                names.setdefault((own[i], *sorted(own[j] for j in np.flatnonzero(row))), len(names))
                for i, row in enumerate(g)
            ]
            for own, g in zip(colours, collection.graphs, strict=True)
        ]
    return found


def fused(collection: Collection) -> Matrices:
    """Fused Gromov-Wasserstein (Vayer et al. 2019) by POT: paths in units of their mean, types 0 or 1 apart."""
    unit = np.mean([space.cost.mean() for space in collection.spaces])
    sides = [(space.cost / unit, space.weights, np.array(space.types)) for space in collection.spaces]
    found = np.zeros((len(SHARES), len(sides), len(sides)))
    for i, x in enumerate(sides):
        for j, y in enumerate(sides[:i]):
            found[:, i, j] = found[:, j, i] = fused_losses(x, y)
    return list(np.maximum(found, 0.0))


def fused_losses(x: Side, y: Side) -> list[float]:
    from ot.gromov import fused_gromov_wasserstein2

    apart = np.not_equal.outer(x[2], y[2]).astype(float)
    return [fused_gromov_wasserstein2(apart, x[0], y[0], x[1], y[1], alpha=share) for share in SHARES]


def kernels_of(matrices: Matrices) -> Matrices:
    """Gaussian kernels of squared distances; inner products stay as they are."""
    found = []
    for matrix in matrices:
        if np.diag(matrix).any():
            found.append(matrix)
        else:
            found += [np.exp(-gamma / np.median(matrix[matrix > 0]) * matrix) for gamma in SHARPNESS]
    return found


def validated(kernels: Matrices, classes: np.ndarray) -> np.ndarray:
    """Accuracy of each of ten folds."""
    scores = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(classes, classes):
        inner = StratifiedKFold(5, shuffle=True, random_state=0)
        searches = []
        for k, kernel in enumerate(kernels):
            search = GridSearchCV(SVC(kernel="precomputed"), {"C": STRENGTHS}, cv=inner)
            searches.append((search.fit(kernel[np.ix_(train, train)], classes[train]).best_score_, -k, search))
        _, k, search = max(searches, key=lambda found: found[:2])
        scores.append(search.score(kernels[-k][np.ix_(test, train)], classes[test]))
    return np.array(scores)


def row(collection: Collection, name: str, method: Callable[[Collection], Matrices]) -> str:
    start = time.process_time()
    matrices = method(collection)
    taken = time.process_time() - start
    scores = validated(kernels_of(matrices), collection.classes)
    return f"| {collection.name} | {name} | {scores.mean():.3f} | {scores.std():.3f} | {taken:.1f} s |"


METHODS: dict[str, Callable[[Collection], Matrices]] = {
    "numbers of nodes and edges": counts,
    "histogram of degrees": degrees,
    "histogram of types": type_counts,
    f"Weisfeiler-Leman, types, up to {REFINEMENTS} rounds": refinements,
    "AE": lambda collection: energies(collection, None),
    "AE with types": lambda collection: energies(collection, "types"),
    "AE of heat": lambda collection: heat_energies(collection, None),
    "AE of heat with types": lambda collection: heat_energies(collection, "types"),
}


def rows(collection: Collection) -> Iterator[str]:
    for name, method in METHODS.items():
        yield row(collection, name, method)
    few = collection
    if len(collection.graphs) > FUSED_GRAPHS:
        few = collection.part(np.sort(np.random.default_rng(0).permutation(len(collection.graphs))[:FUSED_GRAPHS]))
        yield row(few, "AE with types", METHODS["AE with types"])
    yield row(few, f"fused GW by POT, {len(SHARES)} shares of structure", fused)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the data are")
    parser.add_argument("--only", metavar="NAME", help="one collection alone")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ao.InputWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = [HEAD]
    print(HEAD, flush=True)
    for file in sorted((data_folder(options.data) / "tu").glob("*/*_node_labels.txt")):
        if options.only in (None, file.parent.name):
            for line in rows(read(file.parent)):
                print(line, flush=True)
                lines.append(line)
    if options.write:
        write_results("typed_graphs.py", "--write", "\n".join(lines))


if __name__ == "__main__":
    main()
