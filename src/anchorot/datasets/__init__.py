"""Example data: small real data sets, and synthetic ones made from a seed.

==================== ====================================== ====================================================
loader               what                                   source, licence
==================== ====================================== ====================================================
`social_networks`    four social networks                   networkx (extra ``graph``), BSD-3-Clause
`digits`             handwritten digits, 8 by 8 pixels      UCI, in scikit-learn (extra ``learn``), CC BY 4.0
`neurons`            five neurons of a fruit fly            Janelia hemibrain, shipped, CC BY 4.0
`alkanes`            37 alkanes and their boiling points    facts
`isomers`            all alcohols and ethers of a formula   facts
`figures`            animals and people in poses, as meshes synthetic
`grown_neurons`      neurons of three kinds                 synthetic
`shapes_and_graphs`  seven kinds in three sizes             synthetic
`tissues`            cells of three types in the plane      synthetic
`two_assays`         one population, measured twice         synthetic
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
