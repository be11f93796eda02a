"""Real data sets: where they lie, and how to get them."""

import os
from collections.abc import Iterable
from pathlib import Path

import anchorot as ao

ORIGINS = {
    "tosca_nonrigid3d": "TOSCA non-rigid world: the project TOSCA of the Technion (Bronstein, Bronstein, Kimmel 2008)",
    "shrec11_meshcnn": "SHREC'11 non-rigid, simplified: shrec_16.tar.gz of MeshCNN (Hanocka et al. 2019)",
    "shrec11_robust": "SHREC'11 robustness benchmark (Boyer et al. 2011)",
    "tu": "TU collection of graph data sets (Morris et al. 2020): ENZYMES and MUTAG",
    "mnist_100_per_class.npz": "MNIST (LeCun et al.): x (1000, 28, 28) and y, 100 images of each digit",
    "singlecell": "scGEM and SNARE-seq as prepared by SCOT (Demetci et al. 2022)",
    "neurons": "the example of CAJAL (Govek et al. 2023): icdm_geodesic.csv.gz and labels.csv",
}


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder given, that of the variable ANCHOROT_DATA, or `shared/data` beside the checkout."""
    usual = Path(__file__).parents[3] / "shared" / "data"
    return Path(folder or os.environ.get("ANCHOROT_DATA") or usual)


def find_data(names: Iterable[str], folder: Path) -> dict[str, Path]:
    """Return where each data set lies; those that are not there are named, with where they come from."""
    paths = {name: folder / name for name in names}
    missing = [name for name, path in paths.items() if not path.exists()]
    if missing:
        origins = "; ".join(f"{name} is {ORIGINS[name]}" for name in missing)
        raise ao.InputError(
            f"there is no {', '.join(missing)} in {folder}; say where with --data or ANCHOROT_DATA. {origins}"
        )
    return paths
