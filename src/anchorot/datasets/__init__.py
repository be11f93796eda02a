"""Data to try things on: small real sets, sets that are made by a seed, and where those of the experiments come from.

==================== ====================================== ====================================================
loader               what                                   source, licence
==================== ====================================== ====================================================
`social_networks`    four social networks                   networkx (extra ``graph``), BSD-3-Clause
`digits`             handwritten digits, 8 by 8 pixels      UCI, in scikit-learn (extra ``learn``), CC BY 4.0
`neurons`            five neurons of a fruit fly            Janelia hemibrain, shipped, CC BY 4.0
`alkanes`            37 alkanes and their boiling points    facts
`isomers`            all alcohols and ethers of a formula   facts
`figures`            creatures in several poses, as meshes  made by a seed
`grown_neurons`      neurons of three kinds                 made by a seed
`shapes_and_graphs`  seven kinds of them in three sizes     made by a seed
`tissues`            cells of three types in the plane      made by a seed
`two_assays`         one population, measured twice         made by a seed
==================== ====================================== ====================================================

`registry` says of each set of the experiments where it comes from, on which terms, and what its SHA-256 sums are;
`fetch` fetches those that have a stable address, and `check` compares files on disk with the sums.
"""

from anchorot.datasets.collection import Dataset
from anchorot.datasets.creatures import figures
from anchorot.datasets.fetching import CheckedSet, check, fetch
from anchorot.datasets.grown import grown_neurons
from anchorot.datasets.made import shapes_and_graphs
from anchorot.datasets.molecules import alkanes, isomers
from anchorot.datasets.real import digits, neurons, social_networks
from anchorot.datasets.sets import Address, RegisteredSet, registry
from anchorot.datasets.tissue import TwoAssays, tissues, two_assays

__all__ = [
    "Address",
    "CheckedSet",
    "Dataset",
    "RegisteredSet",
    "TwoAssays",
    "alkanes",
    "check",
    "digits",
    "fetch",
    "figures",
    "grown_neurons",
    "isomers",
    "neurons",
    "registry",
    "shapes_and_graphs",
    "social_networks",
    "tissues",
    "two_assays",
]
