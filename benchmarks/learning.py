"""How well the estimators classify real spaces, by cross-validation.

    python benchmarks/learning.py FOLDER                                                print the tables, in minutes
    python benchmarks/learning.py FOLDER --only neurons                                 one of them
    python benchmarks/learning.py FOLDER --only meshes --n-points 300 --geodesic heat   all vertices, better distances

FOLDER holds neurons/icdm_geodesic.csv.gz with neurons/labels.csv (mouse neurons, spiny or aspiny, as CAJAL has them;
the few that are "sparsely spiny" are left out) and shrec11_meshcnn/shrec_16.tar.gz (the 600 meshes of SHREC'11,
simplified, in 30 classes).

C and gamma are chosen within each training part, by its own cross-validation: no test label is seen. All pairs are
compared once, and folds are cut from the matrix of their Anchor Energies (``metric="precomputed"``).
"""

import argparse
import csv
import gzip
import tarfile
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import anchorot as ao
from anchorot.estimators import AnchorEmbedding, AnchorKernel, AnchorNeighborsClassifier

STRENGTHS = [0.1, 1.0, 10.0, 100.0, 1000.0]
SHARPNESS = np.array([1.0, 4.0, 16.0, 64.0])  # gamma, in units of 1 / the median AE
CELLS = (16, 16)
HEAD = (
    "| spaces | AE | model | accuracy | std of folds | all pairs or vectors | cross-validation |\n" + 7 * "|---" + "|"
)


def neurons(folder: Path) -> tuple[list[ao.Space], np.ndarray]:
    with (folder / "labels.csv").open() as file:
        kinds = {row["specimen__id"]: row["tag__dendrite_type"] for row in csv.DictReader(file)}
    with gzip.open(folder / "icdm_geodesic.csv.gz", "rt") as file:
        rows = [row for row in list(csv.reader(file))[1:] if kinds[row[0]] in ("spiny", "aspiny")]
    spaces = [ao.Space(squareform(np.array(row[1:], float))) for row in rows]
    return spaces, np.array([kinds[row[0]] for row in rows])


def meshes(archive: Path, n_points: int, geodesic: str) -> tuple[list[ao.Space], np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        files = sorted(Path(folder).glob("*/*/*/*.obj"))  # .../class/train or test/name
        drawn = {"geodesic": geodesic, "sampling": "uniform"}
        spaces = [ao.from_mesh(file, n_points, rng=seed, **drawn) for seed, file in enumerate(files)]
    return spaces, np.array([file.parent.parent.name for file in files])


def searched(kernel: AnchorKernel, candidates: dict[str, Any]) -> GridSearchCV:
    model = make_pipeline(kernel, SVC(kernel="precomputed"))
    return GridSearchCV(model, {"svc__C": STRENGTHS} | candidates, cv=StratifiedKFold(5, shuffle=True, random_state=1))


def models_of_matrix(energies: np.ndarray) -> dict[str, Any]:
    gammas = SHARPNESS / np.median(energies[np.triu_indices(len(energies), 1)])
    return {
        "1-NN": AnchorNeighborsClassifier(metric="precomputed"),
        "SVC, exp(-gamma AE)": searched(AnchorKernel(metric="precomputed"), {"anchorkernel__gamma": gammas}),
        "SVC, distance-induced": searched(AnchorKernel("distance", metric="precomputed"), {}),
    }


def rows(name: str, spaces: list[ao.Space], labels: np.ndarray, repeats: int) -> Iterator[str]:
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=repeats, random_state=0)
    for robust in (False, True):
        start = time.perf_counter()
        energies = ao.pairwise(spaces, robust=robust, progress=False)
        taken = time.perf_counter() - start
        kind = "robust" if robust else "plain"
        for model_name, model in models_of_matrix(energies).items():
            yield row(f"| {name} | {kind} | {model_name}", model, energies, labels, folds, taken)
        start = time.perf_counter()
        features = [ao.AnchorFeatures.of(x, robust=robust) for x in spaces]
        embedding = AnchorEmbedding(CELLS, robust=robust)
        embedding.fit_transform(features)
        taken = time.perf_counter() - start
        model = make_pipeline(embedding, StandardScaler(), LogisticRegression(tol=1e-3, max_iter=1000))
        yield row(f"| {name} | {kind} | embedding, logistic regression", model, features, labels, folds, taken)


def row(head: str, model: Any, X: Any, labels: np.ndarray, folds: Any, taken: float) -> str:  # noqa: N803
    start = time.perf_counter()
    scores = cross_val_score(model, X, labels, cv=folds)
    validated = time.perf_counter() - start
    return f"{head} | {scores.mean():.3f} | {scores.std():.3f} | {taken:.1f} s | {validated:.0f} s |"


def neuron_table(folder: Path) -> Iterator[str]:
    spaces, labels = neurons(folder / "neurons")
    most = np.unique(labels, return_counts=True)[1].max() / len(labels)
    yield f"{len(spaces)} neurons, the commonest class {most:.0%}; 10 folds, 5 times\n\n{HEAD}"
    yield from rows("neurons", spaces, labels, repeats=5)


def mesh_table(folder: Path, n_points: int, geodesic: str) -> Iterator[str]:
    start = time.perf_counter()
    spaces, labels = meshes(folder / "shrec11_meshcnn" / "shrec_16.tar.gz", n_points, geodesic)
    how = f"{n_points} vertices, geodesics by {geodesic}, read in {time.perf_counter() - start:.0f} s"
    yield f"\n{len(spaces)} meshes in {len(set(labels))} classes, {how}; 10 folds, once\n\n{HEAD}"
    yield from rows("meshes", spaces, labels, repeats=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the data are")
    parser.add_argument("--only", choices=("neurons", "meshes"), help="leave the others out")
    parser.add_argument("--n-points", type=int, default=100, help="vertices drawn of each mesh, at most")
    parser.add_argument("--geodesic", default="edge", help="how distances on meshes are measured")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ao.InputWarning)
    lines: list[Iterator[str]] = []
    if options.only != "meshes":
        lines.append(neuron_table(options.folder))
    if options.only != "neurons":
        lines.append(mesh_table(options.folder, options.n_points, options.geodesic))
    for line in chain(*lines):
        print(line, flush=True)


if __name__ == "__main__":
    main()
