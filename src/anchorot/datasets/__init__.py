"""Data to try things on: small real sets, and sets that are made by a seed.

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
"""

from anchorot.datasets.cells import TwoAssays, grown_neurons, tissues, two_assays
from anchorot.datasets.collection import Dataset
from anchorot.datasets.molecules import alkanes, isomers
from anchorot.datasets.real import digits, neurons, social_networks
from anchorot.datasets.shapes import figures, shapes_and_graphs

__all__ = [
    "Dataset",
    "TwoAssays",
    "alkanes",
    "digits",
    "figures",
    "grown_neurons",
    "isomers",
    "neurons",
    "shapes_and_graphs",
    "social_networks",
    "tissues",
    "two_assays",
]
