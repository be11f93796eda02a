"""What every search must find: the nearest spaces by brute force."""

import anchorot as ao
from tests.strategies import clouds


def brute_force(x, spaces_, k, ids=None, robust=False):
    ids = range(len(spaces_)) if ids is None else ids
    features = [ao.AnchorFeatures.of(s, robust=robust) for s in [x, *spaces_]]
    energies = [(ao.anchor_energy(features[0], f, robust=robust), i) for f, i in zip(features[1:], ids, strict=True)]
    return sorted(energies)[:k]


def pairs(result):
    return list(zip(result.value.tolist(), result.index.tolist(), strict=True))


def results_of(index):
    result = index.query(clouds(2, seed=1)[1], k=len(index))
    return pairs(result), result.names
