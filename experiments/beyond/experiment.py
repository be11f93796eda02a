"""Beyond the paper: single-cell alignment against SCOT's GW, and kinds of neurons."""

from typing import Any

import numpy as np

from experiments.beyond.alignments import align_cells
from experiments.beyond.cells import Estimate
from experiments.beyond.drawing import draw_neurons
from experiments.beyond.neurons import DISTANCES, Separation, read_neurons, separate
from experiments.common.rules import Interval, Part
from experiments.common.study import Study

TITLE = "Beyond the paper: cells and neurons"
QUESTION = (
    "Do AEP, AW and align align cells that were measured by two assays, where Gromov-Wasserstein is in use (SCOT)? Do "
    "AE and AW tell kinds of neurons apart by the shape of their trees?"
)
DATA = ("singlecell", "neurons")


def run(study: Study) -> None:
    """Align the cells, compare the neurons."""
    align_cells(study)
    _compare_neurons(study)


def _compare_neurons(study: Study) -> None:
    spaces, kinds = read_neurons(study.data["neurons"])
    if study.quick:
        spaces, kinds = spaces[::4], kinds[::4]
    found = [separate(study, spaces, kinds, distance) for distance in DISTANCES]
    largest = np.unique(kinds, return_counts=True)[1].max() / len(kinds)
    study.table(
        "neurons",
        [_neuron_row(one) for one in found],
        "Neurons, mean ± standard error over neurons; "
        "seconds for all pairs on one core; the statistic and p-value of the energy test DISCO by 999 permutations",
    )
    study.figure(
        "neurons",
        draw_neurons(found, kinds),
        f"{len(kinds)} neurons by classical scaling of each distance, and the share of those whose nearest other is of "
        "their kind. Where one neuron lies twice as far out as any other, it is out of sight.",
    )
    for one in found:
        study.value(f"neurons {one.distance} accuracy", np.mean(one.right), 1.1 / len(kinds))
    texts = [f"{one.distance} {Estimate.of(one.right)}" for one in found]
    seen = [one.distance for one in found if one.pvalue <= 0.05]
    study.claim(
        "Not in the paper: AE tells spiny from aspiny neurons by distances along their trees.",
        f"Leave-one-out nearest neighbour of {len(kinds)}: {', '.join(texts)}; the larger kind is {largest:.2f}.",
        [Part("accuracy by AE less the larger kind", "beyond.neurons", Interval.mean(found[0].right - largest))],
        f"Kinds differ by a permutation test at 0.05 for {', '.join(seen) or 'none'}. AE takes {found[0].seconds:.2g} "
        f"s for all pairs, GW {found[-1].seconds:.2g} s.",
    )
    study.note(
        "Neurons: the three that are sparsely spiny are left out. AW is exact (epsilon 0), GW has the quick "
        "start that all pairs take, and no epsilon. Robust forms compare ranks, so that they are blind to a neuron's "
        "size."
    )


def _neuron_row(one: Separation) -> dict[str, Any]:
    return {
        "distance": one.distance,
        "accuracy": str(Estimate.of(one.right)),
        "statistic": one.statistic,
        "p-value": one.pvalue,
        "seconds": round(one.seconds, 3),
    }
