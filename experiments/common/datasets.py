"""Real data sets: where they lie, and how to get them."""

import os
from pathlib import Path

import anchorot as ao

ORIGINS = {
    "tosca_nonrigid3d": "TOSCA non-rigid world: the project TOSCA of the Technion (Bronstein, Bronstein, Kimmel 2008)",
    "shrec11_meshcnn": "SHREC'11 non-rigid, simplified: shrec_16.tar.gz of MeshCNN (Hanocka et al. 2019)",
    "shrec10_subset": "SHREC'10 robustness benchmark (Bronstein et al. 2010)",
    "shrec11_robust": "SHREC'11 robustness benchmark (Boyer et al. 2011)",
    "tu": "TU collection of graph data sets (Morris et al. 2020): ENZYMES and MUTAG",
    "mnist_100_per_class.npz": "MNIST (LeCun et al.): x (1000, 28, 28) and y, 100 images of each digit",
    "singlecell": "scGEM and SNARE-seq as prepared by SCOT (Demetci et al. 2022)",
    "neurons": "the example of CAJAL (Govek et al. 2023): icdm_geodesic.csv.gz and labels.csv",
}


class DataSets:
    """A folder of data sets, each under its own name."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        """Take the folder given, that of the variable ANCHOROT_DATA, or `shared/data` beside the checkout."""
        usual = Path(__file__).parents[3] / "shared" / "data"
        self.folder = Path(folder or os.environ.get("ANCHOROT_DATA") or usual)

    def path(self, name: str) -> Path:
        """Return where a data set lies; one that is not there is refused with how to get it."""
        path = self.folder / name
        if not path.exists():
            raise ao.InputError(
                f"there is no {name} in {self.folder}; say where with --data or ANCHOROT_DATA. It is {ORIGINS[name]}"
            )
        return path
