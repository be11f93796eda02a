"""Which vertices of a mesh to keep, by whether a mesh that is drawn twice finds itself and its class again.

    python benchmarks/sampling.py FOLDER                        print the tables, in about half an hour
    python benchmarks/sampling.py FOLDER --only tosca --draws 2 fewer of them

FOLDER holds tosca_nonrigid3d/*.mat (148 shapes of 2026 to 3400 vertices, in 12 classes) and
shrec11_meshcnn/shrec_16.tar.gz (the 600 meshes of SHREC'11, simplified to 252 vertices, in 30 classes).

Every mesh is drawn several times, each with its own seed. Of two such draws of a collection, one asks and the
other results: "itself" is how often the nearest by Anchor Energy is the same mesh, "class" how often the nearest among
the *other* meshes is of its class. The deviation is that of the pairs of draws.
"""

import argparse
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np

import anchorot as ao
from anchorot.io.meshes import SAMPLINGS

HEAD = "| meshes | points | drawn | AE | itself | class | mean AE of two draws |\n" + 7 * "|---" + "|"


def tosca(folder: Path) -> dict[Path, str]:
    files = sorted((folder / "tosca_nonrigid3d").glob("*.mat"))
    return {file: file.stem.rstrip("0123456789") for file in files}


def shrec(folder: Path, unpacked: Path) -> dict[Path, str]:
    with tarfile.open(folder / "shrec11_meshcnn" / "shrec_16.tar.gz") as packed:
        packed.extractall(unpacked, filter="data")
    return {file: file.parent.parent.name for file in sorted(unpacked.glob("*/*/*/*.obj"))}  # class/train or test/name


def drawn(files: list[Path], n_points: int, geodesic: str, sampling: str, seed: int) -> list[ao.Space]:
    """One draw of every mesh."""
    seeds = np.random.default_rng(seed).spawn(len(files))
    return [ao.from_mesh(f, n_points, geodesic, own, sampling=sampling) for f, own in zip(files, seeds, strict=True)]


def shares(energies: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    """How often a mesh finds itself; how often, itself left out, its class; and its mean distance from itself."""
    own = np.diag(energies)
    itself = float(np.mean(energies.argmin(axis=1) == np.arange(len(energies))))
    others = energies + np.diag(np.full(len(energies), np.inf))
    return itself, float(np.mean(labels[others.argmin(axis=1)] == labels)), float(own.mean())


def rows(name: str, meshes: dict[Path, str], n_points: int, geodesic: str, draws: int) -> Iterator[str]:
    labels = np.array(list(meshes.values()))
    for sampling in SAMPLINGS:
        collections = [drawn(list(meshes), n_points, geodesic, sampling, seed) for seed in range(draws)]
        for robust in (False, True):
            features = [[ao.AnchorFeatures.of(x, robust=robust) for x in spaces] for spaces in collections]
            found = np.array(
                [shares(ao.pairwise(a, b, robust=robust, progress=False), labels) for a, b in permutations(features, 2)]
            )
            shown = [f"{mean:.3g} ± {std:.2g}" for mean, std in zip(found.mean(0), found.std(0), strict=True)]
            kind = "robust" if robust else "plain"
            yield f"| {name} | {n_points} | {sampling} | {kind} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the data are")
    parser.add_argument("--only", choices=("tosca", "shrec"), help="leave the other out")
    parser.add_argument("--n-points", type=int, default=100, help="vertices drawn of each mesh")
    parser.add_argument("--geodesic", default="heat", help="how distances on meshes are measured")
    parser.add_argument("--draws", type=int, default=4, help="draws of every mesh")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ao.InputWarning)
    print(HEAD)
    with tempfile.TemporaryDirectory() as unpacked:
        collections = {
            "tosca": lambda: tosca(options.folder),
            "shrec": lambda: shrec(options.folder, Path(unpacked)),
        }
        for name, meshes in collections.items():
            if options.only in (None, name):
                for line in rows(name, meshes(), options.n_points, options.geodesic, options.draws):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
